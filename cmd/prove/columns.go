package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/apache/iceberg-go"
)

// side is one of the twin warehouses.
type side byte

// The twins. A has many hidden rows, made to raise, to overflow, to sort first and last; B has as many harmless ones in files of the same
// numbers of rows; C has none. Raw values under masks differ between all three.
const (
	sideA side = 'A'
	sideB side = 'B'
	sideC side = 'C'
)

// column is one column of a twin table and how its values are made.
type column struct {
	name string
	kind string // the grammar's name of its type, see kinds
	typ  iceberg.Type
	// visible makes the value of row i that users see if no mask applies.
	visible func(r *rand.Rand, i int) any
	// under makes the raw value of a visible row: it differs between sides and is the same under every one of masks.
	// Nil: the raw value is the visible one.
	under func(s side, r *rand.Rand, v any) any
	// hidden makes the value of a hidden row; nil: as visible.
	hidden func(s side, r *rand.Rand, i int) any
	// masks are SQL expressions of which a policy takes one; "" means none. A column with under has no "".
	masks []string
	// secret columns are always hidden as columns; optional ones sometimes are.
	secret, optional bool
	required         bool
	only             side   // the one side that has this column, 0: all have it
	before           string // its name in the past, "": the same
	dropped          bool   // it was there in the past only
	lost             string // a part of it that was there in the past only
}

// Canaries. Their bytes spell a word, so that a search of raw buffers finds any of them.
const (
	canaryText  = "HIDDEN"
	canaryLong  = int64(0x304e45444449480a) // little-endian bytes: \nHIDDEN0
	canaryShort = int32(0x4e444948)         // HIDN
)

// canaryPatterns are what a search of raw buffers looks for.
var canaryPatterns = [][]byte{[]byte("HIDDEN"), []byte("HIDN")}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// hiddenText is a hidden row's text: on A one that no cast accepts, or that sorts first or last.
func hiddenText(s side, r *rand.Rand, i int) any {
	if s != sideA {
		return pick[any](r, "harmless", "12", nil)
	}
	switch r.IntN(8) {
	case 0:
		return ""
	case 1:
		return "\U0010FFFF" + canaryText
	case 2:
		return nil
	case 3:
		return "\x01" + canaryText
	case 4:
		return fmt.Sprintf("%s-%0200d", canaryText, i)
	default:
		return fmt.Sprintf("%s-%d", canaryText, i)
	}
}

func hiddenLong(s side, r *rand.Rand, i int) any {
	if s != sideA {
		return int64(r.IntN(50))
	}
	return pick[any](r, canaryLong, canaryLong, canaryLong+int64(i)<<56, int64(math.MaxInt64), int64(math.MinInt64), int64(-i-1), nil, int64(0))
}

func hiddenInt(s side, r *rand.Rand, i int) any {
	if s != sideA {
		return int32(70 + r.IntN(9))
	}
	return pick[any](r, canaryShort, canaryShort, int32(math.MaxInt32), int32(math.MinInt32), int32(-7), int32(0), nil, int32(-i))
}

func hiddenDouble(s side, r *rand.Rand, _ int) any {
	if s != sideA {
		return float64(r.IntN(9))
	}
	return pick[any](r, math.Float64frombits(uint64(canaryLong)), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -1.0, 0.0, nil)
}

func hiddenDate(s side, r *rand.Rand, _ int) any {
	if s != sideA {
		return int32(18000 + r.IntN(900))
	}
	return pick[any](r, int32(math.MaxInt32-1), int32(-2000000), canaryShort, int32(2900000), nil) // years 5881580, 3506 BC, 3608871, 9909
}

func hiddenMicros(s side, r *rand.Rand, _ int) any {
	if s != sideA {
		return int64(1600000000000000 + r.Int64N(1e12))
	}
	return pick[any](r, canaryLong, int64(math.MaxInt64-1), int64(-210000000000000000), nil)
}

// text makes visible texts.
func text(list ...string) func(*rand.Rand, int) any {
	return func(r *rand.Rand, _ int) any { return pick(r, list...) }
}

// few makes hidden values of which there are few on the side with the bad ones, so that a file has a dictionary of them.
func few[T any](otherwise func(side, *rand.Rand, int) any, list ...T) func(side, *rand.Rand, int) any {
	return func(s side, r *rand.Rand, i int) any {
		if s != sideA {
			return otherwise(s, r, i)
		}
		return pick(r, list...)
	}
}

// maybe makes one in n values NULL.
func maybe(n int, f func(*rand.Rand, int) any) func(*rand.Rand, int) any {
	return func(r *rand.Rand, i int) any {
		if v := f(r, i); r.IntN(n) > 0 {
			return v
		}
		return nil
	}
}
