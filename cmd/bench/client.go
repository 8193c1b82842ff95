package main

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/util"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// client is one session, as the Go Flight SQL client makes it.
type client struct {
	sql    *flightsql.Client
	header metadata.MD
}

func (b *bench) connect(ctx context.Context, user string) (*client, error) {
	c, err := flightsql.NewClientCtx(ctx, b.server.address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		return nil, err
	}
	authed, err := c.Client.AuthenticateBasicToken(ctx, user, user)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	header, _ := metadata.FromOutgoingContext(authed)
	return &client{c, header}, nil
}

// result is what was measured of one statement.
type result struct {
	rows, bytes  int64
	first, total time.Duration // to the first batch, to the end
}

func (c *client) run(ctx context.Context, text string) (r result, err error) {
	started := time.Now()
	err = c.each(ctx, text, func(b arrow.RecordBatch) {
		if r.first == 0 {
			r.first = time.Since(started)
		}
		r.rows += b.NumRows()
		r.bytes += util.TotalRecordSize(b)
	})
	r.total = time.Since(started)
	return r, err
}

// texts returns the first column of a small result as text.
func (c *client) texts(ctx context.Context, text string) (out []string, err error) {
	err = c.each(ctx, text, func(b arrow.RecordBatch) {
		for i := range int(b.NumRows()) {
			out = append(out, b.Column(0).ValueStr(i))
		}
	})
	return out, err
}

// each runs a statement and shows every batch of its result.
func (c *client) each(ctx context.Context, text string, show func(arrow.RecordBatch)) error {
	ctx = metadata.NewOutgoingContext(ctx, c.header)
	info, err := c.sql.Execute(ctx, text)
	if err != nil {
		return err
	}
	for _, e := range info.Endpoint {
		stream, err := c.sql.DoGet(ctx, e.Ticket)
		if err != nil {
			return err
		}
		for stream.Next() {
			show(stream.RecordBatch())
		}
		err = stream.Err()
		stream.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *client) close() { _ = c.sql.Close() }
