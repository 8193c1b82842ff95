package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// FileConfig says where a File writes.
type FileConfig struct {
	Path string // the log: one JSON object a line, one line a statement; created with mode 0600
	Sync bool   // wait for the disk at every line
}

// File is a Sink that appends to a file. Beside the log it keeps a journal, Path + ".journal", of statements that have
// begun to send rows and have not ended: a statement is in the journal before its first row leaves, and its one line in the
// log follows at its end. If the process dies in between, Open writes that line from the journal, with outcome "failed".
type File struct {
	mu      sync.Mutex
	log     *os.File
	journal *os.File
	sync    bool
	pending map[string]bool // query ids that are in the journal and have not ended
	owed    []Event         // ends that the log did not take; nothing else is recorded before them
	broken  error           // a line could be cut neither whole nor away: nothing is recorded any more
}

// maxOwed bounds the ends that wait for a log that takes lines again. Each of them had begun before the log failed.
const maxOwed = 10_000

// mark is a journal line that ends a statement.
type mark struct {
	Query string `json:"query_id"`
	Ended bool   `json:"ended"`
}

// NewFile opens the log and completes what an earlier process left in the journal.
func NewFile(c FileConfig) (*File, error) {
	if c.Path == "" {
		return nil, errors.New("audit: no file path")
	}
	log, err := os.OpenFile(c.Path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit: open log: %w", err)
	}
	journal, err := os.OpenFile(c.Path+".journal", os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("audit: open journal: %w", err)
	}
	f := &File{log: log, journal: journal, sync: c.Sync, pending: map[string]bool{}}
	if err := f.recover(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("audit: complete the journal: %w", err)
	}
	return f, nil
}

// recover writes a log line for every statement that the journal holds without an end.
func (f *File) recover() error {
	open := map[string]Event{}
	var order []string
	in := bufio.NewReader(f.journal)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // a last line without its end was never answered with success
		}
		if err != nil {
			return err
		}
		var m mark
		var e Event
		if json.Unmarshal(line, &m) != nil || json.Unmarshal(line, &e) != nil {
			return errors.New("a line is not JSON; move the journal away to start without it")
		}
		if m.Ended {
			delete(open, m.Query)
			continue
		}
		open[e.Query] = e
		order = append(order, e.Query)
	}
	for _, q := range order {
		if e, ok := open[q]; ok {
			e.Outcome, e.Error = Failed, "gateway_stopped"
			if err := f.write(f.log, e); err != nil {
				return err
			}
			delete(open, q)
		}
	}
	return f.journal.Truncate(0)
}

// Record implements Sink.
func (f *File) Record(_ context.Context, e Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return f.broken
	}
	if err := f.settle(); err != nil {
		if e.Outcome != Started {
			f.owe(e)
		}
		return err
	}
	if e.Outcome == Started {
		if err := f.write(f.journal, e); err != nil {
			return err
		}
		f.pending[e.Query] = true
		return nil
	}
	return f.finish(e)
}

// finish writes the one line of a statement's end to the log and takes the statement out of the journal.
func (f *File) finish(e Event) error {
	if err := f.write(f.log, e); err != nil {
		f.owe(e)
		return err
	}
	if !f.pending[e.Query] {
		return nil
	}
	delete(f.pending, e.Query)
	if len(f.pending) == 0 {
		return f.journal.Truncate(0)
	}
	return f.write(f.journal, mark{Query: e.Query, Ended: true})
}

// owe keeps an end that the log did not take.
func (f *File) owe(e Event) {
	if len(f.owed) < maxOwed {
		f.owed = append(f.owed, e)
	}
}

// settle writes what the log did not take before. Until it does, no statement may begin: a log that is full stops the
// gateway instead of going on without a record.
func (f *File) settle() error {
	owed := f.owed
	f.owed = nil
	for i, e := range owed {
		if err := f.finish(e); err != nil {
			f.owed = owed[i:]
			return err
		}
	}
	return nil
}

// write appends v as one whole line, or leaves the file as it was.
func (f *File) write(file *os.File, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("audit: encode: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if n, err := file.Write(b.Bytes()); err != nil {
		if n > 0 {
			if terr := file.Truncate(info.Size()); terr != nil {
				f.broken = fmt.Errorf("audit: a line was cut short and could not be removed: %w", terr)
			}
		}
		return fmt.Errorf("audit: write: %w", err)
	}
	if f.sync {
		if err := file.Sync(); err != nil {
			return fmt.Errorf("audit: sync: %w", err)
		}
	}
	return nil
}

// Close closes the files.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	if f.broken == nil {
		err = f.settle()
		f.broken = errors.New("audit: closed")
	}
	return errors.Join(err, f.log.Close(), f.journal.Close())
}

var _ Sink = (*File)(nil)
