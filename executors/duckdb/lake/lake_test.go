package lake

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	sqlcat "github.com/apache/iceberg-go/catalog/sql"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open loads one table as any Iceberg client would: through the SQL catalog.
func open(t *testing.T, dir, name string) *table.Table {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, CatalogFile))
	if err != nil {
		t.Fatal(err)
	}
	cat, err := sqlcat.NewCatalog(Catalog, db, sqlcat.SQLite, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cat.Close(); db.Close() })
	tbl, err := cat.LoadTable(t.Context(), table.Identifier{Namespace, name})
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// content is what one scan gave.
type content struct {
	rows int64
	hash uint64 // of all values, whatever the order of files
}

// read scans a table with the library's own reader. Each row is hashed as text; sums don't depend on their order.
func read(t *testing.T, tbl *table.Table, opts ...table.ScanOption) content {
	t.Helper()
	_, batches, err := tbl.Scan(opts...).ToArrowRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var c content
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		for row := range int(batch.NumRows()) {
			h := fnv.New64a()
			for _, col := range batch.Columns() {
				io.WriteString(h, col.ValueStr(row))
				h.Write([]byte{0})
			}
			c.hash += h.Sum64()
		}
		c.rows += batch.NumRows()
		batch.Release()
	}
	return c
}

func write(t *testing.T, dir string, divisor int) {
	t.Helper()
	if err := Write(t.Context(), Config{Dir: dir, divisor: divisor}); err != nil {
		t.Fatal(err)
	}
	if err := Complete(dir); err != nil {
		t.Fatal(err)
	}
}

func TestCounts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	var steps []string
	last := 0.0
	err := Write(t.Context(), Config{Dir: dir, Progress: func(step string, part float64) {
		if part < last || part > 1 {
			t.Errorf("progress %v after %v", part, last)
		}
		steps, last = append(steps, step), part
	}})
	if err != nil {
		t.Fatal(err)
	}
	if last != 1 || len(steps) < 10 {
		t.Errorf("progress: %v, at the end %v", steps, last)
	}
	want := map[string]int64{"customers": 200_000, "orders": 1_000_000, "order_items": 2_500_000, "products": 1_000, "employees": 500, "payroll": 6_000}
	for name, rows := range want {
		// Planning counts live rows by file; the deletes of customers are checked by reading, below.
		tasks, err := open(t, dir, name).Scan().PlanFiles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got, biggest int64
		for _, task := range tasks {
			got, biggest = got+task.File.Count(), max(biggest, task.File.Count())
		}
		if name == "customers" {
			if biggest < 130_000 {
				t.Errorf("the biggest file of customers has %d rows", biggest)
			}
			got = read(t, open(t, dir, name), table.WithSelectedFields("id")).rows
		}
		if got != rows {
			t.Errorf("%s has %d rows, wanted %d", name, got, rows)
		}
	}
}

func TestSchemas(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	write(t, dir, 50)
	want := map[string]string{
		"customers":   "id long, name string, email string, phone string, country string, region string, birth_date date, tax_id string, credit_limit decimal(12, 2), signed_up_at timestamptz, note string",
		"orders":      "id long, customer_id long, order_date date, status string, region string, total decimal(12, 2)",
		"order_items": "order_id long, line_number int, product_id long, quantity int, price decimal(10, 2), region string",
		"products":    "id long, name string, category string, price decimal(10, 2)",
		"employees":   "id long, name string, email string, department string, manager_id long, region string, salary decimal(12, 2)",
		"payroll":     "employee_id long, month date, gross decimal(12, 2), net decimal(12, 2)",
	}
	for name, columns := range want {
		tbl := open(t, dir, name)
		var got []string
		for _, f := range tbl.Schema().Fields() {
			got = append(got, f.Name+" "+f.Type.String())
		}
		if s := strings.Join(got, ", "); s != columns {
			t.Errorf("%s\n got %s\nwant %s", name, s, columns)
		}
		if tbl.Metadata().Version() != 2 {
			t.Errorf("%s is of format %d", name, tbl.Metadata().Version())
		}
	}
	if s := open(t, dir, "orders").Spec(); s.Len() != 1 || s.Field(0).Transform.String() != "month" {
		t.Errorf("orders is partitioned by %v", s)
	}
	if specs := open(t, dir, "order_items").Metadata().PartitionSpecs(); len(specs) != 2 {
		t.Errorf("order_items has %d specs", len(specs))
	}
	if schemas := open(t, dir, "customers").Metadata().Schemas(); len(schemas) != 2 {
		t.Errorf("customers has %d schemas", len(schemas))
	}
}

// TestSame builds twice: rows and snapshot times are the same, and other rows have another hash.
func TestSame(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	write(t, one, 20)
	write(t, two, 20)
	seen := map[uint64]string{}
	for _, name := range []string{"customers", "orders", "order_items", "products", "employees", "payroll"} {
		a, b := open(t, one, name), open(t, two, name)
		x, y := read(t, a), read(t, b)
		if x != y || x.rows == 0 {
			t.Errorf("%s: %+v and %+v", name, x, y)
		}
		if other := seen[x.hash]; other != "" {
			t.Errorf("%s and %s have one hash: the test is blind", name, other)
		}
		seen[x.hash] = name
		for i, s := range a.Metadata().Snapshots() {
			if got := b.Metadata().Snapshots()[i].TimestampMs; got != s.TimestampMs || s.TimestampMs > 1_760_000_000_000 {
				t.Errorf("%s: snapshot times %d and %d", name, s.TimestampMs, got)
			}
		}
	}
}

