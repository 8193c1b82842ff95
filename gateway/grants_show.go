package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/policy"
)

// accessSchemas are the schemas of the statements that show rights.
var accessSchemas = map[classify.Action]*arrow.Schema{
	classify.CurrentRole:     textSchema("current_role"),
	classify.ShowRoles:       textSchema("role", "held", "inherits"),
	classify.ShowGrants:      textSchema("grantee_kind", "grantee", "effect", "privilege", "level", "object", "columns", "grant_option", "granted_by", "granted_at"),
	classify.ShowHistory:     textSchema("version", "time", "user", "query_id", "change", "object", "grantee", "privilege", "before", "after"),
	classify.ShowEffective:   textSchema("effect", "privilege", "level", "object", "columns", "grant_option", "via"),
	classify.EffectivePolicy: textSchema("part", "name", "effect", "rule"),
	classify.CheckAccess:     textSchema("allowed", "reason"),
	classify.ShowFilters:     textSchema("name", "table", "expression", "binds", "spares", "made_by", "made_at"),
	classify.ShowMasks:       textSchema("name", "table", "columns", "tag", "expression", "binds", "spares", "priority", "made_by", "made_at"),
	classify.ShowTags:        textSchema("table", "column", "tag", "value"),
}

// historyRows is how many statements SHOW GRANT HISTORY goes back.
const historyRows = 1000

// showAccess answers the statements that show rights. Everybody sees his own; for others' the policy is asked.
func (r *run) showAccess(stmt *classify.Statement) ([][]string, error) {
	a := stmt.Access()
	r.event.Kind = string(a.Action)
	base, err := r.rights()
	if err != nil {
		return nil, err
	}
	all, err := r.judge.Allow(r.ctx, policy.ShowRoles, []policy.Resource{{Grant: &policy.GrantRequest{}}})
	if err != nil {
		return nil, err
	}
	v := viewer{run: r, base: base, all: len(all) == 1 && all[0], known: map[policy.Object]*knownTable{}}
	switch a.Action {
	case classify.CurrentRole:
		return [][]string{{r.currentRole()}}, nil
	case classify.ShowRoles:
		return v.roles(), nil
	case classify.ShowGrants:
		return v.grants(a)
	case classify.ShowHistory:
		return v.history()
	case classify.ShowEffective:
		return v.effective(a)
	case classify.EffectivePolicy:
		return v.effectivePolicy(a)
	case classify.CheckAccess:
		return v.checkAccess(a)
	case classify.ShowFilters, classify.ShowMasks:
		return v.rules(a)
	case classify.ShowTags:
		return v.tags(a)
	}
	return nil, &classify.UnsupportedError{Construct: string(a.Action), Pos: -1}
}

// currentRole is what lib/rules.rego has for current_role: a role that was taken from the caller since he chose it is none.
func (r *run) currentRole() string {
	chosen := r.session.userSettings()["role"]
	if chosen == "" {
		return "all"
	}
	role, ok := strings.CutPrefix(chosen, "role:")
	if !ok || r.g.cfg.Grants == nil {
		return "none"
	}
	base, err := r.g.cfg.Grants.Current()
	if err != nil || !slices.Contains(r.ownRoles(base), role) {
		return "none"
	}
	return role
}

// viewer is somebody who looks at rights.
type viewer struct {
	*run
	base policy.Rights
	all  bool // may see everybody's

	known map[policy.Object]*knownTable // what was looked up so far
}

// mine are the principals that the caller is.
func (v viewer) mine(base policy.Rights) []policy.Principal {
	return v.principalsOf(base)
}

func (v viewer) roles() [][]string {
	held := v.ownRoles(v.base)
	names := held
	if v.all {
		names = v.base.Roles()
	}
	var rows [][]string
	for _, n := range names {
		inherits, _ := v.base.RolesOf(policy.Principal("role:" + n))
		rows = append(rows, []string{n, yesNo(slices.Contains(held, n)), strings.Join(inherits, ", ")})
	}
	return rows
}

