package flight

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/gateway"
	"gatehouse/policy"
)

func TestStatus(t *testing.T) {
	cause := errors.New("canary")
	for _, tt := range []struct {
		err  error
		code codes.Code
		text string
	}{
		{&classify.SyntaxError{Message: "m", Pos: 3}, codes.InvalidArgument, "syntax error: m (at character 4)"},
		{&classify.UnsupportedError{Construct: "MERGE", Pos: -1}, codes.Unimplemented, "unsupported: MERGE"},
		{&classify.UnsupportedError{Construct: "w", Pos: -1, Limit: true}, codes.ResourceExhausted, "limit reached: w"},
		{&classify.NameError{Kind: "table", Name: "t", Why: "does not exist", Pos: -1}, codes.NotFound, `table "t" does not exist`},
		{&classify.NameError{Kind: "column", Name: "t", Why: "does not exist", Pos: -1}, codes.InvalidArgument, `column "t" does not exist`},
		{&policy.DeniedError{Decision: "d", What: "x"}, codes.PermissionDenied, "access denied to x (decision d)"},
		{&policy.PolicyError{Decision: "d", Cause: cause}, codes.PermissionDenied, "the policy could not be applied (decision d)"},
		{&executors.Error{Kind: executors.KindRange, Cause: cause}, codes.InvalidArgument, "a value is out of range"},
		{&executors.Error{Kind: executors.KindMemory, Cause: cause}, codes.ResourceExhausted, "the statement needs more memory than it may use"},
		{&executors.Error{Kind: executors.KindData, Cause: cause}, codes.DataLoss, "a data file of the table cannot be read"},
		{&executors.Error{Kind: executors.KindUnsupported, Cause: cause}, codes.Unimplemented, "the table uses something that cannot be read here"},
		{&executors.Error{Kind: executors.KindCredential, Cause: cause}, codes.Internal, "a task credential was refused"},
		{&gateway.LimitError{What: "w"}, codes.ResourceExhausted, "limit reached: w"},
		{&gateway.SettingError{Name: "n", Why: "w"}, codes.InvalidArgument, `setting "n" w`},
		{&gateway.UnreadableError{Table: "t", Why: "w"}, codes.FailedPrecondition, `table "t" cannot be read: w`},
		{&gateway.InternalError{Query: "q"}, codes.Internal, "internal error (query q)"},
		{gateway.ErrClosing, codes.Unavailable, gateway.ErrClosing.Error()},
		{gateway.ErrCancelled, codes.Canceled, gateway.ErrCancelled.Error()},
		{gateway.ErrTimeout, codes.ResourceExhausted, "limit reached: the time of one statement"},
		{gateway.ErrDeadline, codes.DeadlineExceeded, gateway.ErrDeadline.Error()},
		{gateway.ErrAudit, codes.Unavailable, gateway.ErrAudit.Error()},
		{auth.ErrUnauthenticated, codes.Unauthenticated, "authentication failed"},
		{auth.ErrRateLimited, codes.ResourceExhausted, auth.ErrRateLimited.Error()},
		{errHandle, codes.NotFound, errHandle.text},
		{context.Canceled, codes.Canceled, "the call was cancelled"},
		{fmt.Errorf("canary: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "the call took longer than it may"},
		// A text that is not ours stays inside, even if it wraps an error of ours.
		{cause, codes.Internal, "internal error"},
		{fmt.Errorf("canary: %w", gateway.ErrClosing), codes.Internal, "internal error"},
		{fmt.Errorf("canary: %w", &policy.DeniedError{}), codes.Internal, "internal error"},
		{fmt.Errorf("canary: %w", catalog.ErrUnavailable), codes.Internal, "internal error"},
		{status.Error(codes.NotFound, "canary"), codes.Internal, "internal error"},
	} {
		got := status.Convert(toStatus(tt.err))
		if got.Code() != tt.code || got.Message() != tt.text || len(got.Details()) != 0 {
			t.Errorf("%#v: %s %q, want %s %q", tt.err, got.Code(), got.Message(), tt.code, tt.text)
		}
	}
	if toStatus(nil) != nil {
		t.Error("no error is an error")
	}
}

func TestClip(t *testing.T) {
	for name, s := range map[string]string{
		"short": "short", "empty": "", "long": strings.Repeat("x", 40_000), "wide": strings.Repeat("é%", 20_000),
		"not UTF-8": strings.Repeat("\xff", 5_000), "just fits": strings.Repeat("x", maxText), "one more": strings.Repeat("x", maxText+1),
	} {
		got := clip(s)
		if len(s) <= maxText && name != "not UTF-8" && got != s {
			t.Errorf("%s was cut to %d bytes", name, len(got))
		}
		if n := len(url.PathEscape(got)); n > maxText {
			t.Errorf("%s takes %d bytes on the wire", name, n)
		}
		if name != "not UTF-8" && !utf8.ValidString(got) {
			t.Errorf("%s was cut within a character", name)
		}
	}
	// A byte that is no character takes nine on the wire, and the text is cut in front of it.
	fits := strings.Repeat("x", maxText-3*len(" …")-9)
	if got := clip(fits + "\xff" + strings.Repeat("é", 9)); got != fits+" …" {
		t.Errorf("%q", got[len(got)-20:])
	}
}

func TestSQLType(t *testing.T) {
	for name, want := range map[string]arrow.DataType{
		"BIGINT":                   arrow.PrimitiveTypes.Int64,
		"DECIMAL(38,10)":           &arrow.Decimal128Type{Precision: 38, Scale: 10},
		"TIMESTAMP WITH TIME ZONE": &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
		"TIMESTAMP":                &arrow.TimestampType{Unit: arrow.Microsecond},
		"TIMESTAMP[]":              arrow.ListOf(&arrow.TimestampType{Unit: arrow.Microsecond}),
		"INTEGER[3][]":             arrow.ListOf(arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Int32)),
		"MAP(VARCHAR, BIGINT[])":   arrow.MapOf(arrow.BinaryTypes.String, arrow.ListOf(arrow.PrimitiveTypes.Int64)),
		`STRUCT("a ""b"", c" INTEGER, d STRUCT(e DATE))[]`: arrow.ListOf(arrow.StructOf(
			arrow.Field{Name: `a "b", c`, Type: arrow.PrimitiveTypes.Int32, Nullable: true},
			arrow.Field{Name: "d", Nullable: true, Type: arrow.StructOf(arrow.Field{Name: "e", Type: arrow.FixedWidthTypes.Date32, Nullable: true})})),
		"DECIMAL(39,0)": arrow.Null, "DECIMAL": arrow.Null, "BIGINT x": arrow.Null, "STRUCT(": arrow.Null, "STRUCT(a)": arrow.Null,
		"MAP(VARCHAR)": arrow.Null, "INTEGER[": arrow.Null, "": arrow.Null, "GEOMETRY": arrow.Null, `STRUCT("a`: arrow.Null,
		strings.Repeat("STRUCT(a ", 10_000): arrow.Null,
	} {
		if got := sqlType(name); !arrow.TypeEqual(got, want) {
			t.Errorf("%.40s is %s, want %s", name, got, want)
		}
	}
}

func TestPublicSchema(t *testing.T) {
	m := arrow.MetadataFrom(map[string]string{"canary": "x"})
	uuid := arrow.MetadataFrom(map[string]string{"ARROW:extension:name": "arrow.uuid", "ARROW:extension:metadata": "canary"})
	list := arrow.ListOfField(arrow.Field{Name: "item", Type: arrow.PrimitiveTypes.Int8, Metadata: m, Nullable: true})
	in := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.StructOf(arrow.Field{Name: "b", Type: list, Metadata: m}), Metadata: m},
		{Name: "u", Type: &arrow.FixedSizeBinaryType{ByteWidth: 16}, Metadata: uuid},
		{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, list)},
	}, &m)
	out, err := publicSchema(in)
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(out, out.Fields()) + out.Fingerprint(); strings.Contains(s, "canary") {
		t.Error(s)
	}
	for i := range in.Fields() {
		if !arrow.TypeEqual(in.Field(i).Type, out.Field(i).Type) {
			t.Errorf("%s became %s", in.Field(i).Type, out.Field(i).Type)
		}
	}
	if name := typeName(out.Field(1)); name != "UUID" {
		t.Errorf("the uuid is a %s", name)
	}
	for _, bad := range []arrow.DataType{
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
		arrow.BinaryTypes.StringView, arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int8),
	} {
		for _, typ := range []arrow.DataType{bad, arrow.ListOf(bad), arrow.StructOf(arrow.Field{Name: "x", Type: bad}), arrow.MapOf(arrow.BinaryTypes.String, bad)} {
			if _, err := publicSchema(arrow.NewSchema([]arrow.Field{{Name: "x", Type: typ}}, nil)); err == nil {
				t.Errorf("%s may be sent", typ)
			}
		}
	}
}

