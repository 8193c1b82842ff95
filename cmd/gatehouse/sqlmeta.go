package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const commandHelp = `  \l                    list catalogs
  \dn [CATALOG]         list schemas
  \dt [PATTERN]         list tables and views; * and ? stand for any text and any letter, as in shop.order*
  \d [NAME]             describe one table, or list all
  \du                   list roles; \dp [TABLE] lists grants
  \format [FORMAT]      table, expanded, csv, json or arrow
  \x                    expanded, one value a line, or table again
  \null [TEXT]          how NULL is written
  \timing [on|off]      print how long statements take
  \o [FILE]             write results to FILE, or to the terminal again
  \i FILE               run the statements of FILE
  \conninfo             where and as whom this session is connected
  \?                    this list
  \q                    quit (or Ctrl-D)
A statement ends with ; and may have many lines. Ctrl-C stops a running statement or drops the one being typed.
`

// command runs one backslash command and returns an exit code.
func (sh *shell) command(ctx context.Context, line string) int {
	word, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSuffix(strings.TrimSpace(arg), ";")
	word = strings.TrimSuffix(word, ";")
	switch strings.TrimSuffix(word, "+") { // of psql: there is no more to show
	case `\q`, `\quit`, `\exit`:
		sh.quit = true
		return exitOK
	case `\?`, `\h`, `\help`:
		fmt.Fprint(sh.stdout, commandHelp)
		return exitOK
	case `\l`:
		return sh.metadata(ctx, func(ctx context.Context) (*flight.FlightInfo, error) { return sh.client.sql.GetCatalogs(ctx) })
	case `\dn`:
		return sh.metadata(ctx, func(ctx context.Context) (*flight.FlightInfo, error) {
			return sh.client.sql.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{Catalog: optional(arg)})
		})
	case `\dt`:
		return sh.tables(ctx, arg)
	case `\d`:
		if arg == "" {
			return sh.tables(ctx, "")
		}
		return sh.describe(ctx, arg)
	case `\du`:
		return sh.statement(ctx, "SHOW ROLES")
	case `\dp`, `\z`:
		if arg != "" {
			arg = " ON " + arg
		}
		return sh.statement(ctx, "SHOW GRANTS"+arg)
	case `\conninfo`:
		return sh.conninfo(ctx)
	case `\i`:
		return sh.scriptFile(ctx, arg, nil)
	}
	if err := sh.set(word, arg); err != nil {
		fmt.Fprintf(sh.stderr, "gatehouse sql: %v\n", err)
		return exitUsage
	}
	return exitOK
}

