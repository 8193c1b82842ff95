package opa

import (
	"slices"
	"strings"

	"gatehouse/policy"
)

// Trino knows names in lower case alone, and so do policies that were written for it: one that masks tax_id would miss a column Tax_ID.
// With Config.FoldNames a policy is asked in those names. What it says of one name then holds for all that differ from it in case only.

// foldResources returns rs in the names that the policy is asked about.
func (j *judge) foldResources(rs []policy.Resource) []policy.Resource {
	if !j.d.cfg.FoldNames {
		return rs
	}
	out := slices.Clone(rs)
	for i, r := range out {
		out[i].Catalog, out[i].Schema, out[i].Table = strings.ToLower(r.Catalog), strings.ToLower(r.Schema), strings.ToLower(r.Table)
		out[i].Columns = slices.Clone(r.Columns)
		for c, name := range r.Columns {
			out[i].Columns[c] = strings.ToLower(name)
		}
		if r.Detail != nil {
			detail := j.foldTable(*r.Detail)
			out[i].Detail = &detail
		}
	}
	return out
}

// foldTable returns t in the names that the policy is asked about; its columns keep their places.
func (j *judge) foldTable(t policy.Table) policy.Table {
	if !j.d.cfg.FoldNames {
		return t
	}
	t.Name.Catalog, t.Name.Schema, t.Name.Table = strings.ToLower(t.Name.Catalog), strings.ToLower(t.Name.Schema), strings.ToLower(t.Name.Table)
	t.Columns = slices.Clone(t.Columns)
	for i, c := range t.Columns {
		t.Columns[i].Name = strings.ToLower(c.Name)
	}
	return t
}
