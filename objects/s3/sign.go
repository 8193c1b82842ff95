package s3

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"gatehouse/objects"
)

// The hashes of bodies that the signature's specification asks for: of none, and of whatever there is.
const (
	emptyBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	anyBody   = "UNSIGNED-PAYLOAD"
)

// maxPresign is the longest that a URL holds.
const maxPresign = 7 * 24 * time.Hour

// request returns a signed request.
func (s *Store) request(ctx context.Context, method, location string, header http.Header) (*http.Request, error) {
	u, err := s.url(location)
	if err != nil {
		return nil, err
	}
	now := s.cfg.Now()
	if !s.cfg.Ends.IsZero() && !now.Before(s.cfg.Ends) {
		return nil, objects.ErrExpired
	}
	req := (&http.Request{Method: method, URL: u, Host: u.Host, Header: maps.Clone(header)}).WithContext(ctx)
	req.Header.Set("X-Amz-Content-Sha256", emptyBody)
	err = s.signer.SignHTTP(ctx, s.keys().credentials(), req, emptyBody, "s3", s.cfg.Region, now)
	return req, err
}

// Presign implements objects.Store. A URL holds for seven days at most.
func (s *Store) Presign(ctx context.Context, location string, until time.Time) (string, error) {
	u, err := s.url(location)
	if err != nil {
		return "", fmt.Errorf("%s: %w", location, err)
	}
	now := s.cfg.Now()
	if !s.cfg.Ends.IsZero() && s.cfg.Ends.Before(until) {
		until = s.cfg.Ends
	}
	// The time of signing has whole seconds.
	left := min(until.Sub(now.Truncate(time.Second)), maxPresign) / time.Second
	if left < 1 || !until.After(now) {
		return "", fmt.Errorf("%s: %w", location, objects.ErrExpired)
	}
	u.RawQuery = "X-Amz-Expires=" + strconv.FormatInt(int64(left), 10)
	req := (&http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{}}).WithContext(ctx)
	signed, _, err := s.signer.PresignHTTP(ctx, s.keys().credentials(), req, anyBody, "s3", s.cfg.Region, now)
	return signed, err
}
