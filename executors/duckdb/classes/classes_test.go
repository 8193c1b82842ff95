package classes

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse/classify"
)

var (
	update = flag.Bool("update", false, "probe the engine anew and write classes.tsv")
	budget = flag.Duration("budget", time.Hour, "how long -update probes; what is left then is taken up by the next -update")
)

const (
	tableName = "classes.tsv"
	partName  = "classes.part" // findings of an update that is not through
	workerEnv = "GATEHOUSE_CLASSES_WORKER"
	head      = `# Functions, casts and comparisons of DuckDB %s: kind, name, signature, class, evidence. Written by "make classes".
# forbidden: not allowed by classify, volatile, reads or changes something, crashes or ends the engine, or runs on hidden rows even through the barrier.
# dictionary: raises on a value that stands in a Parquet dictionary beside visible ones, though its rows are filtered out.
# raising: raised on some value, or never did in probing but is not on the list of reviewed total functions (review_test.go).
# leakproof: never raised in probing, and on that list. What is not in this table is forbidden.
`
)

// row is one line of the table.
type row struct{ class, evidence string }

func readTable(t testing.TB) map[string]row {
	text, err := os.ReadFile(tableName)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]row{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(f) != 5 {
			t.Fatalf("line %q", line)
		}
		rows[strings.Join(f[:3], "\t")] = row{f[3], f[4]}
	}
	return rows
}

// TestClasses compares the table with the engine in use and with the classes by which statements are judged.
func TestClasses(t *testing.T) {
	e := newEngine(t)
	all := e.overloads()
	if *update {
		write(t, e, all)
	}
	rows := readTable(t)
	if len(all) < 5000 || len(rows) < 5000 {
		t.Fatalf("%d overloads, %d rows", len(all), len(rows))
	}
	for _, o := range all {
		r, ok := rows[o.key()]
		if !ok {
			t.Errorf("the engine has %s, which nobody has probed: run make classes", o.key())
			continue
		}
		delete(rows, o.key())
		if class, _, done := judge(o); done && rank[class] > rank[r.class] {
			t.Errorf("%s is %s in the table, and %s by what the engine says of it", o.key(), r.class, class)
		}
		check(t, o, r)
	}
	for key := range rows {
		t.Errorf("the engine has no %s", key)
	}
}

// TestLeakproof probes what is leakproof in the table anew.
func TestLeakproof(t *testing.T) {
	e := newEngine(t)
	rows := readTable(t)
	tried := 0
	for _, o := range e.overloads() {
		if rows[o.key()].class != "leakproof" {
			continue
		}
		tried++
		if f, _ := e.probeOverload(o); f.raises != none && f.raises != unbound {
			t.Errorf("%s is leakproof in the table, and %s: %s", o.key(), f.raises, f.example)
		}
	}
	if tried < 500 {
		t.Errorf("%d rows are leakproof", tried)
	}
}

// check compares a row with what classify makes of statements that call o.
func check(t *testing.T, o overload, r row) {
	t.Helper()
	weak := func(statement, call string, types []string) {
		if raises, refused := barrier(statement, call, types); !raises && !refused {
			t.Errorf("%s is %s (%s), but no barrier for %s with %s %v", o.key(), r.class, r.evidence, statement, call, types)
		}
	}
	switch r.class {
	case "forbidden":
		if callable(o) {
			t.Errorf("%s is forbidden (%s), and may be called", o.key(), r.evidence)
		}
		return
	case "leakproof":
		return
	case "dictionary":
		leaking, _ := strings.CutPrefix(r.evidence, "evaluated on dictionaries: ")
		call, types, _ := strings.Cut(strings.TrimSuffix(leaking, "]"), " [")
		weak("SELECT %s FROM t", respell(o, call), strings.Split(types, ";"))
	}
	if o.kind == "aggregate" || o.kind == "table" || classify.IsAggregate(o.name) || special[o.name] || r.evidence == unbindable {
		return
	}
	for _, types := range o.tuples() {
		if len(types) > 0 {
			weak("SELECT 1 FROM t WHERE %s IS NOT NULL", spelled(o, names(len(types))), types)
			if r.class == "dictionary" {
				weak("SELECT %s FROM t", spelled(o, names(len(types))), types)
			}
			return
		}
	}
}

