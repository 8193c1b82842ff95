package ballista

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"gatehouse/executors"
)

// reader streams a job's result, part after part. Batches end after numbers of rows and bytes that the visible rows alone decide: those of
// the cluster depend on what a filter took out. Next and Release may be called by different goroutines.
type reader struct {
	refs   atomic.Int64
	ctx    context.Context
	cancel context.CancelFunc
	s      *Prepared
	job    *job

	mu      sync.Mutex // held while Next works
	columns []*column
	asked   []flight.FlightService_DoGetClient // the next parts, in order, which executors send already
	parts   int                                // that have been asked for
	part    *flight.Reader
	batch   arrow.RecordBatch // of the part
	at      int               // rows of batch that are used up
	first   bool
	out     arrow.RecordBatch
	ended   bool

	why sync.Mutex
	err error
}

var _ array.RecordReader = (*reader)(nil)

func newReader(ctx context.Context, cancel context.CancelFunc, s *Prepared, j *job) *reader {
	r := &reader{ctx: ctx, cancel: cancel, s: s, job: j, first: true}
	r.refs.Store(1)
	return r
}

// Place implements executors.Placed.
func (r *reader) Place() string { return name }

func (r *reader) Retain()                        { r.refs.Add(1) }
func (r *reader) Schema() *arrow.Schema          { return r.s.schema }
func (r *reader) RecordBatch() arrow.RecordBatch { return r.out }
func (r *reader) Record() arrow.RecordBatch      { return r.out }

// Err implements array.RecordReader.
func (r *reader) Err() error {
	r.why.Lock()
	defer r.why.Unlock()
	return r.err
}

// end stops the stream. Its error is err unless it has ended before.
func (r *reader) end(err error) {
	r.why.Lock()
	if r.err == nil {
		r.err = err
	}
	r.why.Unlock()
	r.cancel() // calls that Next waits for come back
	r.mu.Lock()
	defer r.mu.Unlock()
	r.close()
}

// close needs mu.
func (r *reader) close() {
	if r.ended {
		return
	}
	r.ended = true
	r.cancel()
	r.closePart()
	for _, c := range r.columns {
		c.release()
	}
	r.columns = nil
	r.s.forget(r)
}

func (r *reader) closePart() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
	if r.part != nil {
		r.part.Release()
		r.part = nil
	}
}

// Release implements array.RecordReader: the last call ends the stream, and with it the call that keeps the job's files.
func (r *reader) Release() {
	if r.refs.Add(-1) != 0 {
		return
	}
	r.mu.Lock()
	ended := r.ended
	r.mu.Unlock()
	if !ended {
		r.end(context.Canceled)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
}

func (r *reader) drop() {
	if r.out != nil {
		r.out.Release()
		r.out = nil
	}
}

// Next implements array.RecordReader.
func (r *reader) Next() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
	if r.ended {
		return false
	}
	rows, err := r.fill()
	if err != nil || rows == 0 {
		if ctxErr := r.ctx.Err(); ctxErr != nil {
			err = ctxErr
		}
		r.why.Lock()
		if r.err == nil {
			r.err = err
		}
		r.why.Unlock()
		r.close()
		return false
	}
	arrays := make([]arrow.Array, len(r.columns))
	for i, c := range r.columns {
		arrays[i] = c.finish()
	}
	r.out = array.NewRecordBatch(r.s.schema, arrays, int64(rows))
	for _, a := range arrays {
		a.Release()
	}
	return true
}

// fill gathers the rows of one batch and returns how many there are, 0 at the end.
func (r *reader) fill() (int, error) {
	if r.columns == nil {
		for _, f := range r.s.schema.Fields() {
			r.columns = append(r.columns, newColumn(f.Type, r.s.x.config.Allocator))
		}
	}
	rows, size, most := 0, 0, executors.MaxBatchRows
	if r.first {
		most = executors.FirstRows
	}
	for rows < most {
		if r.batch == nil || r.at == int(r.batch.NumRows()) {
			more, err := r.fetch()
			if err != nil {
				return 0, err
			}
			if !more {
				break
			}
			continue
		}
		n, bytes := r.fits(most-rows, executors.MaxBatchBytes-size, rows == 0)
		if n == 0 {
			break
		}
		for i, c := range r.columns {
			if err := c.append(r.batch.Column(i), r.at, r.at+n); err != nil {
				return 0, err
			}
		}
		rows, size, r.at = rows+n, size+bytes, r.at+n
	}
	r.first = false
	return rows, nil
}

// fits is how many of the batch's next rows, most at the most, take no more than a number of bytes, and how many they take. The first row
// of all always fits.
func (r *reader) fits(most, room int, first bool) (n, bytes int) {
	most = min(most, int(r.batch.NumRows())-r.at)
	fixed, varied, nested := 0, []texts(nil), []int(nil)
	for i, c := range r.columns {
		switch a := r.batch.Column(i).(type) {
		case texts:
			varied = append(varied, a)
		case *array.FixedSizeBinary:
			fixed += uuidLength
		}
		if c.inside != nil {
			nested = append(nested, i)
			continue
		}
		fixed += c.width
	}
	for n < most {
		row := fixed
		for _, t := range varied {
			if !t.IsNull(r.at + n) {
				row += t.ValueLen(r.at + n)
			}
		}
		for _, i := range nested {
			row += r.columns[i].size(r.batch.Column(i), r.at+n)
		}
		if bytes+row > room && (n > 0 || !first) {
			break
		}
		n, bytes = n+1, bytes+row
	}
	return n, bytes
}

// uuidLength is the length of a UUID's text.
const uuidLength = 36

// texts is an array of texts or bytes.
type texts interface {
	ValueLen(int) int
	IsNull(int) bool
}

// ahead is how many parts executors send while one is read. What they have sent waits here, no more of each than its window.
const ahead = 3

// fetch gets the next batch from the executors; false at the end.
func (r *reader) fetch() (bool, error) {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
	r.at = 0
	for {
		if r.part == nil {
			if err := r.ask(); err != nil {
				return false, transport(err)
			}
			if len(r.asked) == 0 {
				return false, nil
			}
			part, err := flight.NewRecordReader(r.asked[0], ipc.WithAllocator(r.s.x.config.Allocator))
			if err != nil {
				return false, transport(err)
			}
			r.part, r.asked = part, r.asked[1:]
		}
		if r.part.Next() {
			r.batch = r.part.RecordBatch()
			r.batch.Retain()
			if int(r.batch.NumCols()) != r.s.schema.NumFields() {
				return false, internal("a part with %d columns", r.batch.NumCols())
			}
			return true, nil
		}
		if err := r.part.Err(); err != nil && !errors.Is(err, io.EOF) {
			return false, transport(err)
		}
		r.closePart()
	}
}

// ask asks executors for the next part, and for those ahead of it.
func (r *reader) ask() error {
	for ; len(r.asked) <= ahead && r.parts < len(r.job.parts); r.parts++ {
		p := r.job.parts[r.parts]
		x, err := r.job.client.executor(p.Host, p.Port)
		if err != nil {
			return err
		}
		stream, err := x.DoGet(r.ctx, &flight.Ticket{Ticket: p.Ticket})
		if err != nil {
			return err
		}
		r.asked = append(r.asked, stream)
	}
	return nil
}
