// Package classes holds what is known of each function, cast and comparison of the engine that this version ships, and how it
// became known: classes.tsv, its generator and its checks. It has no code outside of tests.
//
//	go test ./executors/duckdb/classes -run TestClasses             compares the table with the engine in use
//	go test ./executors/duckdb/classes -run TestClasses -update     probes the engine anew and writes the table (make classes)
//
// The rule: what is not in the table is forbidden. What raised once is never leakproof, and what never raised in probing is
// leakproof only if it is also on the list of reviewed.go, since probing proves faults and not their absence.
package classes
