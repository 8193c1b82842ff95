package plan

import (
	"github.com/apache/iceberg-go"
)

// mayMatch implements condition by the file's partition, then by its statistics.
func (l leaf) mayMatch(s *snapshot, d *dataFile) bool {
	spec := s.specs[d.spec]
	for i := range spec.NumFields() {
		f := spec.Field(i)
		if f.SourceID() != l.field.ID {
			continue
		}
		if v, ok := d.partition[f.FieldID]; ok && !l.partitionMayMatch(f.Transform, v) {
			return false
		}
	}
	if st, ok := d.stats[l.field.ID]; ok {
		return l.statsMayMatch(st)
	}
	return true
}

// partitionMayMatch judges by one partition value. All transforms but void give NULL for NULL and for nothing else.
func (l leaf) partitionMayMatch(tr iceberg.Transform, v any) bool {
	switch tr.(type) {
	case iceberg.IdentityTransform, iceberg.BucketTransform, iceberg.TruncateTransform,
		iceberg.YearTransform, iceberg.MonthTransform, iceberg.DayTransform, iceberg.HourTransform:
	default:
		return true
	}
	switch {
	case v == nil:
		return l.op == isNull
	case l.op == isNull:
		return false
	case l.op == notNull:
		return true
	}
	if _, ok := tr.(iceberg.IdentityTransform); ok {
		have, ok := valueOf(l.field.Type, v)
		return !ok || l.holds(have.compare(l.value))
	}
	if _, ok := tr.(iceberg.BucketTransform); ok && l.op != equal {
		return true
	}
	return l.transformedMayMatch(tr, v)
}

// transformedMayMatch compares what the transform makes of the literal with the partition value. Of a range only the end of the partition
// that holds the literal is uncertain, so that < and > become <= and >=.
func (l leaf) transformedMayMatch(tr iceberg.Transform, v any) bool {
	source := l.field.Type
	lit := l.value.literal(source)
	if lit == nil || !tr.CanTransform(source) {
		return true
	}
	got := tr.Apply(iceberg.Optional[iceberg.Literal]{Val: lit, Valid: true})
	if !got.Valid {
		return true
	}
	result := source
	if _, ok := tr.(iceberg.TruncateTransform); !ok {
		result = iceberg.PrimitiveTypes.Int32
	}
	have, ok1 := valueOf(result, v)
	want, ok2 := valueOf(result, got.Val.Any())
	if !ok1 || !ok2 {
		return true
	}
	c := have.compare(want)
	switch tr.(type) {
	case iceberg.YearTransform, iceberg.MonthTransform, iceberg.DayTransform, iceberg.HourTransform:
		// Old writers rounded instants before 1970 towards 1970, so that the value may be one too high.
		if want.n < 0 && have.n == want.n+1 {
			c = 0
		}
	}
	switch l.op {
	case less, lessEqual:
		return c <= 0
	case greater, greaterEqual:
		return c >= 0
	}
	return c == 0
}

// statsMayMatch judges by counts and bounds.
func (l leaf) statsMayMatch(s stat) bool {
	allNull := s.values > 0 && s.nulls == s.values
	switch l.op {
	case isNull:
		return s.nulls != 0
	case notNull:
		return !allNull
	}
	if allNull {
		return false
	}
	if v, ok := bound(l.field.Type, s.lower); ok {
		c := v.compare(l.value)
		if c > 0 && l.op != greater && l.op != greaterEqual || c == 0 && l.op == less {
			return false
		}
	}
	if v, ok := bound(l.field.Type, s.upper); ok {
		c := v.compare(l.value)
		if c < 0 && l.op != less && l.op != lessEqual || c == 0 && l.op == greater {
			return false
		}
	}
	return true
}

func bound(t iceberg.Type, b []byte) (value, bool) {
	if b == nil {
		return value{}, false
	}
	lit, err := iceberg.LiteralFromBytes(t, b)
	if err != nil {
		return value{}, false
	}
	return valueOf(t, lit.Any())
}

// holds reports whether a value that compares with the literal as c satisfies the operator.
func (l leaf) holds(c int) bool {
	switch l.op {
	case equal:
		return c == 0
	case less:
		return c < 0
	case lessEqual:
		return c <= 0
	case greater:
		return c > 0
	case greaterEqual:
		return c >= 0
	}
	return true
}
