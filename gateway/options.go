package gateway

import (
	"context"
	"strings"
)

// SetOption sets one session option for a door: "catalog", "schema", or a setting. The same checks apply as to SET.
func (g *Gateway) SetOption(ctx context.Context, s *Session, name, value string) error {
	return g.metadata(ctx, s, "set_option", func(r *run) error {
		switch strings.ToLower(name) {
		case "catalog":
			return r.useCatalog(value, nil)
		case "schema":
			return r.useCatalog(s.Namespace().Catalog, &value)
		}
		return r.setSetting(name, value, false)
	})
}

// ResetOption puts one session option back to its initial value.
func (g *Gateway) ResetOption(ctx context.Context, s *Session, name string) error {
	return g.metadata(ctx, s, "set_option", func(r *run) error {
		switch strings.ToLower(name) {
		case "catalog", "schema":
			s.setNamespace(s.initial)
			return nil
		}
		return r.setSetting(name, "", true)
	})
}
