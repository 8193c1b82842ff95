package executortest

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatehouse/catalog"
	"gatehouse/catalog/catalogtest"
	"gatehouse/executors"
	"gatehouse/plan"
)

// RunZoo reads every test table. Each must give exactly the rows that its writer's own reader gave, or be refused where its class
// allows a refusal.
func RunZoo(t *testing.T, open func(Parts) (executors.Executor, error)) {
	p := Zoo(t, open)
	read, refused := 0, 0
	for _, z := range catalogtest.ZooTables(t) {
		if z.Class == "view" {
			continue
		}
		t.Run(z.ID, func(t *testing.T) {
			got, err := p.readZoo(t, z)
			if err != nil {
				refused++
				checkRefusal(t, z, err)
				return
			}
			read++
			if z.Class == "error" {
				t.Fatalf("%d rows of a version that does not exist", len(got))
			}
			want := expected(t, z)
			if diff := multisetDiff(got, want); diff != "" {
				t.Error(diff)
			}
		})
	}
	if read < 55 {
		t.Errorf("only %d entries were read, %d refused", read, refused)
	}
}

// readZoo reads the columns of an entry at its version.
func (p *Pipeline) readZoo(t *testing.T, z catalogtest.ZooTable) ([]string, error) {
	t.Helper()
	version := catalog.Version{Snapshot: z.SnapshotID, Ref: z.Ref}
	tbl, err := p.Catalog.Table(t.Context(), Alice, z.Namespace, z.Table)
	if err == nil {
		tbl, err = tbl.At(version)
	}
	if err != nil {
		return nil, err
	}
	var columns []string
	shown := tbl.Columns
	if strings.HasSuffix(z.ID, "@lineage") {
		if tbl, _ = tbl.WithLineage(); len(tbl.Columns) == len(shown) {
			t.Fatal("no row lineage")
		}
		shown = slices.DeleteFunc(slices.Clone(tbl.Columns), func(c catalog.Column) bool { return !slices.Contains(z.Columns, c.Name) })
	}
	for _, c := range shown {
		columns = append(columns, quoted(c.Name))
	}
	text := "SELECT " + strings.Join(columns, ", ") + " FROM " + quoted(z.Namespace) + "." + quoted(z.Table)
	pl, err := p.plan(t.Context(), Alice, text, nil, version, noDeadline)
	if err != nil {
		return nil, err
	}
	s, r, err := p.run(t.Context(), pl, nil)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	defer r.Release()
	rows, err := readAll(r)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, row := range rows {
		parts := make([]string, len(row))
		for i, v := range row {
			parts[i] = canonical(v, 32)
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out, nil
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func checkRefusal(t *testing.T, z catalogtest.ZooTable, err error) {
	t.Helper()
	unreadable, _ := errors.AsType[*plan.UnreadableError](err)
	engine, _ := errors.AsType[*executors.Error](err)
	switch {
	case z.Class == "error" && errors.Is(err, catalog.ErrNoSuchVersion):
	case strings.Contains(z.Class, "unsupported") &&
		(unreadable != nil || errors.Is(err, catalog.ErrUnreadable) || engine != nil && engine.Kind == executors.KindUnsupported):
		t.Logf("refused: %v", err)
	default:
		t.Errorf("class %s: %v (%v)", z.Class, err, errors.Unwrap(err))
	}
}

// expected reads the rows of an entry, values in the order of the columns.
func expected(t *testing.T, z catalogtest.ZooTable) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(catalogtest.Zoo(t), z.File))
	if errors.Is(err, os.ErrNotExist) {
		f, err = os.Open(filepath.Join(catalogtest.Zoo(t), "expected", filepath.Base(z.File)))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var row orderedObject
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		for i := range row {
			row[i] = canonical(row[i], 32)
		}
		out = append(out, strings.Join(row, " "))
	}
	return out
}

// orderedObject is the values of a JSON object in their order.
type orderedObject []string

// UnmarshalJSON implements json.Unmarshaler.
func (o *orderedObject) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(strings.NewReader(string(data)))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		if _, err := d.Token(); err != nil {
			return err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return err
		}
		*o = append(*o, string(v))
	}
	return nil
}

// multisetDiff lists what one side has more often than the other.
func multisetDiff(got, want []string) string {
	count := map[string]int{}
	for _, r := range got {
		count[r]++
	}
	for _, r := range want {
		count[r]--
	}
	var lines []string
	for r, n := range count {
		for ; n > 0; n-- {
			lines = append(lines, "+ "+r)
		}
		for ; n < 0; n++ {
			lines = append(lines, "- "+r)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Sort(lines)
	if len(lines) > 12 {
		lines = append(lines[:12], "…")
	}
	return "rows differ (+ read, - expected):\n" + strings.Join(lines, "\n")
}
