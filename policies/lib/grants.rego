# What administrators say with GRANT, REVOKE and DENY, as rules.
#
# The statements change data.gateway.grants, which only the gateway can write. Its parts:
#
#	members[PRINCIPAL]                    the roles that a principal is a direct member of; every role has an entry
#	options[PRINCIPAL]                    those of them that it may give to others
#	catalogs[C], schemas[C][S],
#	tables[C][S][T], futures[C][S]        what is held there: allow[PRINCIPAL][PRIVILEGE] and deny[PRINCIPAL][PRIVILEGE],
#	                                      each with columns, option (columns that may be granted on), by and at; on
#	                                      tables also uuid, the table that was meant, and names, of the field ids in columns
#	reach[PRINCIPAL][C][S]                how many grants a principal has there; "*": on the catalog itself
#	denials[PRINCIPAL][C][S]              how many denials
#	admin                                 the role whose members may change every right
#
# A principal is "user:NAME" ("user@ISSUER NAME" of another issuer than the home one), "group:NAME", "role:NAME" or "public".
# In a list of columns "#5" is the column with field id 5, and "*" the whole table.
#
# Every reference is written out in full: a helper whose argument is undefined would be undefined itself.
package lib.grants

import data.lib.rules

# --- Who is the caller? ---

own contains "public"

# The gateway says which user: of which issuer, if there are several.
own contains input.context.gateway.principal

own contains concat("", ["group:", group]) if some group in input.context.gateway.groups

# A role that the sign-in gives counts if it was made here with CREATE ROLE.
own contains principal if {
	some role in input.context.gateway.roles
	principal := concat("", ["role:", role])
	data.gateway.grants.members[principal]
}

# Everything that the caller is, through roles of roles. Circles end, since each role is visited once.
holds := own | graph.reachable(data.gateway.grants.members, own)

# SET ROLE leaves the caller one role and what that one inherits. It never takes a denial away: denials ask holds.
default chosen := ""

chosen := input.context.gateway.session.properties.role

active := holds if chosen == ""

active := {"public"} | graph.reachable(data.gateway.grants.members, {chosen}) if chosen in holds

active := {"public"} if {
	chosen != ""
	not chosen in holds
}

administrator if data.gateway.grants.admin in active

# --- What is asked about? ---

cat := input.action.resource.table.catalogName

cat := input.action.resource.column.catalogName

cat := input.action.resource.schema.catalogName

cat := input.action.resource.catalog.name

sch := input.action.resource.table.schemaName

sch := input.action.resource.column.schemaName

sch := input.action.resource.schema.schemaName

tab := input.action.resource.table.tableName

tab := input.action.resource.column.tableName

# Reading asks for SELECT; statements about rights name their privilege.
default wanted := "SELECT"

wanted := input.action.gateway.privilege

# An owner may do everything with what he owns.
sufficient := {wanted, "OWNERSHIP"}

asked := {column | some column in input.action.resource.table.columns}

asked_or_all := asked if count(asked) > 0

asked_or_all := {"*"} if count(asked) == 0

# The table as it is now, if it is loaded.
uuid := input.action.resource.table.gateway.uuid

uuid := input.action.resource.column.gateway.table.uuid

# Was this said of another table, which had the same name before?
outlived(said) if {
	said != ""
	said != uuid
}

# How the data writes a column whose field id is known.
key(id) := sprintf("#%d", [id])

# --- What is held? ---

# Which of the caller's principals hold anything here at all: mostly one or two of many, and none is asked in vain below.
here contains principal if {
	some principal in active
	data.gateway.grants.reach[principal][cat][sch]
}

above contains principal if {
	data.gateway.grants.catalogs[cat].allow
	some principal in active
	data.gateway.grants.reach[principal][cat]["*"]
}

# The columns of the table that grants open, "*" for all of them. Each rule first asks whether anybody holds anything on the
# object at all, and then what the principal holds, which is little, rather than for each privilege that would do.
covered contains column if {
	data.gateway.grants.tables[cat][sch][tab].allow
	some principal in here
	some privilege, held in data.gateway.grants.tables[cat][sch][tab].allow[principal]
	privilege in sufficient
	not outlived(object.get(held, "uuid", ""))
	some column in held.columns
}

covered contains "*" if {
	data.gateway.grants.futures[cat][sch].allow
	some principal in here
	some privilege, held in data.gateway.grants.futures[cat][sch].allow[principal]
	privilege in sufficient
	not tab in held.except
	held.columns
	tab
}

