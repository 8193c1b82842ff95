package gateway

// like returns a matcher for an SQL LIKE pattern: % is any text, _ any one character, \ takes the next one literally.
// nil matches everything. The time is bounded by the product of the lengths.
func like(pattern *string) func(string) bool {
	if pattern == nil {
		return func(string) bool { return true }
	}
	type token struct {
		r   rune
		any bool // %
		one bool // _
	}
	var ts []token
	escaped := false
	for _, r := range *pattern {
		switch {
		case escaped:
			ts, escaped = append(ts, token{r: r}), false
		case r == '\\':
			escaped = true
		case r == '%':
			if len(ts) == 0 || !ts[len(ts)-1].any {
				ts = append(ts, token{any: true})
			}
		case r == '_':
			ts = append(ts, token{one: true})
		default:
			ts = append(ts, token{r: r})
		}
	}
	if escaped {
		ts = append(ts, token{r: '\\'})
	}
	return func(s string) bool {
		rs := []rune(s)
		si, ti, star, mark := 0, 0, -1, 0
		for si < len(rs) {
			switch {
			case ti < len(ts) && ts[ti].any:
				star, mark = ti, si
				ti++
			case ti < len(ts) && (ts[ti].one || ts[ti].r == rs[si]):
				ti++
				si++
			case star >= 0:
				mark++
				ti, si = star+1, mark
			default:
				return false
			}
		}
		for ti < len(ts) && ts[ti].any {
			ti++
		}
		return ti == len(ts)
	}
}
