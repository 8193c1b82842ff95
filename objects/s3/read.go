package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"gatehouse/objects"
)

// attempts is how often a request is sent at most, where a store does not answer or says that it is busy.
const attempts = 4

// Read implements objects.Store.
func (s *Store) Read(ctx context.Context, o objects.Object, p []byte, off int64) (objects.Object, error) {
	if off < 0 {
		return o, fmt.Errorf("%w: bytes before its first", objects.ErrChanged)
	}
	if len(p) == 0 {
		out, err := s.look(ctx, o)
		if err == nil && off > out.Size {
			return o, fmt.Errorf("%w: it ends before the bytes that were asked for", objects.ErrChanged)
		}
		return out, err
	}
	var out objects.Object
	err := s.retried(ctx, http.MethodGet, o, spanOf(off, len(p)), int64(len(p)), func(r *http.Response) error {
		size, err := sizeOf(r, off, len(p))
		if err != nil {
			return err
		}
		if out, err = same(o, r, size); err != nil {
			return err
		}
		if off+int64(len(p)) > size {
			return fmt.Errorf("%w: it ends before the bytes that were asked for", objects.ErrChanged)
		}
		_, err = io.ReadFull(r.Body, p)
		return broken(err)
	})
	if err != nil {
		return o, err
	}
	return out, nil
}

// look returns the object with its size and tag. It asks for the first byte, since what stores say against HEAD has no code; an
// empty object has none.
func (s *Store) look(ctx context.Context, o objects.Object) (out objects.Object, err error) {
	err = s.retried(ctx, http.MethodGet, o, spanOf(0, 1), 1, func(r *http.Response) error {
		size, err := sizeOf(r, 0, 1)
		if err == nil {
			out, err = same(o, r, size)
		}
		return err
	})
	if errors.Is(err, errRange) {
		err = s.retried(ctx, http.MethodHead, o, http.Header{}, 1, func(r *http.Response) error {
			out, err = same(o, r, r.ContentLength)
			return err
		})
	}
	if err != nil {
		return o, err
	}
	return out, nil
}

// errRange is an ErrChanged: the object has not one of the bytes that were asked for.
var errRange = fmt.Errorf("%w: it has none of the bytes that were asked for", objects.ErrChanged)

func spanOf(off int64, n int) http.Header {
	return http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", off, off+int64(n)-1)}}
}

// sizeOf returns the size of the object whose n bytes from off on an answer has.
func sizeOf(r *http.Response, off int64, n int) (int64, error) {
	if r.StatusCode == http.StatusPartialContent {
		from, size, ok := contentRange(r.Header.Get("Content-Range"))
		if !ok || from != off {
			return 0, fmt.Errorf("%w: it answered with another range", objects.ErrUnavailable)
		}
		return size, nil
	}
	if off != 0 || r.ContentLength != int64(n) {
		return 0, fmt.Errorf("%w: it reads no ranges", objects.ErrUnavailable)
	}
	return r.ContentLength, nil
}

// ReadAll implements objects.Store.
func (s *Store) ReadAll(ctx context.Context, o objects.Object, limit int64) ([]byte, error) {
	if o.Size > limit {
		return nil, tooLarge(limit)
	}
	var data []byte
	err := s.retried(ctx, http.MethodGet, o, http.Header{}, max(o.Size, limit/16), func(r *http.Response) error {
		if r.ContentLength < 0 {
			return fmt.Errorf("%w: it does not say how long the object is", objects.ErrUnavailable)
		}
		if _, err := same(o, r, r.ContentLength); err != nil {
			return err
		}
		if r.ContentLength > limit {
			return tooLarge(limit)
		}
		data = make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, data)
		return broken(err)
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: it has more than %d bytes", objects.ErrChanged, limit)
}

// same returns the object that an answer is about, or ErrChanged if it is not o.
func same(o objects.Object, r *http.Response, size int64) (objects.Object, error) {
	tag := r.Header.Get("ETag")
	switch {
	case tag == "" || size < 0:
		return o, fmt.Errorf("%w: it does not say which object it is", objects.ErrUnavailable)
	case o.Tag != "" && o.Tag != tag:
		return o, fmt.Errorf("%w: another tag", objects.ErrChanged)
	case o.Size >= 0 && o.Size != size:
		return o, fmt.Errorf("%w: %d bytes instead of %d", objects.ErrChanged, size, o.Size)
	}
	return objects.Object{Location: o.Location, Size: size, Tag: tag}, nil
}

// brokenError is an answer that ended too early. It is worth another request.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

func broken(err error) error {
	if err == nil {
		return nil
	}
	return &brokenError{err}
}

// contentRange reads "bytes FROM-TO/SIZE".
func contentRange(s string) (from, size int64, ok bool) {
	rest, ok := strings.CutPrefix(s, "bytes ")
	if !ok {
		return 0, 0, false
	}
	span, all, _ := strings.Cut(rest, "/")
	first, _, _ := strings.Cut(span, "-")
	from, err := strconv.ParseInt(first, 10, 64)
	size, err2 := strconv.ParseInt(all, 10, 64)
	return from, size, err == nil && err2 == nil && from >= 0 && size >= 0
}

// retried sends a request until read took its answer, or there is no use in sending it once more. bytes is about how much is asked for.
func (s *Store) retried(ctx context.Context, method string, o objects.Object, header http.Header, bytes int64, read func(*http.Response) error) error {
	if o.Tag != "" {
		header.Set("If-Match", o.Tag)
	}
	wait := 100 * time.Millisecond
	for n := 1; ; n++ {
		err, again := s.once(ctx, method, o.Location, header, bytes, read)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", o.Location, context.Cause(ctx))
		}
		if !again || n == attempts {
			return fmt.Errorf("%s: %w", o.Location, err)
		}
		timer := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
		wait *= 3
	}
}

// errSilent says that the first byte of an answer did not come in time, however much time all of it would have.
var errSilent = errors.New("no answer in time")

// once sends a request and says whether it is worth another one.
func (s *Store) once(whole context.Context, method, location string, header http.Header, bytes int64, read func(*http.Response) error) (err error, again bool) {
	ctx, cancel := context.WithTimeout(whole, s.cfg.Timeout+time.Duration(bytes>>20)*4*time.Second)
	defer cancel()
	req, err := s.request(ctx, method, location, header)
	if err != nil {
		return err, false
	}
	defer func() { s.cfg.Metrics.count(whole, err, again) }()
	silent := time.AfterFunc(s.cfg.Timeout, cancel)
	resp, err := s.client.Do(req)
	if !silent.Stop() {
		if err == nil {
			_ = resp.Body.Close()
		}
		err = errSilent
	}
	if err != nil {
		_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
		return fmt.Errorf("%w: %w", objects.ErrUnavailable, err), !untrusted
	}
	defer resp.Body.Close()
	resp.Body = body{resp.Body, s.cfg.Metrics}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent {
		return refusal(resp)
	}
	if err = read(resp); err == nil {
		return nil, false
	}
	if b, ok := errors.AsType[*brokenError](err); ok {
		return fmt.Errorf("%w: its answer broke off: %w", objects.ErrUnavailable, b.err), true
	}
	return err, false
}
