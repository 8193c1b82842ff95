// Package gatehouse is the root of Gatehouse: a governed Arrow Flight SQL gateway in front of
// pluggable executors, for Apache Iceberg lakehouses.
//
// One statement passes these stages, one folder each:
//
//	client ── Flight SQL ──▶ gateway/flight ─▶ gateway ─▶ auth ─▶ classify ─▶ policy ─▶ plan ─▶ executors ─▶ Arrow stream
//
// To follow one query file by file, read cmd/gatehouse/main.go and wire.go, gateway/flight,
// gateway/query.go (all stages on one screen), classify/parse.go, policy/apply.go, plan/plan.go
// and executors/duckdb.
//
// Beside them: catalog finds tables, objects reads the stores in which their files may lie, audit records.
//
// The root holds no code but layout_test.go, which enforces who may import whom.
package gatehouse
