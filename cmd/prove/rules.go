package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"gatehouse/policies"
)

// rules is one policy: the Rego files and what it makes of the twins.
type rules struct {
	files map[string][]byte
	// shown are the columns that exist for the user, by table.
	shown map[string][]column
	words string // for people
}

// newRules makes the n-th policy: for each governed table one filter, for each maskable column one mask, and some hidden columns.
func newRules(n uint64) (*rules, error) {
	files, err := policies.Files(policies.Skeleton)
	if err != nil {
		return nil, err
	}
	for name := range files {
		if strings.HasPrefix(name, "tables/") || strings.HasPrefix(name, "tests/") || strings.HasSuffix(name, "_test.rego") {
			delete(files, name)
		}
	}
	r := rand.New(rand.NewPCG(n, 77))
	out := &rules{files: files, shown: map[string][]column{}}
	var words strings.Builder
	for _, t := range twins() {
		var b strings.Builder
		fmt.Fprintf(&b, "package tables.%s.%s.%s\n\nimport data.lib.gw\n\n", catalogName, t.home(), t.name)
		if t.denied {
			b.WriteString("read if gw.user == \"admin\"\n")
		} else {
			b.WriteString("read if gw.user == \"eve\"\n")
			out.table(&b, &words, r, t)
		}
		files[fmt.Sprintf("tables/%s/%s/%s.rego", catalogName, t.home(), t.name)] = []byte(b.String())
	}
	out.words = words.String()
	return out, nil
}

func (o *rules) table(b, words *strings.Builder, r *rand.Rand, t twinTable) {
	if t.open {
		o.shown[t.name] = t.columns
		return
	}
	o.filters(b, words, r, t)
	for _, c := range t.columns {
		if c.dropped {
			continue // no policy can know it
		}
		if c.secret || c.optional && r.IntN(4) == 0 {
			fmt.Fprintf(b, "hidden contains %q\n", c.name)
			fmt.Fprintf(words, "; %s hidden", c.name)
			continue
		}
		o.shown[t.name] = append(o.shown[t.name], c)
		if len(c.masks) == 0 {
			continue
		}
		if m := c.masks[r.IntN(len(c.masks))]; m != "" {
			fmt.Fprintf(b, "masks.%s := {\"id\": \"m\", \"expression\": %q}\n", c.name, m)
			fmt.Fprintf(words, "; %s := %s", c.name, m)
		}
	}
	words.WriteString("\n")
}

// filters writes one filter, or two of which the second is for a role.
func (o *rules) filters(b, words *strings.Builder, r *rand.Rand, t twinTable) {
	filter := t.filter
	if filter == "" {
		filter = pick(r, filters...)
	}
	fmt.Fprintf(b, "row_filters contains {\"id\": \"f\", \"expression\": %q}\n", filter)
	fmt.Fprintf(words, "%s: filter %s", t.name, filter)
	if t.filter == "" && r.IntN(4) == 0 {
		filter = pick(r, filters...)
		fmt.Fprintf(b, "row_filters contains {\"id\": \"g\", \"expression\": %q} if \"%s\" in gw.roles\n", filter, eve.Roles[0])
		fmt.Fprintf(words, " and, by role, %s", filter)
	}
}