// set runs the commands that change or show how results are written.
func (sh *shell) set(word, arg string) error {
	switch word {
	case `\format`:
		if arg == "" {
			fmt.Fprintln(sh.stdout, sh.format)
			return nil
		}
		if formats[arg] == nil {
			return fmt.Errorf(`\format %s: there are table, expanded, csv, json and arrow`, arg)
		}
		sh.format = arg
	case `\x`:
		sh.format = map[bool]string{true: "table", false: "expanded"}[sh.format == "expanded"]
		fmt.Fprintf(sh.stdout, "Format is %s.\n", sh.format)
	case `\null`:
		sh.null, sh.nullSet = arg, true
	case `\timing`:
		switch arg {
		case "on", "off":
			sh.timing = arg == "on"
		case "":
			sh.timing = !sh.timing
		default:
			return errors.New(`\timing takes on or off`)
		}
		fmt.Fprintf(sh.stdout, "Timing is %s.\n", map[bool]string{true: "on", false: "off"}[sh.timing])
	case `\o`:
		return sh.setOutput(arg)
	default:
		return fmt.Errorf(`there is no command %s; \? lists all`, word)
	}
	return nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// tables lists tables; pattern is [[catalog.]schema.]table with * and ?.
func (sh *shell) tables(ctx context.Context, pattern string) int {
	opts := &flightsql.GetTablesOpts{}
	parts := splitName(pattern)
	switch len(parts) {
	case 3:
		opts.Catalog, parts = &parts[0].text, parts[1:]
		fallthrough
	case 2:
		opts.DbSchemaFilterPattern = likePattern(parts[0])
		parts = parts[1:]
		fallthrough
	case 1:
		opts.TableNameFilterPattern = likePattern(parts[0])
	case 0:
	default:
		fmt.Fprintf(sh.stderr, "gatehouse sql: %s has too many parts; a name has at most catalog.schema.table\n", pattern)
		return exitUsage
	}
	return sh.metadata(ctx, func(ctx context.Context) (*flight.FlightInfo, error) { return sh.client.sql.GetTables(ctx, opts) })
}

// namePart is one part of a dotted name.
type namePart struct {
	text   string
	quoted bool
}

// splitName takes a dotted name apart; parts may be in double quotes.
func splitName(s string) []namePart {
	if s == "" {
		return nil
	}
	parts := []namePart{{}}
	inside := false
	for i := 0; i < len(s); i++ {
		p := &parts[len(parts)-1]
		switch {
		case s[i] == '"' && inside && i+1 < len(s) && s[i+1] == '"':
			p.text += `"`
			i++
		case s[i] == '"':
			inside, p.quoted = !inside, true
		case s[i] == '.' && !inside:
			parts = append(parts, namePart{})
		default:
			p.text += s[i : i+1]
		}
	}
	return parts
}

// likePattern turns a part with * and ? into the LIKE pattern of Flight SQL's metadata calls.
func likePattern(p namePart) *string {
	var b strings.Builder
	for _, r := range p.text {
		switch {
		case r == '%' || r == '_' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '*' && !p.quoted:
			b.WriteByte('%')
		case r == '?' && !p.quoted:
			b.WriteByte('_')
		default:
			b.WriteRune(r)
		}
	}
	s := b.String()
	return &s
}

// described is one table with its columns.
type described struct {
	catalog, schema, name, kind string
	columns                     *arrow.Schema
}

// describe shows the columns of the tables with this name.
func (sh *shell) describe(ctx context.Context, name string) int {
	parts := splitName(name)
	if len(parts) > 3 {
		fmt.Fprintf(sh.stderr, "gatehouse sql: %s has too many parts; a name has at most catalog.schema.table\n", name)
		return exitUsage
	}
	plain := func(s string) *string { return likePattern(namePart{s, true}) }
	opts := &flightsql.GetTablesOpts{IncludeSchema: true, TableNameFilterPattern: plain(parts[len(parts)-1].text)}
	if len(parts) > 1 {
		opts.DbSchemaFilterPattern = plain(parts[len(parts)-2].text)
	}
	if len(parts) > 2 {
		opts.Catalog = &parts[0].text
	}
	ctx, stop := sh.interruptible(ctx)
	defer stop()
	found, err := sh.lookUp(ctx, opts)
	if err != nil {
		return sh.fail(ctx, err)
	}
	if len(found) == 0 {
		fmt.Fprintf(sh.stderr, "ERROR: there is no table %s\n", visible(name))
		return exitFailure
	}
	for _, d := range found {
		if sh.forPeople() {
			fmt.Fprintf(sh.out, "%s %s\n", strings.ToLower(d.kind), visible(strings.Join([]string{d.catalog, d.schema, d.name}, ".")))
		}
		if err := sh.columns(d); err != nil {
			return sh.fail(ctx, err)
		}
	}
	return exitOK
}

// lookUp asks for tables with their columns.
func (sh *shell) lookUp(ctx context.Context, opts *flightsql.GetTablesOpts) ([]described, error) {
	info, err := sh.client.sql.GetTables(sh.client.with(ctx), opts)
	if err != nil {
		return nil, err
	}
	var found []described
	err = sh.client.fetch(ctx, info, func(*arrow.Schema) error { return nil }, func(b arrow.RecordBatch) error {
		if b.NumCols() < 5 {
			return errors.New("the server sent no columns")
		}
		schemas, ok := b.Column(4).(*array.Binary)
		if !ok {
			return errors.New("the server sent no columns")
		}
		text := func(col, row int) string { s, _ := scalarText(b.Column(col), row); return strings.Clone(s) }
		for row := range int(b.NumRows()) {
			columns, err := flight.DeserializeSchema(schemas.Value(row), memory.DefaultAllocator)
			if err != nil {
				return fmt.Errorf("the server's columns cannot be read: %w", err)
			}
			found = append(found, described{text(0, row), text(1, row), text(2, row), text(3, row), columns})
		}
		return nil
	})
	sort.SliceStable(found, func(i, j int) bool {
		return found[i].catalog+"."+found[i].schema < found[j].catalog+"."+found[j].schema
	})
	return found, err
}

// columns writes a table's columns as a result of its own.
func (sh *shell) columns(d described) error {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "column", Type: arrow.BinaryTypes.String},
		{Name: "type", Type: arrow.BinaryTypes.String},
		{Name: "nullable", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "comment", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, f := range d.columns.Fields() {
		b.Field(0).(*array.StringBuilder).Append(f.Name)
		b.Field(1).(*array.StringBuilder).Append(typeName(f))
		b.Field(2).(*array.BooleanBuilder).Append(f.Nullable)
		if comment, ok := f.Metadata.GetValue("ARROW:FLIGHT:SQL:REMARKS"); ok && comment != "" {
			b.Field(3).(*array.StringBuilder).Append(comment)
		} else {
			b.Field(3).AppendNull()
		}
	}
	rows := b.NewRecordBatch()
	defer rows.Release()
	w := formats[sh.format](sh.out, schema, map[bool]string{true: sh.null}[sh.nullSet])
	if err := w.batch(rows); err != nil {
		return err
	}
	return w.close()
}

// typeName is the server's name of a column's type, or Arrow's if it gives none. A decimal's digits are added: drivers
// have them in fields of their own.
func typeName(f arrow.Field) string {
	if d, ok := f.Type.(arrow.DecimalType); ok {
		return fmt.Sprintf("DECIMAL(%d,%d)", d.GetPrecision(), d.GetScale())
	}
	if name, ok := f.Metadata.GetValue("ARROW:FLIGHT:SQL:TYPE_NAME"); ok && name != "" {
		return name
	}
	return f.Type.String()
}

func (sh *shell) conninfo(ctx context.Context) int {
	server, err := sh.client.info(ctx)
	if err != nil {
		return sh.fail(ctx, err)
	}
	who := "with a token"
	if sh.client.target.token.IsZero() {
		who = "as " + sh.client.target.user
	}
	fmt.Fprintf(sh.stdout, "Connected to %s (%s) %s.\n", sh.client.target.url(), visible(server), who)
	return exitOK
}
