# What policies most often ask about the caller.
package lib.gw

# The name that the caller logged in with.
default user := ""

user := input.context.identity.user

# Roles given by the users file or by the token's claims. Trino's own name for both roles and groups is groups, and
# there the gateway puts the two together.
default roles := []

roles := input.context.gateway.roles

default groups := []

groups := input.context.identity.groups

# The claims of the caller's token that the operator has let through.
default claims := {}

claims := input.context.gateway.claims

# When the statement was admitted, in nanoseconds: the same instant for all of its decisions.
now := time.now_ns()

# Has the caller one of these roles?
has_role(names) if {
	some name in names
	name in roles
}

# str quotes a text as an SQL literal, for policies that are shared with Trino. Prefer params where you can:
# {"expression": "tenant = :t", "params": {"t": gw.claims.tenant}} needs no quoting.
str(text) := sprintf("'%s'", [replace(text, "'", "''")]) if {
	is_string(text)
	not contains(text, "\u0000")
}

# eq makes the condition that a column equals a text, for policies that are shared with Trino.
eq(column, text) := sprintf("%s = %s", [column, str(text)])
