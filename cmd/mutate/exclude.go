package main

import (
	"fmt"
	"regexp"
)

// exclusion leaves mutants out that say nothing about the product's promise. Each expression has to match all of what it
// looks at; an empty one matches everything.
type exclusion struct {
	file, fn, op, text string
	reason             string
}

// exclusions is the whole list of what does not count. A rule that matches nothing is an error.
var exclusions = []exclusion{
	{op: `drop-call`, text: `.*\.(Lock|Unlock|RLock|RUnlock)\(\)`, reason: "locks: the race detector's business, a run without one seldom shows"},
	{op: `drop-call|swap-args`, text: `.*(log|logger|Log|Logger)\.(Debug|Info|Warn|Error|Log|LogAttrs)\(.*`, reason: "texts for the operator's log"},
	{op: `swap-args`, text: `slog\..*`, reason: "texts for the operator's log"},
	{file: `policy/opa/(check|explore|format|shape|roles)\.go`, reason: "tools for who writes policies: they decide nothing about a statement"},
	{file: `gateway/metrics\.go`, reason: "counters for the operator"},
	{op: `drop-call`, text: `(cancel|stop|wg\.Done|wg\.Wait)\(.*\)`, reason: "ends what has ended already: goroutines are counted by goleak"},
	{op: `drop-call`, text: `close\(.*\)`, reason: "without it a goroutine hangs: goleak's business"},
}

type rule struct {
	exclusion
	file, fn, op, text *regexp.Regexp
	used               int
}

func compileRules(list []exclusion) []*rule {
	var out []*rule
	whole := func(s string) *regexp.Regexp {
		if s == "" {
			s = ".*"
		}
		return regexp.MustCompile(`(?s)\A(?:` + s + `)\z`)
	}
	for _, e := range list {
		out = append(out, &rule{e, whole(e.file), whole(e.fn), whole(e.op), whole(e.text), 0})
	}
	return out
}

// exclude marks the mutants that a rule leaves out.
func exclude(rules []*rule, ms []*mutation) {
	for _, m := range ms {
		for _, r := range rules {
			if m.off == "" && r.file.MatchString(m.file) && r.fn.MatchString(m.fn) && r.op.MatchString(m.op) && r.text.MatchString(m.text) {
				m.off = r.reason
				r.used++
			}
		}
	}
}

func unused(rules []*rule) error {
	for _, r := range rules {
		if r.used == 0 {
			return fmt.Errorf("a rule of exclusions matches nothing: %+v", r.exclusion)
		}
	}
	return nil
}
