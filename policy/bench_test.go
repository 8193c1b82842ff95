package policy

import (
	"testing"

	"gatehouse/classify"
)

func BenchmarkApply(b *testing.B) {
	s, err := classify.Parse("SELECT email, tax_id, count(*) FROM customers WHERE id > 5 GROUP BY email, tax_id")
	if err != nil {
		b.Fatal(err)
	}
	bound, err := s.Bind([]classify.Relation{{Name: customers.Name, Columns: customers.Columns}})
	if err != nil {
		b.Fatal(err)
	}
	d := Decision{
		ID:      "d",
		Filters: []Expression{{SQL: "region = :r", Params: map[string]any{"r": "EU"}}},
		Masks:   map[string]Expression{"email": {SQL: "gw_hash(email)"}, "tax_id": {SQL: "'***-**-' || right(tax_id, 4)"}},
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Apply(bound, "r", []Table{customers}, []Decision{d}); err != nil {
			b.Fatal(err)
		}
	}
}
