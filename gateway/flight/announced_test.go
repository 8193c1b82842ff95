package flight

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowext "github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
)

var update = flag.Bool("update", false, "write what the server announces to testdata/announced.txt")

// TestAnnounced: all that the server says of itself, as it comes over the wire, is as it was written down. Drivers act on it,
// so no line of it changes by the way.
func TestAnnounced(t *testing.T) {
	c := newRig(t).login("alice")
	var out strings.Builder
	section := func(name string, rows [][]string, err error) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fmt.Fprintf(&out, "# %s\n", name)
		for _, r := range rows {
			out.WriteString(strings.Join(r, "\t") + "\n")
		}
		out.WriteString("\n")
	}

	info, err := c.GetSqlInfo(c.ctx, nil)
	rows, err := c.texts(info, err)
	slices.SortFunc(rows, func(a, b []string) int {
		x, _ := strconv.Atoi(a[0])
		y, _ := strconv.Atoi(b[0])
		return x - y
	})
	for i, r := range rows {
		if id := pb.SqlInfo_value["FLIGHT_SQL_SERVER_VERSION"]; r[0] == fmt.Sprint(id) || r[0] == fmt.Sprint(id+1) {
			rows[i] = []string{r[0], "a version"}
		}
	}
	section("SqlInfo", rows, err)

	info, err = c.GetXdbcTypeInfo(c.ctx, nil)
	rows, err = c.texts(info, err)
	section("XdbcTypeInfo", rows, err)

	info, err = c.GetTableTypes(c.ctx)
	rows, err = c.texts(info, err)
	section("TableTypes", rows, err)

	rows = nil
	for _, a := range actions {
		rows = append(rows, []string{a.name, fmt.Sprint("any ", a.any), fmt.Sprint("runs ", a.run != nil), a.help, a.why})
	}
	section("actions", rows, nil)
	rows = nil
	for _, c := range commands {
		rows = append(rows, []string{c.name, fmt.Sprint("info ", c.info != nil), fmt.Sprint("get ", c.get != nil), fmt.Sprint("put ", c.put != nil), c.why})
	}
	section("commands", rows, nil)

	rows = nil
	for _, name := range slices.Sorted(maps.Keys(simpleTypes)) {
		typ := sqlType(name)
		rows = append(rows, []string{name, typ.String(), metadataOf(arrow.Field{Type: typ})})
	}
	section("types of columns", rows, nil)
	rows = nil
	for _, f := range moreTypes() {
		rows = append(rows, []string{f.Type.String(), metadataOf(f)})
	}
	section("other types of results", rows, nil)

	const path = "testdata/announced.txt"
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(string(want), out.String()); d != "" {
		t.Errorf("(-want +got), -update accepts it\n%s", d)
	}
}

func metadataOf(f arrow.Field) string {
	m := describeColumn(f)
	var out []string
	for i, k := range m.Keys() {
		out = append(out, strings.TrimPrefix(k, "ARROW:FLIGHT:SQL:")+"="+m.Values()[i])
	}
	slices.SortFunc(out, cmp.Compare[string])
	return strings.Join(out, " ")
}

func moreTypes() []arrow.Field {
	i := arrow.PrimitiveTypes.Int32
	types := []arrow.DataType{
		arrow.Null, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.LargeBinary, &arrow.FixedSizeBinaryType{ByteWidth: 4},
		&arrow.Decimal32Type{Precision: 4, Scale: 1}, &arrow.Decimal64Type{Precision: 12, Scale: 1}, &arrow.Decimal256Type{Precision: 50, Scale: 1},
		arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.MonthInterval, arrow.FixedWidthTypes.DayTimeInterval,
		arrow.FixedWidthTypes.Duration_s, arrow.ListOf(i), arrow.LargeListOf(i), arrow.FixedSizeListOf(2, i), arrow.MapOf(i, i),
		arrow.StructOf(arrow.Field{Name: "a", Type: i}), arrow.FixedWidthTypes.Float16, arrowext.NewUUIDType(), arrowext.NewBool8Type(),
	}
	var out []arrow.Field
	for _, typ := range types {
		out = append(out, arrow.Field{Type: typ})
	}
	ext := func(name string) arrow.Metadata {
		return arrow.MetadataFrom(map[string]string{"ARROW:extension:name": name, "ARROW:extension:metadata": "x"})
	}
	return append(out,
		arrow.Field{Type: &arrow.FixedSizeBinaryType{ByteWidth: 16}, Metadata: ext("arrow.uuid")},
		arrow.Field{Type: arrow.BinaryTypes.String, Metadata: ext("arrow.json")},
		arrow.Field{Type: arrow.BinaryTypes.String, Metadata: ext("somebody.else")})
}

