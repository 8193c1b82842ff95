package gateway

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"gatehouse/audit"
	"gatehouse/classify"
	"gatehouse/policy"
)

// run is the life of one statement or metadata call, from admission to its one audit event.
type run struct {
	g       *Gateway
	session *Session
	id      string
	start   time.Time
	ctx     context.Context // ends at the deadline, at Cancel and when the caller's context ends
	cancel  context.CancelCauseFunc
	judge   policy.Judge
	entered map[string]bool // the judge's answers about catalogs so far
	event   audit.Event
	ended   bool

	decisions []policy.Decision // by table reference of the statement
}

// begin admits a statement or metadata call. Every run that begin returns must end with finish.
func (g *Gateway) begin(ctx context.Context, s *Session, action string) (*run, error) {
	id, err := g.newID()
	if err != nil {
		return nil, &InternalError{Query: "none", cause: err}
	}
	r := &run{g: g, session: s, id: id, start: g.cfg.Now()}
	r.event = audit.Event{
		Time: r.start.UTC(), Query: id, Action: action, Peer: s.peer, Client: s.client,
		User: s.identity.User, Issuer: s.identity.Issuer, Subject: s.identity.Subject,
	}
	r.event.Executor = r.executor().Capabilities().Name
	limit := g.cfg.Limits.Statement
	if t := s.timeout(); t > 0 && t < limit {
		limit = t
	}
	r.attach(ctx, limit)
	if err := g.admit(r); err != nil {
		r.cancel(nil)
		r.record(err)
		return nil, err
	}
	return r, nil
}

// attach derives the run's context from ctx.
func (r *run) attach(ctx context.Context, limit time.Duration) {
	inner, cancel := context.WithCancelCause(ctx)
	timed, stop := context.WithTimeoutCause(inner, limit, ErrTimeout)
	r.ctx, r.cancel = timed, func(cause error) { cancel(cause); stop() }
}

// stage runs f and records how long it took.
func (r *run) stage(name string, f func() error) error {
	t := r.g.cfg.Now()
	err := f()
	d := r.g.cfg.Now().Sub(t)
	r.event.Stages = append(r.event.Stages, audit.Stage{Name: name, Duration: d})
	r.g.metrics.stage(name, d)
	return err
}

// caller describes the run to the policy.
func (r *run) caller(kind classify.Kind, hash string) policy.Caller {
	return policy.Caller{
		Identity: r.session.identity, Query: r.id, Time: r.start, Peer: r.session.peer, Client: r.session.client,
		Session: r.session.userSettings(), Kind: kind, Hash: hash,
	}
}

// decide pins the policy revision for the run.
func (r *run) decide(kind classify.Kind, hash string) error {
	judge, err := r.g.cfg.Decider.Judge(r.ctx, r.caller(kind, hash))
	if err != nil {
		return err
	}
	r.judge, r.entered = judge, nil
	r.event.Policy = judge.Revision()
	return nil
}

// started writes the event ahead of the first row, so that nothing leaves the gateway unrecorded.
func (r *run) started() error {
	e := r.event
	e.Outcome = audit.Started
	e.Duration = r.g.cfg.Now().Sub(r.start)
	if err := r.g.cfg.Audit.Record(context.WithoutCancel(r.ctx), e); err != nil {
		r.g.cfg.Log.Error("audit record refused", slog.String("query", r.id), slog.Any("cause", err))
		return ErrAudit
	}
	return nil
}

// finish ends the run: it frees its place, writes its audit event and returns the error that may leave the gateway.
// Only the first call counts.
func (r *run) finish(err error) error {
	if r.ended {
		return err
	}
	r.ended = true
	err = public(r.ctx, r.id, err)
	r.cancel(nil)
	defer r.g.release(r)
	return r.record(err)
}

// record writes the audit event of the outcome err. If it cannot be written, the result is ErrAudit.
func (r *run) record(err error) error {
	r.event.Outcome, r.event.Error = outcome(err), class(err)
	r.blame(err)
	r.alarm()
	r.event.Duration = r.g.cfg.Now().Sub(r.start)
	r.g.metrics.end(&r.event)
	r.log(err)
	if aerr := r.g.cfg.Audit.Record(context.WithoutCancel(r.ctx), r.event); aerr != nil {
		r.g.cfg.Log.Error("audit record refused", slog.String("query", r.id), slog.Any("cause", aerr))
		if err == nil {
			return ErrAudit
		}
	}
	return err
}

// log tells the operator about faults that the client only sees as an id.
func (r *run) log(err error) {
	var internal *InternalError
	var fault *policy.PolicyError
	switch {
	case errors.As(err, &internal):
		r.g.cfg.Log.Error("statement failed inside the gateway", slog.String("query", r.id), slog.String("cause", scrub(internal.cause)))
	case errors.As(err, &fault):
		r.g.cfg.Log.Error("policy fault", slog.String("query", r.id), slog.String("decision", fault.Decision),
			slog.String("rule", fault.Rule), slog.Any("cause", fault.Cause))
	case err != nil && errors.Unwrap(err) != nil:
		r.g.cfg.Log.Warn("statement failed", slog.String("query", r.id), slog.String("class", class(err)), slog.String("cause", scrub(errors.Unwrap(err))))
	}
}

func outcome(err error) audit.Outcome {
	switch err.(type) {
	case nil:
		return audit.Done
	case *policy.DeniedError, *policy.PolicyError:
		return audit.Denied
	case *classify.NameError:
		return audit.Denied
	}
	switch err {
	case ErrCancelled, ErrTimeout, ErrDeadline, ErrClosing:
		return audit.Cancelled
	}
	return audit.Failed
}
