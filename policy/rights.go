package policy

import (
	"context"
	"errors"
	"strings"
	"time"

	"gatehouse/auth"
	"gatehouse/classify"
)

// The operations about rights themselves, in Trino's words where it has one.
const (
	CreateRole   Operation = "CreateRole"
	DropRole     Operation = "DropRole"
	GrantRoles   Operation = "GrantRoles"
	RevokeRoles  Operation = "RevokeRoles"
	ShowRoles    Operation = "ShowRoles" // everybody's rights, not only one's own
	CheckAccess  Operation = "CheckAccess"
	GrantCatalog Operation = "GrantCatalogPrivilege"
	GrantSchema  Operation = "GrantSchemaPrivilege"
	GrantTable   Operation = "GrantTablePrivilege"
	GrantFuture  Operation = "GrantFutureTablePrivilege"
	Revoke       Operation = "RevokePrivilege" // with the resource of the level
	Deny         Operation = "DenyPrivilege"
	Administer   Operation = "AdministerGrants" // may the caller change every right?
)

// Principal is who can hold a right: "user:NAME", "user@ISSUER NAME" (see UserPrincipal), "group:NAME", "role:NAME" or "public".
type Principal string

// Object is what a right is on. Table is "" above tables, Schema "" for a catalog.
type Object struct {
	Level   classify.Level `json:"level" yaml:"level"` // catalog, schema, table or future tables in schema
	Catalog string         `json:"catalog" yaml:"catalog"`
	Schema  string         `json:"schema,omitempty" yaml:"schema,omitempty"`
	Table   string         `json:"table,omitempty" yaml:"table,omitempty"`
}

// String names the object with dots, unquoted.
func (o Object) String() string {
	s := o.Catalog
	for _, part := range []string{o.Schema, o.Table} {
		if part != "" {
			s += "." + part
		}
	}
	return s
}

// RightsOp is what one change of rights does.
type RightsOp string

// The changes.
const (
	OpCreateRole   RightsOp = "create_role"   // Role
	OpDropRole     RightsOp = "drop_role"     // Role, with everything granted to it and of it
	OpAddMember    RightsOp = "add_member"    // Principal becomes a member of Role, with Option: it may make others members
	OpRemoveMember RightsOp = "remove_member" // or with Option: only the option is taken
	OpAllow        RightsOp = "allow"
	OpRevoke       RightsOp = "revoke" // with Option: only the option is taken
	OpDeny         RightsOp = "deny"
	OpUndeny       RightsOp = "undeny"
	OpSetFilter    RightsOp = "set_row_filter" // Object, Rule: makes or replaces it
	OpDropFilter   RightsOp = "drop_row_filter"
	OpSetMask      RightsOp = "set_mask" // Object, or for a mask by tag none, and Rule
	OpDropMask     RightsOp = "drop_mask"
	OpSetTag       RightsOp = "set_tag" // Object, and Columns or none, and Tag
	OpUnsetTag     RightsOp = "unset_tag"
)

// Change is one change of rights.
type Change struct {
	Op        RightsOp  `json:"op" yaml:"op"`
	Role      string    `json:"role,omitempty" yaml:"role,omitempty"`
	Principal Principal `json:"principal,omitempty" yaml:"principal,omitempty"`
	Object    Object    `json:"object,omitzero" yaml:"object,omitempty"`
	Privilege string    `json:"privilege,omitempty" yaml:"privilege,omitempty"`
	Columns   []string  `json:"columns,omitempty" yaml:"columns,omitempty"` // none: the whole object
	Option    bool      `json:"option,omitempty" yaml:"option,omitempty"`
	Except    []string  `json:"except,omitempty" yaml:"except,omitempty"` // future tables: the names that existed, so are not future
	// UUID is the table that Object meant when the change was made; "": whatever table has the name.
	UUID string `json:"uuid,omitempty" yaml:"uuid,omitempty"`
	// Fields are the field ids of Columns; a column that is not in it is meant by its name.
	Fields map[string]int `json:"fields,omitempty" yaml:"fields,omitempty"`
	// Via is whose grant option a grant was made with; none: an administrator's authority.
	Via []Principal `json:"via,omitempty" yaml:"via,omitempty"`
	// Dependants is what becomes of what was granted with an option that goes away: "cascade" takes it, too, "restrict" refuses
	// the change, "" leaves it.
	Dependants string `json:"cascade,omitempty" yaml:"cascade,omitempty"`
	Rule       *Rule  `json:"rule,omitempty" yaml:"rule,omitempty"`
	Tag        *Tag   `json:"tag,omitempty" yaml:"tag,omitempty"`
	Before     string `json:"before,omitempty" yaml:"-"` // what was held before, filled in by the store
	After      string `json:"after,omitempty" yaml:"-"`
}

