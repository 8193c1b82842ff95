package main

import (
	"context"
	"net"
	"net/http"
	"strings"

	"gatehouse/gateway"
)

// door says who sends a call.
type door interface {
	Caller(ctx context.Context, authorization []string, peer, agent string) (*gateway.Session, func(), error)
}

// desk says whether a caller may see what operators see.
type desk interface {
	Operate(ctx context.Context, s *gateway.Session, kind string) error
}

// operatorsOnly lets administrators through to next. Whoever else asks gets the answer of a path that is not there, and so does who asks for
// anything by another method; all of that is decided before the path is looked at.
//
// There is no challenge: a browser must not ask for a password here, nor keep one, and so nothing that a page of another site makes it ask
// for has any rights.
func operatorsOnly(d door, o desk, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !mayOperate(d, o, r) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

func mayOperate(d door, o desk, r *http.Request) bool {
	peer, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	session, done, err := d.Caller(r.Context(), r.Header.Values("Authorization"), peer, strings.Join(r.Header.Values("User-Agent"), " "))
	if err != nil {
		return false
	}
	defer done()
	return o.Operate(r.Context(), session, "cluster") == nil
}
