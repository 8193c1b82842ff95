package gateway

import (
	"errors"
	"slices"
	"strings"

	"gatehouse/audit"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/policy"
)

// changeTries is how often a change is decided anew because the rights changed in between.
const changeTries = 8

// errNoGrants answers statements about rights where no store of rights is configured.
var errNoGrants = &policy.RightsError{Message: "GRANT and the like are not in use here: the operator has configured no store of rights"}

// changeRights runs GRANT, REVOKE, DENY, CREATE ROLE and DROP ROLE: all of the statement, or nothing of it.
func (r *run) changeRights(stmt *classify.Statement) error {
	store := r.g.cfg.Grants
	if store == nil {
		return errNoGrants
	}
	a := stmt.Access()
	r.event.Kind = string(a.Action)
	for range changeTries {
		base, err := r.rights()
		if err != nil {
			return err
		}
		changes, err := r.changes(a, base)
		if err != nil {
			return err
		}
		r.noteRights(changes)
		if err := r.started(); err != nil {
			return err
		}
		_, err = store.Apply(r.ctx, base, r.author(), changes)
		if !errors.Is(err, policy.ErrRightsChanged) {
			return err
		}
		// What was allowed a moment ago may not be allowed now.
		if err := r.decide(stmt.Kind(), stmt.Hash()); err != nil {
			return err
		}
	}
	return &LimitError{What: "changes of rights at once, try again"}
}

// rights returns the rights that the run decides with.
func (r *run) rights() (policy.Rights, error) {
	if p, ok := r.judge.(policy.Pinned); ok && r.g.cfg.Grants != nil {
		if rights := p.Rights(); rights != nil {
			return rights, nil
		}
	}
	return nil, errNoGrants
}

func (r *run) author() policy.Author {
	id := r.session.identity
	return policy.Author{User: id.User, Issuer: id.Issuer, Subject: id.Subject, Query: r.id}
}

// noteRights copies what the audit event has to say about changes. The history of rights has the rest, by query id.
func (r *run) noteRights(changes []policy.Change) {
	r.event.Objects = nil
	for _, c := range changes {
		name := c.Object.String()
		switch {
		case name == "" && c.Rule != nil:
			name = "mask " + c.Rule.Name
		case name == "":
			name = "role " + c.Role
		}
		if len(r.event.Objects) == 0 || r.event.Objects[len(r.event.Objects)-1].Name != name {
			r.event.Objects = append(r.event.Objects, audit.Object{Name: name, Columns: c.Columns})
		}
	}
}

// changes resolves what a statement says into changes that the policy allows the caller to make.
func (r *run) changes(a *classify.Access, base policy.Rights) ([]policy.Change, error) {
	switch a.Action {
	case classify.CreateRole, classify.DropRole:
		return r.roleChanges(a, base)
	case classify.GrantRole, classify.RevokeRole:
		return r.memberChanges(a, base)
	case classify.Grant, classify.Revoke, classify.Deny:
		return r.privilegeChanges(a, base)
	}
	if a.Rule != nil {
		return r.ruleChanges(a, base)
	}
	return r.tagChanges(a, base)
}

// may asks the policy for one change.
func (r *run) may(op policy.Operation, res policy.Resource, what string) error {
	ok, err := r.judge.Allow(r.ctx, op, []policy.Resource{res})
	if err != nil {
		return err
	}
	if len(ok) != 1 || !ok[0] {
		return r.denied(what)
	}
	return nil
}

func (r *run) roleChanges(a *classify.Access, base policy.Rights) ([]policy.Change, error) {
	op, what, verb := policy.CreateRole, policy.OpCreateRole, "CREATE ROLE"
	if a.Action == classify.DropRole {
		op, what, verb = policy.DropRole, policy.OpDropRole, "DROP ROLE"
	}
	var out []policy.Change
	for _, name := range a.Roles {
		if err := r.may(op, policy.Resource{Grant: &policy.GrantRequest{Role: name}}, verb); err != nil {
			return nil, err
		}
		known, ok := fold(name, base.Roles(), func(s string) string { return s })
		switch {
		case op == policy.CreateRole && (ok || foldsIntoAny(name, base.Roles())):
			if !a.Exists {
				return nil, &classify.NameError{Kind: "role", Name: name, Why: "exists already", Pos: -1}
			}
			continue
		case op == policy.DropRole && !ok:
			if !a.Exists {
				return nil, noSuchRole(name)
			}
			continue
		case op == policy.DropRole:
			name = known
		}
		out = append(out, policy.Change{Op: what, Role: name, Dependants: dependants(a)})
	}
	return out, nil
}

