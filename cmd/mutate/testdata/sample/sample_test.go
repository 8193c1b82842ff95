package sample

import (
	"errors"
	"testing"
)

func TestLookup(t *testing.T) {
	if k, err := Lookup("large"); k != Large || err != nil { // nobody asks for "small"
		t.Fatal(k, err)
	}
	if _, err := Lookup("none"); err == nil { // nobody asks which error it is
		t.Fatal("no error")
	}
}

func TestEnter(t *testing.T) {
	for _, c := range []struct {
		member, banned bool
		age            int
		ok             bool
	}{
		{true, false, 17, true}, {false, false, 17, false}, {false, false, 19, true}, {true, true, 30, false}, // 18 is missing
	} {
		if err := Enter(c.member, c.banned, c.age); (err == nil) != c.ok || err != nil && !errors.Is(err, errNo) {
			t.Error(c, err)
		}
	}
}

func TestFilters(t *testing.T) {
	if out := Filters([]int{1, 2, 3}, map[int]bool{2: true}); len(out) != 2 || out[1] != 3 {
		t.Fatal(out)
	}
}

func TestName(t *testing.T) {
	for v, want := range map[any]string{1: "few", 3: "", "x": "word", 1.5: "other", nil: ""} { // no 2, no Kind
		if got := Name(v); got != want {
			t.Error(v, got)
		}
	}
}

func TestWait(t *testing.T) {
	if Wait(3) != Huge {
		t.Fatal()
	}
}

func TestOrder(t *testing.T) {
	if !Order("a", "b") {
		t.Fatal()
	}
}

func TestBoth(t *testing.T) {
	if Both(true, false) {
		t.Fatal()
	}
}

func TestForgotten(t *testing.T) {
	var calls int
	forgotten(&calls)
}