// TestErased reads what the deletes took away: it is there before the last snapshot and not after it.
func TestErased(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	write(t, dir, 20)
	tbl := open(t, dir, "customers")
	snaps := tbl.Metadata().Snapshots()
	before := read(t, tbl, table.WithSnapshotID(snaps[len(snaps)-2].SnapshotID))
	after := read(t, tbl)
	if before.rows != 10_030 || after.rows != 10_000 {
		t.Errorf("%d rows before, %d after; wanted 10030 and 10000", before.rows, after.rows)
	}
	erased := iceberg.EqualTo(iceberg.Reference("id"), int64(334))
	kept := iceberg.EqualTo(iceberg.Reference("id"), int64(335))
	if got := read(t, tbl, table.WithRowFilter(erased)).rows; got != 0 {
		t.Errorf("customer 334 was erased and has %d rows", got)
	}
	if got := read(t, tbl, table.WithRowFilter(kept)).rows; got != 1 {
		t.Errorf("customer 335 has %d rows", got)
	}
	// A point look-up reads one file.
	tasks, err := tbl.Scan(table.WithRowFilter(kept)).PlanFiles(t.Context())
	if err != nil || len(tasks) != 1 {
		t.Errorf("%d files planned for one customer, %v", len(tasks), err)
	}
}

func TestAgain(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "lake")
	if err := Complete(dir); !errors.Is(err, ErrMissing) {
		t.Errorf("no folder: %v", err)
	}
	write(t, dir, 50)
	marker := filepath.Join(dir, markerFile)
	stamp := func() os.FileInfo {
		info, err := os.Stat(marker)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	made := stamp()
	write(t, dir, 50)
	if !os.SameFile(made, stamp()) {
		t.Error("a whole lakehouse was written again")
	}

	data := filepath.Join(dir, "shop", "products", "data", "products.parquet")
	damage := map[string]struct {
		do   func() error
		want error
	}{
		"file missing":  {func() error { return os.Remove(data) }, ErrDamaged},
		"file cut":      {func() error { return os.Truncate(data, 100) }, ErrDamaged},
		"no catalog":    {func() error { return os.Remove(filepath.Join(dir, CatalogFile)) }, ErrDamaged},
		"half-written":  {func() error { return writeMarker(dir, dir, false) }, ErrDamaged},
		"marker broken": {func() error { return os.WriteFile(marker, []byte("{"), 0o644) }, ErrDamaged},
		"other version": {func() error { return os.WriteFile(marker, []byte(`{"version": 99}`), 0o644) }, ErrOutdated},
		"moved": {func() error {
			elsewhere := filepath.Join(parent, "elsewhere")
			return errors.Join(os.Rename(dir, elsewhere), Write(t.Context(), Config{Dir: dir, divisor: 50}),
				os.RemoveAll(dir), os.Rename(elsewhere, filepath.Join(parent, "lake")), writeMarker(dir, elsewhere, true))
		}, ErrMoved},
		"emptied": {func() error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)) }, ErrDamaged},
	}
	for _, name := range slices.Sorted(maps.Keys(damage)) {
		c := damage[name]
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := Complete(dir); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, wanted %v", name, err, c.want)
		}
		write(t, dir, 50)
		if got := read(t, open(t, dir, "products")).rows; got != 1000 {
			t.Errorf("%s: then products has %d rows", name, got)
		}
	}
	left, err := filepath.Glob(filepath.Join(parent, "lake.*"))
	if err != nil || !slices.Equal(left, []string{dir + ".lock"}) {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestForeign(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious.txt")
	if err := os.WriteFile(precious, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), Config{Dir: dir, divisor: 50}); !errors.Is(err, ErrForeign) {
		t.Errorf("a foreign folder: %v", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error("a foreign folder was touched")
	}
}

func TestInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	ctx, cancel := context.WithCancel(t.Context())
	err := Write(ctx, Config{Dir: dir, divisor: 50, Progress: func(step string, _ float64) {
		if step == "table orders" {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := Complete(dir); !errors.Is(err, ErrMissing) {
		t.Errorf("after a cancelled run: %v", err)
	}
	// A killed run leaves its staging folder.
	if err := os.MkdirAll(filepath.Join(dir+stagingSuffix, "shop"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, 50)
	if _, err := os.Stat(dir + stagingSuffix); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the staging folder of a killed run is still there: %v", err)
	}
}

func TestBusy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	unlock, err := lock(dir + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), Config{Dir: dir, divisor: 50}); !errors.Is(err, ErrBusy) {
		t.Errorf("while another process writes: %v", err)
	}
	unlock()
	write(t, dir, 50)
}

// TestPlainLocations builds in a folder whose name needs quoting in SQL and escaping in a URL: metadata has it as it is.
func TestPlainLocations(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "Jörg's lake + [1]")
	write(t, dir, 50)
	if got := read(t, open(t, dir, "payroll")).rows; got != 6000 {
		t.Errorf("payroll has %d rows", got)
	}
	if got := read(t, open(t, dir, "customers"), table.WithSelectedFields("id")).rows; got != 4000 {
		t.Errorf("customers has %d rows", got)
	}
	tbl := open(t, dir, "customers")
	locations := []string{tbl.Location(), tbl.MetadataLocation()}
	for _, s := range tbl.Metadata().Snapshots() {
		locations = append(locations, s.ManifestList)
		manifests, err := s.Manifests(iceio.LocalFS{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range manifests {
			locations = append(locations, m.FilePath())
			entries, err := m.FetchEntries(iceio.LocalFS{}, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				locations = append(locations, e.DataFile().FilePath())
			}
		}
	}
	if len(locations) < 15 {
		t.Errorf("only %d locations", len(locations))
	}
	for _, loc := range locations {
		if !strings.HasPrefix(loc, "file://"+dir+"/shop/customers") {
			t.Errorf("location %s", loc)
		}
	}
}
