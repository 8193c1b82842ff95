package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"gatehouse/audit"
)

// story is what the records say about one decision.
type story struct {
	Events []audit.Event `json:"events"`
	Cause  []string      `json:"cause,omitempty"` // from the server's log
}

// whyPolicy is "gatehouse policy why".
func whyPolicy(_ context.Context, o policyOptions, env environment) error {
	id := o.args[0]
	file := o.audit
	if file == "" {
		if o.bench.config == "" {
			return &usageError{"name the records: --audit FILE, or --config FILE of the gateway"}
		}
		cfg, err := LoadConfig(o.bench.config)
		if err != nil {
			return err
		}
		file = cfg.Audit.File
	}
	var s story
	err := eachLine(file, id, func(line []byte) error {
		var e audit.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		if e.Query == id || e.Decision == id || slices.ContainsFunc(e.Objects, func(o audit.Object) bool { return o.Decision == id }) {
			s.Events = append(s.Events, e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(s.Events) == 0 {
		return fmt.Errorf("%s has no decision or statement %s", file, id)
	}
	if o.log != "" {
		if s.Cause, err = causesOf(o.log, s.Events); err != nil {
			return err
		}
	}
	if o.json {
		return printJSON(env.stdout, s)
	}
	for _, e := range s.Events {
		tell(env.stdout, e)
	}
	for _, c := range s.Cause {
		fmt.Fprintf(env.stdout, "  cause     %s\n", c)
	}
	return nil
}

// eachLine calls f with every line of a file that holds id.
func eachLine(file, id string, f func(line []byte) error) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	r := bufio.NewReader(in)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if bytes.Contains(line, []byte(id)) {
			if ferr := f(line); ferr != nil {
				return fmt.Errorf("%s, line %d: %w", file, n, ferr)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// causesOf returns what the server's log says about the statements of events.
func causesOf(file string, events []audit.Event) ([]string, error) {
	var out []string
	for _, e := range events {
		err := eachLine(file, e.Query, func(line []byte) error {
			var entry struct{ Query, Msg, Rule, Cause string }
			if json.Unmarshal(line, &entry) == nil && entry.Query == e.Query && entry.Cause != "" {
				out = append(out, strings.TrimPrefix(entry.Rule+": "+entry.Cause, ": "))
			}
			return nil // other programs may write into the same log
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// outcomes says what an audit event's error class means.
var outcomes = map[string]string{
	"denied":        "the policy did not allow it; no rule that would have held is named, since allowing needs one",
	"policy":        "the policy could not be applied, so nothing was answered",
	"no_such_table": "the table does not exist, or not for this caller: which of the two, only the catalog and policy eval can say",
}

// tell prints one event for people.
func tell(w io.Writer, e audit.Event) {
	line := func(key, format string, args ...any) {
		fmt.Fprintf(w, "  %-9s %s\n", key, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(w, "statement %s\n", e.Query)
	line("time", "%s, took %s", e.Time.Format(time.RFC3339), e.Duration.Round(time.Microsecond))
	line("user", "%s (%s of %s)", e.User, e.Subject, e.Issuer)
	if e.Peer+e.Client != "" {
		line("from", "%s %s", e.Peer, e.Client)
	}
	line("asked", "%s", strings.TrimSpace(e.Action+" "+e.Kind+" "+e.Statement))
	line("policy", "revision %s", e.Policy)
	line("outcome", "%s", e.Outcome)
	if e.Error != "" {
		line("error", "%s", strings.TrimSuffix(e.Error+": "+outcomes[e.Error], ": "))
	}
	if e.Rule != "" {
		line("rule", "%s", e.Rule)
	}
	if e.Decision != "" {
		line("decision", "%s", e.Decision)
	}
	for _, o := range e.Objects {
		line("table", "%s", o.Name)
		if o.Decision != "" {
			line("", "decision %s", o.Decision)
		}
		if len(o.Columns) > 0 {
			line("", "columns %s", strings.Join(o.Columns, ", "))
		}
		for _, f := range o.Filters {
			line("", "filter %s  %s", f, o.Rules[f])
		}
		for _, m := range o.Masks {
			line("", "mask %s  %s", m, o.Rules[m])
		}
	}
	line("sent", "%s, %d bytes", plural(int(e.Rows), "row"), e.Bytes)
}
