package policy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"gatehouse/auth"
)

// HashFunction is the policy-only function that replaces a value by its keyed hash: equal values stay equal, in every
// table and for every user, so that masked columns still join, and nobody without the key can try values out.
const HashFunction = "gw_hash"

// HashMarker is the function that stands for HashFunction in governed trees. Trees, digests, audit and EXPLAIN hold
// only the marker; ExpandHash puts the key in on the way into the engine, and ShowHash prints it for people.
const HashMarker = "__gw_hash"

// ErrNoKey says that a policy uses gw_hash and the gateway has no key.
var ErrNoKey = errors.New("policy: gw_hash needs a hash key")

// ExpandHash returns n with every marker replaced by what the engine computes:
//
//	sha256(outer || sha256(inner || value))
//
// in hex, NULL for NULL, where inner and outer are keys of fixed length that HMAC-SHA256 derives from key. That is
// the nested construction (NMAC) that HMAC is built on, so the lack of a length prefix does not matter. The result
// holds the key: it goes to an engine of this process and nowhere else, neither into a log nor into an error.
// n itself is not changed; it is returned as it is if it has no marker.
func ExpandHash(n *pgquery.Node, key auth.Secret) (*pgquery.Node, error) {
	keys := deriveHash(key)
	expanded, hits := replaceHash(n, func(value *pgquery.Node) *pgquery.Node {
		return call("sha256", operator("||", stringConst(keys.Outer.Reveal()),
			call("sha256", operator("||", stringConst(keys.Inner.Reveal()), value))))
	})
	switch {
	case hits == 0:
		return n, nil
	case key.Reveal() == "":
		return nil, ErrNoKey
	default:
		return expanded, nil
	}
}

// HashKeys are the keys of ExpandHash's formula, for an executor that computes it by itself. Who has them can try values out, as who has the
// key that they are derived from can.
type HashKeys struct{ Inner, Outer auth.Secret }

// DeriveHash returns the keys that HashFunction is computed with; an empty key is ErrNoKey.
func DeriveHash(key auth.Secret) (HashKeys, error) {
	if key.Reveal() == "" {
		return HashKeys{}, ErrNoKey
	}
	return deriveHash(key), nil
}

// UsesHash reports whether n has a marker in it.
func UsesHash(n *pgquery.Node) bool {
	_, hits := replaceHash(n, func(value *pgquery.Node) *pgquery.Node { return value })
	return hits > 0
}

// ShowHash returns n with the marker spelled as policy authors spell it, for EXPLAIN.
func ShowHash(n *pgquery.Node) *pgquery.Node {
	shown, _ := replaceHash(n, func(value *pgquery.Node) *pgquery.Node {
		if c := value.GetTypeCast(); c != nil {
			value = c.Arg
		}
		return call(HashFunction, value)
	})
	return shown
}

// KeyedHash returns what gw_hash gives for value: for tests, and for people who look a value up.
func KeyedHash(value string, key auth.Secret) (string, error) {
	if key.Reveal() == "" {
		return "", ErrNoKey
	}
	keys := deriveHash(key)
	in := sha256.Sum256([]byte(keys.Inner.Reveal() + value))
	out := sha256.Sum256([]byte(keys.Outer.Reveal() + hex.EncodeToString(in[:])))
	return hex.EncodeToString(out[:]), nil
}

func deriveHash(key auth.Secret) HashKeys {
	derive := func(label string) auth.Secret {
		mac := hmac.New(sha256.New, []byte(key.Reveal()))
		mac.Write([]byte("gatehouse gw_hash " + label))
		return auth.NewSecret(hex.EncodeToString(mac.Sum(nil)))
	}
	return HashKeys{Inner: derive("inner"), Outer: derive("outer")}
}

func isHash(n *pgquery.Node) bool {
	f := n.GetFuncCall()
	return f != nil && len(f.Funcname) == 1 && f.Funcname[0].GetString_().GetSval() == HashMarker && len(f.Args) == 1
}

// replaceHash works on a copy, innermost marker first, and says how many there were.
func replaceHash(n *pgquery.Node, with func(value *pgquery.Node) *pgquery.Node) (*pgquery.Node, int) {
	hits := 0
	out := edit(proto.CloneOf(n), func(n *pgquery.Node) *pgquery.Node {
		if !isHash(n) {
			return n
		}
		hits++
		return with(n.GetFuncCall().Args[0])
	})
	return out, hits
}

// edit replaces nodes bottom-up in place, in the kinds of node that a policy expression may hold.
func edit(n *pgquery.Node, f func(*pgquery.Node) *pgquery.Node) *pgquery.Node {
	if n == nil {
		return nil
	}
	each := func(ns []*pgquery.Node) {
		for i := range ns {
			ns[i] = edit(ns[i], f)
		}
	}
	switch x := n.Node.(type) {
	case *pgquery.Node_AExpr:
		x.AExpr.Lexpr, x.AExpr.Rexpr = edit(x.AExpr.Lexpr, f), edit(x.AExpr.Rexpr, f)
	case *pgquery.Node_List:
		each(x.List.Items)
	case *pgquery.Node_BoolExpr:
		each(x.BoolExpr.Args)
	case *pgquery.Node_NullTest:
		x.NullTest.Arg = edit(x.NullTest.Arg, f)
	case *pgquery.Node_BooleanTest:
		x.BooleanTest.Arg = edit(x.BooleanTest.Arg, f)
	case *pgquery.Node_CaseExpr:
		x.CaseExpr.Arg, x.CaseExpr.Defresult = edit(x.CaseExpr.Arg, f), edit(x.CaseExpr.Defresult, f)
		each(x.CaseExpr.Args)
	case *pgquery.Node_CaseWhen:
		x.CaseWhen.Expr, x.CaseWhen.Result = edit(x.CaseWhen.Expr, f), edit(x.CaseWhen.Result, f)
	case *pgquery.Node_CoalesceExpr:
		each(x.CoalesceExpr.Args)
	case *pgquery.Node_MinMaxExpr:
		each(x.MinMaxExpr.Args)
	case *pgquery.Node_TypeCast:
		x.TypeCast.Arg = edit(x.TypeCast.Arg, f)
	case *pgquery.Node_FuncCall:
		each(x.FuncCall.Args)
	}
	return f(n)
}