// grants answers SHOW GRANTS.
func (v viewer) grants(a *classify.Access) ([][]string, error) {
	base := v.base
	if !a.At.IsZero() {
		past, err := v.g.cfg.Grants.At(v.ctx, a.At)
		if err != nil {
			return nil, err
		}
		base = past
	}
	mine := v.mine(v.base)
	var only policy.Principal
	if len(a.Grantees) == 1 {
		ps, err := v.principals(a.Grantees, v.base)
		if none := (*classify.NameError)(nil); errors.As(err, &none) && !v.all {
			return nil, nil // a role of others and no role look the same
		}
		if err != nil {
			return nil, err
		}
		only = ps[0]
	}
	var object *policy.Object
	if len(a.Objects) == 1 {
		targets, err := v.targets(a)
		if err != nil {
			return nil, err
		}
		object = &targets[0].object
	}
	var rows [][]string
	for _, right := range base.List(object, only) {
		if !v.all && !slices.Contains(mine, right.Principal) {
			continue
		}
		right, ok, err := v.visible(right)
		if err != nil {
			return nil, err
		}
		if ok {
			rows = append(rows, grantRow(right))
		}
	}
	if object == nil {
		for _, p := range v.members(base, only) {
			if v.all || slices.Contains(mine, p) {
				rows = append(rows, memberRows(base, p)...)
			}
		}
	}
	return rows, nil
}

// visible cuts a right to what the viewer may know. Who may not see everybody's rights learns of no denial, and of no table
// or column that is closed to him, although something was granted to him there once.
func (v viewer) visible(r policy.Right) (policy.Right, bool, error) {
	if v.all {
		return r, true, nil
	}
	if r.Denied {
		return r, false, nil
	}
	if r.Object.Level != classify.LevelTable {
		return r, true, nil
	}
	k, err := v.knows(r.Object)
	if err != nil || !k.exists || r.UUID != "" && r.UUID != k.uuid {
		return r, false, err
	}
	if len(r.Columns) == 0 {
		return r, true, nil
	}
	names := map[string]string{} // as they were called then: as they are called now
	for _, c := range k.columns {
		for _, then := range r.Columns {
			if id := r.Fields[then]; id == c.FieldID || id == 0 && then == c.Name {
				names[then] = c.Name
			}
		}
	}
	now := func(columns []string) (out []string) {
		for _, c := range columns {
			if name, ok := names[c]; ok {
				out = append(out, name)
			}
		}
		return out
	}
	r.Columns, r.Option = now(r.Columns), now(r.Option)
	return r, len(r.Columns) > 0, nil
}

// members lists who is a member of roles, sorted; only p if it is set.
func (v viewer) members(base policy.Rights, p policy.Principal) []policy.Principal {
	if p != "" {
		return []policy.Principal{p}
	}
	var out []policy.Principal
	value, _ := base.Read([]string{"members"})
	holders, _ := value.(map[string]any)
	for name := range holders {
		out = append(out, policy.Principal(name))
	}
	slices.Sort(out)
	return out
}

func kindAndName(p policy.Principal) (kind, name string) {
	kind, name, issuer := p.Split()
	if issuer != "" {
		name += " from issuer " + issuer
	}
	return kind, name
}

func grantRow(r policy.Right) []string {
	kind, name := kindAndName(r.Principal)
	return []string{
		kind, name, effect(r), r.Privilege, string(r.Object.Level), r.Object.String(), strings.Join(r.Columns, ", "),
		option(r), r.By, r.At.UTC().Format(time.RFC3339),
	}
}

func effect(r policy.Right) string {
	if r.Denied {
		return "deny"
	}
	return "allow"
}

func option(r policy.Right) string {
	switch {
	case len(r.Option) == 0:
		return "no"
	case r.Option[0] == "*" || len(r.Option) == len(r.Columns):
		return "yes"
	}
	return strings.Join(r.Option, ", ")
}

func memberRows(base policy.Rights, p policy.Principal) [][]string {
	kind, name := kindAndName(p)
	roles, admin := base.RolesOf(p)
	var rows [][]string
	for _, role := range roles {
		rows = append(rows, []string{kind, name, "allow", "MEMBER", "role", role, "", yesNo(slices.Contains(admin, role)), "", ""})
	}
	return rows
}

func (v viewer) history() ([][]string, error) {
	if !v.all {
		return nil, v.denied("the history of rights")
	}
	entries, err := v.g.cfg.Grants.History(v.ctx, historyRows)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range entries {
		for _, c := range e.Changes {
			object := c.Object.String()
			if c.Role != "" {
				object = c.Role
			}
			rows = append(rows, []string{
				fmt.Sprint(e.Version), e.Time.UTC().Format(time.RFC3339Nano), e.Author.User, e.Author.Query,
				string(c.Op), object, string(c.Principal), c.Privilege, c.Before, c.After,
			})
		}
	}
	return rows, nil
}

