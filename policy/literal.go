package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// maxList is how many values a list parameter may have.
const maxList = 10000

// literal makes the literal of one parameter's value. Whatever a string holds, it stays one string: it is put into
// the tree, not into the text.
func literal(v any) (*pgquery.Node, error) {
	switch v := v.(type) {
	case nil:
		return nullConst(), nil
	case bool:
		return boolConst(v), nil
	case string:
		if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
			return nil, errors.New("a parameter is not valid UTF-8 text")
		}
		return stringConst(v), nil
	case int:
		return number(strconv.Itoa(v))
	case int64:
		return number(strconv.FormatInt(v, 10))
	case json.Number:
		return number(v.String())
	case []any:
		return nil, errors.New("a list parameter may only stand in IN (…)")
	default:
		return nil, fmt.Errorf("a parameter of type %T is not allowed", v)
	}
}

var decimal = regexp.MustCompile(`^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$`)

// number makes the literal of a JSON number, exactly: an integer of 64 bits, or else a decimal of at most 38 digits.
func number(s string) (*pgquery.Node, error) {
	m := decimal.FindStringSubmatch(s)
	if m == nil {
		return nil, errors.New("a parameter is not a number")
	}
	whole, fraction := m[2], m[3]
	exponent, _ := strconv.Atoi(m[4])
	if exponent > 0 {
		fraction += strings.Repeat("0", max(0, exponent-len(fraction)))
		whole, fraction = whole+fraction[:exponent], fraction[exponent:]
	} else if exponent < 0 {
		whole = strings.Repeat("0", max(0, 1-exponent-len(whole))) + whole
		whole, fraction = whole[:len(whole)+exponent], whole[len(whole)+exponent:]+fraction
	}
	whole = strings.TrimLeft(whole, "0")
	if m[4] != "" {
		fraction = strings.TrimRight(fraction, "0")
	}
	if len(whole)+len(fraction) > 38 {
		return nil, errors.New("a parameter has more than 38 digits")
	}
	if whole == "" {
		whole = "0"
	}
	n := digits(whole, fraction)
	if m[1] == "-" {
		n = operator("-", nil, n)
	}
	return n, nil
}

func digits(whole, fraction string) *pgquery.Node {
	if fraction != "" {
		return decimalConst(whole + "." + fraction)
	}
	if i, ok := new(big.Int).SetString(whole, 10); ok && i.IsInt64() && i.Int64() < 1<<31 {
		return intConst(int32(i.Int64()))
	}
	return decimalConst(whole)
}
