package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/policy"
)

// Each error that may leave has its class for audit; all else is internal and says nothing.
func TestPublicErrors(t *testing.T) {
	background := context.Background()
	ended := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(background)
		cancel(cause)
		return ctx
	}
	secret := errors.New("canary")
	own := map[error]string{
		&classify.SyntaxError{}: "syntax", &classify.UnsupportedError{}: "unsupported", &classify.UnsupportedError{Limit: true}: "limit", &classify.NameError{Kind: "table"}: "no_such_table",
		&policy.DeniedError{}: "denied", &policy.PolicyError{}: "policy", &LimitError{}: "limit", &SettingError{}: "setting",
		&UnreadableError{}: "unreadable", &policy.RightsError{}: "rights", &InternalError{}: "internal",
		ErrClosing: "closing", ErrCancelled: "cancelled", ErrTimeout: "timeout", ErrDeadline: "deadline", ErrNoSuchQuery: "internal", ErrUnavailable: "catalog",
		ErrRefused: "catalog", ErrAudit: "audit", ErrUsed: "internal",
	}
	for kind, name := range map[executors.Kind]string{
		executors.KindInternal: "internal", executors.KindBind: "bind", executors.KindConversion: "conversion", executors.KindRange: "range",
		executors.KindDivision: "division", executors.KindCardinality: "cardinality", executors.KindArgument: "argument",
		executors.KindMemory: "memory", executors.KindUnsupported: "unsupported", executors.KindData: "data", executors.KindCredential: "credential",
		executors.KindRefused: "refused", executors.KindUnavailable: "unavailable",
	} {
		own[&executors.Error{Kind: kind}] = "executor_" + name
	}
	for err, name := range own {
		if got := public(background, "q", err); got != err {
			t.Errorf("%T %v becomes %v", err, err, got)
		}
		if got := class(err); got != name {
			t.Errorf("%T %v is of the class %q, want %q", err, err, got, name)
		}
		var internal *InternalError
		if got := public(background, "q", fmt.Errorf("canary: %w", err)); !errors.As(got, &internal) || strings.Contains(got.Error(), "canary") {
			t.Errorf("%T with a text of somebody else's becomes %v", err, got)
		}
	}
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want error
	}{
		{background, nil, nil},
		{ended(ErrTimeout), nil, nil},
		{background, fmt.Errorf("canary: %w", catalog.ErrUnavailable), ErrUnavailable},
		{background, fmt.Errorf("canary: %w", catalog.ErrRefused), ErrRefused},
		{background, fmt.Errorf("canary: %w", context.Canceled), ErrCancelled},
		{background, fmt.Errorf("canary: %w", context.DeadlineExceeded), ErrTimeout},
		{ended(ErrCancelled), secret, ErrCancelled},
		{ended(ErrClosing), secret, ErrClosing},
		{ended(ErrTimeout), secret, ErrTimeout},
		{ended(context.DeadlineExceeded), secret, ErrDeadline},
		{ended(context.Canceled), secret, ErrCancelled},
		{ended(ErrTimeout), &classify.SyntaxError{}, ErrTimeout},
	} {
		if got := public(c.ctx, "q", c.err); got != c.want {
			t.Errorf("%v with a context that ended by %v: %v, want %v", c.err, context.Cause(c.ctx), got, c.want)
		}
	}
	for _, ctx := range []context.Context{background, ended(secret)} {
		var internal *InternalError
		got := public(ctx, "q7", secret)
		if !errors.As(got, &internal) || internal.Query != "q7" || !errors.Is(got, secret) || got.Error() != "internal error (query q7)" {
			t.Errorf("%v", got)
		}
	}
	if class(nil) != "" || class(secret) != "internal" {
		t.Error("no error, or one that is not ours, has a class")
	}
}

// Each setting takes what it may and nothing else, and a reset takes it back.
func TestSettings(t *testing.T) {
	g := &Gateway{cfg: Config{Default: classify.Namespace{Catalog: "lake", Schema: "shop"}}}
	if _, err := g.NewSession(auth.Identity{}, "", ""); err == nil {
		t.Error("a session of nobody")
	}
	open := func(client string) *Session {
		s, err := g.NewSession(auth.Identity{User: "ann", Issuer: "test", Subject: "ann"}, "peer", client)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	long := strings.Repeat("x", 256)
	for _, c := range []struct {
		name, value string
		ok          bool
		want        string
	}{
		{"purpose", "audit", true, "audit"},
		{"PURPOSE", "audit", true, "audit"},
		{"purpose", long, true, long},
		{"purpose", long + "x", false, ""},
		{"purpose", "a\nb", false, ""},
		{"purpose", "a b", true, "a b"},
		{"application_name", "x", true, "x"},
		{"ticket", "x", true, "x"},
		{"timestamptz", "utc", true, "utc"},
		{"timestamptz", "instant", true, "instant"},
		{"timestamptz", "local", false, "instant"},
		{"timezone", "utc", true, "UTC"},
		{"timezone", "CET", false, "UTC"},
		{"autocommit", "off", false, "on"},
		{"autocommit", "ON", true, "on"},
		{"client_encoding", "utf8", true, "UTF8"},
		{"client_encoding", "latin1", false, "UTF8"},
		{"standard_conforming_strings", "off", false, "on"},
		{"datestyle", "German", false, "ISO"},
		{"transaction_isolation", "serializable", false, "snapshot"},
		{"transaction_isolation", "snapshot", true, "snapshot"},
		{"server_version", "9", false, ""},
		{"server_version", "", true, ""},
		{"statement_timeout", "5s", true, "5s"},
		{"statement_timeout", "soon", false, "0"},
		{"memory_limit", "1TB", false, ""},
		{"", "x", false, ""},
	} {
		s := open("adbc")
		err := s.set(c.name, c.value, false)
		var refused *SettingError
		if (err == nil) != c.ok || err != nil && !errors.As(err, &refused) {
			t.Errorf("%s = %.20q: %v", c.name, c.value, err)
		}
		if got := s.Settings()[strings.ToLower(c.name)]; got != c.want {
			t.Errorf("%s = %.20q: then it is %q", c.name, c.value, got)
		}
		if err := s.set(c.name, "", true); c.want != "" && err != nil {
			t.Errorf("reset of %s: %v", c.name, err)
		}
		if len(s.userSettings()) != 0 {
			t.Errorf("after a reset of %s: %v", c.name, s.userSettings())
		}
	}
	s := open("grpc-java 1.2")
	if s.Settings()["timestamptz"] != asUTC || s.instants() || !open("adbc").instants() {
		t.Error("instants of the JDBC driver")
	}
	for value, want := range map[string]bool{"instant": true, "utc": false} {
		if err := s.set("timestamptz", value, false); err != nil || s.instants() != want {
			t.Errorf("instants set to %s: %v, %v", value, s.instants(), err)
		}
	}
	s.setNamespace(classify.Namespace{Catalog: "other", Schema: "place"})
	if got := s.Settings(); got["catalog"] != "other" || got["schema"] != "place" {
		t.Errorf("after USE: %v", got)
	}
	names := settingNames()
	if len(names) != len(settings)+2 || len(names) != len(s.Settings()) {
		t.Errorf("SHOW ALL would list %v", names)
	}
}

func TestTimeoutValues(t *testing.T) {
	for v, want := range map[string]time.Duration{
		"": 0, "0": 0, "00": 0, "1": time.Millisecond, "1500": 1500 * time.Millisecond, "86400000": 24 * time.Hour, "86400001": -1, "-1": -1,
		"30s": 30 * time.Second, "2 min": 2 * time.Minute, "1h": time.Hour, "24h": 24 * time.Hour, "24h1ms": -1, "-5s": -1, "0s": 0, "5": 5 * time.Millisecond,
		"x": -1, "5 parsecs": -1, "1e3": -1,
	} {
		got, err := parseTimeout(v)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %s, %v", v, got, err)
		}
		s := &Session{settings: map[string]string{"statement_timeout": v}}
		if s.timeout() != max(want, 0) {
			t.Errorf("a session with %q: %s", v, s.timeout())
		}
	}
}
