package ballista

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"gatehouse/auth"
	"gatehouse/auth/task"
	"gatehouse/executors"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/ballista/wire"
	"gatehouse/executors/executortest"
	"gatehouse/plan"
	"gatehouse/policy"
)

// forger is where a dishonest scheduler sits: it has statements as the gateway sent them, and sends others.
type forger struct {
	t        *testing.T
	x        *Executor
	pipeline *executortest.Pipeline
	lake     *lake // where files lie, or nil
}

// statement is what the gateway would send for a plan.
func (f *forger) statement(id auth.Identity, text string, demands executortest.Policy) (*plan.Plan, *wire.Statement) {
	f.t.Helper()
	p, err := f.pipeline.Plan(f.t.Context(), id, text, demands)
	if err != nil {
		f.t.Fatal(err)
	}
	if f.lake != nil {
		f.lake.move(p, false)
	}
	prepared, err := f.x.Prepare(f.t.Context(), p)
	if err != nil {
		f.t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	defer prepared.Close()
	sql, err := prepared.(*Prepared).text(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	relations, err := f.x.relations(f.t.Context(), p)
	if err != nil {
		f.t.Fatal(err)
	}
	return p, &wire.Statement{Query: p.Query(), Sql: sql, Relations: relations, Deadline: p.Deadline().UnixMilli()}
}

func (f *forger) run(s *wire.Statement) error {
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	_, err := f.x.client.submit(ctx, s, func(string) {})
	return err
}

// change alters a group's payload and leaves its credential.
func change(g *wire.TaskGroup, alter func(*wire.Payload)) {
	p := new(wire.Payload)
	if err := proto.Unmarshal(g.Payload, p); err != nil {
		panic(err)
	}
	alter(p)
	g.Payload, _ = proto.MarshalOptions{Deterministic: true}.Marshal(p)
}

// TestCredentials sends the cluster what no gateway would. Each time the statement fails with the class of credentials, and the cluster
// runs the next one.
func TestCredentials(t *testing.T) {
	c := sharedCluster(t)
	pipeline := executortest.Zoo(t, c.opener(t, nil))
	f := &forger{t, pipeline.Executor.(*Executor), pipeline, nil}
	one := executortest.Policy{"spark.orders": {ID: "d", Filters: []policy.Expression{{ID: "f", SQL: "id = 1"}}}}
	const text = "SELECT id FROM orders"
	for name, forge := range map[string]func(p *plan.Plan, s *wire.Statement){
		"no filter": func(_ *plan.Plan, s *wire.Statement) {
			change(s.Relations[0].Groups[0], func(p *wire.Payload) { p.Filter = "" })
		},
		"another file": func(_ *plan.Plan, s *wire.Statement) {
			change(s.Relations[0].Groups[0], func(p *wire.Payload) { p.Files[0].Path = "/etc/hostname" })
		},
		"the user changed": func(_ *plan.Plan, s *wire.Statement) {
			change(s.Relations[0].Groups[0], func(p *wire.Payload) { p.Subject = "bob" })
		},
		"no credential": func(_ *plan.Plan, s *wire.Statement) { s.Relations[0].Groups[0].Token = "" },
		"another user's group": func(_ *plan.Plan, s *wire.Statement) {
			_, other := f.statement(executortest.Bob, text, nil)
			s.Relations[0].Groups = other.Relations[0].Groups
		},
		"a group of another statement": func(_ *plan.Plan, s *wire.Statement) {
			_, other := f.statement(executortest.Alice, text, nil)
			s.Relations[0].Groups = other.Relations[0].Groups
		},
		"another statement's credential": func(_ *plan.Plan, s *wire.Statement) {
			_, other := f.statement(executortest.Alice, text, one)
			s.Relations[0].Groups[0].Token = other.Relations[0].Groups[0].Token
		},
		"expired": func(p *plan.Plan, s *wire.Statement) {
			g := s.Relations[0].Groups[0]
			g.Token = mint(t, c, p, g.Payload, time.Now().Add(-time.Hour), time.Minute)
		},
		"of tomorrow": func(p *plan.Plan, s *wire.Statement) {
			g := s.Relations[0].Groups[0]
			g.Token = mint(t, c, p, g.Payload, time.Now().Add(24*time.Hour), time.Minute)
		},
		"a key that the executors do not know": func(p *plan.Plan, s *wire.Statement) {
			key, err := task.NewKey()
			if err != nil {
				t.Fatal(err)
			}
			m, err := task.NewMinter(task.MinterConfig{Key: key, Issuer: "gatehouse"})
			if err != nil {
				t.Fatal(err)
			}
			g := s.Relations[0].Groups[0]
			g.Token = sign(t, m, p, g.Payload, time.Now().Add(time.Minute))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := f.statement(executortest.Alice, text, one)
			forge(p, s)
			started := time.Now()
			kind(t, f.run(s), executors.KindCredential)
			t.Logf("refused after %v", time.Since(started).Round(time.Millisecond))
		})
		if _, s := f.statement(executortest.Alice, text, one); true {
			if err := f.run(s); err != nil {
				t.Fatalf("%s: the control after it: %v (%v)", name, err, errors.Unwrap(err))
			}
		}
	}
}

// TestMixedRelations exchanges the groups of two relations of one statement.
func TestMixedRelations(t *testing.T) {
	pipeline := executortest.Zoo(t, sharedCluster(t).opener(t, nil))
	f := &forger{t, pipeline.Executor.(*Executor), pipeline, nil}
	_, s := f.statement(executortest.Alice, "SELECT a.id FROM orders a JOIN orders b ON a.id = b.id", nil)
	s.Relations[0].Groups, s.Relations[1].Groups = s.Relations[1].Groups, s.Relations[0].Groups
	kind(t, f.run(s), executors.KindCredential)
}

// TestReplay sends a genuine statement again: its credentials have been used by another job. One executor alone would always know; of
// two, one may not have seen a group, so that each group's credential is sent until both have.
func TestReplay(t *testing.T) {
	pipeline := executortest.Zoo(t, sharedCluster(t).opener(t, nil))
	f := &forger{t, pipeline.Executor.(*Executor), pipeline, nil}
	_, s := f.statement(executortest.Alice, "SELECT id FROM orders", nil)
	if err := f.run(s); err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	for range 2 {
		if err := f.run(s); err != nil {
			kind(t, err, executors.KindCredential)
			return
		}
	}
	t.Error("a statement ran three times on two executors")
}

// TestRotation adds a second key to the file that executors read, and then takes the first away.
func TestRotation(t *testing.T) {
	c := startCluster(t)
	pipeline := executortest.Zoo(t, c.opener(t, nil))
	f := &forger{t, pipeline.Executor.(*Executor), pipeline, nil}
	key, err := task.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	young, err := task.NewMinter(task.MinterConfig{Key: key, Issuer: "gatehouse"})
	if err != nil {
		t.Fatal(err)
	}
	old := c.minter(t)
	p, s := f.statement(executortest.Alice, "SELECT id FROM orders", nil)
	g := s.Relations[0].Groups[0]
	g.Token = sign(t, young, p, g.Payload, p.Deadline())
	if err := cluster.WriteKeys(c.dir, "gatehouse", old.Public(), young.Public()); err != nil {
		t.Fatal(err)
	}
	// Executors look at the file again once it has been a while.
	for end := time.Now().Add(20 * time.Second); ; {
		err := f.run(s)
		if err == nil {
			return
		}
		kind(t, err, executors.KindCredential)
		if time.Now().After(end) {
			t.Fatal("the new key is not accepted")
		}
		g.Token = sign(t, young, p, g.Payload, p.Deadline())
	}
}

func mint(t *testing.T, c *testCluster, p *plan.Plan, payload []byte, now time.Time, life time.Duration) string {
	t.Helper()
	key, err := task.LoadKey(cluster.TaskKey(c.dir))
	if err != nil {
		t.Fatal(err)
	}
	m, err := task.NewMinter(task.MinterConfig{Key: key, Issuer: "gatehouse", Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return sign(t, m, p, payload, now.Add(life))
}

func sign(t *testing.T, m *task.Minter, p *plan.Plan, payload []byte, expires time.Time) string {
	t.Helper()
	return signAs(t, m, p, "", payload, expires)
}

// signAs makes a credential with an id, "" for any.
func signAs(t *testing.T, m *task.Minter, p *plan.Plan, id string, payload []byte, expires time.Time) string {
	t.Helper()
	sum := sha256.Sum256(payload)
	token, err := m.Mint(auth.TaskClaims{
		ID: id, Subject: p.Identity().Subject, UserIss: p.Identity().Issuer, Query: p.Query(), Relation: p.Relations()[0].CTE,
		Digest: base64.RawURLEncoding.EncodeToString(sum[:]), Expires: expires,
	})
	if err != nil {
		t.Fatal(err)
	}
	return token.Reveal()
}

func kind(t *testing.T, err error, want executors.Kind) {
	t.Helper()
	e, ok := errors.AsType[*executors.Error](err)
	if !ok || e.Kind != want {
		t.Errorf("got %v (%v), want kind %d", err, errors.Unwrap(err), want)
	}
}

// TestTaskKeysReplaced takes the gateway's key out of the executors' file, and puts it back: they look at the file when they use it.
func TestTaskKeysReplaced(t *testing.T) {
	c := startCluster(t)
	p := executortest.Zoo(t, c.opener(t, nil))
	file := filepath.Join(c.dir, "keys.json")
	ours, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := base64.RawURLEncoding.EncodeToString(sealKey(t).Bytes())
	for _, s := range []struct {
		text []byte
		runs bool
	}{
		{ours, true},
		{regexp.MustCompile(`"x": *"[^"]*"`).ReplaceAll(ours, []byte(`"x":"`+other+`"`)), false},
		{ours, true},
	} {
		write(t, file, s.text)
		_, err := p.Rows(t.Context(), "SELECT id FROM orders", nil)
		if s.runs && err != nil {
			t.Errorf("%v (%v)", err, errors.Unwrap(err))
		} else if !s.runs {
			kind(t, err, executors.KindCredential)
		}
	}
}
