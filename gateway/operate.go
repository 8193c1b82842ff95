package gateway

import "context"

// Operate returns nil if the caller may see what an operator sees of everybody's statements: whom the policy lets change every right.
// It is recorded like a metadata call, of the kind that says what is looked at.
func (g *Gateway) Operate(ctx context.Context, s *Session, kind string) error {
	return g.metadata(ctx, s, kind, func(r *run) error {
		ok, err := r.administers()
		if err == nil && !ok {
			err = r.denied("the cluster")
		}
		return err
	})
}
