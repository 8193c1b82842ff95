package classify

import "time"

// Action is what a statement about rights does.
type Action string

// The actions. Those up to Deny change rights; SetRole changes the session; the others return rows.
const (
	CreateRole      Action = "create_role"
	DropRole        Action = "drop_role"
	GrantRole       Action = "grant_role"
	RevokeRole      Action = "revoke_role"
	Grant           Action = "grant"
	Revoke          Action = "revoke"
	Deny            Action = "deny"
	SetRole         Action = "set_role"
	CurrentRole     Action = "current_role"
	ShowRoles       Action = "show_roles"
	ShowGrants      Action = "show_grants"
	ShowHistory     Action = "show_grant_history"
	ShowEffective   Action = "show_effective_grants"
	EffectivePolicy Action = "show_effective_policy"
	CheckAccess     Action = "check_access"
)

// Level is what kind of thing a privilege is on.
type Level string

// The levels. AllTables stands for the tables that exist when the statement runs, FutureTables for those that do not.
const (
	LevelCatalog      Level = "catalog"
	LevelSchema       Level = "schema"
	LevelTable        Level = "table"
	LevelAllTables    Level = "all tables in schema"
	LevelFutureTables Level = "future tables in schema"
)

// Privilege is one item of a privilege list.
type Privilege struct {
	Name    string   // upper case, one of PrivilegesOn(level); "ALL" for all of them
	Columns []string // as written; none: the whole object
}

// Grantee is somebody who can hold a right.
type Grantee struct {
	Kind   string // "user", "role", "group" or "public"
	Name   string // as written; "" for public
	Issuer string // of a user, FROM ISSUER '…'; "": the issuer that plain names are about
}

// Access is a statement about rights: who may do what. It is what was written; nothing in it is resolved.
type Access struct {
	Action     Action
	Roles      []string
	Exists     bool // IF EXISTS, IF NOT EXISTS
	Privileges []Privilege
	Level      Level
	Objects    [][]string // each a name as written
	Positions  []int      // where they stand in the text
	Grantees   []Grantee
	Option     bool      // WITH GRANT OPTION, WITH ADMIN OPTION; of a REVOKE: only the option is taken
	Denial     bool      // REVOKE DENY: a denial is taken back
	Cascade    bool      // CASCADE: what depends on what is taken goes, too
	At         time.Time // SHOW GRANTS … AS OF; zero: now
	Rule       *Rule     // of statements about row filters and masks
	Tags       []Tag     // of SET TAG and UNSET TAG
	Columns    []string  // that SET TAG and UNSET TAG are about; none: the table
}

// Access returns what a KindAccess, KindSetRole or KindShowAccess says; nil for other kinds. It must not be changed.
func (s *Statement) Access() *Access { return s.rights }

// privileges lists what can be granted at each level, in the order that messages and ALL use.
var privileges = map[Level][]string{
	LevelCatalog: {"USAGE", "CREATE", "SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "ALTER", "DROP", "OWNERSHIP"},
	LevelSchema:  {"USAGE", "CREATE", "SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "ALTER", "DROP", "OWNERSHIP"},
	LevelTable:   {"SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "ALTER", "DROP", "OWNERSHIP"},
}

// PrivilegesOn lists the privileges that exist at a level. ALL stands for all of them but OWNERSHIP.
func PrivilegesOn(l Level) []string {
	if l == LevelAllTables || l == LevelFutureTables {
		l = LevelTable
	}
	return append([]string(nil), privileges[l]...)
}