// Every kind of value that may be bound arrives as what it is, those without a counterpart are refused.
func TestValueOfEveryType(t *testing.T) {
	for _, tt := range []struct {
		typ  arrow.DataType
		json string
		want string // "": refused
	}{
		{arrow.PrimitiveTypes.Int16, `[-3]`, "int64 -3"},
		{arrow.PrimitiveTypes.Int32, `[-3]`, "int64 -3"},
		{arrow.PrimitiveTypes.Int64, `[-3]`, "int64 -3"},
		{arrow.PrimitiveTypes.Uint8, `[3]`, "uint64 3"},
		{arrow.PrimitiveTypes.Uint16, `[3]`, "uint64 3"},
		{arrow.PrimitiveTypes.Uint32, `[3]`, "uint64 3"},
		{arrow.FixedWidthTypes.Float16, `[1.5]`, "float64 1.5"},
		{arrow.PrimitiveTypes.Float64, `[1.5]`, "float64 1.5"},
		{arrow.BinaryTypes.LargeBinary, `["AQI="]`, "[]uint8 [1 2]"},
		{arrow.BinaryTypes.BinaryView, `["AQI="]`, "[]uint8 [1 2]"},
		{&arrow.FixedSizeBinaryType{ByteWidth: 2}, `["AQI="]`, "[]uint8 [1 2]"},
		{&arrow.Decimal32Type{Precision: 5, Scale: 2}, `["1.25"]`, "string 1.25"},
		{&arrow.Decimal64Type{Precision: 5, Scale: 2}, `["1.25"]`, "string 1.25"},
		{&arrow.Decimal256Type{Precision: 76, Scale: 76}, `["0.25"]`, "string 0.25"},
		{&arrow.Decimal128Type{Precision: 10, Scale: 0}, `["7"]`, "string 7"},
		{&arrow.TimestampType{Unit: arrow.Nanosecond}, `["2026-01-02 03:04:05.000000001"]`, "time.Time 2026-01-02 03:04:05.000000001 +0000 UTC"},
		{arrow.FixedWidthTypes.Time64us, `["03:04:05"]`, "*scalar.Time64 03:04:05"},
		{arrowext.NewUUIDType(), `["01020304-0506-0708-090a-0b0c0d0e0f10"]`, "string 01020304-0506-0708-090a-0b0c0d0e0f10"},
		{arrowext.NewBool8Type(), `[true]`, "int64 1"},
	} {
		a, _, err := array.FromJSON(memory.DefaultAllocator, tt.typ, strings.NewReader(tt.json))
		if err != nil {
			t.Errorf("%s: %v", tt.typ, err)
			continue
		}
		v, err := valueOf(a, 0)
		got := ""
		if err == nil {
			got = fmt.Sprintf("%T %v", v, v)
		}
		if got != tt.want {
			t.Errorf("%s: %s (%v), want %s", tt.typ, got, err, tt.want)
		}
		if _, err := valueOf(a, a.Len()); err != errBind {
			t.Errorf("%s past its end: %v", tt.typ, err)
		}
		a.Release()
	}
	for _, d := range []arrow.Decimal128Type{{Precision: 0}, {Precision: 77}, {Precision: 3, Scale: 4}, {Precision: 3, Scale: -1}} {
		a := array.MakeFromData(array.NewData(&d, 1, []*memory.Buffer{nil, memory.NewBufferBytes(make([]byte, 16))}, nil, 0, 0))
		if v, err := valueOf(a, 0); err != errBind {
			t.Errorf("a decimal of %d digits, %d behind the point: %v, %v", d.Precision, d.Scale, v, err)
		}
	}
	// Text and bytes are copies: the message that they came in is reused.
	raw := []byte("abc")
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, 3}))
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.Binary} {
		a := array.MakeFromData(array.NewData(typ, 1, []*memory.Buffer{nil, offsets, memory.NewBufferBytes(raw)}, nil, 0, 0))
		v, err := valueOf(a, 0)
		raw[0] = 'X'
		if s := fmt.Sprintf("%s", v); err != nil || s != "abc" {
			t.Errorf("%s: %s, %v", typ, s, err)
		}
		raw[0] = 'a'
	}
}

// What an option may be.
func TestOptionText(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
		ok   bool
	}{{"x", "x", true}, {true, "true", true}, {int64(7), "7", true}, {2.5, "2.5", true}, {[]string{"a"}, "", false}} {
		v, err := flight.NewSessionOptionValue(c.v)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := optionText(&v)
		if ok != c.ok || ok && (got == nil || *got != c.want) {
			t.Errorf("%v: %v, %v", c.v, got, ok)
		}
	}
	if got, ok := optionText(&flight.SessionOptionValue{}); got != nil || !ok {
		t.Errorf("a reset: %v, %v", got, ok)
	}
}

