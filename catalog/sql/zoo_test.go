package sql_test

import (
	"errors"
	"testing"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/catalog/catalogtest"
	"gatehouse/catalog/sql"
)

var alice = auth.Identity{Issuer: "test", Subject: "alice", User: "alice"}

func openZoo(t *testing.T) *sql.Catalog {
	t.Helper()
	c, err := sql.Open(catalogtest.Zoo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Every table of the zoo loads, or is refused where its class says that it may be.
func TestZooLoads(t *testing.T) {
	c := openZoo(t)
	for _, z := range catalogtest.ZooTables(t) {
		t.Run(z.ID, func(t *testing.T) {
			tbl, err := c.Table(t.Context(), alice, z.Namespace, z.Table)
			switch {
			case z.Class == "view":
				if !errors.Is(err, catalog.ErrUnreadable) {
					t.Fatalf("a view: got %v, want ErrUnreadable", err)
				}
				return
			case err != nil && errors.Is(err, catalog.ErrUnreadable) && (z.Class == "unsupported" || z.Class == "ok-or-unsupported"):
				t.Log(err)
				return
			case err != nil:
				t.Fatal(err)
			}
			if z.Format != 0 && tbl.Iceberg.Metadata().Version() != z.Format {
				t.Errorf("format version %d, want %d", tbl.Iceberg.Metadata().Version(), z.Format)
			}
		})
	}
}
