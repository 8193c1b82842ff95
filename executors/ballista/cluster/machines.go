package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// Machines says which processes run where.
type Machines struct {
	Dir       string // of authorities and folders; made if it is not there
	Issuer    string // the gateway's name in task credentials; default "gatehouse"
	Scheduler string // the scheduler's host
	Executors []string
	// Port is the first of four: the scheduler's for gateways and for executors, an executor's for results and for commands; default 31340.
	Port  int
	Cores int // of each executor; default 4
	// Stores are the object stores that executors may call, as in Config.
	Stores []string
	Work   string // an executor's folder for shuffles; default /var/lib/gatehouse-executor/work
}

// host is a name or an IPv4 address.
var host = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)

// Write writes a folder for each process, with its configuration, a certificate of its own, and what it is to trust: gateway, scheduler,
// executor-HOST. Beside them are the authorities' keys, which no process needs. It may be called again, for further hosts and for new certificates:
// authorities and keys stay.
func (m Machines) Write() error {
	if m.Issuer == "" {
		m.Issuer = "gatehouse"
	}
	if m.Port == 0 {
		m.Port = 31340
	}
	if m.Cores == 0 {
		m.Cores = 4
	}
	if m.Work == "" {
		m.Work = "/var/lib/gatehouse-executor/work"
	}
	if m.Scheduler == "" || len(m.Executors) == 0 {
		return errors.New("cluster: a scheduler and at least one executor are required")
	}
	for _, h := range append([]string{m.Scheduler}, m.Executors...) {
		if !host.MatchString(h) {
			return fmt.Errorf("cluster: %q is neither a host's name nor an IPv4 address", h)
		}
	}
	if err := os.MkdirAll(m.Dir, 0o700); err != nil {
		return err
	}
	gateways, members, err := authorities(m.Dir)
	if err != nil {
		return err
	}
	if err := taskKey(m.Dir, m.Issuer); err != nil {
		return err
	}
	if err := sealKey(m.Dir); err != nil {
		return err
	}
	if err := m.folder("gateway", gateways, "gateway", "", []string{"cluster-authority.pem", "task.key", sealPublic}, nil); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(m.Dir, "gateway", "address"), []byte(m.at(m.Scheduler, 0)), 0o644); err != nil {
		return err
	}
	trust := []string{"cluster-authority.pem", "gateway-authority.pem"}
	beside := func(name string) string { return name }
	if err := m.folder("scheduler", members, "scheduler", m.Scheduler, trust, withIdentity("scheduler", beside, map[string]any{
		"submit": m.at("0.0.0.0", 0), "cluster": m.at("0.0.0.0", 1), "partitions": 2 * m.Cores * len(m.Executors),
	})); err != nil {
		return err
	}
	for _, h := range m.Executors {
		if err := m.folder("executor-"+h, members, "executor", h, append([]string{"keys.json", sealPrivate}, trust...), withIdentity("executor", beside, map[string]any{
			"listen": m.at("0.0.0.0", 2), "command": m.at("0.0.0.0", 3), "host": h, "scheduler": m.at(m.Scheduler, 1),
			"keys": "keys.json", "work": m.Work, "cores": m.Cores, "seal": sealPrivate, "stores": append([]string{}, m.Stores...),
		})); err != nil {
			return err
		}
	}
	return nil
}

func (m Machines) at(host string, port int) string {
	return net.JoinHostPort(host, strconv.Itoa(m.Port+port))
}

// folder writes the folder of one process.
func (m Machines) folder(name string, by *authority, role, host string, copies []string, config map[string]any) error {
	dir := filepath.Join(m.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := by.issue(dir, role, host); err != nil {
		return err
	}
	for _, c := range copies {
		text, err := os.ReadFile(filepath.Join(m.Dir, c))
		if err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if filepath.Ext(c) == ".key" {
			mode = 0o600
		}
		if err := os.WriteFile(filepath.Join(dir, c), text, mode); err != nil {
			return err
		}
	}
	if config == nil {
		return nil
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, role+".json"), append(text, '\n'), 0o644)
}