covered contains "*" if {
	data.gateway.grants.schemas[cat][sch].allow
	some principal in here
	some privilege, _ in data.gateway.grants.schemas[cat][sch].allow[principal]
	privilege in sufficient
}

covered contains "*" if {
	some principal in above
	some privilege in sufficient
	data.gateway.grants.catalogs[cat].allow[principal][privilege]
}

# Few principals have denials at all, so that nobody else pays for them.
denying contains principal if {
	data.gateway.grants.denials
	some principal in holds
	data.gateway.grants.denials[principal][cat]
}

# The columns that denials close, whatever is granted.
denied contains column if {
	some principal in denying
	some privilege in opposing
	some column in data.gateway.grants.tables[cat][sch][tab].deny[principal][privilege].columns
}

# A denial that was made for a table that has been replaced closes the new one: nobody can say which of its columns are meant.
denied contains "*" if {
	some principal in denying
	some privilege in opposing
	outlived(data.gateway.grants.tables[cat][sch][tab].deny[principal][privilege].uuid)
}

denied contains "*" if rules.orphaned

denied contains "*" if {
	some principal in denying
	some privilege in opposing
	data.gateway.grants.schemas[cat][sch].deny[principal][privilege]
}

denied contains "*" if {
	some principal in denying
	some privilege in opposing
	data.gateway.grants.catalogs[cat].deny[principal][privilege]
}

opposing := {wanted} if wanted != "OWNERSHIP"

