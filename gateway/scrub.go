package gateway

import "regexp"

// quoted matches what may hold a value in the text of an engine or a storage client: quoted literals and long numbers.
var quoted = regexp.MustCompile(`'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|\b\d{5,}\b`)

// scrub returns the text of err without anything that looks like a literal, cut to 2,000 bytes, for the operator's log.
func scrub(err error) string {
	if err == nil {
		return ""
	}
	s := quoted.ReplaceAllString(err.Error(), "?")
	if len(s) > 2000 {
		s = s[:2000]
	}
	return s
}