// Author is who changes rights.
type Author struct {
	User    string `json:"user"`
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
	Query   string `json:"query"` // the id of the statement
}

// RightsEntry is one atomic statement in the history of rights.
type RightsEntry struct {
	Version uint64    `json:"version"`
	Time    time.Time `json:"time"`
	Author  Author    `json:"author"`
	Changes []Change  `json:"changes"`
}

// Right is one row of what is held.
type Right struct {
	Principal Principal
	Privilege string
	Object    Object
	Columns   []string // none: the whole object; the names that they had then
	Option    []string // columns with grant option; "*": the whole object
	Except    []string
	UUID      string                 // the table that was meant; "": whichever has the name
	Fields    map[string]int         // field ids of Columns and Option
	Via       map[string][]Principal // by column, "*" for the whole: with whose grant option it was granted; none: an administrator's authority
	Denied    bool
	By        string
	At        time.Time
}

// Rights are all rights at one version. They never change.
type Rights interface {
	Version() uint64
	// Read returns the value below data.gateway.grants: maps, lists, strings and numbers, which must not be changed.
	Read(path []string) (any, bool)
	Roles() []string
	// Passing returns those of ps that hold themselves what lets them make the grant c.
	Passing(ps []Principal, c Change) []Principal
	// RolesOf returns the roles that p is a direct member of, and those of them that it may give on.
	RolesOf(p Principal) (roles, admin []string)
	// Rules returns the row filters and masks on o, or all of them, sorted.
	Rules(o *Object) []PlacedRule
	// Tags returns the tags on o and its columns, or all of them, sorted.
	Tags(o *Object) []PlacedTag
	// Elsewhere reports whether something that hides was made for the table with this UUID under another name than n.
	Elsewhere(uuid string, n classify.Name) bool
	// List returns rights that are directly on o if it is not nil, and directly of p if it is not "", sorted.
	List(o *Object, p Principal) []Right
}

// The errors of changes of rights.
var (
	// ErrRightsChanged says that the rights changed since base was read: decide again.
	ErrRightsChanged = errors.New("the rights have changed in between")
	// ErrRightsUnavailable says that the store of rights cannot be reached, or not for too long: everything is denied.
	ErrRightsUnavailable = errors.New("the store of rights is not available")
)

// RightsError says why a change of rights makes no sense. It may reach a client.
type RightsError struct{ Message string }

func (e *RightsError) Error() string { return e.Message }

// RightsSource gives the rights in force now, for deciders.
type RightsSource interface {
	// Current returns ErrRightsUnavailable if the rights may be out of date.
	Current() (Rights, error)
}

// Pinned is implemented by judges that decide with a store of rights.
type Pinned interface {
	// Rights returns the rights that this judge decides with, nil if there is no store.
	Rights() Rights
}

// RightsStore keeps rights and their history.
type RightsStore interface {
	RightsSource
	// Apply makes all changes or none, if base is still in force; else it returns ErrRightsChanged. A change that
	// makes no sense is a *RightsError. Changes that change nothing are left out; if none is left, base is returned.
	Apply(ctx context.Context, base Rights, who Author, changes []Change) (Rights, error)
	// At returns the rights that were in force at t.
	At(ctx context.Context, t time.Time) (Rights, error)
	// History returns the newest entries first, at most limit.
	History(ctx context.Context, limit int) ([]RightsEntry, error)
}

// GrantRequest is what a policy is asked about a change of rights; see Resource.Grant.
type GrantRequest struct {
	Privilege string
	Option    bool
	Principal Principal
	Role      string
	Except    []string
	Name      string // of a row filter or mask
	Priority  bool   // a mask has one that was chosen
}

// UserPrincipal is the principal of a user: "user:NAME" for the issuer home, or if there is only one, and
// "user@ISSUER NAME" for those of other issuers, since a name alone identifies nobody.
func UserPrincipal(id auth.Identity, home string) Principal {
	return IssuedUser(id.User, id.Issuer, home)
}

// IssuedUser is UserPrincipal by name.
func IssuedUser(user, issuer, home string) Principal {
	if home == "" || issuer == home || issuer == "" {
		return Principal("user:" + user)
	}
	return Principal("user@" + issuer + " " + user)
}

// Split returns what p is: its kind, its name and, of a user of another than the home issuer, that issuer.
func (p Principal) Split() (kind, name, issuer string) {
	if rest, ok := strings.CutPrefix(string(p), "user@"); ok {
		issuer, name, _ = strings.Cut(rest, " ")
		return "user", name, issuer
	}
	kind, name, _ = strings.Cut(string(p), ":")
	return kind, name, ""
}
