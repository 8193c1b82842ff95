// Package mutant is what instrumented code calls: it holds the one mutant that is switched on in this process and notes
// which ones the code comes by. Only code that cmd/mutate made imports it.
package mutant

import (
	"cmp"
	"errors"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// The environment of an instrumented test program.
const (
	EnvActive = "GATEHOUSE_MUTANT"       // number of the mutant that is on
	EnvReach  = "GATEHOUSE_MUTANT_REACH" // file with a byte for each mutant, which becomes 1 when the code comes by it
)

// active and reached are set before any package-level variable of instrumented code, since that imports this package.
var active, reached = fromEnvironment()

func fromEnvironment() (int, []byte) {
	on, err := strconv.Atoi(os.Getenv(EnvActive))
	if err != nil {
		on = -1
	}
	path := os.Getenv(EnvReach)
	if path == "" {
		return on, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		panic(err)
	}
	// A shared mapping outlives the process however that ends.
	m, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return on, m
}

// On reports whether mutant id is switched on.
func On(id int) bool {
	if reached != nil {
		reached[id] = 1
	}
	return id == active
}

// Less is a < b, or a <= b with the mutant.
func Less[T cmp.Ordered](id int, a, b T) bool {
	if On(id) {
		return a <= b
	}
	return a < b
}

// LessEq is a <= b, or a < b with the mutant.
func LessEq[T cmp.Ordered](id int, a, b T) bool {
	if On(id) {
		return a < b
	}
	return a <= b
}

// Greater is a > b, or a >= b with the mutant.
func Greater[T cmp.Ordered](id int, a, b T) bool {
	if On(id) {
		return a >= b
	}
	return a > b
}

// GreaterEq is a >= b, or a > b with the mutant.
func GreaterEq[T cmp.Ordered](id int, a, b T) bool {
	if On(id) {
		return a > b
	}
	return a >= b
}

// Integer is what Next and Skip take.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Next is v, or v+1 with the mutant.
func Next[T Integer](id int, v T) T {
	if On(id) {
		return v + 1
	}
	return v
}

// Skip is v, or with the mutant a number that no case of a switch is.
func Skip[T Integer](id int, v T) T {
	if On(id) {
		return v ^ T(1)<<(8*unsafe.Sizeof(v)-2)
	}
	return v
}

// SkipText is v, or with the mutant a text that no case of a switch is.
func SkipText[T ~string](id int, v T) T {
	if On(id) {
		return v + "\x00mutant"
	}
	return v
}

// Is reports whether v is of type T while the mutant is on.
func Is[T any](id int, v any) bool {
	if !On(id) {
		return false
	}
	_, ok := v.(T)
	return ok
}

// Pick is a, or b with the mutant.
func Pick[T any](id int, a, b T) T {
	if On(id) {
		return b
	}
	return a
}

// Swap is a and b, or b and a with the mutant.
func Swap[T any](id int, a, b T) (T, T) {
	if On(id) {
		return b, a
	}
	return a, b
}

var errOther = errors.New("another class of error")

// Err is err, or with the mutant an error that is nothing of ours.
func Err(id int, err error) error {
	if On(id) {
		return errOther
	}
	return err
}

// Drop is s without element k if mutant ids[k] is on.
func Drop[S ~[]E, E any](s S, ids ...int) S {
	for k, id := range ids {
		if id >= 0 && On(id) {
			return append(append(S{}, s[:k]...), s[k+1:]...)
		}
	}
	return s
}

// Omit is m without key k if mutant ids[k] is on.
func Omit[M ~map[K]V, K comparable, V any](m M, ids []int, keys ...K) M {
	for k, id := range ids {
		if On(id) {
			delete(m, keys[k])
		}
	}
	return m
}
