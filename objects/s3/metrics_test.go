package s3_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/auth"
	"gatehouse/objects"
	"gatehouse/objects/s3"
)

// readings returns the numbers of a registry by name and label.
func readings(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range all {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			out[name] = m.GetCounter().GetValue()
		}
	}
	return out
}

// Each attempt is counted once, by how it ended, with the bytes that it brought.
func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := s3.NewMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status == http.StatusOK {
			piece(w, r)
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte("12345"))
	}))
	defer server.Close()
	store := open(t, s3.Config{Endpoint: server.URL, PathStyle: true, KeyID: "KEY", Secret: auth.NewSecret(secret), Scope: "x", Metrics: m})
	read := func(ctx context.Context, o objects.Object) { _, _ = store.Read(ctx, o, make([]byte, 10), 5) }
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	want := map[string]float64{}
	for _, c := range []struct {
		status      int
		ctx         context.Context
		object      objects.Object
		outcome     string
		calls, more float64
	}{
		{200, t.Context(), object, "done", 1, 10},
		{503, t.Context(), object, "again", 4, 20},
		{403, t.Context(), object, "refused", 1, 5},
		{404, t.Context(), object, "missing", 1, 5},
		{412, t.Context(), object, "changed", 1, 5},
		{400, t.Context(), object, "failed", 1, 5},
		{200, ended, object, "cancelled", 1, 0},
		{200, t.Context(), objects.Object{Location: "gs://x/y"}, "failed", 0, 0}, // nothing is sent
	} {
		status = c.status
		read(c.ctx, c.object)
		want["gatehouse_store_requests_total "+c.outcome] += c.calls
		want["gatehouse_store_read_bytes_total"] += c.more
		for name, n := range readings(t, reg) {
			if n != want[name] {
				t.Errorf("after %s with %d: %s is %v, want %v", c.outcome, c.status, name, n, want[name])
			}
		}
	}
	if len(want) != 8 {
		t.Errorf("%v", want)
	}
}
