// Package flight speaks Flight SQL; it is the only gRPC server.
//
// It translates calls to package gateway and back, and never plans, rewrites, lists metadata or decides. Read doors.go
// first: it lists every command and action of the protocol with what answers it. A call passes interceptor.go (panics,
// who is calling), then rpc.go (which door), then the door's own file, and leaves through stream.go or status.go.
package flight

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"gatehouse/auth"
	"gatehouse/gateway"
)

// Config is what a Server needs. Gateway and Auth must be set; zero means the default elsewhere.
type Config struct {
	Gateway *gateway.Gateway
	Auth    auth.Authenticator // if it is an auth.Renewer as well, sessions ask it whether their principal is still there
	TLS     TLS                // no certificate: plaintext, which Serve accepts on loopback only
	Version string             // the product's own version

	Sessions  SessionLimits
	Handles   HandleLimits
	Message   int           // largest request message in bytes; default 64 MiB
	Streams   uint32        // concurrent calls of one connection; default 256
	Heartbeat time.Duration // a silent result stream sends an empty batch after this time; default 10 s

	Log   *slog.Logger     // nil: discard
	Now   func() time.Time // nil: time.Now
	Rand  io.Reader        // nil: crypto/rand
	Alloc memory.Allocator // for what the server itself builds; nil: memory.DefaultAllocator
}

// Server is a Flight SQL server over one Gateway.
type Server struct {
	flight.BaseFlightServer
	cfg    Config
	logins *logins
	grpc   *grpc.Server
	certs  *reloader      // nil: plaintext
	info   map[uint32]any // GetSqlInfo's answers

	stop chan struct{} // ends the sweeper
	once sync.Once
	wg   sync.WaitGroup
}

var _ flight.FlightServer = (*Server)(nil)

// New checks c and returns a Server, which serves nothing yet. Close frees it.
func New(c Config) (*Server, error) {
	if c.Gateway == nil {
		return nil, errors.New("flight: no gateway")
	}
	if c.Auth == nil {
		return nil, errors.New("flight: no authenticator")
	}
	setDefaults(&c)
	certs, err := c.TLS.open(c.Log)
	if err != nil {
		return nil, fmt.Errorf("flight: %w", err)
	}
	logins, err := newLogins(c)
	if err != nil {
		return nil, fmt.Errorf("flight: %w", err)
	}
	s := &Server{cfg: c, logins: logins, certs: certs, info: sqlInfo(c.Version), stop: make(chan struct{})}
	opts := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(c.Message),
		grpc.MaxSendMsgSize(maxSendMessage),
		grpc.MaxConcurrentStreams(c.Streams),
		grpc.MaxHeaderListSize(maxHeaderList),
		grpc.WriteBufferSize(256 << 10),
		// Drivers and proxies ping often; the default of five minutes would cut them off.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 2 * time.Minute, Timeout: 20 * time.Second}),
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
	}
	if certs != nil {
		opts = append(opts, grpc.Creds(certs.credentials()))
	}
	s.grpc = grpc.NewServer(opts...)
	flight.RegisterFlightServiceServer(s.grpc, s)
	s.wg.Add(1)
	go s.sweep()
	return s, nil
}

// The bounds of a message that no setting changes.
const (
	// maxSendMessage is what every client of the protocol accepts. Batches are cut by the executor to much less, so
	// a larger message is one row that nobody could read.
	maxSendMessage = 64 << 20
	// maxHeaderList holds the largest bearer token, cookies and a driver's own headers.
	maxHeaderList = 256 << 10
)

func setDefaults(c *Config) {
	if c.Message == 0 {
		c.Message = 64 << 20
	}
	if c.Streams == 0 {
		c.Streams = 256
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = 10 * time.Second
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Alloc == nil {
		c.Alloc = memory.DefaultAllocator
	}
	c.Sessions.setDefaults()
	c.Handles.setDefaults()
}

// Serve accepts connections until Close. Without a certificate it refuses every address but loopback. It closes l.
func (s *Server) Serve(l net.Listener) error {
	if s.certs == nil && !loopback(l.Addr()) {
		_ = l.Close()
		return fmt.Errorf("flight: refusing to serve plaintext on %s: set a TLS certificate, or listen on loopback", l.Addr())
	}
	if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("flight: serve: %w", err)
	}
	return nil
}

func loopback(a net.Addr) bool {
	switch a := a.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

// Close takes no new calls, waits for running ones until ctx ends, cuts off those that are left, and ends all sessions.
// It does not close the gateway.
func (s *Server) Close(ctx context.Context) error {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.grpc.GracefulStop()
	}()
	var err error
	select {
	case <-drained:
	case <-ctx.Done():
		err = fmt.Errorf("flight: calls were cut off: %w", context.Cause(ctx))
		s.grpc.Stop()
		<-drained
	}
	s.once.Do(func() { close(s.stop) })
	s.wg.Wait()
	s.logins.sessions.Close()
	return err
}

// sweep ends sessions and handles that have outlived their limits.
func (s *Server) sweep() {
	defer s.wg.Done()
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-t.C:
			s.sweepOnce()
		}
	}
}

func (s *Server) sweepOnce() {
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Log.Error("panic while ending sessions", slog.Any("cause", p))
		}
	}()
	s.logins.sweep()
}

const sweepEvery = 15 * time.Second
