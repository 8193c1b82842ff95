package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// operations serves /healthz (the process lives), /readyz (a statement would be admitted) and /metrics, and /api/ of a cluster.
type operations struct{ server *http.Server }

// newOperations returns a server that hands /api/ to cluster, which may be nil.
func newOperations(reg *prometheus.Registry, ready func() bool, cluster http.Handler) *operations {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ready\n"))
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	if cluster != nil {
		mux.Handle("/api/", cluster)
		mux.Handle("/api", http.NotFoundHandler()) // without it, the answer would lead to /api/
	}
	return &operations{server: &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		MaxHeaderBytes: 16 << 10,
	}}
}

// serve answers on l until close; it always closes l.
func (o *operations) serve(l net.Listener) error {
	if err := o.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (o *operations) close(ctx context.Context) error { return o.server.Shutdown(ctx) }