// A batch whose columns are not those that were announced must not go out.
func TestRelabelRefuses(t *testing.T) {
	one := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
	other := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, one)
	defer b.Release()
	batch := b.NewRecordBatch()
	defer batch.Release()
	if got, err := relabel(one, batch); err != nil || got.NumCols() != 1 {
		t.Error(err)
	}
	for _, s := range []*arrow.Schema{other, arrow.NewSchema(nil, nil)} {
		if _, err := relabel(s, batch); err == nil {
			t.Errorf("%s was taken", s)
		}
	}
}

func TestValueOf(t *testing.T) {
	for _, tt := range []struct {
		typ  arrow.DataType
		json string
		want string
	}{
		{arrow.FixedWidthTypes.Boolean, `[true]`, "bool true"},
		{arrow.PrimitiveTypes.Int8, `[-3]`, "int64 -3"},
		{arrow.PrimitiveTypes.Uint64, `[18446744073709551615]`, "uint64 18446744073709551615"},
		{arrow.PrimitiveTypes.Float32, `[1.5]`, "float64 1.5"},
		{arrow.BinaryTypes.String, `["x"]`, "string x"},
		{arrow.BinaryTypes.LargeString, `["x"]`, "string x"},
		{arrow.BinaryTypes.StringView, `["x"]`, "string x"},
		{arrow.BinaryTypes.Binary, `["AQI="]`, "[]uint8 [1 2]"},
		{&arrow.Decimal128Type{Precision: 10, Scale: 2}, `["1.25"]`, "string 1.25"},
		{&arrow.TimestampType{Unit: arrow.Second}, `["2026-01-02 03:04:05"]`, "time.Time 2026-01-02 03:04:05 +0000 UTC"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["d"]`, "string d"},
		{arrow.FixedWidthTypes.Date32, `["2026-01-02"]`, "*scalar.Date32 2026-01-02"},
		{arrow.Null, `[null]`, "<nil> <nil>"},
		{arrow.PrimitiveTypes.Int64, `[null]`, "<nil> <nil>"},
	} {
		a, _, err := array.FromJSON(memory.DefaultAllocator, tt.typ, strings.NewReader(tt.json))
		if err != nil {
			t.Fatal(err)
		}
		v, err := valueOf(a, 0)
		if got := fmt.Sprintf("%T %v", v, v); err != nil || got != tt.want {
			t.Errorf("%s: %s (%v), want %s", tt.typ, got, err, tt.want)
		}
		a.Release()
	}
	bad := array.NewData(&arrow.Decimal128Type{Precision: 200, Scale: 3}, 1, []*memory.Buffer{nil, memory.NewBufferBytes(make([]byte, 16))}, nil, 0, 0)
	if v, err := valueOf(array.MakeFromData(bad), 0); err == nil {
		t.Errorf("a decimal of 200 digits is %v", v)
	}
}

// A buffer that says it is larger than it may be is not allocated.
func TestBounded(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("allocated")
		}
	}()
	b := &bounded{Allocator: memory.NewGoAllocator()}
	b.Free(b.Reallocate(100, b.Allocate(10)))
	if b.used != 0 {
		t.Errorf("%d bytes are counted", b.used)
	}
	b.Allocate(maxBoundBytes + 1)
}
