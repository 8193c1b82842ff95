package gateway

import (
	"log/slog"

	"gatehouse/policy"
)

// restrict adds to d what the catalog demands of this caller. A demand that cannot be applied makes the table unreadable.
func (r *run) restrict(d *policy.Decision, described policy.Table, t *table) error {
	if len(t.loaded.Restrictions) == 0 {
		return nil
	}
	if err := d.Restrict(t.loaded.Restrictions, described); err != nil {
		r.g.cfg.Log.Error("catalog's read restrictions cannot be applied", slog.String("query", r.id), slog.String("table", t.name.String()), slog.Any("cause", err))
		return &UnreadableError{Table: t.written, Why: "its catalog demands restrictions that cannot be applied here"}
	}
	return nil
}
