package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gatehouse/auth"
)

func TestHashMarker(t *testing.T) {
	const secret = "the-secret-key"
	key := auth.NewSecret(secret)
	n, _, err := expression(Expression{SQL: "CASE WHEN active THEN gw_hash(email) ELSE gw_hash(concat(region, gw_hash(id))) END"}, customers)
	if err != nil {
		t.Fatal(err)
	}
	before := n.String()
	expanded, err := ExpandHash(n, key)
	if err != nil {
		t.Fatal(err)
	}
	sql := show(t, expanded)
	if n.String() != before {
		t.Error("the governed tree was changed")
	}
	if strings.Contains(sql, HashMarker) || strings.Count(sql, "sha256(") != 6 {
		t.Errorf("not expanded: %s", sql)
	}
	if strings.Contains(sql, secret) || strings.Contains(show(t, ShowHash(n)), deriveHash(key).Inner.Reveal()) {
		t.Error("the key itself is in the text")
	}
	if got := show(t, ShowHash(n)); got != "CASE WHEN active THEN gw_hash(email) ELSE gw_hash(region || gw_hash(id)) END" {
		t.Errorf("shown as %s", got)
	}
	if _, err := ExpandHash(n, auth.Secret{}); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
	plain := columnNode("id")
	if got, err := ExpandHash(plain, auth.Secret{}); err != nil || got != plain {
		t.Errorf("an expression without gw_hash needs a key: %v", err)
	}
}

func TestDeriveHash(t *testing.T) {
	key := auth.NewSecret("k")
	keys, err := DeriveHash(key)
	if err != nil {
		t.Fatal(err)
	}
	in := sha256.Sum256([]byte(keys.Inner.Reveal() + "a"))
	out := sha256.Sum256([]byte(keys.Outer.Reveal() + hex.EncodeToString(in[:])))
	if want, err := KeyedHash("a", key); err != nil || hex.EncodeToString(out[:]) != want {
		t.Errorf("%x is not %s, %v", out, want, err)
	}
	if _, err := DeriveHash(auth.NewSecret("")); !errors.Is(err, ErrNoKey) {
		t.Error(err)
	}
	if s := fmt.Sprintf("%v %+v %#v", keys, keys, keys); strings.Contains(s, keys.Inner.Reveal()) || strings.Contains(s, keys.Outer.Reveal()) {
		t.Error(s)
	}
}

func TestKeyedHash(t *testing.T) {
	hash := func(value, key string) string {
		h, err := KeyedHash(value, auth.NewSecret(key))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if a, b := hash("a@example.com", "k"), hash("a@example.com", "k"); a != b || len(a) != 64 {
		t.Errorf("%s, %s", a, b)
	}
	if hash("a@example.com", "k") == hash("a@example.com", "l") {
		t.Error("the key does not matter")
	}
	if hash("a@example.com", "k") == hash("b@example.com", "k") {
		t.Error("the value does not matter")
	}
	if s := fmt.Sprintf("%v %+v", auth.NewSecret("k3y"), auth.NewSecret("k3y")); strings.Contains(s, "k3y") {
		t.Error(s)
	}
}
