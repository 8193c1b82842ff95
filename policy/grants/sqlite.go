package grants

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"gatehouse/policy"
)

// sqliteTables makes the log. The triggers keep it append-only against slips, not against who owns the file.
const sqliteTables = `
CREATE TABLE IF NOT EXISTS gatehouse_grants (
  version INTEGER PRIMARY KEY, at TEXT NOT NULL, author TEXT NOT NULL, changes TEXT NOT NULL) STRICT;
CREATE TRIGGER IF NOT EXISTS gatehouse_grants_no_update BEFORE UPDATE ON gatehouse_grants
  BEGIN SELECT RAISE(ABORT, 'the history of rights is append-only'); END;
CREATE TRIGGER IF NOT EXISTS gatehouse_grants_no_delete BEFORE DELETE ON gatehouse_grants
  BEGIN SELECT RAISE(ABORT, 'the history of rights is append-only'); END;`

// sqliteLog is the log in a file of its own.
type sqliteLog struct{ db *sql.DB }

var _ journal = (*sqliteLog)(nil)

// openFile opens the log and follows what "gatehouse grants apply" writes into it from another process.
func (s *Store) openFile(ctx context.Context) error {
	log, err := openSQLite(ctx, s.cfg.File)
	if err != nil {
		return err
	}
	s.journal = log
	following, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.done.Go(func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-following.Done():
				return
			case <-tick.C:
			}
			if err := s.catchUp(following); err != nil && following.Err() == nil {
				s.cfg.Log.Warn("store of rights not readable", "error", err)
			}
		}
	})
	return nil
}

func openSQLite(ctx context.Context, file string) (*sqliteLog, error) {
	u := url.URL{Scheme: "file", Opaque: url.PathEscape(file), RawQuery: url.Values{
		"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(5000)"},
	}.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, fmt.Errorf("grants: open %s: %w", file, err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, sqliteTables); err != nil {
		return nil, errors.Join(fmt.Errorf("grants: open %s: %w", file, err), db.Close())
	}
	return &sqliteLog{db}, nil
}

func (l *sqliteLog) read(ctx context.Context, after uint64) ([]policy.RightsEntry, error) {
	rows, err := l.db.QueryContext(ctx, `SELECT version, at, author, changes FROM gatehouse_grants WHERE version > ? ORDER BY version`, int64(after))
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

func (l *sqliteLog) append(ctx context.Context, e policy.RightsEntry) error {
	at, author, changes, err := encode(e)
	if err != nil {
		return err
	}
	_, err = l.db.ExecContext(ctx, `INSERT INTO gatehouse_grants (version, at, author, changes) VALUES (?, ?, ?, ?)`, int64(e.Version), at, author, changes)
	var fault *sqlite.Error
	if errors.As(err, &fault) && fault.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY {
		return errTaken
	}
	return err
}

func (l *sqliteLog) close() error { return l.db.Close() }

func encode(e policy.RightsEntry) (at, author, changes string, err error) {
	a, err := json.Marshal(e.Author)
	if err != nil {
		return "", "", "", err
	}
	c, err := json.Marshal(e.Changes)
	return e.Time.UTC().Format(time.RFC3339Nano), string(a), string(c), err
}

func decode(version int64, at, author, changes string) (e policy.RightsEntry, err error) {
	e.Version = uint64(version)
	if e.Time, err = time.Parse(time.RFC3339Nano, at); err != nil {
		return e, fmt.Errorf("version %d: %w", version, err)
	}
	if err := json.Unmarshal([]byte(author), &e.Author); err != nil {
		return e, fmt.Errorf("version %d: %w", version, err)
	}
	if err := json.Unmarshal([]byte(changes), &e.Changes); err != nil {
		return e, fmt.Errorf("version %d: %w", version, err)
	}
	return e, nil
}