// subject is who a question is about: the caller himself with all that his sign-in says, or somebody else of whom only
// the store of rights is known.
type subject struct {
	start  []policy.Principal
	user   string // "" if it is no user
	issuer string // of the user; "": the home issuer
	self   bool
}

func (v viewer) subject(gs []classify.Grantee) (subject, error) {
	id := v.session.identity
	me := policy.UserPrincipal(id, v.g.home())
	if len(gs) == 0 || gs[0].Kind == "user" && policy.IssuedUser(gs[0].Name, gs[0].Issuer, v.g.home()) == me {
		return subject{own(v.base, id, v.g.home()), id.User, id.Issuer, true}, nil
	}
	if !v.all {
		return subject{}, v.denied("other people's rights")
	}
	ps, err := v.principals(gs, v.base)
	if err != nil {
		return subject{}, err
	}
	s := subject{start: []policy.Principal{ps[0], "public"}}
	if gs[0].Kind == "user" {
		s.user, s.issuer = gs[0].Name, gs[0].Issuer
	}
	return s, nil
}

// judgeOf returns the judge of the subject, who must be a user, with the same rights in force.
func (v viewer) judgeOf(s subject) (policy.Judge, error) {
	if s.self {
		return v.judge, nil
	}
	if s.user == "" {
		return nil, &classify.SyntaxError{Message: "this question is about a user: FOR USER name", Pos: -1}
	}
	issuer := s.issuer
	if issuer == "" {
		if issuer = v.g.home(); issuer == "" {
			issuer = "gatehouse:question"
		}
	}
	c := v.caller(classify.KindSelect, "")
	c.Identity = auth.Identity{Issuer: issuer, Subject: s.user, User: s.user, Principal: s.user, Method: "none"}
	c.Session = nil
	return v.g.cfg.Decider.Judge(v.ctx, c)
}

// effective answers SHOW EFFECTIVE GRANTS FOR.
func (v viewer) effective(a *classify.Access) ([][]string, error) {
	s, err := v.subject(a.Grantees)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for p, via := range chains(v.base, s.start) {
		for _, right := range v.base.List(nil, p) {
			right, ok, err := v.visible(right)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			rows = append(rows, []string{
				effect(right), right.Privilege, string(right.Object.Level), right.Object.String(), strings.Join(right.Columns, ", "), option(right), via,
			})
		}
	}
	slices.SortFunc(rows, func(a, b []string) int { return slices.Compare(a, b) })
	return rows, nil
}

// chains returns every principal that start leads to, with the shortest way there.
func chains(base policy.Rights, start []policy.Principal) map[policy.Principal]string {
	out := map[policy.Principal]string{}
	for _, p := range start {
		out[p] = string(p)
	}
	for queue := slices.Clone(start); len(queue) > 0; queue = queue[1:] {
		roles, _ := base.RolesOf(queue[0])
		for _, r := range roles {
			p := policy.Principal("role:" + r)
			if _, ok := out[p]; !ok {
				out[p] = out[queue[0]] + " > " + string(p)
				queue = append(queue, p)
			}
		}
	}
	return out
}

// checkAccess answers CHECK ACCESS: the verdict is the policy's own, as for a statement of that user; the reasons say
// which grants and denials bear on it.
func (v viewer) checkAccess(a *classify.Access) ([][]string, error) {
	s, err := v.subject(a.Grantees)
	if err != nil {
		return nil, err
	}
	j, err := v.judgeOf(s)
	if err != nil {
		return nil, err
	}
	targets, err := v.targets(a)
	if err != nil {
		return nil, err
	}
	t, priv := targets[0], a.Privileges[0]
	cols, err := t.columns(priv.Columns)
	if err != nil {
		return nil, err
	}
	detail, err := t.detail()
	if err != nil {
		return nil, err
	}
	res := policy.Resource{Catalog: t.object.Catalog, Schema: t.object.Schema, Table: t.object.Table, Columns: cols, Detail: detail}
	op := policy.SelectColumns
	if priv.Name != "SELECT" {
		op, res.Grant = policy.CheckAccess, &policy.GrantRequest{Privilege: priv.Name}
	}
	ok, err := j.Allow(v.ctx, op, []policy.Resource{res})
	if err != nil {
		return nil, err
	}
	answer := yesNo(len(ok) == 1 && ok[0])
	rows, err := v.reasons(answer, s, t.object, priv.Name)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		why := "no grant leads to it"
		if answer == "yes" {
			why = "no grant is needed: the policy itself allows it"
		}
		rows = [][]string{{answer, why}}
	}
	if !s.self {
		rows = append(rows, []string{answer, signInUnknown + s.user + " are not known here"})
	}
	return rows, nil
}

