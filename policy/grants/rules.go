package grants

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatehouse/classify"
	"gatehouse/policy"
)

// key is how the document writes a column: #ID, or its name if a change says no field id, as files that people write do.
func key(name string, fields map[string]int) string {
	if id := fields[name]; id > 0 {
		return "#" + strconv.Itoa(id)
	}
	return name
}

// fieldOf is the field id of a key, 0 for a name. A name that begins with # is refused, see checkColumns.
func fieldOf(key string) int {
	digits, ok := strings.CutPrefix(key, "#")
	if !ok {
		return 0
	}
	id, _ := strconv.Atoi(digits)
	return id
}

// checkColumns refuses names that the document could not tell from field ids.
func checkColumns(names []string, fields map[string]int) error {
	for _, n := range names {
		if fields[n] <= 0 && (n == "" || n == all || n[0] == '#') {
			return &policy.RightsError{Message: fmt.Sprintf("column %q cannot be meant without its field id", n)}
		}
	}
	return nil
}

// ruled makes changes of row filters, masks and tags.
func (s *State) ruled(e *edit, c policy.Change, by stamp) (node, error) {
	switch c.Op {
	case policy.OpSetFilter, policy.OpSetMask:
		if err := s.checkRule(c); err != nil {
			return nil, err
		}
		n := ruleNode(c, by)
		if s.showRuled(c) == ruleText(n) {
			return s.root, nil
		}
		return e.set(s.root, 0, n, rulePath(c)...), nil
	case policy.OpDropFilter, policy.OpDropMask:
		if c.Rule == nil || c.Rule.Name == "" {
			return nil, &policy.RightsError{Message: "a row filter or mask has no name"}
		}
		return e.set(s.root, 0, nil, rulePath(c)...), nil
	case policy.OpSetTag, policy.OpUnsetTag:
		return s.tag(e, c)
	}
	return nil, fmt.Errorf("grants: change %q is unknown", c.Op)
}

// rulePath is where a row filter or mask lies.
func rulePath(c policy.Change) []string {
	o, r := c.Object, c.Rule
	switch {
	case c.Op == policy.OpSetFilter || c.Op == policy.OpDropFilter:
		return []string{"filters", o.Catalog, o.Schema, o.Table, r.Name}
	case r.Tag != nil:
		return []string{"tag_masks", r.Tag.Key, r.Name}
	}
	return []string{"masks", o.Catalog, o.Schema, o.Table, r.Name}
}

// checkRule refuses rules that could not hold.
func (s *State) checkRule(c policy.Change) error {
	r, mask := c.Rule, c.Op == policy.OpSetMask
	if r == nil || r.Name == "" || strings.TrimSpace(r.Expression) == "" {
		return &policy.RightsError{Message: "a row filter or mask has no name or no expression"}
	}
	onTable := c.Object.Level == classify.LevelTable && c.Object.Catalog != "" && c.Object.Schema != "" && c.Object.Table != ""
	byTag := mask && r.Tag != nil
	if byTag == onTable || byTag && (r.Tag.Key == "" || len(r.Columns) > 0) || mask && !byTag && len(r.Columns) == 0 || !mask && (len(r.Columns) > 0 || r.Priority != 0) {
		return &policy.RightsError{Message: fmt.Sprintf("%q: a row filter is on a table, a mask on columns of a table or on a tag", r.Name)}
	}
	if len(r.To) == 0 {
		return &policy.RightsError{Message: fmt.Sprintf("%q binds nobody", r.Name)}
	}
	if err := checkColumns(slices.Collect(maps.Keys(r.Columns)), r.Columns); err != nil {
		return err
	}
	for _, p := range slices.Concat(r.To, r.Except) {
		if err := s.principal(p); err != nil {
			return err
		}
	}
	return nil
}

func ruleNode(c policy.Change, by stamp) node {
	r := c.Rule
	n := leaf(by, node{
		"expression": r.Expression, "to": principals(r.To), "except": principals(r.Except),
		"uuid": r.UUID, "maker": string(r.Maker), "value": r.Reads,
	})
	if len(r.Fields) > 0 {
		n["fields"] = numbers(r.Fields)
	}
	if c.Op == policy.OpSetFilter {
		return n
	}
	n["priority"] = r.Priority
	if r.Tag != nil {
		n["any"], n["tag"] = r.Tag.Any, r.Tag.Value
		return n
	}
	columns := node{}
	for name := range r.Columns {
		columns[key(name, r.Columns)] = name
	}
	n["columns"] = columns
	return n
}

