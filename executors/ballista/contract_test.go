package ballista

import (
	"testing"

	"gatehouse/executors/executortest"
)

// TestContract runs the contract of all executors. What the cluster does not do, the executor beside it does: both together are one.
func TestContract(t *testing.T) {
	executortest.Run(t, sharedCluster(t).opener(t, func(c *Config) { c.Choices = []string{Auto} }))
}

// TestZoo reads all test tables, those on the cluster that it can read.
func TestZoo(t *testing.T) {
	executortest.RunZoo(t, sharedCluster(t).opener(t, func(c *Config) { c.Choices = []string{Auto} }))
}
