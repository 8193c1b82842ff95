package main

import (
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/policy"
	"gatehouse/policy/grants"
	"gatehouse/policy/shadow"
)

// shadowed puts the candidate policy that cfg names beside live; without one it is live.
func (p *process) shadowed(cfg Config, live policy.Decider, rights *grants.Store, reg prometheus.Registerer, log *slog.Logger) (policy.Decider, error) {
	counter, err := shadow.NewCounter(reg)
	if err != nil || cfg.Policy.Shadow == "" {
		return live, err
	}
	cfg.Policy.Dir, cfg.Policy.Bundle = cfg.Policy.Shadow, BundleConfig{}
	candidate, err := decider(cfg, rights, log)
	if err != nil {
		return nil, fmt.Errorf("policy.shadow: %w", err)
	}
	p.own(candidate.Close)
	d, err := shadow.New(shadow.Config{Live: live, Candidate: candidate, Log: log, Counter: counter})
	if err != nil {
		return nil, err
	}
	p.own(d.Close)
	return d, nil
}
