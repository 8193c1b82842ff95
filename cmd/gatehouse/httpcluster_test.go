package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"gatehouse/auth"
	"gatehouse/gateway"
	"gatehouse/policy"
)

// guard is a door and a desk that a test decides for.
type guard struct {
	caller, operate error
	entered, left   int
	peer            string
	asked           []string
}

func (g *guard) Caller(_ context.Context, authorization []string, peer, _ string) (*gateway.Session, func(), error) {
	g.peer, g.asked = peer, authorization
	if g.caller != nil {
		return nil, nil, g.caller
	}
	g.entered++
	return new(gateway.Session), func() { g.left++ }, nil
}

func (g *guard) Operate(_ context.Context, _ *gateway.Session, kind string) error {
	if kind != "cluster" {
		return &policy.DeniedError{}
	}
	return g.operate
}

// Nothing behind the door is asked before both have said yes, and what a call held is freed whatever they say.
func TestOperatorsOnly(t *testing.T) {
	for _, tt := range []struct {
		name    string
		method  string
		guard   guard
		code    int
		entered int
	}{
		{"an administrator", "GET", guard{}, http.StatusTeapot, 1},
		{"nobody", "GET", guard{caller: auth.ErrUnauthenticated}, http.StatusNotFound, 0},
		{"too many attempts", "GET", guard{caller: auth.ErrRateLimited}, http.StatusNotFound, 0},
		{"a user", "GET", guard{operate: &policy.DeniedError{}}, http.StatusNotFound, 1},
		{"a policy that fails", "GET", guard{operate: &policy.PolicyError{}}, http.StatusNotFound, 1},
		{"another method", "POST", guard{}, http.StatusNotFound, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reached := false
			h := operatorsOnly(&tt.guard, &tt.guard, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				reached = true
				w.WriteHeader(http.StatusTeapot)
			}))
			r := httptest.NewRequest(tt.method, "/api/jobs", nil)
			r.RemoteAddr = "127.0.0.1:4711"
			r.Header.Add("Authorization", "Bearer a")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.code || reached != (tt.code == http.StatusTeapot) {
				t.Errorf("%d, reached %t", w.Code, reached)
			}
			if tt.guard.entered != tt.entered || tt.guard.left != tt.guard.entered {
				t.Errorf("entered %d, left %d", tt.guard.entered, tt.guard.left)
			}
			if tt.method == "GET" && (tt.guard.peer != "127.0.0.1" || len(tt.guard.asked) != 1) {
				t.Errorf("the door was asked for %q from %q", tt.guard.asked, tt.guard.peer)
			}
		})
	}
}