# Ownership is every privilege: a denial of any of them stands against giving it away.
opposing := {"USAGE", "CREATE", "SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "ALTER", "DROP", "OWNERSHIP"} if wanted == "OWNERSHIP"

# --- May the caller read? ---

# A table exists for who may use one of its columns.
reads if {
	not "*" in denied
	"*" in covered
}

# Before the table is loaded, a grant on any column may be enough.
reads if {
	not "*" in denied
	not input.action.resource.table.gateway.columns
	some column in covered
	not column in denied
}

reads if {
	not "*" in denied
	count(covered) > 0
	some column, _ in input.action.resource.table.gateway.columns
	opens(column)
}

opens(column) if {
	"*" in covered
	not closed(column)
}

opens(column) if {
	some said in said_as(column)
	said in covered
	not closed(column)
}

closed(column) if {
	count(denied) > 0
	some said in said_as(column)
	said in denied
}

# How the data may write a column: by its field id, or by its name where nobody said the id. A name that looks like an id counts
# for nothing.
said_as(column) := {key(id), column} if {
	id := field_id(column)
	not startswith(column, "#")
}

said_as(column) := {key(field_id(column))} if startswith(column, "#")

said_as(column) := {column} if {
	not field_id(column)
	not startswith(column, "#")
}

field_id(column) := input.action.resource.table.gateway.columns[column].field_id

field_id(column) := input.action.resource.column.gateway.field_id if input.action.resource.column.columnName == column

closed(_) if "*" in denied

sees_catalog if {
	some principal in active
	data.gateway.grants.reach[principal][cat]
}

sees_schema if count(here) > 0

sees_schema if count(above) > 0

# CHECK ACCESS for privileges other than SELECT.
has if {
	reads
	every column in asked {
		opens(column)
	}
}

# --- May the caller change rights? ---

# allow is what the router adds to its own: everything for administrators, and for others what they may pass on.
allow if {
	input.action.operation in {
		"AdministerGrants", "ShowRoles", "CreateRole", "DropRole", "GrantRoles", "RevokeRoles", "GrantCatalogPrivilege",
		"GrantSchemaPrivilege", "GrantTablePrivilege", "GrantFutureTablePrivilege", "RevokePrivilege", "DenyPrivilege",
	}
	administrator
}

allow if {
	input.action.operation == "CheckAccess"
	has
}

allow if {
	input.action.operation in {"GrantTablePrivilege", "GrantSchemaPrivilege", "GrantCatalogPrivilege", "RevokePrivilege"}
	not opposed
	passes_all
}

allow if {
	input.action.operation == "GrantFutureTablePrivilege"
	not opposed
	passes_future
}

allow if {
	input.action.operation == "GrantRoles"
	passes_role
	not escapes_denial
}

# Leaving a role can lift a denial, a filter or a mask that came with it, so only an administrator takes people out of such a role.
allow if {
	input.action.operation == "RevokeRoles"
	passes_role
	not role_denies
	not rules.role_hides
}

passes_all if {
	every column in asked_or_all {
		passes(column)
	}
}

passes(_) if "*" in passable

passes(column) if {
	some said in said_as(column)
	said in passable
}

# The columns that the caller may grant on.
passable contains column if {
	some principal in here
	some privilege in sufficient
	held := data.gateway.grants.tables[cat][sch][tab].allow[principal][privilege]
	not outlived(object.get(held, "uuid", ""))
	some column in held.option
}

passable contains "*" if {
	some principal in here
	some privilege in sufficient
	data.gateway.grants.futures[cat][sch].allow[principal][privilege].option
	not tab in data.gateway.grants.futures[cat][sch].allow[principal][privilege].option_except
	tab
}

passable contains "*" if {
	some principal in here
	some privilege in sufficient
	data.gateway.grants.schemas[cat][sch].allow[principal][privilege].option
}

passable contains "*" if {
	some principal in above
	some privilege in sufficient
	data.gateway.grants.catalogs[cat].allow[principal][privilege].option
}

# An owner may grant without having been told so.
passable contains "*" if {
	some principal in here
	held := data.gateway.grants.tables[cat][sch][tab].allow[principal].OWNERSHIP
	not outlived(object.get(held, "uuid", ""))
}

passable contains "*" if {
	some principal in here
	data.gateway.grants.schemas[cat][sch].allow[principal].OWNERSHIP
}

passable contains "*" if {
	some principal in above
	data.gateway.grants.catalogs[cat].allow[principal].OWNERSHIP
}

# Does the caller own the table, with nothing of it closed to him?
owner if {
	count(denied) == 0
	some principal in here
	held := data.gateway.grants.tables[cat][sch][tab].allow[principal].OWNERSHIP
	not outlived(object.get(held, "uuid", ""))
}

owner if {
	count(denied) == 0
	some principal in here
	data.gateway.grants.schemas[cat][sch].allow[principal].OWNERSHIP
}

owner if {
	count(denied) == 0
	some principal in above
	data.gateway.grants.catalogs[cat].allow[principal].OWNERSHIP
}

owner if {
	count(denied) == 0
	some principal in here
	not tab in data.gateway.grants.futures[cat][sch].allow[principal].OWNERSHIP.except
	data.gateway.grants.futures[cat][sch].allow[principal].OWNERSHIP.columns
	tab
}

# Rights on future tables come from above, or from rights on future tables that have no more exceptions.
passes_future if "*" in passable

passes_future if {
	some principal in active
	data.gateway.grants.futures[cat][sch].allow[principal][wanted].option
	every table in data.gateway.grants.futures[cat][sch].allow[principal][wanted].option_except {
		table in input.action.gateway.except
	}
}

# Nobody hands out what is denied to himself.
opposed if "*" in denied

opposed if {
	some column in asked_or_all
	closed(column)
}

opposed if {
	"*" in asked_or_all
	count(denied) > 0
}

# Above tables, a denial of anything below stands against it.
opposed if {
	not tab
	some principal in holds
	data.gateway.grants.denials[principal][cat][sch]
}

opposed if {
	not tab
	some principal in holds
	data.gateway.grants.denials[principal][cat]["*"]
}

opposed if {
	not tab
	not sch
	some principal in holds
	data.gateway.grants.denials[principal][cat]
}

role := concat("", ["role:", input.action.gateway.role])

passes_role if {
	some principal in active
	role in data.gateway.grants.options[principal]
}

role_holds := graph.reachable(data.gateway.grants.members, {role})

# What is denied to the caller, but not to the role, would not be denied to whom he gives the role.
escapes_denial if {
	some principal in holds
	data.gateway.grants.denials[principal]
	not principal in role_holds
}

role_denies if {
	some principal in role_holds
	data.gateway.grants.denials[principal]
}

# --- Where does the caller hold anything? For listings. ---

# The tables with a grant of their own. It starts from what the caller holds, not from all tables that there are.
somewhere contains [c, s, t] if {
	some principal in active
	some c, schemas in data.gateway.grants.reach[principal]
	some s, _ in schemas
	some t, table in data.gateway.grants.tables[c][s]
	table.allow[principal]
}

# The schemas, or "*" for a catalog, with a grant on all of it or on its future tables.
everywhere contains [c, s] if {
	some principal in active
	some c, schemas in data.gateway.grants.reach[principal]
	some s, _ in schemas
	data.gateway.grants.schemas[c][s].allow[principal]
}

everywhere contains [c, s] if {
	some principal in active
	some c, schemas in data.gateway.grants.reach[principal]
	some s, _ in schemas
	data.gateway.grants.futures[c][s].allow[principal]
}

everywhere contains [c, "*"] if {
	some principal in active
	some c, schemas in data.gateway.grants.reach[principal]
	schemas["*"]
}
