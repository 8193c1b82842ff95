package catalog

import (
	"testing"

	"github.com/apache/iceberg-go"
)

func TestLost(t *testing.T) {
	str := iceberg.PrimitiveTypes.String
	field := func(id int, name string, typ iceberg.Type) iceberg.NestedField {
		return iceberg.NestedField{ID: id, Name: name, Type: typ}
	}
	structure := func(fields ...iceberg.NestedField) Column {
		return Column{FieldID: 1, Type: &iceberg.StructType{FieldList: fields}}
	}
	list := func(c Column) Column {
		return Column{FieldID: 1, Type: &iceberg.ListType{ElementID: 9, Element: c.Type}}
	}
	a, b, renamed := field(2, "a", str), field(3, "b", str), field(2, "z", str)
	for name, c := range map[string]struct {
		now, old Column
		lost     bool
	}{
		"same":                    {structure(a, b), structure(a, b), false},
		"renamed":                 {structure(renamed), structure(a), false},
		"added":                   {structure(a, b), structure(a), false},
		"dropped":                 {structure(a), structure(a, b), true},
		"dropped and added again": {structure(a, field(4, "b", str)), structure(a, b), true},
		"dropped in a list":       {list(structure(a)), list(structure(a, b)), true},
		"dropped two levels down": {structure(field(5, "in", structure(a).Type)), structure(field(5, "in", structure(a, b).Type)), true},
		"kept two levels down":    {structure(field(5, "in", structure(a, b).Type)), structure(field(5, "in", structure(a).Type)), false},
		"no structure at all":     {Column{Type: str}, Column{Type: str}, false},
		"map whose value lost":    {Column{Type: &iceberg.MapType{KeyID: 6, KeyType: str, ValueID: 7, ValueType: structure(a).Type}}, Column{Type: &iceberg.MapType{KeyID: 6, KeyType: str, ValueID: 7, ValueType: structure(a, b).Type}}, true},
	} {
		if got := c.now.Lost(c.old); got != c.lost {
			t.Errorf("%s: %v", name, got)
		}
	}
}
