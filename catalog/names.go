package catalog

import "strings"

// Match returns the one of names that want means: the equal one, or else the only one that differs in case alone.
func Match(names []string, want string) (string, bool) {
	folded, found := "", 0
	for _, n := range names {
		if n == want {
			return n, true
		}
		if strings.EqualFold(n, want) {
			folded, found = n, found+1
		}
	}
	return folded, found == 1
}
