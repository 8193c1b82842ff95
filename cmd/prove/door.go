package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"gatehouse/auth"
	"gatehouse/gateway"
	"gatehouse/gateway/flight"
)

// door is a Flight SQL server in front of one gateway, and a client that is signed in as eve.
type door struct {
	server *flight.Server
	client *flightsql.Client
	header metadata.MD
	served chan error
}

// anybody lets eve in.
type anybody struct{}

func (anybody) Authenticate(context.Context, auth.Credential) (auth.Identity, error) { return eve, nil }

// newDoor opens a server on a loopback socket.
func newDoor(ctx context.Context, g *gateway.Gateway) (_ *door, err error) {
	d := &door{served: make(chan error, 1)}
	if d.server, err = flight.New(flight.Config{Gateway: g, Auth: anybody{}, Version: "prove", Heartbeat: time.Hour}); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() { d.served <- d.server.Serve(l) }()
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	d.client, err = flightsql.NewClient(l.Addr().String(), nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	signed, err := d.client.Client.AuthenticateBasicToken(ctx, eve.User, eve.User)
	if err != nil {
		return nil, err
	}
	d.header, _ = metadata.FromOutgoingContext(signed)
	return d, nil
}

func (d *door) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var errs []error
	if d.client != nil {
		errs = append(errs, d.client.Close())
	}
	errs = append(errs, d.server.Close(ctx), <-d.served)
	return errors.Join(errs...)
}

// doors opens one door for each policy when it is first asked for.
type doors struct {
	mu   sync.Mutex
	open map[int]*door
}

func (d *doors) door(ctx context.Context, g *gateway.Gateway, p int) (*door, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[p] != nil {
		return d.open[p], nil
	}
	opened, err := newDoor(ctx, g)
	if err != nil {
		return nil, err
	}
	if d.open == nil {
		d.open = map[int]*door{}
	}
	d.open[p] = opened
	return opened, nil
}

func (d *doors) close() error {
	var errs []error
	for _, o := range d.open {
		errs = append(errs, o.close())
	}
	return errors.Join(errs...)
}
