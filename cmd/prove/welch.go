package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// timed is one of two classes of work whose times are compared: n counts its runs.
type timed func(ctx context.Context, n int) error

// limitT is the value of |t| from which on two classes count as told apart by time, as in "Dude, is my code constant time?" (Reparaz,
// Balasch, Verbauwhede, 2017): by chance it is passed once in 100,000 comparisons.
const limitT = 4.5

// compareTimes runs a and b n times each, in pairs of random order, and returns Welch's t of their times: positive if a takes longer.
// Times above the 90th percentile of both together are also left out, since what else the machine does makes those; the larger |t| counts.
func compareTimes(ctx context.Context, n int, a, b timed) (t float64, means [2]time.Duration, err error) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var times [2][]float64
	for i := range n + warmUps {
		order := []int{0, 1}
		if r.IntN(2) == 1 {
			order = []int{1, 0}
		}
		for _, class := range order {
			run := a
			if class == 1 {
				run = b
			}
			start := time.Now()
			if err := run(ctx, i); err != nil {
				return 0, means, err
			}
			if d := time.Since(start); i >= warmUps {
				times[class] = append(times[class], float64(d))
			}
		}
	}
	cut := percentile(slices.Concat(times[0], times[1]), 0.9)
	cropped := [2][]float64{below(times[0], cut), below(times[1], cut)}
	for class, ts := range cropped {
		mean, _ := moments(ts)
		means[class] = time.Duration(mean)
	}
	all, most := welch(times[0], times[1]), welch(cropped[0], cropped[1])
	if math.Abs(most) > math.Abs(all) {
		return most, means, nil
	}
	return all, means, nil
}

// warmUps are runs at the beginning that do not count.
const warmUps = 30

// welch is Welch's t: the difference of two means in units of its standard error.
func welch(a, b []float64) float64 {
	ma, va := moments(a)
	mb, vb := moments(b)
	return (ma - mb) / math.Sqrt(va/float64(len(a))+vb/float64(len(b)))
}

func moments(xs []float64) (mean, variance float64) {
	for _, x := range xs {
		mean += x
	}
	mean /= float64(len(xs))
	for _, x := range xs {
		variance += (x - mean) * (x - mean)
	}
	return mean, variance / float64(len(xs)-1)
}

func percentile(xs []float64, q float64) float64 {
	slices.Sort(xs)
	return xs[int(q*float64(len(xs)-1))]
}

func below(xs []float64, cut float64) []float64 {
	var out []float64
	for _, x := range xs {
		if x <= cut {
			out = append(out, x)
		}
	}
	return out
}
