package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/catalog/catalogtest"
	"gatehouse/catalog/sql"
	"gatehouse/classify"
	"gatehouse/policy"
)

var alice = auth.Identity{Issuer: "test", Subject: "alice", User: "alice"}

// minter signs nothing; what it was asked to sign is what tests look at.
type minter struct{ claims []auth.TaskClaims }

func (m *minter) Mint(c auth.TaskClaims) (auth.Secret, error) {
	m.claims = append(m.claims, c)
	return auth.NewSecret("token of " + c.Relation), nil
}

func newPlanner(t testing.TB) *Planner {
	t.Helper()
	p, err := New(Config{Minter: &minter{}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// zooTable loads one entry of the zoo at its version.
func zooTable(t testing.TB, c *sql.Catalog, z catalogtest.ZooTable) (*catalog.Table, error) {
	t.Helper()
	tbl, err := c.Table(t.Context(), alice, z.Namespace, z.Table)
	if err != nil {
		return nil, err
	}
	return tbl.At(catalog.Version{Snapshot: z.SnapshotID, Ref: z.Ref})
}

func openZoo(t testing.TB) *sql.Catalog {
	t.Helper()
	c, err := sql.Open(catalogtest.Zoo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// whole is the relation that shows all of a table.
func whole(t *catalog.Table) policy.Relation {
	r := policy.Relation{CTE: "__gw_1", Name: classify.Name{Catalog: t.Catalog, Schema: t.Schema, Table: t.Name}}
	for _, c := range t.Columns {
		r.Columns = append(r.Columns, policy.Output{Name: c.Name, FieldID: c.FieldID, Type: c.SQLType, Reads: []int{c.FieldID}})
	}
	return r
}

// Every table of the zoo is planned with the files and deletes that iceberg-go's own planner finds, or is refused where its class
// allows it. Where the two differ, iceberg-go is known to be wrong, and the difference is spelled out.
func TestZooPlans(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	for _, z := range catalogtest.ZooTables(t) {
		if z.Class == "view" {
			continue
		}
		t.Run(z.ID, func(t *testing.T) {
			tbl, err := zooTable(t, c, z)
			if z.Class == "error" {
				if !errors.Is(err, catalog.ErrNoSuchVersion) {
					t.Fatalf("got %v, want ErrNoSuchVersion", err)
				}
				return
			}
			var scan Scan
			if err == nil {
				scan, err = p.scan(t.Context(), tbl, whole(tbl), nil)
			}
			if err != nil {
				_, typed := errors.AsType[*UnreadableError](err)
				if !strings.Contains(z.Class, "unsupported") || (!typed && !errors.Is(err, catalog.ErrUnreadable)) {
					t.Fatal(err)
				}
				t.Log(err)
				return
			}
			if got, want := len(scan.Fields), len(tbl.Columns); got < want {
				t.Errorf("%d fields for %d columns", got, want)
			}
			if z.Rows != nil && len(scan.Deletes) == 0 && scan.Rows != int64(*z.Rows) {
				t.Errorf("%d rows without deletes, want %d", scan.Rows, *z.Rows)
			}
			compare(t, tbl, scan)
		})
	}
}

// compare checks scan against iceberg-go's PlanFiles.
func compare(t *testing.T, tbl *catalog.Table, scan Scan) {
	t.Helper()
	if tbl.Snapshot == nil {
		if len(scan.Files) != 0 {
			t.Errorf("files in a table without snapshot")
		}
		return
	}
	tasks, err := tbl.Iceberg.Scan(table.WithSnapshotID(tbl.Snapshot.SnapshotID)).PlanFiles(t.Context())
	if err != nil {
		t.Logf("iceberg-go: %v", err)
		return
	}
	var want, got []string
	wanted := map[string]bool{}
	for _, task := range tasks {
		if task.Start > 4 {
			continue // another part of one file
		}
		line := fmt.Sprintf("%s seq=%d", task.File.FilePath(), *task.DataSequenceNumber)
		for _, list := range [][]iceberg.DataFile{task.DeleteFiles, task.DeletionVectorFiles, task.EqualityDeleteFiles} {
			for _, d := range list {
				line += "\n  " + d.FilePath()
				wanted[task.File.FilePath()+" "+d.FilePath()] = true
			}
		}
		want = append(want, sortLines(line))
	}
	for _, f := range scan.Files {
		line := fmt.Sprintf("%s seq=%d", f.Path, f.Seq)
		for _, n := range f.Deletes {
			d := scan.Deletes[n]
			if d.Kind == EqualityDeletes && tbl.Name == "eq_partitioned" && !wanted[f.Path+" "+d.Path] {
				continue // iceberg-go leaves out what its key statistics exclude, which we do not trust
			}
			line += "\n  " + d.Path
		}
		got = append(got, sortLines(line))
	}
	slices.Sort(want)
	slices.Sort(got)
	want = slices.Compact(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func sortLines(s string) string {
	head, rest, _ := strings.Cut(s, "\n")
	lines := strings.Split(rest, "\n")
	slices.Sort(lines)
	return head + "\n" + strings.Join(lines, "\n")
}
