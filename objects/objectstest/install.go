package objectstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// install returns the server's program: what S3_SERVER names, or what was or can be installed under the user's cache folder.
func install(t testing.TB) string {
	t.Helper()
	if p := os.Getenv("S3_SERVER"); p != "" {
		return filepath.Join(p, "versitygw")
	}
	home, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no cache folder for the S3 server: %v", err)
	}
	target := filepath.Join(home, "gatehouse", "versitygw-"+Version)
	program := filepath.Join(target, "versitygw")
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		t.Skipf("no cache folder for the S3 server: %v", err)
	}
	lock, err := os.OpenFile(target+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err == nil {
		return program // somebody else was faster
	}
	cmd := exec.Command("go", "install", "github.com/versity/versitygw/cmd/versitygw@"+Version)
	cmd.Dir = filepath.Dir(target) // outside of this module
	cmd.Env = append(os.Environ(), "GOBIN="+target+".part", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("the S3 server cannot be installed: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(target+".part", ".whole"), nil, 0o644); err != nil { // see testdata/clients/install.sh
		t.Fatal(err)
	}
	if err := os.Rename(target+".part", target); err != nil {
		t.Fatal(err)
	}
	return program
}
