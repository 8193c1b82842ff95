package duckdb

import "github.com/prometheus/client_golang/prometheus"

// metrics are the numbers of what is kept of object stores. Labels come from closed sets only.
type metrics struct {
	kept, fetched, awaited prometheus.Counter
	bytes                  prometheus.Counter
}

// newMetrics registers them, unless reg is nil. held tells how many bytes all copies and mirrors have.
func newMetrics(reg prometheus.Registerer, held func() int64) (*metrics, error) {
	parts := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gatehouse_mirror_parts_total", Help: "Footers, columns and deletion vectors of objects that statements needed: kept ones, fetched, and awaited from another statement.",
	}, []string{"source"})
	m := &metrics{
		kept: parts.WithLabelValues("kept"), fetched: parts.WithLabelValues("fetched"), awaited: parts.WithLabelValues("awaited"),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gatehouse_mirror_fetched_bytes_total", Help: "Bytes of objects that were fetched to be kept.",
		}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{parts, m.bytes, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gatehouse_copies_bytes", Help: "Bytes on disk of copies of data files, and of what is kept of object stores.",
	}, func() float64 { return float64(held()) })} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
