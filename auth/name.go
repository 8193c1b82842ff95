package auth

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxUser is the longest user name in bytes.
const maxUser = 256

// NormalizeUser returns name in Unicode normalisation form C, and false if it cannot be a user name:
// empty, longer than 256 bytes, not UTF-8, with characters that control or show nothing (so that no
// two names look the same only because of those), or with space at either end. Look-alikes such as a
// full-width "ＥＶＥ", another case, or a Turkish dotless i stay what they are: other users.
func NormalizeUser(name string) (string, bool) {
	if name == "" || len(name) > maxUser || !utf8.ValidString(name) {
		return "", false
	}
	name = norm.NFC.String(name)
	if len(name) > maxUser || name[0] == ' ' || name[len(name)-1] == ' ' {
		return "", false
	}
	for _, r := range name {
		if !visible(r) {
			return "", false
		}
	}
	return name, true
}

func visible(r rune) bool {
	if r == ' ' {
		return true
	}
	return unicode.IsGraphic(r) && !unicode.IsSpace(r) && r != utf8.RuneError &&
		!unicode.In(r, unicode.Zs, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
