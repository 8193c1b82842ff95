package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MaskConflict says that two masks of one column have the same priority and differ.
type MaskConflict struct {
	Column string
	A, B   string // the rules: their places, or their ids where these are unknown
}

func (e *MaskConflict) Error() string {
	return fmt.Sprintf("mask_conflict: column %q is masked by %s and by %s with the same priority", e.Column, e.A, e.B)
}

// CombineMasks chooses the mask of one column out of all that a policy gave: textual duplicates fall away, then
// the highest priority wins, and two that are left are a *MaskConflict. The order of masks does not matter. Masks
// must not be empty.
func CombineMasks(column string, masks []Expression) (Expression, error) {
	if len(masks) == 0 {
		return Expression{}, fmt.Errorf("no mask for column %q", column)
	}
	sorted := slices.Clone(masks)
	slices.SortFunc(sorted, func(a, b Expression) int {
		if a.Priority != b.Priority {
			return b.Priority - a.Priority
		}
		if c := strings.Compare(bodyKey(a), bodyKey(b)); c != 0 {
			return c
		}
		return strings.Compare(identify(a), identify(b))
	})
	best := sorted[0]
	for _, m := range sorted[1:] {
		if m.Priority == best.Priority && bodyKey(m) != bodyKey(best) {
			return Expression{}, &MaskConflict{Column: column, A: place(best), B: place(m)}
		}
	}
	return best, nil
}

func place(e Expression) string {
	if e.Rule == "" {
		return identify(e)
	}
	return e.Rule
}

// sortKey orders and compares filters.
func sortKey(e Expression) string { return e.AnyOf + "\x00" + identify(e) + "\x00" + bodyKey(e) }

// bodyKey is equal for expressions with the same text and the same parameters.
func bodyKey(e Expression) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(e.SQL))
	for _, name := range slices.Sorted(maps.Keys(e.Params)) {
		fmt.Fprintf(&b, "\x00%q=%T:%#v", name, e.Params[name], e.Params[name])
	}
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		fmt.Fprintf(&b, "\x00%q=#%d", name, e.Fields[name])
	}
	return b.String()
}
