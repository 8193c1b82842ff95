package grants

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"gatehouse/policy"
)

// postgresTables makes the log; the trigger keeps it append-only against slips.
const postgresTables = `
CREATE TABLE IF NOT EXISTS gatehouse_grants (
  version bigint PRIMARY KEY, at text NOT NULL, author text NOT NULL, changes text NOT NULL);
CREATE OR REPLACE FUNCTION gatehouse_grants_frozen() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'the history of rights is append-only'; END $$;
CREATE OR REPLACE TRIGGER gatehouse_grants_frozen BEFORE UPDATE OR DELETE OR TRUNCATE ON gatehouse_grants
  EXECUTE FUNCTION gatehouse_grants_frozen();`

// postgresLog is the log in a database that several gateways share.
type postgresLog struct{ pool *pgxpool.Pool }

var _ journal = (*postgresLog)(nil)

// tables is a lock that gateways take while they make the table, since IF NOT EXISTS races with itself.
const tablesLock = 0x6761746568

func (s *Store) openPostgres(ctx context.Context) error {
	pc, err := pgxpool.ParseConfig(s.cfg.Postgres.Reveal())
	if err != nil {
		return errors.New("grants: the connection string cannot be read") // the cause would show the password
	}
	pc.MaxConns = 4
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return fmt.Errorf("grants: %w", err)
	}
	s.journal = &postgresLog{pool}
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, tablesLock); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, postgresTables)
		return err
	})
	if err != nil {
		pool.Close()
		return fmt.Errorf("grants: %w", err)
	}
	s.seen.Store(s.cfg.Now().UnixNano())
	following, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.done.Go(func() { s.follow(following, pool) })
	return nil
}

// heartbeat is how often the log is read although nobody said that it changed.
const heartbeat = 500 * time.Millisecond

// follow keeps the state current until ctx ends. While the database cannot be reached, the state gets too old to be used.
func (s *Store) follow(ctx context.Context, pool *pgxpool.Pool) {
	for ctx.Err() == nil {
		if err := s.listen(ctx, pool); err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn("store of rights not reachable", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(heartbeat):
		}
	}
}

func (s *Store) listen(ctx context.Context, pool *pgxpool.Pool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `LISTEN gatehouse_grants`); err != nil {
		return err
	}
	for {
		start := s.cfg.Now()
		if err := s.catchUp(ctx); err != nil {
			return err
		}
		s.seen.Store(start.UnixNano())
		wait, cancel := context.WithTimeout(ctx, heartbeat)
		_, err := conn.Conn().WaitForNotification(wait)
		quiet := wait.Err() != nil
		cancel()
		if err != nil && (!quiet || ctx.Err() != nil) {
			return err
		}
		if conn.Conn().IsClosed() {
			return errors.New("the connection was closed")
		}
	}
}

func (l *postgresLog) read(ctx context.Context, after uint64) ([]policy.RightsEntry, error) {
	rows, err := l.pool.Query(ctx, `SELECT version, at, author, changes FROM gatehouse_grants WHERE version > $1 ORDER BY version`, int64(after))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []policy.RightsEntry
	for rows.Next() {
		var version int64
		var at, author, changes string
		if err := rows.Scan(&version, &at, &author, &changes); err != nil {
			return nil, err
		}
		e, err := decode(version, at, author, changes)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

func (l *postgresLog) append(ctx context.Context, e policy.RightsEntry) error {
	at, author, changes, err := encode(e)
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		// A version is visible only after the one before it: the lock orders the commits.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, tablesLock); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO gatehouse_grants (version, at, author, changes) VALUES ($1, $2, $3, $4)`, int64(e.Version), at, author, changes); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `NOTIFY gatehouse_grants`)
		return err
	})
	var fault *pgconn.PgError
	if errors.As(err, &fault) && fault.Code == "23505" {
		return errTaken
	}
	return err
}

func (l *postgresLog) close() error {
	l.pool.Close()
	return nil
}
