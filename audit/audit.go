// Package audit records what was asked, decided and done.
package audit

import (
	"context"
	"time"
)

// Event is the one record of one statement or metadata call, also of a denied, failed or cancelled one.
// It holds no literal, row, token or policy text.
type Event struct {
	Time      time.Time     `json:"time"`
	Query     string        `json:"query_id"`
	User      string        `json:"user"`
	Issuer    string        `json:"issuer"`
	Subject   string        `json:"subject"`
	Peer      string        `json:"peer,omitempty"`
	Client    string        `json:"client,omitempty"`
	Action    string        `json:"action"`              // "statement", "prepare", "metadata", "login", …
	Kind      string        `json:"kind,omitempty"`      // statement kind or metadata command
	Statement string        `json:"statement,omitempty"` // hash
	Objects   []Object      `json:"objects,omitempty"`
	Decision  string        `json:"decision_id,omitempty"`
	Policy    string        `json:"policy_revision,omitempty"`
	Executor  string        `json:"executor,omitempty"`
	Tasks     []string      `json:"tasks,omitempty"` // ids of task credentials
	Stages    []Stage       `json:"stages,omitempty"`
	Rows      int64         `json:"rows"`
	Bytes     int64         `json:"bytes"`
	Outcome   Outcome       `json:"outcome"`
	Error     string        `json:"error,omitempty"` // class of the error, never its text
	Rule      string        `json:"rule,omitempty"`  // file:line of the policy's rule that could not be applied
	Duration  time.Duration `json:"duration_ns"`
}

// Object is one table that the statement touched.
type Object struct {
	Name     string   `json:"name"`
	Snapshot int64    `json:"snapshot,omitempty"`
	Columns  []string `json:"columns,omitempty"`
	Filters  []string `json:"filters,omitempty"` // ids of row filters
	Masks    []string `json:"masks,omitempty"`   // column=mask id
	Decision string   `json:"decision_id,omitempty"`
	// Rules are where the policy has what is in Filters and Masks: file:line.
	Rules map[string]string `json:"rules,omitempty"`
}

// Stage is how long one stage took.
type Stage struct {
	Name     string        `json:"name"`
	Duration time.Duration `json:"ns"`
}

// Outcome is how a statement ended.
type Outcome string

// The outcomes.
const (
	Started   Outcome = "started" // written before the first row leaves
	Done      Outcome = "ok"
	Denied    Outcome = "denied"
	Failed    Outcome = "failed"
	Cancelled Outcome = "cancelled"
)

// Sink writes events. Record returns once the event is as durable as the sink is configured to make it;
// on an error the caller sends no data out. It may be called at once from many goroutines.
type Sink interface {
	Record(ctx context.Context, e Event) error
}