func foldsIntoAny(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

func noSuchRole(name string) error {
	return &classify.NameError{Kind: "role", Name: name, Why: "does not exist", Pos: -1}
}

func (r *run) memberChanges(a *classify.Access, base policy.Rights) ([]policy.Change, error) {
	op, what, verb := policy.GrantRoles, policy.OpAddMember, "GRANT ROLE "
	if a.Action == classify.RevokeRole {
		op, what, verb = policy.RevokeRoles, policy.OpRemoveMember, "REVOKE ROLE "
	}
	names := make([]string, len(a.Roles))
	for i, written := range a.Roles {
		name, ok := fold(written, base.Roles(), func(s string) string { return s })
		if !ok {
			name = written
		}
		err := r.may(op, policy.Resource{Grant: &policy.GrantRequest{Role: name, Option: a.Option}}, verb+name)
		if denied := (*policy.DeniedError)(nil); errors.As(err, &denied) && !slices.Contains(r.ownRoles(base), name) {
			err = noSuchRole(written) // other people's roles are as good as none
		}
		if err == nil && !ok {
			err = noSuchRole(written)
		}
		if err != nil {
			return nil, err
		}
		names[i] = name
	}
	grantees, err := r.principals(a.Grantees, base)
	if err != nil {
		return nil, err
	}
	var out []policy.Change
	for _, name := range names {
		for _, p := range grantees {
			out = append(out, policy.Change{Op: what, Role: name, Principal: p, Option: a.Option})
		}
	}
	return out, nil
}

// principals resolves grantees: roles must exist, users and groups are whom the sign-in names. To who is no administrator,
// roles that are neither his nor his to give are as good as none: he must not learn by trying which there are.
func (r *run) principals(gs []classify.Grantee, base policy.Rights) ([]policy.Principal, error) {
	knows, err := r.knownRoles(base)
	if err != nil {
		return nil, err
	}
	out := make([]policy.Principal, len(gs))
	for i, g := range gs {
		name := g.Name
		switch g.Kind {
		case "public":
			out[i] = "public"
			continue
		case "role":
			known, ok := fold(name, base.Roles(), func(s string) string { return s })
			if !ok || !slices.Contains(knows, known) {
				return nil, noSuchRole(name)
			}
			name = known
		case "user":
			if g.Issuer != "" && !slices.Contains(r.g.cfg.Issuers, g.Issuer) {
				return nil, &classify.NameError{Kind: "issuer", Name: g.Issuer, Why: "does not exist", Pos: -1}
			}
			out[i] = policy.IssuedUser(name, g.Issuer, r.g.home())
			continue
		}
		out[i] = policy.Principal(g.Kind + ":" + name)
	}
	return out, nil
}

// home is the issuer whose users rights name by their name alone; "" for any.
func (g *Gateway) home() string {
	if len(g.cfg.Issuers) == 0 {
		return ""
	}
	return g.cfg.Issuers[0]
}

// knownRoles are the roles that the caller may name as grantees.
func (r *run) knownRoles(base policy.Rights) ([]string, error) {
	admin, err := r.administers()
	if err != nil || admin {
		return base.Roles(), err
	}
	out := r.ownRoles(base)
	for _, p := range r.principalsOf(base) {
		_, giving := base.RolesOf(p)
		out = append(out, giving...)
	}
	return out, nil
}

// principalsOf are all principals that the caller is.
func (r *run) principalsOf(base policy.Rights) []policy.Principal {
	out := own(base, r.session.identity, r.g.home())
	for _, role := range reachable(base, out) {
		if p := policy.Principal("role:" + role); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// privilegeChanges makes GRANT, REVOKE and DENY of privileges into one change for each object, privilege and grantee.
func (r *run) privilegeChanges(a *classify.Access, base policy.Rights) ([]policy.Change, error) {
	targets, err := r.targets(a)
	if err != nil {
		return nil, err
	}
	admin, err := r.administers()
	if err != nil {
		return nil, err
	}
	var wanted []policy.Change
	for _, t := range targets {
		detail, err := t.detail()
		if errors.Is(err, catalog.ErrUnreadable) || errors.Is(err, catalog.ErrNoSuchTable) { // a view, which has no columns here either
			detail, err = nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, priv := range a.Privileges {
			names := []string{priv.Name}
			if priv.Name == "ALL" {
				names = slices.DeleteFunc(classify.PrivilegesOn(a.Level), func(n string) bool { return n == "OWNERSHIP" })
			}
			cols, err := t.columns(priv.Columns)
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				if err := r.mayChange(a, t, name, cols, detail); err != nil {
					return nil, err
				}
				c := policy.Change{
					Op: changeOp(a), Object: t.object, Privilege: name, Columns: cols, Option: a.Option, Except: t.except,
					Dependants: dependants(a),
				}
				if detail != nil {
					c.UUID, c.Fields = detail.UUID, fieldsOf(detail.Columns, cols)
				}
				if a.Action == classify.Grant && !admin {
					c.Via = base.Passing(r.activePrincipals(base), c)
				}
				wanted = append(wanted, c)
			}
		}
	}
	grantees, err := r.principals(a.Grantees, base)
	if err != nil {
		return nil, err
	}
	var out []policy.Change
	for _, c := range wanted {
		for _, p := range grantees {
			c.Principal = p
			out = append(out, c)
		}
	}
	return out, nil
}

// dependants says what becomes of grants that were made with a grant option that a REVOKE or DROP ROLE takes.
func dependants(a *classify.Access) string {
	switch {
	case a.Action != classify.Revoke && a.Action != classify.DropRole || a.Denial:
		return ""
	case a.Cascade:
		return "cascade"
	}
	return "restrict"
}

// activePrincipals are those of the caller's principals that SET ROLE has left him to act with.
func (r *run) activePrincipals(base policy.Rights) []policy.Principal {
	chosen := policy.Principal(r.session.userSettings()["role"])
	if chosen == "" {
		return r.principalsOf(base)
	}
	out := []policy.Principal{"public"}
	if !slices.Contains(r.principalsOf(base), chosen) { // taken from him since
		return out
	}
	for _, role := range reachable(base, []policy.Principal{chosen}) {
		out = append(out, policy.Principal("role:"+role))
	}
	return out
}

func changeOp(a *classify.Access) policy.RightsOp {
	switch {
	case a.Action == classify.Deny:
		return policy.OpDeny
	case a.Action == classify.Grant:
		return policy.OpAllow
	case a.Denial:
		return policy.OpUndeny
	}
	return policy.OpRevoke
}

// mayChange asks the policy about one privilege on one object.
func (r *run) mayChange(a *classify.Access, t target, privilege string, cols []string, detail *policy.Table) error {
	op := policy.Revoke
	switch {
	case a.Action == classify.Deny || a.Denial:
		op = policy.Deny
	case a.Action == classify.Grant:
		op = map[classify.Level]policy.Operation{
			classify.LevelCatalog: policy.GrantCatalog, classify.LevelSchema: policy.GrantSchema, classify.LevelTable: policy.GrantTable,
			classify.LevelFutureTables: policy.GrantFuture,
		}[t.object.Level]
	}
	return r.may(op, policy.Resource{
		Catalog: t.object.Catalog, Schema: t.object.Schema, Table: t.object.Table, Columns: cols, Detail: detail,
		Grant: &policy.GrantRequest{Privilege: privilege, Option: a.Option, Except: t.except},
	}, strings.ToUpper(string(a.Action))+" "+privilege+" on \""+t.written+"\"")
}

// setRole leaves the session one of the caller's roles, none, or all again.
func (r *run) setRole(stmt *classify.Statement) error {
	base, err := r.rights()
	if err != nil {
		return err
	}
	a, value := stmt.Access(), ""
	switch {
	case len(a.Roles) == 1:
		name, ok := fold(a.Roles[0], r.ownRoles(base), func(s string) string { return s })
		if !ok {
			return noSuchRole(a.Roles[0]) // also for a role of others
		}
		value = "role:" + name
	case !a.Exists:
		value = "none"
	}
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if value == "" {
		delete(s.settings, "role")
	} else {
		s.settings["role"] = value
	}
	return nil
}

// ownRoles are the roles of the caller, through roles of roles.
func (r *run) ownRoles(base policy.Rights) []string {
	return reachable(base, own(base, r.session.identity, r.g.home()))
}
