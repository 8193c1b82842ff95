package ballista

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"gatehouse/auth"
	"gatehouse/executors"
	"gatehouse/executors/ballista/wire"
	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// hashed is a policy with a hash for a column of a table, and a filter if there is one.
func hashed(table, column, mask, filter string) executortest.Policy {
	d := policy.Decision{ID: "d", Masks: map[string]policy.Expression{column: {ID: "m", SQL: mask}}}
	if filter != "" {
		d.Filters = []policy.Expression{{ID: "f", SQL: filter}}
	}
	return executortest.Policy{table: d}
}

// TestHashMasks compares hashes of both executors: as they are, inside of other expressions, in filters, where statements join, group and order by
// them, and of every type of which the cluster makes texts. Of others the statement is refused.
func TestHashMasks(t *testing.T) {
	alone, local := twins(t)
	masked := hashed("spark.strings", "s", "gw_hash(s)", "id <> 3")
	both := hashed("java.types_all", "s", "gw_hash(s)", "k <> 1")
	maps.Copy(both, masked)
	for _, c := range []struct {
		text    string
		demands executortest.Policy
		rows    bool // there are some
	}{
		{"SELECT id, s FROM strings", masked, true},
		{"SELECT count(*) AS n FROM strings WHERE s IS NULL", masked, true},
		{"SELECT s, count(*) AS n FROM strings GROUP BY s ORDER BY s", masked, true},
		{"SELECT a.id, b.s FROM strings a JOIN strings b ON a.s = b.s ORDER BY a.id, b.id", masked, true},
		{"SELECT count(DISTINCT s) AS n, min(s) AS a, max(length(s)) AS b FROM strings WHERE s > '8'", masked, true},
		{"SELECT s FROM strings WHERE s = 'a'", masked, false},
		{"SELECT id FROM strings", hashed("spark.strings", "s", "gw_hash(s)", "gw_hash(s) > '8'"), true},
		{"SELECT s FROM strings", hashed("spark.strings", "s", "CASE WHEN id > 2 THEN left(gw_hash(s), 8) || '…' ELSE gw_hash('x') END", ""), true},
		{"SELECT s FROM strings", hashed("spark.strings", "s", "gw_hash(gw_hash(s) || CAST(id AS VARCHAR))", ""), true},
		{"SELECT s.id, j.k FROM strings s LEFT JOIN java.types_all j ON s.s = j.s ORDER BY 1, 2", both, true},
		{"SELECT s FROM strings UNION SELECT s FROM java.types_all ORDER BY s", both, true},
	} {
		want, err := local.Rows(t.Context(), c.text, c.demands)
		if err != nil || (len(want) > 0) != c.rows {
			t.Errorf("%s: %d rows, %v (%v)", c.text, len(want), err, errors.Unwrap(err))
			continue
		}
		got, err := alone.Rows(t.Context(), c.text, c.demands)
		if err != nil {
			t.Errorf("%s: %v (%v)", c.text, err, errors.Unwrap(err))
			continue
		}
		compare(t, got, want)
	}
	for column, takes := range map[string]bool{
		"b": true, "i": true, "l": true, "dec9": true, "dec18": true, "dec38": true, "dt": true, "ts": true, "s": true,
		"uid": true, "bin": true, "fx": true, "f": false, "d": false, "tz": false,
	} {
		demands := hashed("java.types_all", "s", "gw_hash("+column+")", "k <> 1")
		text := "SELECT k, s FROM java.types_all"
		want, err := local.Rows(t.Context(), text, demands)
		if err != nil || len(want) == 0 {
			t.Fatalf("%s: %d rows, %v", column, len(want), err)
		}
		got, err := alone.Rows(t.Context(), text, demands)
		switch {
		case !takes:
			kind(t, err, executors.KindUnsupported)
		case err != nil:
			t.Errorf("%s: %v (%v)", column, err, errors.Unwrap(err))
		default:
			compare(t, got, want)
		}
	}
}

