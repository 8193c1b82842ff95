package rest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gatehouse/catalog/catalogtest"
)

// startServer starts Iceberg's own REST catalog server over a copy of the zoo's catalog and returns its address.
func startServer(t *testing.T) *url.URL {
	t.Helper()
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: Iceberg's REST catalog server cannot run", tool)
		}
	}
	project, err := filepath.Abs("../../testdata/clients/rest-catalog")
	if err != nil {
		t.Fatal(err)
	}
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
	copyFile(t, filepath.Join(catalogtest.Zoo(t), "catalog.db"), db)
	cmd := exec.Command("java", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", string(classpath),
		filepath.Join(project, "Server.java"), "zoo", db, "file://"+catalogtest.ZooFolder+"/warehouse")
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
		_ = stdin.Close() // the server ends with its input
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	var port int
	if _, scan := fmt.Sscanf(line, "port %d", &port); err != nil || scan != nil {
		t.Fatalf("the server did not start: %q\n%s", line, stderr.String())
	}
	return &url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// door is what real installations have in front of a catalog: it knows tokens, and may change answers.
type door struct {
	*httptest.Server
	mu     sync.Mutex
	tokens map[string]string // token → user
	seen   []string          // "user METHOD path"
	// refuse is asked for a status other than 200.
	refuse func(user string, r *http.Request) int
	change func(user string, r *http.Request, body []byte) []byte
}

func newDoor(t *testing.T, backend *url.URL) *door {
	t.Helper()
	d := &door{tokens: map[string]string{"token-of-alice": "alice", "token-of-bob": "bob", "token-of-gateway": "gateway"}}
	proxy := httputil.NewSingleHostReverseProxy(backend)
	proxy.ModifyResponse = func(resp *http.Response) error {
		if d.change == nil || resp.StatusCode != http.StatusOK {
			return nil
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		body = d.change(resp.Request.Header.Get("X-User"), resp.Request, body)
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
		return nil
	}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		user, ok := d.tokens[token]
		d.mu.Lock()
		d.seen = append(d.seen, user+" "+r.Method+" "+r.URL.Path)
		d.mu.Unlock()
		if !ok {
			fail(w, http.StatusUnauthorized)
			return
		}
		if d.refuse != nil {
			if code := d.refuse(user, r); code != 0 {
				fail(w, code)
				return
			}
		}
		r.Header.Set("X-User", user)
		r.Header.Del("Accept-Encoding")
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

func fail(w http.ResponseWriter, code int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"error":{"message":"SECRET detail of the server","type":"x","code":%d}}`, code)
}

// users returns who was seen since the last call.
func (d *door) users() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]bool{}
	for _, s := range d.seen {
		user, _, _ := strings.Cut(s, " ")
		out[user] = true
	}
	d.seen = nil
	return out
}
