package gateway

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/audit"
)

// metrics are the gateway's own numbers. Labels come from closed sets only: no user, table or statement is one.
type metrics struct {
	running  prometheus.Gauge
	finished *prometheus.CounterVec   // action, outcome, error class
	stages   *prometheus.HistogramVec // stage
	rows     prometheus.Counter
	bytes    prometheus.Counter
	alarms   prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		running: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "gatehouse_statements_running", Help: "Statements that are admitted and have not ended.",
		}),
		finished: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gatehouse_statements_total", Help: "Statements and metadata calls that have ended.",
		}, []string{"action", "outcome", "error"}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gatehouse_stage_seconds", Help: "Time of one stage of one statement.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 4, 10),
		}, []string{"stage"}),
		rows: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gatehouse_result_rows_total", Help: "Rows sent to clients.",
		}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gatehouse_result_bytes_total", Help: "Bytes of Arrow buffers sent to clients.",
		}),
		alarms: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gatehouse_break_glass_total", Help: "Tables that statements read by an emergency right.",
		}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.running, m.finished, m.stages, m.rows, m.bytes, m.alarms} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) stage(name string, d time.Duration) {
	m.stages.WithLabelValues(name).Observe(d.Seconds())
}

func (m *metrics) end(e *audit.Event) {
	m.finished.WithLabelValues(e.Action, string(e.Outcome), e.Error).Inc()
	m.rows.Add(float64(e.Rows))
	m.bytes.Add(float64(e.Bytes))
}
