package ballista

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"

	"gatehouse/executors/ballista/wire"
)

// TestGroupBytes: a relation is cut into two tasks a core, within bounds; where a size is configured, by that.
func TestGroupBytes(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		configured int64
		cores      []int32
		files      []int64
		want       int64
	}{
		"small":                       {0, []int32{1, 1}, []int64{mib, 3 * mib}, 32 * mib},
		"two tasks a core":            {0, []int32{1, 1}, []int64{100 * mib, 100 * mib}, 50 * mib},
		"more cores":                  {0, []int32{1, 2}, []int64{240 * mib}, 40 * mib},
		"so many that tasks are min":  {0, []int32{64}, []int64{1 << 30}, 32 * mib},
		"so large that tasks are max": {0, []int32{1, 1}, []int64{1 << 34}, 256 * mib},
		"no executors yet":            {0, nil, []int64{100 * mib}, 50 * mib},
		"configured":                  {4096, []int32{8}, []int64{1 << 34}, 4096},
	} {
		members := func(context.Context) (*wire.Members, error) {
			out := new(wire.Members)
			for _, n := range c.cores {
				out.Executors = append(out.Executors, &wire.Member{Cores: n})
			}
			return out, nil
		}
		x := &Executor{config: Config{GroupBytes: c.configured}, capacity: newCapacity(members, time.Now)}
		var files []*wire.File
		for _, n := range c.files {
			files = append(files, &wire.File{Size: n})
		}
		if got, err := x.groupBytes(t.Context(), files); got != c.want || err != nil {
			t.Errorf("%s: %d bytes a task, %v, want %d", name, got, err, c.want)
		}
	}
}

// TestCapacity: the scheduler is asked once in a while, and one that does not answer leaves what was known.
func TestCapacity(t *testing.T) {
	now, asked := time.Unix(0, 0), 0
	var down error
	c := newCapacity(func(context.Context) (*wire.Members, error) {
		asked++
		return &wire.Members{Executors: []*wire.Member{{Cores: int32(asked)}}}, down
	}, func() time.Time { return now })
	for _, step := range []struct {
		after time.Duration
		down  error
		want  int64
		asked int
	}{
		{0, nil, 1, 1},
		{censusAge - 1, nil, 1, 1},
		{1, nil, 2, 2},
		{censusAge, errors.New("down"), 2, 3},
		{0, errors.New("down"), 2, 4},
		{0, nil, 5, 5},
	} {
		now, down = now.Add(step.after), step.down
		if got, err := c.of(t.Context()); got != step.want || asked != step.asked || err != nil {
			t.Errorf("at %v: %d cores after %d questions, want %d after %d: %v", now, got, asked, step.want, step.asked, err)
		}
	}
}

// TestCapacityOfSilence: where the scheduler takes a connection and says nothing, each statement ends with its own deadline, also while another one waits for the
// answer; and the one that waits asks by itself when the other one has ended.
func TestCapacityOfSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	client, err := newClient(l.Addr().String(), new(tls.Config))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.close() }()
	asked := make(chan struct{}, 2)
	x := &Executor{capacity: newCapacity(func(ctx context.Context) (*wire.Members, error) {
		asked <- struct{}{}
		return client.members(ctx)
	}, time.Now)}
	files := []*wire.File{{Size: 1 << 30}}

	patient, stop := context.WithTimeout(t.Context(), 15*time.Second)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		_, err := x.groupBytes(patient, files)
		ended <- err
	}()
	<-asked
	for range 2 {
		hasty, end := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := x.groupBytes(hasty, files); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a statement behind another one: %v", err)
		}
		end()
	}
	if patient.Err() != nil {
		t.Error("it ended with the other one")
	}

	waiting, end := context.WithCancel(t.Context())
	next := make(chan error, 1)
	go func() {
		_, err := x.groupBytes(waiting, files)
		next <- err
	}()
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that asked: %v", err)
	}
	<-asked
	end()
	if err := <-next; !errors.Is(err, context.Canceled) {
		t.Errorf("the next one: %v", err)
	}
}
