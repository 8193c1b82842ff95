package main

import (
	"fmt"
	"slices"
	"time"
)

// quantile of durations, which it sorts.
func quantile(ds []time.Duration, q float64) time.Duration {
	slices.Sort(ds)
	return ds[min(len(ds)-1, int(q*float64(len(ds))))]
}

func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	if n := len(xs); n%2 == 0 {
		return (xs[n/2-1] + xs[n/2]) / 2
	}
	return xs[len(xs)/2]
}

func sum(xs []float64) (s float64) {
	for _, x := range xs {
		s += x
	}
	return s
}

// spread prints a median with the least and the greatest.
func spread(format string, xs []float64) string {
	return fmt.Sprintf(format+" ("+format+" to "+format+")", median(xs), slices.Min(xs), slices.Max(xs))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }
