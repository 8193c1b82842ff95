package catalogtest

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// ZooFolder is where the test tables have to lie: their metadata holds absolute paths.
const ZooFolder = "/tmp/gatehouse-testdata"

// Zoo unpacks the test tables, which Spark, Iceberg's Java library and PyIceberg wrote, and returns their folder. It holds a
// SQLite catalog named "zoo" (catalog.db), what each table covers (MANIFEST.md, see ZooTables) and the rows that must be read
// (expected). Tests must not change it. Several test programs may call Zoo at once.
func Zoo(t testing.TB) string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	archive := filepath.Join(filepath.Dir(here), "..", "..", "testdata", "iceberg", "zoo.tar.gz")
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(ZooFolder+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	mark, want := filepath.Join(ZooFolder, ".archive"), hex.EncodeToString(sum[:])
	if have, err := os.ReadFile(mark); err == nil && string(have) == want {
		return ZooFolder
	}
	if err := os.RemoveAll(ZooFolder); err != nil {
		t.Fatal(err)
	}
	if err := unpack(archive, ZooFolder); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mark, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
	return ZooFolder
}

func unpack(archive, folder string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, ok := strings.Cut(h.Name, "/") // the archive's top folder
		if !ok || !filepath.IsLocal(name) {
			continue
		}
		path := filepath.Join(folder, name)
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := writeFile(path, r); err != nil {
			return err
		}
	}
}

func writeFile(path string, r io.Reader) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, r); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// ZooTable is one entry of the zoo's manifest: a table, or a table at a version.
type ZooTable struct {
	ID         string   `json:"id"`
	Namespace  string   `json:"namespace"`
	Table      string   `json:"table"`
	Covers     string   `json:"covers"`
	Class      string   `json:"cls"` // ok, ok-or-unsupported, unsupported, error, view
	Ref        string   `json:"ref"`
	SnapshotID int64    `json:"snapshot_id"`
	AsOf       string   `json:"as_of"`
	Columns    []string `json:"columns"`
	Rows       *int     `json:"rows"` // nil: the read must fail
	Key        []string `json:"key"`
	File       string   `json:"file"` // expected rows, below ZooFolder
	Format     int      `json:"format_version"`
}

// ZooTables returns the manifest.
func ZooTables(t testing.TB) []ZooTable {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(Zoo(t), "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out []ZooTable
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
