// Package cluster makes what a cluster's processes need to trust each other, and runs a cluster of local processes.
//
// There are two authorities. One signs the certificates of gateways: the scheduler's service for statements trusts it alone, and executors
// trust it for fetching results. The other signs those of scheduler and executors. Neither signs for the other, so an executor cannot
// submit a statement, and a gateway cannot pose as an executor.
package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// The names of the processes' programs.
const (
	schedulerProgram = "gatehouse-scheduler"
	executorProgram  = "gatehouse-executor"
)

// Config says what to run.
type Config struct {
	Dir       string // certificates, keys and working folders; made if it is not there
	Binaries  string // the folder of the two programs
	Issuer    string // the gateway's name in task credentials; default "gatehouse"
	Executors int    // default: 2
	Cores     int    // of each executor; default: 1
	Memory    int64  // of each executor, in bytes; default: 1 GiB
	// Stores are the object stores that executors may call: "https://host", "https://*.host" where buckets stand in front, "http://host:port".
	// Default: none.
	Stores []string
	// StoreAuthorities is a PEM file of who signs certificates of stores; "": whom the system trusts.
	StoreAuthorities string
	// Patience is how long an executor may say nothing before it is taken for lost; default: 20 s.
	Patience time.Duration
	// Compression is how shuffles are compressed: none, lz4 or zstd; default: the scheduler's.
	Compression string
	// Copied is how many bytes the side of a join may have that goes whole to each task of the other side; default: the scheduler's.
	Copied int64
	Log    io.Writer
}

// Cluster is a running cluster.
type Cluster struct {
	config    Config
	Scheduler string // the address of the service for gateways

	mu        sync.Mutex
	processes []*process
}

type process struct {
	program, name string
	config        map[string]any
	cmd           *exec.Cmd
	done          chan struct{}
}

// ErrNoPrograms says that the cluster's programs have not been built.
var ErrNoPrograms = errors.New("the programs of the cluster are not there: make cluster builds them")

// Start starts the processes. The caller stops them.
func Start(ctx context.Context, c Config) (_ *Cluster, err error) {
	if c.Issuer == "" {
		c.Issuer = "gatehouse"
	}
	if c.Executors == 0 {
		c.Executors = 2
	}
	if c.Cores == 0 {
		c.Cores = 1
	}
	if c.Memory == 0 {
		c.Memory = 1 << 30
	}
	if c.Patience == 0 {
		c.Patience = 20 * time.Second
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	for _, name := range []string{schedulerProgram, executorProgram} {
		if _, err := os.Stat(filepath.Join(c.Binaries, name)); err != nil {
			return nil, fmt.Errorf("%w (%w)", ErrNoPrograms, err)
		}
	}
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return nil, err
	}
	if err := Prepare(c.Dir, c.Issuer); err != nil {
		return nil, err
	}
	out := &Cluster{config: c}
	defer func() {
		if err != nil {
			out.Stop()
		}
	}()
	scheduler := withIdentity("scheduler", out.path, map[string]any{
		"submit": "127.0.0.1:0", "cluster": "127.0.0.1:0",
		"partitions": 2 * c.Executors * c.Cores, "executor_timeout": int(c.Patience.Seconds()),
	})
	if c.Compression != "" {
		scheduler["compression"] = c.Compression
	}
	if c.Copied != 0 {
		scheduler["copied"] = c.Copied
	}
	ports, err := out.start(ctx, schedulerProgram, "scheduler", scheduler)
	if err != nil {
		return nil, err
	}
	for _, port := range []string{"submit", "cluster"} {
		// If it is started again, it is found where it was.
		scheduler[port] = net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[port]))
	}
	out.Scheduler = scheduler["submit"].(string)
	for i := range c.Executors {
		executor := withIdentity("executor", out.path, map[string]any{
			"listen": "127.0.0.1:0", "host": "127.0.0.1", "scheduler": scheduler["cluster"],
			"keys": out.path("keys.json"), "work": out.path("work-" + strconv.Itoa(i+1)), "cores": c.Cores, "memory": c.Memory,
			"seal": out.path(sealPrivate), "stores": append([]string{}, c.Stores...),
		})
		if c.StoreAuthorities != "" {
			executor["store_authorities"] = c.StoreAuthorities
		}
		if _, err := out.start(ctx, executorProgram, "executor-"+strconv.Itoa(i+1), executor); err != nil {
			return nil, err
		}
	}
	return out, out.write("address", []byte(out.Scheduler), 0o644)
}

func (c *Cluster) path(name string) string { return filepath.Join(c.config.Dir, name) }

func (c *Cluster) write(name string, data []byte, mode os.FileMode) error {
	return os.WriteFile(c.path(name), data, mode)
}

// start runs one program and reads the ports that its first line tells.
func (c *Cluster) start(ctx context.Context, program, name string, config map[string]any) (map[string]int, error) {
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return nil, err
	}
	file := name + ".json"
	if err := c.write(file, text, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(c.config.Binaries, program), c.path(file))
	cmd.Stderr = c.config.Log
	// It ends when its standard input does, and so whenever this process does.
	cmd.Env = append(os.Environ(), "GATEHOUSE_PARENT=1")
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{program: program, name: name, config: config, cmd: cmd, done: make(chan struct{})}
	c.mu.Lock()
	c.processes = append(slices.DeleteFunc(c.processes, func(p *process) bool { return p.name == name }), p)
	c.mu.Unlock()
	lines := make(chan string, 1)
	go func() {
		in := bufio.NewReader(stdout)
		line, _ := in.ReadString('\n')
		lines <- line
		_, _ = io.Copy(io.Discard, in)
		_ = cmd.Wait()
		close(p.done)
	}()
	select {
	case line := <-lines:
		ports := map[string]int{} // and what else it tells
		if err := json.Unmarshal([]byte(line), &ports); err != nil {
			return nil, fmt.Errorf("%s did not start; its log tells why", name)
		}
		return ports, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// find returns a process, the last that was started under its name, or nil.
func (c *Cluster) find(name string) *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.processes, func(p *process) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return c.processes[i]
}

// PID is the process id of a process.
func (c *Cluster) PID(name string) int {
	if p := c.find(name); p != nil {
		return p.cmd.Process.Pid
	}
	return 0
}

// Kill ends a process at once, as a crash would: "scheduler", "executor-1", …
func (c *Cluster) Kill(name string) error {
	p := c.find(name)
	if p == nil {
		return fmt.Errorf("no process %s", name)
	}
	err := p.cmd.Process.Kill()
	<-p.done
	return err
}

// Restart starts a process again that has ended.
func (c *Cluster) Restart(ctx context.Context, name string) error {
	p := c.find(name)
	if p == nil {
		return fmt.Errorf("no process %s", name)
	}
	select {
	case <-p.done:
	default:
		return fmt.Errorf("%s runs", name)
	}
	_, err := c.start(ctx, p.program, p.name, p.config)
	return err
}

// patience is how long a process may take to end by itself.
const patience = 5 * time.Second

// Stop ends all processes.
func (c *Cluster) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.processes {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	late := time.After(patience)
	for _, p := range c.processes {
		select {
		case <-p.done:
		case <-late:
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	}
	c.processes = nil
}