// TestHashKey follows the key of hashes: a task group has it only if its relation has a hash, sealed, and an executor takes it from nothing else. The
// scheduler does not have it in its memory. Without keys there are no hashes.
func TestHashKey(t *testing.T) {
	c := startCluster(t)
	var key auth.Secret
	open := c.opener(t, nil)
	pipeline := executortest.Zoo(t, func(p executortest.Parts) (executors.Executor, error) {
		key = p.HashKey
		return open(p)
	})
	f := &forger{t, pipeline.Executor.(*Executor), pipeline, nil}
	keys, err := policy.DeriveHash(key)
	if err != nil {
		t.Fatal(err)
	}
	demands := hashed("spark.strings", "s", "gw_hash(s)", "")
	const text, other = "SELECT s FROM strings", "SELECT id FROM strings"
	payload := func(s *wire.Statement) *wire.Payload {
		p := new(wire.Payload)
		if err := proto.Unmarshal(s.Relations[0].Groups[0].Payload, p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	p, s := f.statement(executortest.Alice, text, demands)
	sent, err := proto.Marshal(s)
	if err != nil || payload(s).Hash == nil {
		t.Fatal("no key is sent", err)
	}
	for _, secret := range []string{keys.Inner.Reveal(), keys.Outer.Reveal(), key.Reveal()} {
		if strings.Contains(string(sent), secret) {
			t.Error("a key is sent as it is")
		}
	}
	if _, s := f.statement(executortest.Alice, other, demands); payload(s).Hash != nil {
		t.Error("a key is sent to where nothing is hashed")
	}
	if err := f.run(s); err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	if has, known := memoryHas(c.PID("scheduler"), keys.Inner.Reveal()); !known {
		t.Log("the memory of processes cannot be read here")
	} else if has {
		t.Error("the scheduler has the key in its memory")
	}

	foreign := sealKey(t)
	ours := f.x.config.Executors()
	right, err := proto.Marshal(&wire.HashKey{Inner: keys.Inner.Reveal(), Outer: keys.Outer.Reveal()})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range []struct {
		name string
		seal func(w *wire.Payload, id string) (*wire.Sealed, error)
		runs bool
	}{
		{"right", func(w *wire.Payload, id string) (*wire.Sealed, error) {
			return sealed(ours, hashInfo, right, w.Query, w.Relation, id)
		}, true},
		{"none", func(*wire.Payload, string) (*wire.Sealed, error) { return nil, nil }, false},
		{"empty", func(w *wire.Payload, id string) (*wire.Sealed, error) {
			return sealed(ours, hashInfo, nil, w.Query, w.Relation, id)
		}, false},
		{"as locations", func(w *wire.Payload, id string) (*wire.Sealed, error) {
			return sealed(ours, locationsInfo, right, w.Query, w.Relation, id)
		}, false},
		{"of another task group", func(w *wire.Payload, id string) (*wire.Sealed, error) {
			return sealed(ours, hashInfo, right, w.Query, w.Relation, "other")
		}, false},
		{"for others", func(w *wire.Payload, id string) (*wire.Sealed, error) {
			return sealed(foreign, hashInfo, right, w.Query, w.Relation, id)
		}, false},
	} {
		t.Run(r.name, func(t *testing.T) {
			p, s := f.statement(executortest.Alice, text, demands)
			group, id := s.Relations[0].Groups[0], "id-"+string(rune('a'+i))
			change(group, func(w *wire.Payload) {
				if w.Hash, err = r.seal(w, id); err != nil {
					t.Fatal(err)
				}
			})
			group.Token = signAs(t, c.minter(t), p, id, group.Payload, time.Now().Add(time.Minute))
			if err := f.run(s); r.runs && err != nil {
				t.Errorf("%v (%v)", err, errors.Unwrap(err))
			} else if !r.runs {
				kind(t, err, executors.KindCredential)
			}
		})
	}
	t.Run("exchanged", func(t *testing.T) {
		_, s := f.statement(executortest.Alice, text, demands)
		change(s.Relations[0].Groups[0], func(w *wire.Payload) { w.Hash = nil })
		kind(t, f.run(s), executors.KindCredential)
	})
	if explained := f.x.Explain(t.Context(), p); strings.Contains(explained, "hash") || !strings.Contains(explained, "stage") {
		t.Error(explained)
	}
	for name, change := range map[string]func(*Config){
		"an executors' key": func(c *Config) { c.Executors = nil },
		"a hash key":        func(c *Config) { c.HashKey = auth.Secret{} },
	} {
		without := executortest.Zoo(t, c.opener(t, change))
		_, err := without.Rows(t.Context(), text, demands)
		kind(t, err, map[bool]executors.Kind{true: executors.KindUnsupported, false: executors.KindInternal}[name == "an executors' key"])
		if rows, err := without.Rows(t.Context(), other, demands); err != nil || len(rows) == 0 {
			t.Errorf("without %s: %d rows, %v", name, len(rows), err)
		}
	}
}
