package catalogtest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"gatehouse/objects/objectstest"
)

// Stored has PyIceberg write tables into the server's bucket, below "s3://lake/warehouse", and returns the SQLite file of their catalog,
// which is named "lake". testdata/clients/pyiceberg says which tables there are. Without PYICEBERG_CLIENT the test is skipped.
func Stored(t testing.TB, s *objectstest.Server) string {
	t.Helper()
	client := os.Getenv("PYICEBERG_CLIENT")
	if client == "" {
		t.Skip("PYICEBERG_CLIENT is not set: testdata/clients/install.sh installs PyIceberg")
	}
	_, here, _, _ := runtime.Caller(0)
	database := filepath.Join(t.TempDir(), "catalog.db")
	in, err := json.Marshal(map[string]string{
		"endpoint": s.ForWriters(t), "key": s.Owner.ID, "secret": s.Owner.Secret, "database": database, "warehouse": "s3://" + objectstest.Bucket + "/warehouse",
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(client, "bin", "python"), filepath.Join(filepath.Dir(here), "..", "..", "testdata", "clients", "pyiceberg", "write.py"))
	cmd.Stdin = bytes.NewReader(in)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("PyIceberg: %v\n%s", err, out)
	}
	return database
}
