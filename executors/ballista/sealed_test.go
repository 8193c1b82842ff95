package ballista

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hpke"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"gatehouse/executors"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/ballista/wire"
	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
	"gatehouse/objects/objectstest"
)

// sealKey is a new key for executors.
func sealKey(t *testing.T) hpke.PublicKey {
	t.Helper()
	private, err := hpke.DHKEM(ecdh.X25519()).GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return private.PublicKey()
}

// TestSealed sends what a dishonest scheduler could make of sealed URLs, and what would be left of their seal if it could sign, too: the class is
// that of credentials, nothing is called, and the next statement runs.
func TestSealed(t *testing.T) {
	server := objectstest.Start(t)
	g := newGate(t, server)
	c := startWith(t, cluster.Config{Stores: []string{g.URL}})
	l := newLake(t, server, g.store(t, server, nil))
	pipeline := executortest.Zoo(t, c.inStore(t, l, nil))
	f := &forger{t, pipeline.Executor.(*ashore).Executor, pipeline, l}
	// Every table is in the server by now, so that what the gate sees comes from executors.
	const text, pair = "SELECT id FROM orders", "SELECT a.id FROM orders a JOIN orders b ON a.id = b.id"
	if _, s := f.statement(executortest.Alice, text, nil); f.run(s) != nil {
		t.Fatal("the table cannot be read")
	}
	seal := func(s *wire.Statement) *wire.Sealed {
		p := new(wire.Payload)
		if err := proto.Unmarshal(s.Relations[0].Groups[0].Payload, p); err != nil || p.Sealed == nil {
			t.Fatal("nothing is sealed", err)
		}
		return p.Sealed
	}
	exchange := func(s *wire.Statement, sealed *wire.Sealed) {
		change(s.Relations[0].Groups[0], func(p *wire.Payload) { p.Sealed = sealed })
	}
	for name, forge := range map[string]func(s *wire.Statement){
		"without":     func(s *wire.Statement) { exchange(s, nil) },
		"damaged":     func(s *wire.Statement) { x := seal(s); x.Ciphertext[9] ^= 1; exchange(s, x) },
		"another key": func(s *wire.Statement) { x := seal(s); x.Key = "x"; exchange(s, x) },
		"of another":  func(s *wire.Statement) { _, o := f.statement(executortest.Bob, text, nil); exchange(s, seal(o)) },
		"of the past": func(s *wire.Statement) { _, o := f.statement(executortest.Alice, text, nil); exchange(s, seal(o)) },
		"a whole past": func(s *wire.Statement) {
			_, o := f.statement(executortest.Alice, text, nil)
			s.Relations[0].Groups = o.Relations[0].Groups
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := f.statement(executortest.Alice, text, nil)
			forge(s)
			g.set(nil)
			kind(t, f.run(s), executors.KindCredential)
			if n := len(g.requests()); n > 0 {
				t.Errorf("%d requests", n)
			}
		})
	}
	t.Run("of another relation", func(t *testing.T) {
		_, s := f.statement(executortest.Alice, pair, nil)
		s.Relations[0].Groups, s.Relations[1].Groups = s.Relations[1].Groups, s.Relations[0].Groups
		kind(t, f.run(s), executors.KindCredential)
	})
	t.Run("again", func(t *testing.T) {
		_, s := f.statement(executortest.Alice, text, nil)
		for range 3 {
			if err := f.run(s); err != nil {
				kind(t, err, executors.KindCredential)
				return
			}
		}
		t.Error("a statement ran three times on two executors")
	})

	calls := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls++ }))
	t.Cleanup(elsewhere.Close)
	ours := f.x.config.Executors()
	other := sealKey(t)
	same := func(all *wire.Locations) *wire.Locations { return all }
	at := func(url string) func(all *wire.Locations) *wire.Locations {
		return func(*wire.Locations) *wire.Locations { return &wire.Locations{Files: []string{url}} }
	}
	for _, r := range []struct {
		name                string
		to                  hpke.PublicKey
		query, relation, id string // "" for the right one
		locations           func(all *wire.Locations) *wire.Locations
		kind                executors.Kind // -1: it runs
	}{
		{"right", ours, "", "", "", same, -1},
		{"signed, for another query", ours, "query-0", "", "", same, executors.KindCredential},
		{"signed, for another relation", ours, "", "__gw_9", "", same, executors.KindCredential},
		{"signed, for another credential", ours, "", "", "other", same, executors.KindCredential},
		{"signed, for another key", other, "", "", "", same, executors.KindCredential},
		{"signed, none", ours, "", "", "", func(*wire.Locations) *wire.Locations { return &wire.Locations{} }, executors.KindCredential},
		{"signed, one more", ours, "", "", "", func(all *wire.Locations) *wire.Locations {
			all.Files = append(all.Files, all.Files[0])
			return all
		}, executors.KindCredential},
		{"signed, another host", ours, "", "", "", at(elsewhere.URL + "/lake/x"), executors.KindUnsupported},
		{"signed, a host in the user's place", ours, "", "", "", at(strings.Replace(g.URL, "http://", "http://127.0.0.1:1@", 1) + "/x"), executors.KindUnsupported},
		{"signed, a file", ours, "", "", "", at("file:///etc/hostname"), executors.KindUnsupported},
		{"signed, nothing", ours, "", "", "", at(""), executors.KindData},
	} {
		t.Run(r.name, func(t *testing.T) {
			p, s := f.statement(executortest.Alice, text, nil)
			group := s.Relations[0].Groups[0]
			id := "id-" + strings.ReplaceAll(r.name, " ", "-")
			change(group, func(w *wire.Payload) {
				all := &wire.Locations{}
				for _, file := range w.Files {
					signed, err := l.store.Presign(t.Context(), file.Path, time.Now().Add(time.Minute))
					if err != nil {
						t.Fatal(err)
					}
					all.Files = append(all.Files, signed)
				}
				text, err := proto.Marshal(r.locations(all))
				if err == nil {
					w.Sealed, err = sealed(r.to, locationsInfo, text, orElse(r.query, w.Query), orElse(r.relation, w.Relation), orElse(r.id, id))
				}
				if err != nil {
					t.Fatal(err)
				}
			})
			group.Token = signAs(t, c.minter(t), p, id, group.Payload, time.Now().Add(time.Minute))
			g.set(nil)
			err := f.run(s)
			if r.kind < 0 {
				if err != nil {
					t.Errorf("%v (%v)", err, errors.Unwrap(err))
				}
				return
			}
			kind(t, err, r.kind)
			if n := len(g.requests()); n > 0 {
				t.Errorf("%d requests", n)
			}
		})
	}
	if calls > 0 {
		t.Errorf("another host was called %d times", calls)
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// TestSealRotation replaces the executors' key under processes that run: the next statement has the new one, whoever sealed for the one before is
// served for an hour more, and no longer; what cannot be used changes nothing.
func TestSealRotation(t *testing.T) {
	server := objectstest.Start(t)
	c := startWith(t, cluster.Config{Stores: []string{server.Endpoint}})
	l := newLake(t, server, server.Store(t, server.Reader))
	ours := func(change func(*Config)) *executortest.Pipeline { return executortest.Zoo(t, c.inStore(t, l, change)) }
	current := ours(nil)
	private := filepath.Join(c.dir, "seal.key")
	first := current.Executor.(*ashore).config.Executors()
	// A gateway that was not told of a new key.
	late := ours(func(c *Config) { c.Executors = func() hpke.PublicKey { return first } })
	rows := func(p *executortest.Pipeline) error {
		_, err := p.Rows(t.Context(), "SELECT id FROM orders", nil)
		return err
	}
	both := func(wantLate bool) {
		t.Helper()
		if err := rows(current); err != nil {
			t.Errorf("%v (%v)", err, errors.Unwrap(err))
		}
		if err := rows(late); wantLate && err != nil {
			t.Errorf("by the key before: %v (%v)", err, errors.Unwrap(err))
		} else if !wantLate {
			kind(t, err, executors.KindCredential)
		}
	}
	both(true)
	if err := cluster.RotateSealKey(c.dir); err != nil {
		t.Fatal(err)
	}
	second := current.Executor.(*ashore).config.Executors()
	if thumbprint(second) == thumbprint(first) {
		t.Fatal("the key is the same")
	}
	both(true)
	text, err := os.ReadFile(private)
	if err != nil {
		t.Fatal(err)
	}
	end := regexp.MustCompile(`"exp": (\d+)`).FindSubmatch(text)
	if end == nil {
		t.Fatalf("the key before has no end: %s", text)
	}
	if at, _ := strconv.ParseInt(string(end[1]), 10, 64); time.Until(time.Unix(at, 0)) > time.Hour+2*time.Minute || time.Until(time.Unix(at, 0)) < time.Hour {
		t.Errorf("the key before ends at %d", at)
	}
	// Half copied, on both sides.
	public := filepath.Join(c.dir, "seal.json")
	whole, err := os.ReadFile(public)
	if err != nil {
		t.Fatal(err)
	}
	write(t, private, text[:len(text)/2])
	write(t, public, whole[:len(whole)/2])
	if err := rows(late); err != nil {
		t.Errorf("by the key before, of a file that is half there: %v (%v)", err, errors.Unwrap(err))
	}
	if err := rows(current); err != nil { // an executor that had no task since the rotation has not met the new key
		kind(t, err, executors.KindCredential)
	}
	write(t, public, whole)
	// An hour later.
	write(t, private, bytes.Replace(text, end[1], []byte("1700000000"), 1))
	both(false)
	// It goes with the next rotation.
	if err := cluster.RotateSealKey(c.dir); err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(private); err != nil || bytes.Count(text, []byte(`"d"`)) != 2 {
		t.Errorf("%s, %v", text, err)
	}
	both(false)
	if err := cluster.RotateSealKey(t.TempDir()); err == nil {
		t.Error("a folder without a key is rotated")
	}
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSealedOnce: files that are cut into several groups are signed once, and groups are sealed apart.
func TestSealedOnce(t *testing.T) {
	server := objectstest.Start(t)
	c := startWith(t, cluster.Config{Stores: []string{server.Endpoint}, Executors: 1})
	l := newLake(t, server, server.Store(t, server.Reader))
	pipeline := executortest.Over(t, c.inStore(t, l, func(c *Config) { c.GroupBytes = 1 << 20 }), folderOf(t, tpc.TPCH), "tpch")
	f := &forger{t, pipeline.Executor.(*ashore).Executor, pipeline, l}
	_, s := f.statement(executortest.Alice, "SELECT o_orderkey FROM orders", nil)
	sealed := map[string]bool{}
	for _, g := range s.Relations[0].Groups {
		p := new(wire.Payload)
		if err := proto.Unmarshal(g.Payload, p); err != nil {
			t.Fatal(err)
		}
		sealed[string(p.Sealed.Ciphertext)] = true
		for _, part := range []string{"X-Amz", "http", server.Reader.ID, server.Reader.Secret} {
			if strings.Contains(string(g.Payload), part) {
				t.Errorf("a payload has %q in it", part)
			}
		}
	}
	if len(s.Relations[0].Groups) < 4 || len(sealed) != len(s.Relations[0].Groups) {
		t.Errorf("%d groups, %d different: %v", len(s.Relations[0].Groups), len(sealed), slices.Sorted(maps.Keys(sealed)))
	}
	if err := f.run(s); err != nil {
		t.Errorf("%v (%v)", err, errors.Unwrap(err))
	}
}
