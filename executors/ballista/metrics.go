package ballista

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gatehouse/executors/ballista/wire"
)

// metrics are the numbers of this gateway's jobs. Labels come from closed sets only.
type metrics struct {
	running  prometheus.Gauge
	jobs     *prometheus.CounterVec // outcome
	tasks    *prometheus.CounterVec // outcome
	read     prometheus.Counter
	shuffled prometheus.Counter
	spilled  prometheus.Counter
}

// taskOutcomes names how tasks end.
var taskOutcomes = map[wire.TaskState]string{
	wire.TaskState_TASK_SUCCESSFUL: "done",
	wire.TaskState_TASK_FAILED:     "failed",
	wire.TaskState_TASK_RETRIED:    "retried",
	wire.TaskState_TASK_KILLED:     "cancelled",
}

func newMetrics(reg prometheus.Registerer, members func(context.Context) (*wire.Members, error)) (*metrics, error) {
	m := &metrics{
		running: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "gatehouse_cluster_jobs_running", Help: "Jobs of this gateway that the cluster runs.",
		}),
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gatehouse_cluster_jobs_total", Help: "Jobs of this gateway that have ended.",
		}, []string{"outcome"}),
		tasks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gatehouse_cluster_tasks_total", Help: "Tasks of jobs that have ended; retried are those that failed and whose work another one took over.",
		}, []string{"outcome"}),
		read: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gatehouse_cluster_read_bytes_total", Help: "Bytes of column chunks that scans of ended jobs have read.",
		}),
		shuffled: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gatehouse_cluster_shuffled_bytes_total", Help: "Bytes that tasks of ended jobs left for other stages, and as results.",
		}),
		spilled: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gatehouse_cluster_spilled_bytes_total", Help: "Bytes that operators of ended jobs wrote to disk for lack of memory.",
		}),
	}
	for _, r := range []Result{Done, Failed, Cancelled, Lost} {
		m.jobs.WithLabelValues(string(r))
	}
	for _, o := range taskOutcomes {
		m.tasks.WithLabelValues(o)
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.running, m.jobs, m.tasks, m.read, m.shuffled, m.spilled, &census{members}} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// count adds what a job has done.
func (m *metrics) count(p *wire.Progress) {
	for _, s := range p.Stages {
		m.read.Add(float64(max(s.ReadBytes, 0)))
		m.shuffled.Add(float64(max(s.ShuffledBytes, 0)))
		m.spilled.Add(float64(max(s.SpilledBytes, 0)))
		for _, t := range s.Tasks {
			if o, ok := taskOutcomes[t.State]; ok {
				m.tasks.WithLabelValues(o).Inc()
			}
		}
	}
}

// census asks the scheduler for its executors at each scrape.
type census struct {
	members func(context.Context) (*wire.Members, error)
}

var (
	upDesc        = prometheus.NewDesc("gatehouse_cluster_up", "1 if the cluster's scheduler answers.", nil, nil)
	executorsDesc = prometheus.NewDesc("gatehouse_cluster_executors", "Executors that the scheduler holds to be alive; absent if it does not answer.", nil, nil)
)

// scrapeTime is how long a scrape waits for the scheduler.
const scrapeTime = time.Second

// Describe implements prometheus.Collector.
func (c *census) Describe(out chan<- *prometheus.Desc) { out <- upDesc; out <- executorsDesc }

// Collect implements prometheus.Collector.
func (c *census) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	m, err := c.members(ctx)
	if err != nil {
		out <- prometheus.MustNewConstMetric(upDesc, prometheus.GaugeValue, 0)
		return
	}
	out <- prometheus.MustNewConstMetric(upDesc, prometheus.GaugeValue, 1)
	out <- prometheus.MustNewConstMetric(executorsDesc, prometheus.GaugeValue, float64(len(m.Executors)))
}
