package catalogtest

import (
	"bufio"
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// StartREST starts Iceberg's own REST catalog server over a copy of a SQLite catalog of that name and returns its address. properties are
// those of the catalog, as KEY=VALUE. Without Java and Maven the test is skipped.
func StartREST(t testing.TB, database, name, warehouse string, properties ...string) *url.URL {
	t.Helper()
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: Iceberg's REST catalog server cannot run", tool)
		}
	}
	_, here, _, _ := runtime.Caller(0)
	project := filepath.Join(filepath.Dir(here), "..", "..", "testdata", "clients", "rest-catalog")
	dir := t.TempDir()
	jars := filepath.Join(dir, "classpath")
	mvn := exec.Command("mvn", "-q", "-B", "-f", filepath.Join(project, "pom.xml"), "dependency:build-classpath", "-Dmdep.outputFile="+jars)
	if out, err := mvn.CombinedOutput(); err != nil {
		t.Skipf("the server's jars could not be had from Maven: %v\n%s", err, out)
	}
	classpath, err := os.ReadFile(jars)
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(dir, "catalog.db")
	data, err := os.ReadFile(database)
	if err == nil {
		err = os.WriteFile(db, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", string(classpath), filepath.Join(project, "Server.java"), name, db, warehouse}
	cmd := exec.Command("java", append(args, properties...)...)
	return running(t, cmd)
}

// running starts the server, which ends with its input, and reads its port.
func running(t testing.TB, cmd *exec.Cmd) *url.URL {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	var port int
	if _, scan := fmt.Sscanf(line, "port %d", &port); err != nil || scan != nil {
		t.Fatalf("the server did not start: %q\n%s", line, stderr.String())
	}
	return &url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}
}
