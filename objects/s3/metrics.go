package s3

import (
	"context"
	"errors"
	"io"

	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/objects"
)

// Metrics are the numbers of requests to stores, which may share them. Labels come from closed sets only: no bucket, key or caller is one.
type Metrics struct {
	requests *prometheus.CounterVec // outcome
	bytes    prometheus.Counter
}

// outcomes are how requests end.
var outcomes = []string{"done", "again", "refused", "missing", "changed", "failed", "cancelled"}

// NewMetrics registers the numbers, unless reg is nil.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gatehouse_store_requests_total", Help: "Requests to object stores, each attempt; after again there was, or could have been, one more.",
		}, []string{"outcome"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gatehouse_store_read_bytes_total", Help: "Bytes of answers of object stores, without their headers.",
		}),
	}
	for _, o := range outcomes {
		m.requests.WithLabelValues(o)
	}
	if reg == nil {
		return m, nil
	}
	return m, errors.Join(reg.Register(m.requests), reg.Register(m.bytes))
}

// count counts a request that was sent in ctx, and how it ended.
func (m *Metrics) count(ctx context.Context, err error, again bool) {
	if m != nil {
		m.requests.WithLabelValues(outcome(ctx, err, again)).Inc()
	}
}

func outcome(ctx context.Context, err error, again bool) string {
	switch {
	case err == nil:
		return "done"
	case ctx.Err() != nil:
		return "cancelled"
	case again:
		return "again"
	case errors.Is(err, objects.ErrRefused):
		return "refused"
	case errors.Is(err, objects.ErrNotFound):
		return "missing"
	case errors.Is(err, objects.ErrChanged):
		return "changed"
	}
	return "failed"
}

// body counts the bytes of an answer.
type body struct {
	io.ReadCloser
	m *Metrics
}

func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.m != nil {
		b.m.bytes.Add(float64(n))
	}
	return n, err
}
