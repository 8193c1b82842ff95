package gateway

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/policy"
)

// The schemas of the statements that the gateway answers itself. All columns are text.
var (
	noColumns      = textSchema()
	catalogsSchema = textSchema("catalog")
	schemasSchema  = textSchema("catalog", "schema")
	tablesSchema   = textSchema("catalog", "schema", "table", "type")
	columnsSchema  = textSchema("column", "type", "nullable", "masked")
	settingSchema  = textSchema("name", "value")
	explainSchema  = textSchema("plan")
)

func textSchema(names ...string) *arrow.Schema {
	fields := make([]arrow.Field, len(names))
	for i, n := range names {
		fields[i] = arrow.Field{Name: n, Type: arrow.BinaryTypes.String}
	}
	return arrow.NewSchema(fields, nil)
}

// answerSchema is the schema of what answer returns for stmt.
func answerSchema(stmt *classify.Statement) (*arrow.Schema, error) {
	switch stmt.Kind() {
	case classify.KindShowCatalogs:
		return catalogsSchema, nil
	case classify.KindShowSchemas:
		return schemasSchema, nil
	case classify.KindShowTables:
		return tablesSchema, nil
	case classify.KindShowColumns:
		return columnsSchema, nil
	case classify.KindShow:
		return settingSchema, nil
	case classify.KindExplain:
		return explainSchema, nil
	case classify.KindSet, classify.KindUse, classify.KindTransaction, classify.KindAccess, classify.KindSetRole:
		return noColumns, nil
	case classify.KindShowAccess:
		return accessSchemas[stmt.Access().Action], nil
	}
	return nil, fmt.Errorf("statement kind %d has no answer", stmt.Kind())
}

// answer runs the statements that need no executor.
func (r *run) answer(stmt *classify.Statement) (*Result, error) {
	schema, err := answerSchema(stmt)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	switch stmt.Kind() {
	case classify.KindShowCatalogs:
		rows, err = r.showCatalogs(stmt)
	case classify.KindShowSchemas:
		rows, err = r.showSchemas(stmt)
	case classify.KindShowTables:
		rows, err = r.showTables(stmt)
	case classify.KindShowColumns:
		rows, err = r.showColumns(stmt)
	case classify.KindShow:
		rows, err = r.showSetting(stmt)
	case classify.KindSet:
		err = r.set(stmt)
	case classify.KindUse:
		err = r.use(stmt)
	case classify.KindTransaction:
	case classify.KindAccess:
		err = r.changeRights(stmt)
	case classify.KindSetRole:
		err = r.setRole(stmt)
	case classify.KindShowAccess:
		rows, err = r.showAccess(stmt)
	case classify.KindExplain:
		rows, err = r.explain(stmt)
	}
	if err != nil {
		return nil, err
	}
	return &Result{run: r, schema: schema, local: textBatch(schema, rows)}, nil
}

func textBatch(schema *arrow.Schema, rows [][]string) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, row := range rows {
		for i, v := range row {
			b.Field(i).(*array.StringBuilder).Append(v)
		}
	}
	return b.NewRecordBatch()
}

// explain answers EXPLAIN with a text of our own. It runs nothing, also with ANALYZE, whose row counts would be
// those of hidden rows.
func (r *run) explain(stmt *classify.Statement) ([][]string, error) {
	if stmt.Analyze() {
		return nil, &classify.UnsupportedError{Construct: "EXPLAIN ANALYZE, whose row counts could show hidden rows; use EXPLAIN", Pos: 0}
	}
	inner := stmt.Inner()
	if inner == nil || inner.Kind() != classify.KindSelect {
		return nil, &classify.UnsupportedError{Construct: "EXPLAIN of a statement that is not a query", Pos: 0}
	}
	p, err := r.plan(inner)
	if err != nil {
		return nil, err
	}
	text, err := explainText(p)
	if err != nil {
		return nil, err
	}
	if x, ok := r.executor().(executors.Explainer); ok {
		text += x.Explain(r.ctx, p)
	}
	var rows [][]string
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		rows = append(rows, []string{line})
	}
	return rows, nil
}

func (r *run) set(stmt *classify.Statement) error {
	name, value, reset := stmt.Setting()
	name = strings.ToLower(name)
	switch place := name == "catalog" || name == "schema" || name == "search_path"; {
	case place && reset:
		r.session.setNamespace(r.session.initial)
		return nil
	case name == "catalog":
		return r.useCatalog(value, nil)
	case place:
		return r.useNamespace([]string{value})
	}
	return r.setSetting(name, value, reset)
}

// setSetting changes or resets one setting, if the policy allows that.
func (r *run) setSetting(name, value string, reset bool) error {
	ok, err := r.judge.Allow(r.ctx, policy.SetSession, []policy.Resource{{Setting: strings.ToLower(name)}})
	if err != nil {
		return err
	}
	if len(ok) != 1 || !ok[0] {
		return r.denied("the setting " + strconv.Quote(name))
	}
	return r.session.set(name, value, reset)
}

func (r *run) use(stmt *classify.Statement) error {
	return r.useNamespace(stmt.Target())
}

func (r *run) showSetting(stmt *classify.Statement) ([][]string, error) {
	name, _, _ := stmt.Setting()
	all := r.session.Settings()
	if strings.EqualFold(name, "all") {
		var rows [][]string
		for _, n := range settingNames() {
			rows = append(rows, []string{n, all[n]})
		}
		return rows, nil
	}
	if strings.EqualFold(name, "search_path") {
		name = "schema"
	}
	v, ok := all[strings.ToLower(name)]
	if !ok {
		return nil, &SettingError{Name: name, Why: "does not exist; SHOW ALL lists those that do"}
	}
	return [][]string{{strings.ToLower(name), v}}, nil
}
