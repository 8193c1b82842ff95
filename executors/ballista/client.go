package ballista

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"

	"gatehouse/executors/ballista/wire"
)

// The names in the certificates of the cluster's processes.
const (
	schedulerName = "scheduler.gatehouse"
	executorName  = "executor.gatehouse"
)

// maxMessage bounds one message: a statement holds its task groups, a batch its rows.
const maxMessage = 128 << 20

// window bounds what a part of a result sends before it is read.
const window = 4 << 20

// silence is how long a process may say nothing while a call to it is open, and once more how long it may take to answer when it is asked.
const silence = 20 * time.Second

// service is the name of the scheduler's service.
const service = "/gatehouse.ballista.v1.Submission/"

// client talks to the scheduler, and to executors for results.
type client struct {
	tls       *tls.Config
	scheduler *grpc.ClientConn

	mu        sync.Mutex
	executors map[string]flight.Client
}

func newClient(scheduler string, config *tls.Config) (*client, error) {
	c := &client{tls: config, executors: map[string]flight.Client{}}
	var err error
	c.scheduler, err = grpc.NewClient(scheduler, c.options(schedulerName)...)
	return c, err
}

// options are those of a connection to a process with the given name in its certificate.
func (c *client) options(name string) []grpc.DialOption {
	config := c.tls.Clone()
	config.ServerName = name
	return []grpc.DialOption{
		grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(64 << 20),
		// Who does not answer is gone, although its connection does not say so.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: silence, Timeout: silence}),
	}
}

func (c *client) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.scheduler.Close()
	for _, x := range c.executors {
		err = errors.Join(err, x.Close())
	}
	c.executors = nil
	return err
}

// executor returns the connection to an executor, which is kept.
func (c *client) executor(host string, port int32) (flight.Client, error) {
	address := net.JoinHostPort(host, strconv.Itoa(int(port)))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.executors == nil {
		return nil, grpc.ErrClientConnClosing
	}
	if x, ok := c.executors[address]; ok {
		return x, nil
	}
	x, err := flight.NewClientWithMiddleware(address, nil, nil, c.options(executorName)...)
	if err == nil {
		c.executors[address] = x
	}
	return x, err
}

func (c *client) describe(ctx context.Context, s *wire.Statement) (*wire.Description, error) {
	out := new(wire.Description)
	return out, c.scheduler.Invoke(ctx, service+"Describe", s, out)
}

// job is one run that has ended well, with its parts in the result's order.
type job struct {
	client *client
	id     string
	parts  []*wire.Part
}

// outline is the statement's stages as they are before it runs.
func (c *client) outline(ctx context.Context, s *wire.Statement) (*wire.Progress, error) {
	out := new(wire.Progress)
	return out, c.scheduler.Invoke(ctx, service+"Outline", s, out)
}

// watch asks how far a job is, at its end if the caller wants to wait.
func (c *client) watch(ctx context.Context, id string, end bool) (*wire.Progress, error) {
	out := new(wire.Progress)
	return out, c.scheduler.Invoke(ctx, service+"Watch", &wire.Watching{Id: id, End: end}, out)
}

func (c *client) members(ctx context.Context) (*wire.Members, error) {
	out := new(wire.Members)
	return out, c.scheduler.Invoke(ctx, service+"Cluster", new(wire.Done), out)
}

// submit runs a statement and waits for its end. It calls accepted once the scheduler has named the job. The result's files are there until ctx
// ends, or this process does.
func (c *client) submit(ctx context.Context, s *wire.Statement, accepted func(id string)) (*job, error) {
	if proto.Size(s) > maxMessage {
		return nil, unsupported("a statement that reads so many files", nil)
	}
	// The end of ctx ends the call, and the scheduler cancels the job of a call that has ended.
	stream, err := c.scheduler.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, service+"Submit")
	if err != nil {
		return nil, transport(err)
	}
	if err := stream.SendMsg(s); err != nil && !errors.Is(err, io.EOF) {
		return nil, transport(err)
	}
	if err := stream.CloseSend(); err != nil {
		return nil, transport(err)
	}
	j := &job{client: c}
	for {
		e := new(wire.Event)
		if err := stream.RecvMsg(e); err != nil {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("the scheduler said nothing of the job's end: %w", io.ErrUnexpectedEOF)
			}
			return nil, transport(err)
		}
		switch e := e.Event.(type) {
		case *wire.Event_Accepted:
			j.id = e.Accepted.Id
			accepted(j.id)
		case *wire.Event_Failed:
			return nil, failed(e.Failed)
		case *wire.Event_Ready:
			j.parts = e.Ready.Parts
			return j, nil
		}
	}
}
