package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// answer is an authenticator that always says the same.
type answer struct {
	id  Identity
	err error
}

func (a answer) Authenticate(context.Context, Credential) (Identity, error) { return a.id, a.err }

func (a answer) Renew(context.Context, Identity) (Identity, error) { return a.id, a.err }

func TestChain(t *testing.T) {
	yes := answer{id: Identity{Issuer: "i", Subject: "s", User: "u"}}
	no, pass, slow, away := answer{err: ErrUnauthenticated}, answer{err: ErrNotApplicable}, answer{err: ErrRateLimited}, answer{err: ErrUnavailable}
	for _, c := range []struct {
		name  string
		chain Chain
		want  error
	}{
		{"empty", nil, ErrUnauthenticated},
		{"yes", Chain{yes}, nil},
		{"pass then yes", Chain{pass, yes}, nil},
		{"no then yes", Chain{no, yes}, ErrUnauthenticated},
		{"slow then yes", Chain{slow, yes}, ErrRateLimited},
		{"away then yes", Chain{away, yes}, ErrUnavailable},
		{"all pass", Chain{pass, pass}, ErrUnauthenticated},
		{"nobody without an error", Chain{answer{}}, ErrUnauthenticated},
		{"foreign error", Chain{answer{err: fmt.Errorf("password was hunter2")}, yes}, ErrUnauthenticated},
		{"cancelled", Chain{answer{err: context.Canceled}, yes}, context.Canceled},
	} {
		id, err := c.chain.Authenticate(t.Context(), Credential{})
		if !errors.Is(err, c.want) || id.Valid() != (c.want == nil) {
			t.Errorf("%s: %v, %v", c.name, id, err)
		}
	}
	if id, err := (Chain{pass, yes}).Renew(t.Context(), yes.id); err != nil || !id.Valid() {
		t.Error(err)
	}
	for name, chain := range map[string]Chain{"empty": nil, "refused": {no, yes}, "unknown issuer": {pass}} {
		if _, err := chain.Renew(t.Context(), yes.id); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("renew %s: %v", name, err)
		}
	}
}

func TestNormalizeUser(t *testing.T) {
	for name, want := range map[string]string{
		"eve": "eve", "Eve": "Eve", "ＥＶＥ": "ＥＶＥ", "e\u0301ve": "\u00e9ve", "\u00e9ve": "\u00e9ve", "ırmak": "ırmak", "Σ": "Σ", "a b": "a b",
		"system:account": "system:account", "a@b.example": "a@b.example", "王": "王", "שלום": "שלום",
	} {
		if got, ok := NormalizeUser(name); !ok || got != want {
			t.Errorf("%+q became %+q, %v", name, got, ok)
		}
	}
	for _, bad := range []string{
		"", " eve", "eve ", "eve\u200b", "eve\x00", "eve\n", "\u202eeve", "eve\u00ad", "eve\u3164", "eve\ufe0f", "eve\u00a0x", "eve\u2028",
		"eve\xff", "\ufffd", "\ue000", "\ufeffeve", "e\u034fve", strings.Repeat("a", 257),
	} {
		if got, ok := NormalizeUser(bad); ok {
			t.Errorf("%+q became %+q", bad, got)
		}
	}
}

func FuzzNormalizeUser(f *testing.F) {
	f.Add("e\u0301ve")
	f.Fuzz(func(t *testing.T, s string) {
		if got, ok := NormalizeUser(s); ok {
			if again, ok := NormalizeUser(got); !ok || again != got {
				t.Errorf("%+q is not stable: %+q, then %+q", s, got, again)
			}
		}
	})
}

func TestLimiter(t *testing.T) {
	now := time.Unix(1e9, 0)
	l, err := NewLimiter(Limits{Peer: Rate{5, time.Second}, PeerUser: Rate{2, time.Minute}, User: Rate{4, time.Second}}, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	fail := func(peer, user string) bool {
		ok := l.Allow(peer, user)
		if ok {
			l.Fail(peer, user)
		}
		return ok
	}
	steps := []struct {
		wait       time.Duration
		peer, user string
		want       bool
	}{
		{0, "p1", "alice", true},
		{0, "p1", "alice", true},
		{0, "p1", "alice", false}, // burst of a pair
		{0, "p2", "alice", true},
		{0, "p2", "alice", true},
		{0, "p3", "alice", false}, // burst of a user
		{0, "p1", "bob", true},
		{0, "p1", "carol", true},
		{0, "p1", "dave", true},
		{0, "p1", "erin", false}, // burst of a peer
		{0, "p4", "frank", true},
		{time.Second, "p1", "erin", true},
		{0, "p1", "erin", false},
		{time.Second, "p1", "alice", false},
		{time.Minute, "p1", "alice", true},
		{0, "p1", "alice", false},
	}
	for i, s := range steps {
		now = now.Add(s.wait)
		if got := fail(s.peer, s.user); got != s.want {
			t.Errorf("step %d: %s from %s allowed: %v", i, s.user, s.peer, got)
		}
	}
	if _, err := NewLimiter(Limits{Peer: Rate{Burst: -1, Every: 1}}, nil); err == nil {
		t.Error("a negative burst was accepted")
	}
}

// TestLimiterFlood: neither do many names make it forget one, nor does a flood lock out others.
func TestLimiterFlood(t *testing.T) {
	now := time.Unix(1e9, 0)
	l, err := NewLimiter(Limits{PeerUser: Rate{2, time.Hour}}, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	l.Fail("p", "alice")
	l.Fail("p", "alice")
	for i := range 2000 {
		l.Fail(fmt.Sprint("q", i), fmt.Sprint("u", i))
	}
	if l.Allow("p", "alice") {
		t.Error("forgotten")
	}
	held := 0
	for i := range 200 {
		if !l.Allow(fmt.Sprint("r", i), fmt.Sprint("v", i)) {
			held++
		}
	}
	if held > 20 {
		t.Errorf("%d of 200 bystanders are held up", held)
	}
}

func TestSecretNeverPrints(t *testing.T) {
	c := Credential{User: "alice", Password: NewSecret("hunter2"), Bearer: NewSecret("hunter2")}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if s := fmt.Sprintf(verb, c); strings.Contains(s, "hunter2") || strings.Contains(s, "68756e74657232") {
			t.Errorf("%s prints %s", verb, s)
		}
	}
}
