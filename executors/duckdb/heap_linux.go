package duckdb

// #include "heap_linux.h"
import "C"

import "runtime"

// The numbers of instances and of statements.
const (
	heapEngines = C.gatehouse_heap_engines
	heapMarks   = C.gatehouse_heap_marks
)

// heapMapped is the address space that the engine's allocator holds, in bytes.
func heapMapped() int64 { return int64(C.gatehouse_heap_mapped()) }

// hooked reports whether the engine's allocator asks: it has memory, and some of it went through our hands.
func hooked() bool { return C.gatehouse_heap_mapped() > 0 }

func heapBounds(soft, hard int64) { C.gatehouse_heap_bounds(C.long(soft), C.long(hard)) }

// heapResident is what the process has in memory, in bytes; negative if the kernel does not say.
func heapResident() int64 { return int64(C.gatehouse_heap_resident()) }

// heapRefused counts the requests that a bound refused.
func heapRefused() int64 { return int64(C.gatehouse_heap_refused()) }

// heapGranted is what an instance got since heapCalm, or a statement since heapForget, in bytes.
func heapGranted(mark int) int64 { return int64(C.gatehouse_heap_granted(C.int(mark))) }

func heapForget(mark int) { C.gatehouse_heap_forget(C.int(mark)) }

// heapCalm forgets what instances got.
func heapCalm() { C.gatehouse_heap_calm() }

// heapPurge gives what the allocators hold free back to the kernel.
func heapPurge() { C.gatehouse_heap_purge() }

// heapFor runs f on a thread whose requests count for an instance and a statement.
func heapFor(engine, statement int, f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.gatehouse_heap_enter(C.int(engine), C.int(statement))
	defer C.gatehouse_heap_enter(0, 0)
	f()
}

// heapWorkers runs f, which opens an instance, so that the requests of the threads that f starts count for it.
func heapWorkers(engine int, f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before [16]C.char
	C.gatehouse_heap_name(C.int(engine), &before[0])
	defer C.gatehouse_heap_rename(&before[0])
	defer C.gatehouse_heap_tight()
	f()
}
