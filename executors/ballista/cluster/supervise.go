package cluster

import (
	"context"
	"fmt"
	"time"
)

// A process that ends within brief of its start is given attempts starts, with twice the time between them each time, from firstPause on.
const (
	brief      = 10 * time.Second
	attempts   = 5
	firstPause = 250 * time.Millisecond
)

// Supervise starts processes again that end, until ctx does. It returns an error when one does not stay. tell is told what happens, by several
// goroutines.
func (c *Cluster) Supervise(ctx context.Context, tell func(what string)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var names []string
	c.mu.Lock()
	for _, p := range c.processes {
		names = append(names, p.name)
	}
	c.mu.Unlock()
	ended := make(chan error, len(names))
	for _, name := range names {
		go func() { ended <- c.keep(ctx, name, tell) }()
	}
	err := <-ended
	cancel()
	for range len(names) - 1 {
		<-ended
	}
	return err
}

// keep starts one process again whenever it ends.
func (c *Cluster) keep(ctx context.Context, name string, tell func(string)) error {
	started, failed := time.Time{}, 0 // an end of what others started is not counted
	for {
		select {
		case <-c.find(name).done:
		case <-ctx.Done():
			return nil
		}
		if failed++; time.Since(started) > brief {
			failed = 0
		}
		pause := time.Duration(0)
		switch {
		case failed == attempts:
			return fmt.Errorf("%s has been started %d times and has not stayed; its log is above", name, attempts)
		case failed > 0:
			pause = firstPause << (failed - 1)
		}
		tell(fmt.Sprintf("%s has ended, and is started again in %v; its log is above", name, pause))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
		started = time.Now()
		if err := c.Restart(ctx, name); err != nil && ctx.Err() == nil {
			tell(err.Error())
		}
	}
}
