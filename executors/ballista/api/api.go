// Package api shows a cluster's executors and jobs over HTTP, in the shapes of Ballista's REST interface.
//
// What is ours stands under "gateway". Plans are names of operators and of tables: no expression, literal, path or text of an error is in
// any answer. Who may ask is not decided here.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"gatehouse/executors/ballista"
	"gatehouse/executors/ballista/wire"
)

// Cluster is what is shown.
type Cluster interface {
	// Members lists the executors.
	Members(ctx context.Context) ([]*wire.Member, error)
	// Jobs lists jobs, the newest first.
	Jobs(ctx context.Context) []ballista.Job
	// Job returns one job, or ballista.ErrNoJob.
	Job(ctx context.Context, id string) (ballista.Job, error)
}

var _ Cluster = (*ballista.Executor)(nil)

// New returns the handler of GET /api/….
func New(c Cluster) http.Handler {
	h := &handler{c}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/executors", h.executors)
	mux.HandleFunc("GET /api/jobs", h.jobs)
	mux.HandleFunc("GET /api/job/{id}", h.job(func(w http.ResponseWriter, j *ballista.Job) { writeJSON(w, http.StatusOK, newJob(j, true)) }))
	mux.HandleFunc("GET /api/job/{id}/stages", h.job(func(w http.ResponseWriter, j *ballista.Job) { writeJSON(w, http.StatusOK, newStages(j)) }))
	mux.HandleFunc("GET /api/job/{id}/dot", h.job(func(w http.ResponseWriter, j *ballista.Job) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte(dot(newGraph(j))))
	}))
	mux.HandleFunc("GET /api/job/{id}/dot_svg", h.job(func(w http.ResponseWriter, j *ballista.Job) {
		w.Header().Set("Content-Type", "image/svg+xml")
		// A browser must not find more in it than a picture.
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
		_, _ = w.Write([]byte(svg(newGraph(j))))
	}))
	return mux
}

type handler struct{ cluster Cluster }

func (h *handler) executors(w http.ResponseWriter, r *http.Request) {
	members, err := h.cluster.Members(r.Context())
	if err != nil {
		writeFault(w, http.StatusServiceUnavailable)
		return
	}
	out := make([]executor, 0, len(members))
	for _, m := range members {
		out = append(out, newExecutor(m))
	}
	writeJSON(w, http.StatusOK, out)
}

func (h *handler) jobs(w http.ResponseWriter, r *http.Request) {
	jobs := h.cluster.Jobs(r.Context())
	out := make([]job, 0, len(jobs))
	for i := range jobs {
		out = append(out, newJob(&jobs[i], false))
	}
	writeJSON(w, http.StatusOK, out)
}

// job finds the job of a request for show.
func (h *handler) job(show func(http.ResponseWriter, *ballista.Job)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		j, err := h.cluster.Job(r.Context(), r.PathValue("id"))
		switch {
		case errors.Is(err, ballista.ErrNoJob):
			writeFault(w, http.StatusNotFound)
		case err != nil:
			writeFault(w, http.StatusServiceUnavailable)
		default:
			show(w, &j)
		}
	}
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// fault is Ballista's form of an error.
type fault struct {
	Code   int    `json:"http_code"`
	Reason string `json:"reason"`
}

func writeFault(w http.ResponseWriter, code int) {
	writeJSON(w, code, fault{code, http.StatusText(code)})
}
