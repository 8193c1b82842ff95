package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/auth"
	"gatehouse/auth/task"
	"gatehouse/executors"
	"gatehouse/executors/ballista"
	"gatehouse/executors/ballista/cluster"
	"gatehouse/executors/duckdb"
)

// executor opens what runs statements.
func (p *process) executor(cfg Config, v auth.Verifier, hashKey auth.Secret, reg prometheus.Registerer, log *slog.Logger) (executors.Executor, error) {
	embedded, err := openDuckDB(cfg, v, hashKey, reg, log)
	if err != nil {
		return nil, err
	}
	if !cfg.Executor.clustered() {
		p.own(embedded.Close)
		return embedded, nil
	}
	x, err := openBallista(cfg, v, hashKey, embedded, reg, log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("executor: %w", err), embedded.Close())
	}
	p.own(x.Close)
	return x, nil
}

// choices are what sessions may choose, what they have without a choice first.
func (e ExecutorConfig) choices() []string {
	first := e.Type
	if first == "" {
		first = ballista.Local
	}
	others := e.Choices
	if len(others) == 0 && first == ballista.Auto {
		others = executorTypes
	}
	out := []string{first}
	for _, name := range others {
		if name != first {
			out = append(out, name)
		}
	}
	return out
}

// clustered reports whether statements may run on a cluster.
func (e ExecutorConfig) clustered() bool {
	return slices.ContainsFunc(e.choices(), func(name string) bool { return name != ballista.Local })
}

// clusterStatement is how long a statement may run in a cluster: its executors take no credential that lives longer.
const clusterStatement = time.Hour

// openBallista opens the executor of a cluster, with the embedded engine beside it.
func openBallista(
	cfg Config, v auth.Verifier, hashKey auth.Secret, embedded *duckdb.Executor, reg prometheus.Registerer, log *slog.Logger,
) (*ballista.Executor, error) {
	dir := cfg.Executor.Cluster
	address, err := cluster.Address(dir)
	if err != nil {
		return nil, err
	}
	tls, err := cluster.GatewayTLS(dir)
	if err != nil {
		return nil, err
	}
	key, err := task.LoadKey(cluster.TaskKey(dir))
	if err != nil {
		return nil, err
	}
	// Deadlines are rounded up to whole seconds.
	minter, err := task.NewMinter(task.MinterConfig{Key: key, Issuer: issuer, MaxLife: clusterStatement + time.Second})
	if err != nil {
		return nil, err
	}
	seal, err := cluster.SealKey(dir)
	if err != nil {
		return nil, err
	}
	sizes, err := cfg.sizes()
	if err != nil {
		return nil, err
	}
	return ballista.New(ballista.Config{
		Local: embedded, Choices: cfg.Executor.choices(), LocalBytes: sizes[above], Verifier: v, Issuer: issuer, Minter: minter,
		Executors: seal, HashKey: hashKey, Scheduler: address, TLS: tls, Log: log, Metrics: reg,
	})
}
