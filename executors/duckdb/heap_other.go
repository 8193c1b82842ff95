//go:build !linux

package duckdb

// Elsewhere than on Linux the engine has no allocator that can be asked, and its own limit is the only one.
const (
	heapEngines = 1024
	heapMarks   = 8192
)

func heapMapped() int64           { return 0 }
func hooked() bool                { return false }
func heapBounds(int64, int64)     {}
func heapResident() int64         { return -1 }
func heapRefused() int64          { return 0 }
func heapGranted(int) int64       { return 0 }
func heapForget(int)              {}
func heapCalm()                   {}
func heapPurge()                  {}
func heapFor(_, _ int, f func())  { f() }
func heapWorkers(_ int, f func()) { f() }