func numbers(m map[string]int) node {
	out := node{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

func principals(ps []policy.Principal) []any {
	ss := make([]string, len(ps))
	for i, p := range ps {
		ss[i] = string(p)
	}
	return list(ss)
}

// Rules implements policy.Rights.
func (s *State) Rules(o *policy.Object) []policy.PlacedRule {
	var out []policy.PlacedRule
	for _, kind := range []string{"filters", "masks"} {
		s.eachTable(kind, o, func(at policy.Object, rules node) {
			for name, n := range rules {
				out = append(out, placed(name, n.(node), kind == "masks", at))
			}
		})
	}
	if o == nil {
		for tag, rules := range child(s.root, "tag_masks") {
			for name, n := range rules.(node) {
				r := placed(name, n.(node), true, policy.Object{})
				r.Tag = &policy.Tag{Key: tag}
				r.Tag.Value, _ = n.(node)["tag"].(string)
				r.Tag.Any, _ = n.(node)["any"].(bool)
				out = append(out, r)
			}
		}
	}
	slices.SortFunc(out, func(a, b policy.PlacedRule) int { return strings.Compare(ruleKey(a), ruleKey(b)) })
	return out
}

func ruleKey(r policy.PlacedRule) string {
	k := fmt.Sprint(objectKey(r.Object), "\x00", r.Mask, "\x00", r.Name)
	if r.Tag != nil {
		k += "\x00" + r.Tag.Key
	}
	return k
}

// eachTable visits what lies under kind for o, or for every table.
func (s *State) eachTable(kind string, o *policy.Object, visit func(policy.Object, node)) {
	for c, schemas := range child(s.root, kind) {
		for sc, tables := range schemas.(node) {
			for t, n := range tables.(node) {
				at := policy.Object{Level: classify.LevelTable, Catalog: c, Schema: sc, Table: t}
				if o == nil || at == *o {
					visit(at, n.(node))
				}
			}
		}
	}
}

func placed(name string, n node, mask bool, at policy.Object) policy.PlacedRule {
	out := policy.PlacedRule{Mask: mask, Object: at, Rule: policy.Rule{Name: name, To: readPrincipals(n["to"]), Except: readPrincipals(n["except"])}}
	out.Expression, _ = n["expression"].(string)
	out.UUID, _ = n["uuid"].(string)
	out.Priority, _ = n["priority"].(int)
	out.Reads, _ = n["value"].(bool)
	maker, _ := n["maker"].(string)
	out.Maker = policy.Principal(maker)
	out.By, _ = n["by"].(string)
	when, _ := n["at"].(string)
	out.At, _ = time.Parse(time.RFC3339Nano, when)
	for name, id := range child(n, "fields") {
		if out.Fields == nil {
			out.Fields = map[string]int{}
		}
		out.Fields[name], _ = id.(int)
	}
	for id, name := range child(n, "columns") {
		if out.Columns == nil {
			out.Columns = map[string]int{}
		}
		text, _ := name.(string)
		out.Columns[text] = fieldOf(id)
	}
	return out
}

func readPrincipals(v any) []policy.Principal {
	var out []policy.Principal
	for _, s := range texts(v) {
		out = append(out, policy.Principal(s))
	}
	return out
}

// tag sets or removes one tag of a table or of columns.
func (s *State) tag(e *edit, c policy.Change) (node, error) {
	if c.Tag == nil || c.Tag.Key == "" || c.Object.Level != classify.LevelTable || c.Object.Table == "" {
		return nil, &policy.RightsError{Message: "a tag has a name, and a table or column that bears it"}
	}
	o := c.Object
	at := []string{"tags", o.Catalog, o.Schema, o.Table}
	root, old := s.root, child(s.root, at...)
	if c.Op == policy.OpSetTag && bears(old, c) {
		return s.root, nil
	}
	if old != nil && c.Op == policy.OpSetTag && old["uuid"] != c.UUID {
		root = e.set(root, 0, nil, at...) // those of a table that had the name before
	}
	var value any
	if c.Op == policy.OpSetTag {
		value = c.Tag.Value
	}
	if len(c.Columns) == 0 {
		root = e.set(root, 0, value, append(slices.Clone(at), "table", c.Tag.Key)...)
	}
	if err := checkColumns(c.Columns, c.Fields); err != nil {
		return nil, err
	}
	for _, name := range c.Columns {
		k := key(name, c.Fields)
		root = e.set(root, 0, value, append(slices.Clone(at), "columns", k, c.Tag.Key)...)
		if c.Op == policy.OpSetTag {
			root = e.set(root, 0, name, append(slices.Clone(at), "names", k)...)
		}
	}
	if n := child(root, at...); n["table"] == nil && n["columns"] == nil {
		return e.set(root, 0, nil, at...), nil
	}
	if c.Op != policy.OpSetTag {
		return root, nil
	}
	return e.set(root, 0, c.UUID, append(slices.Clone(at), "uuid")...), nil
}

// bears reports whether the tags of a table are as c sets them.
func bears(tags node, c policy.Change) bool {
	at := [][]string{{"table", c.Tag.Key}}
	if len(c.Columns) > 0 {
		at = nil
	}
	for _, name := range c.Columns {
		at = append(at, []string{"columns", key(name, c.Fields), c.Tag.Key})
	}
	return tags["uuid"] == c.UUID && !slices.ContainsFunc(at, func(path []string) bool {
		v, _ := get(tags, path...)
		return v != c.Tag.Value
	})
}

// Tags implements policy.Rights.
func (s *State) Tags(o *policy.Object) []policy.PlacedTag {
	var out []policy.PlacedTag
	s.eachTable("tags", o, func(at policy.Object, n node) {
		uuid, _ := n["uuid"].(string)
		add := func(tags node, column string, field int) {
			for _, k := range slices.Sorted(maps.Keys(tags)) {
				v, _ := tags[k].(string)
				out = append(out, policy.PlacedTag{Tag: policy.Tag{Key: k, Value: v}, Object: at, Column: column, Field: field, UUID: uuid})
			}
		}
		add(child(n, "table"), "", 0)
		for id, tags := range child(n, "columns") {
			name, _ := child(n, "names")[id].(string)
			add(tags.(node), name, fieldOf(id))
		}
	})
	slices.SortFunc(out, func(a, b policy.PlacedTag) int {
		return strings.Compare(tagKey(a), tagKey(b))
	})
	return out
}

// tagKey sorts tags; a column that was dropped may have had the name of one that there is.
func tagKey(t policy.PlacedTag) string {
	return fmt.Sprint(objectKey(t.Object), "\x00", t.Column, "\x00", t.Key, "\x00", t.Field)
}

// showRuled is show for row filters, masks and tags.
func (s *State) showRuled(c policy.Change) string {
	if c.Tag != nil {
		n := child(s.root, "tags", c.Object.Catalog, c.Object.Schema, c.Object.Table)
		var out []string
		say := func(name string, tags node) {
			if v, ok := tags[c.Tag.Key].(string); ok {
				out = append(out, strings.TrimSpace(name+" "+policy.Tag{Key: c.Tag.Key, Value: v}.String()))
			}
		}
		if len(c.Columns) == 0 {
			say("", child(n, "table"))
		}
		for _, name := range c.Columns {
			say(name, child(n, "columns", key(name, c.Fields)))
		}
		if len(out) == 0 {
			return ""
		}
		if uuid, _ := n["uuid"].(string); uuid != "" {
			out = append(out, "of table "+uuid)
		}
		return strings.Join(out, ", ")
	}
	n := child(s.root, rulePath(c)...)
	if n == nil {
		return ""
	}
	return ruleText(n)
}

// ruleText writes a rule for the history; two equal texts are the same rule.
func ruleText(n node) string {
	r := placed("", n, false, policy.Object{})
	out := "using (" + r.Expression + ")"
	if len(r.Columns) > 0 {
		out = "on (" + strings.Join(slices.Sorted(maps.Keys(r.Columns)), ", ") + ") " + out
	}
	if tag, ok := n["tag"].(string); ok {
		if n["any"] != true {
			out = "on value '" + tag + "' " + out
		}
	}
	out += " to " + strings.Join(texts(n["to"]), ", ")
	if len(r.Except) > 0 {
		out += " except " + strings.Join(texts(n["except"]), ", ")
	}
	if r.Priority != 0 {
		out += " priority " + strconv.Itoa(r.Priority)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Fields)) {
		out += fmt.Sprintf(" %s=%s", name, key(name, r.Fields))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Columns)) {
		out += fmt.Sprintf(" (%s=%s)", name, key(name, r.Columns))
	}
	if r.UUID != "" {
		out += " of table " + r.UUID
	}
	return out
}
