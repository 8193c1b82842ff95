package main

import (
	"context"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

// TestTiming: over 1,000 pairs (200 of the slower ones), time does not tell hidden from absent wherever that is promised. The control is what is not promised:
// a look-up beyond all visible values is told apart by the files that its bounds skip, which also shows that the measurement can fail.
func TestTiming(t *testing.T) {
	w, err := newClockWorld(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
	controls := 0
	for _, c := range w.timings() {
		if !c.kept && !c.seen {
			continue
		}
		t.Run(strings.ReplaceAll(c.name, "/", " "), func(t *testing.T) {
			pairs := 1000
			if c.slow {
				pairs = 200 // "make timing" has more
			}
			got, means, err := compareTimes(t.Context(), pairs, c.a, c.b)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("t %.2f, %v and %v", got, means[0], means[1])
			if c.kept && math.Abs(got) >= limitT {
				t.Errorf("t is %.2f: %v and %v", got, means[0], means[1])
			}
			if c.seen {
				controls++
				if math.Abs(got) < limitT {
					t.Errorf("t is %.2f where a difference is known: the measurement sees nothing", got)
				}
			}
		})
	}
	if controls == 0 {
		t.Error("nothing shows that the measurement can fail")
	}
}

// TestTimingReports: a pair that is told apart is an error of the whole.
func TestTimingReports(t *testing.T) {
	slow := func(d time.Duration) timed {
		return func(context.Context, int) error {
			for end := time.Now().Add(d); time.Now().Before(end); {
			}
			return nil
		}
	}
	got, _, err := compareTimes(t.Context(), 200, slow(2*time.Millisecond), slow(time.Millisecond))
	if err != nil || got < limitT {
		t.Errorf("1 ms more of 2 ms: t %.2f, %v", got, err)
	}
	if _, _, err := compareTimes(t.Context(), 10, func(context.Context, int) error { return io.EOF }, slow(0)); err != io.EOF {
		t.Errorf("a failing class: %v", err)
	}
}
