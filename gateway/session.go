package gateway

import (
	"fmt"
	"maps"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"gatehouse/auth"
	"gatehouse/classify"
)

// Session is one login's state: who, where unqualified names resolve, and settings. It belongs to its identity for ever.
// It is safe for use by many goroutines at once.
type Session struct {
	identity auth.Identity
	peer     string
	client   string

	mu        sync.Mutex
	namespace classify.Namespace
	settings  map[string]string
	initial   classify.Namespace

	choices []string // of the setting executor, the initial one first
}

// NewSession returns a session for id. peer is the client's address, client its user agent as it says.
func (g *Gateway) NewSession(id auth.Identity, peer, client string) (*Session, error) {
	if !id.Valid() {
		return nil, fmt.Errorf("gateway: session without identity")
	}
	return &Session{
		identity: id, peer: peer, client: client,
		namespace: g.cfg.Default, initial: g.cfg.Default, settings: map[string]string{}, choices: g.choices,
	}, nil
}

// Identity returns whose session it is.
func (s *Session) Identity() auth.Identity { return s.identity }

// Namespace returns where unqualified names resolve.
func (s *Session) Namespace() classify.Namespace {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.namespace
}

func (s *Session) setNamespace(ns classify.Namespace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.namespace = ns
}

// Settings returns all settings with their values, by name.
func (s *Session) Settings() map[string]string {
	out := map[string]string{}
	for name, def := range settings {
		out[name] = def.initial
	}
	out["timestamptz"] = instantsFor(s.client)
	if len(s.choices) > 0 {
		out[executorSetting] = s.choices[0]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(out, s.settings)
	out["catalog"], out["schema"] = s.namespace.Catalog, s.namespace.Schema
	return out
}

// userSettings returns what the user has set, for the policy's input.
func (s *Session) userSettings() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.settings)
}

// timeout returns the session's statement timeout, 0 if it has none.
func (s *Session) timeout() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := parseTimeout(s.settings["statement_timeout"])
	if err != nil {
		return 0
	}
	return d
}

// setting is one session setting that a user may read and, with check, write.
type setting struct {
	initial string
	check   func(string) error // nil: the value is fixed, and setting it to itself is accepted
}

// settings is the allow-list. All else is refused. The names that only exist since tools send them (the PostgreSQL
// driver set, for example) accept exactly the value that is true here.
var settings = map[string]setting{
	"statement_timeout":           {"0", func(v string) error { _, err := parseTimeout(v); return err }},
	"application_name":            {"", short},
	"purpose":                     {"", short},
	"timestamptz":                 {asInstant, instantValue},
	executorSetting:               {"", short}, // the server says what else is asked of it
	"ticket":                      {"", short},
	"timezone":                    {"UTC", nil},
	"client_encoding":             {"UTF8", nil},
	"standard_conforming_strings": {"on", nil},
	"datestyle":                   {"ISO", nil},
	"transaction_isolation":       {"snapshot", nil},
	"autocommit":                  {"on", nil},
	"server_version":              {"", nil},
}

func instantValue(v string) error {
	if v != asInstant && v != asUTC {
		return fmt.Errorf("must be %q or %q", asInstant, asUTC)
	}
	return nil
}

func short(v string) error {
	if len(v) > 256 {
		return fmt.Errorf("is longer than 256 bytes")
	}
	if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' }) {
		return fmt.Errorf("holds a control character")
	}
	return nil
}

// parseTimeout reads milliseconds, or a number with a unit (ms, s, min, h) as PostgreSQL does. 0 is no limit.
func parseTimeout(v string) (time.Duration, error) {
	if v == "" || v == "0" {
		return 0, nil
	}
	if n, err := strconv.ParseInt(v, 10, 64); err == nil && n >= 0 && n <= int64(24*time.Hour/time.Millisecond) {
		return time.Duration(n) * time.Millisecond, nil
	}
	d, err := time.ParseDuration(strings.Replace(strings.ReplaceAll(v, " ", ""), "min", "m", 1))
	if err != nil || d < 0 || d > 24*time.Hour {
		return 0, fmt.Errorf("must be milliseconds or a duration such as '30s', at most 24h")
	}
	return d, nil
}

// set changes one setting, or resets it.
func (s *Session) set(name, value string, reset bool) error {
	name = strings.ToLower(name)
	def, ok := settings[name]
	if !ok {
		return &SettingError{Name: name, Why: "does not exist; SHOW ALL lists those that do"}
	}
	if reset {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.settings, name)
		return nil
	}
	if def.check == nil {
		if !strings.EqualFold(value, def.initial) {
			return &SettingError{Name: name, Why: "can only be " + strconv.Quote(def.initial)}
		}
		return nil
	}
	if err := def.check(value); err != nil {
		return &SettingError{Name: name, Why: err.Error()}
	}
	if name == executorSetting {
		value = strings.ToLower(value)
		if err := s.mayChoose(value); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings[name] = value
	return nil
}

// settingNames returns the names of all settings, sorted.
func settingNames() []string {
	out := []string{"catalog", "schema"}
	for name := range settings {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}
