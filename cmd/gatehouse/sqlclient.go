package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"gatehouse/auth"
)

// target is where and how to connect.
type target struct {
	host, port string
	tls        bool
	ca         string // PEM file; "": the system's
	cert, key  string // client certificate
	serverName string
	skipVerify bool
	user       string
	password   auth.Secret
	token      auth.Secret // used if it is set
}

func (t target) address() string { return net.JoinHostPort(t.host, t.port) }

// url is the address as a client's connection string.
func (t target) url() string {
	if t.tls {
		return "grpc+tls://" + t.address()
	}
	return "grpc://" + t.address()
}

// client is one session at a server. It runs one statement at a time.
type client struct {
	target target
	sql    *flightsql.Client
	header metadata.MD // what proves the session
}

// errLogin: the server refused the credential.
var errLogin = errors.New("authentication failed")

// errTransport: the server could not be reached or does not speak our protocol.
var errTransport = errors.New("cannot connect")

// maxMessage is the largest message that is accepted; servers send at most a few MiB.
const maxMessage = 64 << 20

// connect opens a session. It returns errLogin or errTransport, wrapped, when that fails.
func connect(ctx context.Context, t target) (*client, error) {
	creds := insecure.NewCredentials()
	if t.tls {
		cfg, err := t.tlsConfig()
		if err != nil {
			return nil, err
		}
		creds = credentials.NewTLS(cfg)
	}
	c, err := flightsql.NewClientCtx(ctx, t.address(), nil, nil, grpc.WithTransportCredentials(creds), grpc.WithUserAgent("gatehouse-sql/"+version),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return nil, fmt.Errorf("%w to %s: %w", errTransport, t.address(), err)
	}
	cl := &client{target: t, sql: c}
	if err := cl.login(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return cl, nil
}

func (c *client) login(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if !c.target.token.IsZero() {
		c.header = metadata.Pairs("authorization", "Bearer "+c.target.token.Reveal())
	} else {
		authed, err := c.sql.Client.AuthenticateBasicToken(ctx, c.target.user, c.target.password.Reveal())
		if err != nil {
			return c.connectError(err)
		}
		c.header, _ = metadata.FromOutgoingContext(authed)
	}
	// A token is not looked at before the first call, and a first statement should not be what finds out.
	if _, err := c.info(ctx); err != nil {
		return c.connectError(err)
	}
	return nil
}

// connectError sorts the failure of a first call.
func (c *client) connectError(err error) error {
	s := status.Convert(err)
	text := s.Message()
	if _, reason, ok := strings.Cut(text, `desc = "transport: `); ok { // gRPC's words around the reason
		text = strings.TrimSuffix(reason, `"`)
	}
	switch s.Code() {
	case codes.Unauthenticated, codes.PermissionDenied, codes.ResourceExhausted:
		if s.Message() == errLogin.Error() { // of our own server
			return errLogin
		}
		return fmt.Errorf("%w: %s", errLogin, s.Message())
	case codes.Unavailable, codes.DeadlineExceeded:
		hint := ""
		switch {
		case strings.Contains(text, "does not look like a TLS handshake"):
			hint = " (does the server speak plaintext? then use grpc://)"
		case strings.Contains(text, "tls:"), strings.Contains(text, "x509:"):
			hint = " (a certificate of your own needs --ca FILE)"
		case !c.target.tls && strings.Contains(text, "error reading server preface"):
			hint = " (does the server want TLS? then use --tls)"
		}
		return fmt.Errorf("%w to %s: %s%s", errTransport, c.target.address(), text, hint)
	default:
		return fmt.Errorf("%w to %s: %s", errTransport, c.target.address(), text)
	}
}

// tlsConfig reads the certificate files.
func (t target) tlsConfig() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.serverName, InsecureSkipVerify: t.skipVerify} //nolint:gosec // only if the user says so
	if t.ca != "" {
		pem, err := os.ReadFile(t.ca)
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no PEM certificate", t.ca)
		}
	}
	if t.cert != "" {
		pair, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return nil, err
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// with returns ctx with the session's credential.
func (c *client) with(ctx context.Context) context.Context {
	return metadata.NewOutgoingContext(ctx, c.header)
}

// close ends the session at the server, if it answers in time, and the connection.
func (c *client) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, _ = c.sql.CloseSession(c.with(ctx), &flight.CloseSessionRequest{})
	return c.sql.Close()
}

// run executes one statement and gives its schema and then each batch, as it arrives, to the functions. A statement
// without a result has a schema without fields. When ctx ends, the server is told to stop.
func (c *client) run(ctx context.Context, query string, schema func(*arrow.Schema) error, batch func(arrow.RecordBatch) error) error {
	info, err := c.sql.Execute(c.with(ctx), query)
	if err != nil {
		return err
	}
	return c.fetch(ctx, info, schema, batch)
}

func (c *client) fetch(ctx context.Context, info *flight.FlightInfo, schema func(*arrow.Schema) error, batch func(arrow.RecordBatch) error) error {
	stop := context.AfterFunc(ctx, func() { c.cancel(info) })
	defer stop()
	var known *arrow.Schema
	if len(info.Schema) > 0 {
		s, err := flight.DeserializeSchema(info.Schema, nil)
		if err != nil {
			return fmt.Errorf("the server's schema cannot be read: %w", err)
		}
		known = s
		if err := schema(s); err != nil {
			return err
		}
	}
	for _, e := range info.Endpoint {
		if err := c.fetchOne(ctx, e.Ticket, &known, schema, batch); err != nil {
			return err
		}
	}
	if known == nil {
		return schema(arrow.NewSchema(nil, nil))
	}
	return nil
}

func (c *client) fetchOne(ctx context.Context, ticket *flight.Ticket, known **arrow.Schema, schema func(*arrow.Schema) error, batch func(arrow.RecordBatch) error) error {
	// Leaving early must end the stream at the server, too.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := c.sql.DoGet(c.with(ctx), ticket)
	if err != nil {
		return err
	}
	defer r.Release()
	if *known == nil {
		*known = r.Schema()
		if err := schema(r.Schema()); err != nil {
			return err
		}
	}
	for r.Next() {
		if err := batch(r.RecordBatch()); err != nil {
			return err
		}
	}
	return r.Err()
}

// cancel asks the server to stop what info stands for. The end of the call's context says the same; this reaches a
// server behind a proxy, and a result that nobody reads at the moment.
func (c *client) cancel(info *flight.FlightInfo) {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	_, _ = c.sql.CancelFlightInfo(c.with(ctx), &flight.CancelFlightInfoRequest{Info: info})
}

// info returns the server's name and version.
func (c *client) info(ctx context.Context) (string, error) {
	info, err := c.sql.GetSqlInfo(c.with(ctx), []flightsql.SqlInfo{flightsql.SqlInfoFlightSqlServerName, flightsql.SqlInfoFlightSqlServerVersion})
	if err != nil {
		return "", err
	}
	var parts []string
	err = c.fetch(ctx, info, func(*arrow.Schema) error { return nil }, func(b arrow.RecordBatch) error {
		if values, ok := b.Column(1).(array.Union); ok {
			for i := range int(b.NumRows()) {
				parts = append(parts, string(appendValue(nil, values, i, plainText)))
			}
		}
		return nil
	})
	return strings.Join(parts, " "), err
}
