package duckdb

import (
	"testing"

	"gatehouse/executors"
	"gatehouse/executors/executortest"
)

func TestZoo(t *testing.T) {
	executortest.RunZoo(t, opener(t))
}

// opener builds executors for the contract suite.
func opener(t testing.TB) func(executortest.Parts) (executors.Executor, error) {
	return func(p executortest.Parts) (executors.Executor, error) {
		return New(Config{
			Verifier: p.Verifier, Issuer: "gatehouse", HashKey: p.HashKey, Allocator: p.Allocator, Now: p.Now, Dir: t.TempDir(),
		})
	}
}

func TestContract(t *testing.T) {
	executortest.Run(t, opener(t))
}