// What a client says of itself is kept as printable ASCII, and short.
func TestClipAgent(t *testing.T) {
	for in, want := range map[string]string{
		"ADBC 1.2": "ADBC 1.2", "a\x00b\nc\x7fd\x1b[31m": "abcd[31m", "é~ ": "~ ", strings.Repeat("x", 200): strings.Repeat("x", 200), strings.Repeat("x", 201): strings.Repeat("x", 200),
	} {
		if got := clipAgent(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// thing is something held.
type thing struct{ closed int }

func (*thing) life(l HandleLimits) time.Duration { return l.Ticket }
func (h *thing) close()                          { h.closed++ }

// other is something else held.
type other struct{ thing }

// A handle lives until its time after its last use is over or it is ended; what it stands for is closed once, and not while a
// call uses it.
func TestHandles(t *testing.T) {
	now := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	limits := HandleLimits{Count: 3}
	limits.setDefaults()
	cfg := Config{Now: now.Now, Rand: strings.NewReader(strings.Repeat("0123456789abcdefghijklmnop", 4)), Handles: limits}
	hs := newHandles(cfg)
	add := func() (*thing, []byte) {
		t.Helper()
		h := &thing{}
		key, err := hs.add(h)
		if err != nil || len(key) != handleSize {
			t.Fatal(key, err)
		}
		return h, key
	}
	a, ka := add()
	if _, _, err := use[*other](hs, ka); err != errHandle {
		t.Errorf("a handle of another kind: %v", err)
	}
	now.advance(limits.Ticket - 1)
	got, done, err := use[*thing](hs, ka)
	if err != nil || got != a {
		t.Fatalf("just before its end: %v", err)
	}
	now.advance(2 * limits.Ticket)
	if _, again, err := use[*thing](hs, ka); err != nil {
		t.Errorf("while a call uses it: %v", err)
	} else {
		again()
	}
	hs.sweep()
	done()
	done() // once is enough
	now.advance(limits.Ticket - 1)
	hs.sweep()
	if a.closed != 0 {
		t.Error("closed by the time since it was taken, not since it was given back")
	}
	now.advance(1)
	if _, _, err := use[*thing](hs, ka); err != errHandle || a.closed != 1 {
		t.Errorf("at its end: %v, closed %d times", err, a.closed)
	}

	b, kb := add()
	_, done, _ = use[*thing](hs, kb)
	hs.end(kb)
	if b.closed != 0 {
		t.Error("closed under a call")
	}
	if _, _, err := use[*thing](hs, kb); err != errHandle {
		t.Errorf("ended: %v", err)
	}
	done()
	hs.end(kb)
	if b.closed != 1 {
		t.Errorf("closed %d times", b.closed)
	}

	// The longest unused one makes room, never one in use. No more randomness is left for a fifth.
	hs.cfg.Rand = strings.NewReader(strings.Repeat("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef", 3))
	var hold []func()
	var things []*thing
	for range 3 {
		h, k := add()
		_, d, err := use[*thing](hs, k)
		if err != nil {
			t.Fatal(err)
		}
		hold, things = append(hold, d), append(things, h)
		now.advance(1)
	}
	hold[1]()
	now.advance(1)
	hold[2]()
	add()
	if things[0].closed != 0 || things[1].closed != 1 || things[2].closed != 0 {
		t.Errorf("closed: %d %d %d times", things[0].closed, things[1].closed, things[2].closed)
	}
	last := &thing{}
	if _, err := hs.add(last); err == nil || last.closed != 1 {
		t.Errorf("without randomness: %v, closed %d times", err, last.closed)
	}
	hs.closeAll()
	hold[0]()
	if things[0].closed != 1 || things[2].closed != 1 || !hs.isClosed() {
		t.Error("the session's end leaves something open")
	}
	hs.cfg.Rand = strings.NewReader(strings.Repeat("x", 100))
	late := &thing{}
	if _, err := hs.add(late); err != errSession || late.closed != 1 {
		t.Errorf("after the session's end: %v, closed %d times", err, late.closed)
	}
}

// Each error with a code of its own has that code, and each kind of an engine's.
func TestEverySentinelHasItsCode(t *testing.T) {
	want := []codes.Code{
		codes.Unauthenticated, codes.Unauthenticated, codes.ResourceExhausted, codes.Unavailable, codes.ResourceExhausted, codes.Unavailable,
		codes.Canceled, codes.ResourceExhausted, codes.DeadlineExceeded, codes.NotFound, codes.Unavailable, codes.Unauthenticated, codes.Unavailable, codes.FailedPrecondition,
	}
	if len(sentinels) != len(want) {
		t.Fatalf("%d errors, %d codes", len(sentinels), len(want))
	}
	for i, s := range sentinels {
		if s.code != want[i] {
			t.Errorf("%v has %s", s.err, s.code)
		}
	}
}
