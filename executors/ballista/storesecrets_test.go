package ballista

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/executors"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/ballista/clustertest"
	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
	"gatehouse/objects/objectstest"
)

// lines is a log that several processes write.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestStoreSecrets looks for URLs, and for keys of the store, wherever a cluster leaves something, while a statement stands still in the middle of a
// read and after the store has refused it with a text that has all in it: files, logs of all processes at their most talkative, what
// administrators are shown, the error. The scheduler does not have them in its memory either; an executor does.
func TestStoreSecrets(t *testing.T) {
	t.Setenv("GATEHOUSE_LOG", "debug")
	server := objectstest.Start(t)
	g := newGate(t, server)
	log, dir := &lines{}, t.TempDir()
	running, err := cluster.Start(t.Context(), cluster.Config{Dir: dir, Binaries: clustertest.Programs(t), Stores: []string{g.URL}, Log: log, Executors: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Stop)
	metrics := prometheus.NewRegistry()
	c := &testCluster{running, dir}
	l := newLake(t, server, g.store(t, server, nil))
	open := c.inStore(t, l, func(c *Config) {
		c.Log, c.Metrics = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), metrics
	})
	var x *Executor
	p := executortest.Over(t, func(parts executortest.Parts) (executors.Executor, error) {
		made, err := open(parts)
		if err == nil {
			x = made.(*ashore).Executor
		}
		return made, err
	}, folderOf(t, tpc.TPCH), "tpch")
	arrived, answer := make(chan *http.Request), make(chan struct{})
	g.set(func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n != 2 {
			return n > 2 && refuse(w, r)
		}
		arrived <- r
		<-answer
		return refuse(w, r)
	})
	ended := make(chan error, 1)
	go func() {
		_, err := p.Rows(t.Context(), sums, nil)
		ended <- err
	}()
	r := <-arrived
	query := r.URL.Query()
	secrets := []string{query.Get("X-Amz-Signature"), "X-Amz-", server.Reader.ID, server.Reader.Secret, r.URL.RawQuery}
	if len(secrets[0]) < 32 {
		t.Fatalf("no signature: %v", r.URL)
	}
	check := func(where, text string) {
		t.Helper()
		for _, s := range secrets {
			if strings.Contains(text, s) {
				t.Errorf("%s: there is %q", where, s)
			}
		}
	}
	look := func(when string) {
		t.Helper()
		check(when+": the log", log.String())
		for path, text := range files(t, dir) {
			check(when+": "+path, text)
		}
		shown, err := json.Marshal(map[string]any{"jobs": x.Jobs(t.Context()), "cluster": fmt.Sprint(x.Members(t.Context()))})
		if err != nil {
			t.Fatal(err)
		}
		check(when+": what administrators see", string(shown))
		families, err := metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		check(when+": metrics", fmt.Sprint(families))
	}
	look("meanwhile")
	pl, err := p.Plan(t.Context(), executortest.Alice, sums, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.move(pl, false)
	check("EXPLAIN", x.Explain(t.Context(), pl))
	if has, known := memoryHas(running.PID("scheduler"), secrets[0]); !known {
		t.Log("the memory of processes cannot be read here")
	} else if has {
		t.Error("the scheduler has the URL in its memory")
	} else if has, _ := memoryHas(running.PID("executor-1"), secrets[0]); !has {
		t.Error("nobody has the URL in its memory: the search is broken")
	}
	close(answer)
	err = <-ended
	kind(t, err, executors.KindRefused)
	for e := err; e != nil; e = errors.Unwrap(e) {
		check("the error", e.Error())
	}
	look("at the end")
	if !strings.Contains(log.String(), "DEBUG") || !strings.Contains(log.String(), "GovernedExec") {
		t.Error("the log says less than it could")
	}
}

// refuse answers as stores do that do not like a signature: with all that it was made of.
func refuse(w http.ResponseWriter, r *http.Request) bool {
	w.WriteHeader(http.StatusForbidden)
	fmt.Fprintf(w, "<Error><Code>SignatureDoesNotMatch</Code><CanonicalRequest>%s</CanonicalRequest></Error>", r.URL)
	return true
}

// files are all files below a folder that are not keys.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // what goes meanwhile is gone
		}
		text, err := os.ReadFile(path)
		if err == nil {
			all[path] = string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// memoryHas searches the memory of a process.
func memoryHas(pid int, text string) (has, known bool) {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return false, false
	}
	defer maps.Close()
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return false, false
	}
	defer memory.Close()
	for in := bufio.NewScanner(maps); in.Scan(); {
		var from, to int64
		var mode string
		if _, err := fmt.Sscanf(in.Text(), "%x-%x %s", &from, &to, &mode); err != nil || !strings.HasPrefix(mode, "rw") {
			continue
		}
		bytesOf := make([]byte, to-from)
		n, err := memory.ReadAt(bytesOf, from)
		if err != nil && n == 0 {
			continue
		}
		known = true
		if bytes.Contains(bytesOf[:n], []byte(text)) {
			return true, true
		}
	}
	return false, known
}
