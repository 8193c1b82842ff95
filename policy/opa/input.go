package opa

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"gatehouse/classify"
	"gatehouse/policy"
)

// field is one key of an object of the input.
type field struct {
	key   string
	value ast.Value
}

// object makes an object; fields without a value are left out, as Trino leaves out null ones.
func object(fields ...field) ast.Value {
	terms := make([][2]*ast.Term, 0, len(fields))
	for _, f := range fields {
		if f.value != nil {
			terms = append(terms, [2]*ast.Term{ast.StringTerm(f.key), ast.NewTerm(f.value)})
		}
	}
	return ast.NewObject(terms...)
}

func str(s string) ast.Value { return ast.String(s) }

// opt is str, or nothing for "".
func opt(s string) ast.Value {
	if s == "" {
		return nil
	}
	return ast.String(s)
}

func strs(ss []string) ast.Value {
	terms := make([]*ast.Term, len(ss))
	for i, s := range ss {
		terms[i] = ast.StringTerm(s)
	}
	return ast.NewArray(terms...)
}

// inputContext makes input.context: who asks, through what, and when. SQL text, literals, tokens and passwords are
// never part of it.
func inputContext(c policy.Caller, cfg Config) (ast.Value, error) {
	id := c.Identity
	claims := id.Claims
	if claims == nil {
		claims = map[string]any{}
	}
	claimValue, err := ast.InterfaceToValue(claims)
	if err != nil {
		return nil, err
	}
	// Roles are groups to a policy that knows only Trino's document.
	groups := slices.Concat(id.Groups, id.Roles)
	slices.Sort(groups)
	groups = slices.Compact(groups)
	principal := id.Principal
	if principal == "" {
		principal = id.User
	}
	var expires ast.Value
	if !id.ExpiresAt.IsZero() {
		expires = str(id.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return object(
		field{"identity", object(field{"user", str(id.User)}, field{"principal", str(principal)}, field{"groups", strs(groups)})},
		field{"queryId", opt(c.Query)},
		field{"softwareStack", object(
			field{"trinoVersion", str(cfg.Trino)},
			field{"gateway", object(field{"version", str(cfg.Version)}, field{"contract", ast.Number("1")})},
		)},
		field{"gateway", object(
			field{"roles", strs(sorted(id.Roles))},
			field{"groups", strs(sorted(id.Groups))},
			field{"claims", claimValue},
			field{"principal", str(string(policy.UserPrincipal(id, cfg.HomeIssuer)))},
			field{"authn", object(field{"method", opt(id.Method)}, field{"issuer", str(id.Issuer)}, field{"subject", str(id.Subject)}, field{"expires", expires})},
			field{"session", session(c)},
			field{"time", str(c.Time.UTC().Format(time.RFC3339Nano))},
			field{"statement", object(field{"kind", str(kindName(c.Kind))}, field{"hash", opt(c.Hash)})},
		)},
	), nil
}

// session makes what the user's own client asserts; a policy must not take it as proven.
func session(c policy.Caller) ast.Value {
	terms := make([][2]*ast.Term, 0, len(c.Session))
	for k, v := range c.Session {
		terms = append(terms, [2]*ast.Term{ast.StringTerm(k), ast.StringTerm(v)})
	}
	return object(
		field{"client_address", opt(c.Peer)}, field{"application", opt(c.Client)},
		field{"purpose", opt(c.Session["purpose"])}, field{"ticket", opt(c.Session["ticket"])},
		field{"properties", ast.NewObject(terms...)},
	)
}

func sorted(ss []string) []string {
	out := slices.Clone(ss)
	slices.Sort(out)
	return out
}

// kindName names a statement's kind to the policy.
func kindName(k classify.Kind) string {
	switch k {
	case classify.KindSelect:
		return "select"
	case classify.KindExplain:
		return "explain"
	case classify.KindShowCatalogs, classify.KindShowSchemas, classify.KindShowTables, classify.KindShowColumns:
		return "metadata"
	case classify.KindSet, classify.KindShow, classify.KindUse, classify.KindSetRole:
		return "session"
	case classify.KindAccess, classify.KindShowAccess:
		return "access"
	case classify.KindTransaction:
		return "transaction"
	default:
		return "none"
	}
}

// shown returns what about says of v; nil for nothing.
func shown(v ast.Value, about *reads) ast.Value {
	if about == nil {
		return nil
	}
	return about.cut(v)
}

// document joins context, operation and resource into one input.
func document(context ast.Value, op string, resource ast.Value, more ...field) ast.Value {
	action := append([]field{{"operation", str(op)}, {"resource", resource}}, more...)
	return object(field{"context", context}, field{"action", object(action...)})
}

// batchDocument is the input of the batch rules.
func batchDocument(context ast.Value, op string, resources []ast.Value) ast.Value {
	terms := make([]*ast.Term, len(resources))
	for i, r := range resources {
		terms[i] = ast.NewTerm(r)
	}
	return object(field{"context", context}, field{"action", object(field{"operation", str(op)}, field{"filterResources", ast.NewArray(terms...)})})
}

// resource makes action.resource of r as Trino nests it; nil for none. Of the details it holds what about says.
func resource(op policy.Operation, r policy.Resource, about *reads) ast.Value {
	switch op {
	case policy.ExecuteQuery, policy.Administer, policy.ShowRoles, policy.CreateRole, policy.DropRole, policy.GrantRoles, policy.RevokeRoles:
		return nil
	case policy.Revoke, policy.Deny:
		return levelResource(r, about)
	case policy.GrantCatalog:
		return object(field{"catalog", object(field{"name", str(r.Catalog)})})
	case policy.GrantSchema, policy.GrantFuture:
		return object(field{"schema", object(field{"catalogName", str(r.Catalog)}, field{"schemaName", str(r.Schema)})})
	case policy.AccessCatalog, policy.FilterCatalogs:
		return object(field{"catalog", object(field{"name", str(r.Catalog)})})
	case policy.FilterSchemas:
		return object(field{"schema", object(field{"catalogName", str(r.Catalog)}, field{"schemaName", str(r.Schema)})})
	case policy.FilterTables:
		return tableResource(r, nil, about)
	case policy.SetSession:
		return object(field{"systemSessionProperty", object(field{"name", str(r.Setting)})})
	default:
		return tableResource(r, strs(r.Columns), about)
	}
}

func tableResource(r policy.Resource, columns ast.Value, about *reads) ast.Value {
	detail := r.Detail
	if detail == nil {
		detail = &policy.Table{Name: classify.Name{Catalog: r.Catalog, Schema: r.Schema, Table: r.Table}}
	}
	return object(field{"table", object(
		field{"catalogName", str(r.Catalog)}, field{"schemaName", str(r.Schema)}, field{"tableName", str(r.Table)},
		field{"columns", columns}, field{"gateway", tableDetail(*detail, about.at("table", "gateway"))},
	)})
}

// tableDetail makes resource.table.gateway: more about a table than Trino says, as far as about is of it.
func tableDetail(t policy.Table, about *reads) ast.Value {
	if about == nil {
		return nil
	}
	columns := make([][2]*ast.Term, 0, len(t.Columns))
	for _, c := range t.Columns {
		columns = append(columns, [2]*ast.Term{ast.StringTerm(c.Name), ast.NewTerm(object(
			field{"type", str(c.Type)}, field{"field_id", ast.Number(json.Number(itoa(c.FieldID)))}, field{"tags", strs(t.FieldTags[c.FieldID])}))})
	}
	var columnsValue, used ast.Value
	if len(columns) > 0 {
		columnsValue, used = ast.NewObject(columns...), uses(t)
	}
	return about.cut(object(
		field{"name", str(t.Name.String())}, field{"kind", str("table")}, field{"uuid", opt(t.UUID)},
		field{"version", opt(t.Version)}, field{"tags", strs(t.Tags)}, field{"columns", columnsValue}, field{"used", used},
	))
}

// uses lists the used columns by role.
func uses(t policy.Table) ast.Value {
	var fields []field
	for _, r := range []struct {
		name string
		role classify.Role
	}{
		{"output", classify.RoleOutput},
		{"filter", classify.RoleFilter},
		{"join", classify.RoleJoin},
		{"group", classify.RoleGroup},
		{"order", classify.RoleOrder},
	} {
		names := []string{}
		for _, u := range t.Uses {
			if u.Roles&r.role != 0 && u.Column >= 0 && u.Column < len(t.Columns) {
				names = append(names, t.Columns[u.Column].Name)
			}
		}
		fields = append(fields, field{r.name, strs(names)})
	}
	return object(fields...)
}

// trinoTypes spells types as Trino does where that is not just lower case.
var trinoTypes = map[string]string{
	"FLOAT": "real", "BLOB": "varbinary", "TIME": "time(6)", "TIMESTAMP": "timestamp(6)", "TIMESTAMP_NS": "timestamp(9)",
	"TIMESTAMP WITH TIME ZONE": "timestamp(6) with time zone", "TIMESTAMPTZ": "timestamp(6) with time zone",
}

// trinoType spells DuckDB's type as Trino does; the types of maps and structs stay as DuckDB has them, in lower case.
func trinoType(t string) string {
	if element, ok := strings.CutSuffix(t, "[]"); ok {
		return "array(" + trinoType(element) + ")"
	}
	if trino, ok := trinoTypes[t]; ok {
		return trino
	}
	return strings.ToLower(t)
}

// columnResource makes the resource of GetColumnMask.
func columnResource(t policy.Table, c classify.Column, detail ast.Value) ast.Value {
	return object(field{"column", object(
		field{"catalogName", str(t.Name.Catalog)}, field{"schemaName", str(t.Name.Schema)}, field{"tableName", str(t.Name.Table)},
		field{"columnName", str(c.Name)}, field{"columnType", str(trinoType(c.Type))},
		field{"gateway", object(field{"field_id", ast.Number(json.Number(itoa(c.FieldID)))}, field{"tags", strs(t.FieldTags[c.FieldID])}, field{"table", detail})},
	)})
}