// special are judged by the types of their arguments, between which a cast may hide: see the rows of comparisons.
var special = set("coalesce ifnull nullif greatest least")

// write probes everything, in processes of its own: some calls end the one that they run in.
func write(t *testing.T, e *engine, all []overload) {
	part, err := os.OpenFile(partName, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	out := map[string]row{}
	for s := bufio.NewScanner(part); s.Scan(); {
		if f := strings.Split(s.Text(), "\t"); len(f) == 5 {
			out[strings.Join(f[:3], "\t")] = row{f[3], f[4]}
		}
	}
	byKey := map[string]overload{}
	var todo [2][]string
	for i, o := range all {
		byKey[o.key()] = o
		class, evidence, done := judge(o)
		if _, known := out[o.key()]; done {
			out[o.key()] = row{class, evidence}
		} else if !known {
			todo[i%2] = append(todo[i%2], o.key())
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), *budget)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, mine := range todo {
		wg.Go(func() {
			for len(mine) > 0 && ctx.Err() == nil {
				mine = work(ctx, t, mine, func(key string, a answer) {
					mu.Lock()
					defer mu.Unlock()
					class, evidence := conclude(byKey[key], a.finding(), a.Known)
					out[key] = row{class, clean(evidence)}
					fmt.Fprintf(part, "%s\t%s\t%s\n", key, class, clean(evidence))
				})
			}
		})
	}
	wg.Wait()
	_, version := e.try("SELECT version()")
	var text strings.Builder
	fmt.Fprintf(&text, head, version)
	for _, o := range all {
		r, ok := out[o.key()]
		if !ok {
			r = row{"raising", unprobed}
		}
		fmt.Fprintf(&text, "%s\t%s\t%s\n", o.key(), r.class, r.evidence)
	}
	if err := os.WriteFile(tableName, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func clean(s string) string {
	s = strings.NewReplacer("\n", " ", "\t", " ").Replace(s)
	if len(s) > 300 {
		s = s[:300]
	}
	return s
}

// answer is a finding on its way between processes.
type answer struct {
	Key, Raises, Example, Leak, Leaking, Types string
	Known, Volatile, Shown                     bool
}

func (a answer) finding() finding {
	return finding{raises: fault(a.Raises), example: a.Example, leak: a.Leak, leaking: a.Leaking, types: a.Types, volatile: a.Volatile, shown: a.Shown}
}

// work has a process probe keys in order and returns those that are left when it ended; one that ended it has crashed it.
func work(ctx context.Context, t *testing.T, keys []string, found func(string, answer)) []string {
	c := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestWorker$", "-test.timeout=0")
	c.Env = append(os.Environ(), workerEnv+"=1")
	c.Stdin = strings.NewReader(strings.Join(keys, "\n"))
	pipe, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for s := bufio.NewScanner(pipe); s.Scan(); {
		var a answer
		if json.Unmarshal(s.Bytes(), &a) == nil && a.Key != "" {
			found(a.Key, a)
			n++
		}
	}
	if err := c.Wait(); ctx.Err() != nil {
		return nil
	} else if err != nil && n < len(keys) {
		t.Logf("%s ends the process: %v", keys[n], err)
		found(keys[n], answer{Known: true, Raises: "crash"})
		n++
	} else if n < len(keys) {
		t.Fatalf("the process stopped before %s", keys[n])
	}
	return keys[n:]
}

// TestWorker is the process of work.
func TestWorker(t *testing.T) {
	if os.Getenv(workerEnv) == "" {
		t.Skip("only for -update")
	}
	e := newEngine(t)
	byKey := map[string]overload{}
	for _, o := range e.overloads() {
		byKey[o.key()] = o
	}
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		f, known := e.probeOverload(byKey[s.Text()])
		line, err := json.Marshal(answer{
			Key: s.Text(), Raises: string(f.raises), Example: f.example, Leak: f.leak, Leaking: f.leaking, Types: f.types,
			Known: known, Volatile: f.volatile, Shown: f.shown,
		})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(string(line))
	}
}