// reasons lists the grants and denials that bear on a privilege on o, denials first.
func (v viewer) reasons(answer string, s subject, o policy.Object, privilege string) ([][]string, error) {
	places := []policy.Object{
		o,
		{Level: classify.LevelFutureTables, Catalog: o.Catalog, Schema: o.Schema},
		{Level: classify.LevelSchema, Catalog: o.Catalog, Schema: o.Schema},
		{Level: classify.LevelCatalog, Catalog: o.Catalog},
	}
	var rows [][]string
	for p, via := range chains(v.base, s.start) {
		for _, at := range places {
			for _, right := range v.base.List(&at, p) {
				applies := right.Privilege == privilege || right.Privilege == "OWNERSHIP"
				if !applies || slices.Contains(right.Except, o.Table) {
					continue
				}
				right, ok, err := v.visible(right)
				if err != nil {
					return nil, err
				}
				if !ok {
					continue
				}
				text := fmt.Sprintf("%s %s on %s %s: %s", effect(right), right.Privilege, at.Level, at.String(), via)
				if len(right.Columns) > 0 {
					text += " (columns " + strings.Join(right.Columns, ", ") + ")"
				}
				rows = append(rows, []string{answer, text})
			}
		}
	}
	slices.SortFunc(rows, func(a, b []string) int { return -slices.Compare(a, b) })
	return rows, nil
}

// effectivePolicy answers SHOW EFFECTIVE POLICY.
func (v viewer) effectivePolicy(a *classify.Access) ([][]string, error) {
	s, err := v.subject(a.Grantees)
	if err != nil {
		return nil, err
	}
	rows, err := v.policyFor(s, a)
	if err == nil && !s.self {
		rows = append(rows, []string{"note", s.user, signInUnknown + s.user + " are not known here", ""})
	}
	return rows, err
}

// signInUnknown begins the note that an answer about somebody else is one without what only his sign-in says.
const signInUnknown = "groups and roles that the sign-in gives to "

// policyFor says what the policy makes of a table for the subject. The names and texts of filters and masks are the policy's own and
// are shown only to who may see everybody's rights, and to owners of the table.
func (v viewer) policyFor(s subject, a *classify.Access) ([][]string, error) {
	j, err := v.judgeOf(s)
	if err != nil {
		return nil, err
	}
	targets, err := v.targets(a)
	if err != nil {
		return nil, err
	}
	o := targets[0].object
	texts := v
	if texts.all, err = v.seesTexts(o); err != nil {
		return nil, err
	}
	loaded, err := targets[0].table()
	if err != nil {
		return nil, err
	}
	name := classify.Name{Catalog: o.Catalog, Schema: o.Schema, Table: o.Table}
	asked := *v.run
	asked.judge = j
	ok, err := asked.seesLoaded(name, loaded)
	if err != nil || !ok {
		return [][]string{{"table", name.String(), "does not exist for this user", ""}}, err
	}
	all := columns(loaded)
	visible, err := asked.seesColumns(name, loaded.UUID, all)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(visible))
	for i, c := range visible {
		names[i] = c.Name
	}
	described := policy.Table{Name: name, UUID: loaded.UUID, Columns: all}
	d, err := j.Table(v.ctx, described, names)
	if err != nil {
		return nil, err
	}
	if s.self { // what the catalog demands of others, only they can ask it
		if err := v.restrict(&d, described, &table{name: name, loaded: loaded, written: o.Table}); err != nil {
			return nil, err
		}
	}
	rows := [][]string{{"table", name.String(), "readable", ""}}
	for _, f := range d.Filters {
		rows = append(rows, texts.expression("row filter", "", "only rows that fulfil it", f))
	}
	for _, c := range all {
		switch mask, masked := d.Masks[c.Name]; {
		case !slices.Contains(names, c.Name):
			if texts.all { // for others it does not exist
				rows = append(rows, []string{"column", c.Name, "hidden", ""})
			}
		case masked:
			rows = append(rows, texts.expression("column", c.Name, "masked", mask))
		default:
			rows = append(rows, []string{"column", c.Name, "as it is", ""})
		}
	}
	return rows, nil
}

func (v viewer) expression(part, name, what string, e policy.Expression) []string {
	if !v.all {
		return []string{part, name, what, ""}
	}
	if name == "" {
		name = e.ID
	} else {
		what += " by " + e.ID
	}
	return []string{part, name, what + ": " + e.SQL, e.Rule}
}
