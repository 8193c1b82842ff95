package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/gateway"
	"gatehouse/policy"
)

// observation is all that a user gets to see of one statement.
type observation struct {
	schema  string
	rows    []string
	batches []int64
	class   string // of the error, "" if there was none
	text    string // of the error, without ids
	canary  string // found in the bytes of a batch
	foreign string // words of an engine, a catalog or a policy, found in an error's text
	cause   string // what only the operator sees; not compared

	door, search, explain bool // how it was made
}

// ids are what differs between any two runs.
var ids = regexp.MustCompile(`\b[0-9a-f]{12,}\b`)

// snapshots are ids that the twins' tables got by chance; EXPLAIN shows those of tables without a policy.
var snapshots = regexp.MustCompile(`snapshot +[0-9]+`)

// observe runs a statement as eve, under policy p.
func (t *twin) observe(ctx context.Context, p int, st *statement) (o observation) {
	run := t.run
	if st.door {
		run = t.wire
	}
	err := run(ctx, p, st, &o)
	if err != nil {
		if o.class, o.text = errorClass(err), err.Error(); st.door {
			o.class, o.text = o.wireError(err)
		}
		o.text = ids.ReplaceAllString(o.text, "ID")
		sql, _ := st.render()
		o.foreign = foreignWords(o.text, sql)
		if cause := errors.Unwrap(err); cause != nil {
			o.cause = cause.Error()
		}
	}
	return o
}

func (t *twin) run(ctx context.Context, p int, st *statement, o *observation) error {
	g, s := t.gateways[p], t.sessions[p]
	sql, args := st.render()
	var res *gateway.Result
	var err error
	if len(args) > 0 {
		prepared, perr := g.Prepare(ctx, s, sql)
		if perr != nil {
			return perr
		}
		o.schema = "prepared " + schemaText(prepared.Schema()) + " params " + schemaText(prepared.Params()) + "\n"
		res, err = prepared.Execute(ctx, s, args)
	} else {
		res, err = g.Query(ctx, s, sql)
	}
	if err != nil {
		return err
	}
	o.schema += schemaText(res.Schema())
	r, err := res.Run(ctx)
	if err != nil {
		return err
	}
	defer r.Release()
	o.schema += " / " + schemaText(r.Schema())
	search := !slices.ContainsFunc(canaryPatterns, func(c []byte) bool { return strings.Contains(sql, string(c)) })
	explain := strings.HasPrefix(sql, "EXPLAIN")
	for r.Next() {
		b := r.RecordBatch()
		o.batches = append(o.batches, b.NumRows())
		o.read(b, explain)
		if search && o.canary == "" {
			if o.canary, err = searchBytes(b); err != nil {
				return err
			}
		}
	}
	return r.Err()
}

func (o *observation) read(b arrow.RecordBatch, explain bool) {
	for i := range int(b.NumRows()) {
		var text strings.Builder
		for c, col := range b.Columns() {
			if c > 0 {
				text.WriteString(" | ")
			}
			if col.IsNull(i) {
				text.WriteString("NULL")
			} else {
				text.WriteString(col.ValueStr(i))
			}
		}
		if line := text.String(); explain {
			o.rows = append(o.rows, snapshots.ReplaceAllString(line, "snapshot ID"))
		} else {
			o.rows = append(o.rows, line)
		}
	}
}

// searchBytes looks for canaries in a batch as it goes over the wire.
func searchBytes(b arrow.RecordBatch) (string, error) {
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(b.Schema()))
	if err := w.Write(b); err != nil {
		return "", fmt.Errorf("writing a batch: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	for _, c := range canaryPatterns {
		if i := bytes.Index(buf.Bytes(), c); i >= 0 {
			return fmt.Sprintf("%q", buf.Bytes()[max(0, i-8):min(buf.Len(), i+24)]), nil
		}
	}
	return "", nil
}

// foreign matches words that only an engine, a file system or the rewritten statement has.
var foreign = regexp.MustCompile(`(?i)__gw|read_parquet|LINE \d|\.parquet|/shop/|casting from source column|` + canaryText + `|HIDN`)

// foreignWords returns words of an error's text that are neither ours nor the statement's.
func foreignWords(text, sql string) string {
	for _, w := range foreign.FindAllString(text, -1) {
		if !strings.Contains(sql, w) {
			return w
		}
	}
	return ""
}

func schemaText(s *arrow.Schema) string {
	if s == nil {
		return "none"
	}
	var out []string
	for _, f := range s.Fields() {
		out = append(out, fmt.Sprintf("%s %s null=%v %v", f.Name, f.Type, f.Nullable, f.Metadata))
	}
	return strings.Join(out, ", ")
}

// errorClass is the type of an error as a door tells them apart.
func errorClass(err error) string {
	switch e := err.(type) {
	case *classify.SyntaxError:
		return "syntax"
	case *classify.UnsupportedError:
		return "unsupported"
	case *classify.NameError:
		return "no such " + e.Kind
	case *policy.DeniedError:
		return "denied"
	case *policy.PolicyError:
		return "policy"
	case *executors.Error:
		return fmt.Sprintf("executor %d %s", e.Kind, executorWord[e.Kind])
	case *gateway.LimitError:
		return "limit"
	case *gateway.InternalError:
		return "internal"
	case *gateway.SettingError, *gateway.UnreadableError:
		return fmt.Sprintf("%T", e)
	}
	if errors.Is(err, gateway.ErrTimeout) {
		return "timeout"
	}
	return fmt.Sprintf("other %T", err)
}

var executorWord = map[executors.Kind]string{
	executors.KindInternal: "internal", executors.KindBind: "bind", executors.KindConversion: "conversion", executors.KindRange: "range",
	executors.KindDivision: "division", executors.KindCardinality: "cardinality", executors.KindArgument: "argument",
	executors.KindMemory: "memory", executors.KindUnsupported: "unsupported", executors.KindData: "data", executors.KindCredential: "credential",
	executors.KindRefused: "refused", executors.KindUnavailable: "unavailable",
}

func (o observation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  schema: %s\n", o.schema)
	if o.class != "" {
		fmt.Fprintf(&b, "  error: %s: %s\n", o.class, o.text)
	}
	if o.cause != "" {
		fmt.Fprintf(&b, "  in the log: %.300s\n", o.cause)
	}
	if o.foreign != "" {
		fmt.Fprintf(&b, "  foreign text: %s\n", o.foreign)
	}
	if o.canary != "" {
		fmt.Fprintf(&b, "  hidden bytes: %s\n", o.canary)
	}
	fmt.Fprintf(&b, "  %d rows in batches of %v\n", len(o.rows), o.batches)
	for _, r := range o.rows[:min(len(o.rows), 12)] {
		fmt.Fprintf(&b, "    %s\n", r)
	}
	return b.String()
}
