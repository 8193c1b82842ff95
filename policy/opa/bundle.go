package opa

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"

	"gatehouse/auth"
)

// BundleServer says where signed policy bundles come from.
type BundleServer struct {
	URL      string // of the bundle itself; https, or http to a loopback address
	Token    auth.Secret
	Keys     map[string]Key // public keys by key id; none: the bundle is not signed, which Unsigned has to say
	KeyID    string         // which key, if the signature does not say
	Scope    string         // that the signature has to name
	Unsigned bool
	Poll     time.Duration // default 10 s
	MaxAge   time.Duration // after so long without a good answer of the server nothing is allowed; default 1 h
	Timeout  time.Duration // of one request; default 30 s
	TLS      *tls.Config
	// Ticks replaces the timer of Poll: each value polls once. For tests.
	Ticks <-chan time.Time
}

// Key is a public key, or a shared secret for the HS algorithms, in PEM.
type Key struct {
	Key       auth.Secret
	Algorithm string // RS256, ES256, …
}

func (b *BundleServer) withDefaults() (*BundleServer, error) {
	c := *b
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, errors.New("opa: the bundle server's URL is not valid")
	}
	loopback := u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return nil, errors.New("opa: a bundle server needs https")
	}
	if len(c.Keys) == 0 && !c.Unsigned {
		return nil, errors.New("opa: a bundle server needs public keys, or unsigned bundles have to be accepted expressly")
	}
	if len(c.Keys) > 0 && c.Unsigned {
		return nil, errors.New("opa: a bundle is either signed or unsigned")
	}
	if c.Poll <= 0 {
		c.Poll = 10 * time.Second
	}
	if c.MaxAge <= 0 {
		c.MaxAge = time.Hour
	}
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	return &c, nil
}

// startBundle polls the server; the first answer is waited for, good or bad.
func (d *Decider) startBundle(ctx context.Context) error {
	s := d.cfg.Bundle
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = s.TLS
	client := &http.Client{Transport: transport, Timeout: s.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("redirects are not followed")
	}}
	etag := d.poll(ctx, client, "")
	d.done.Go(func() {
		defer client.CloseIdleConnections()
		ticks := s.Ticks
		if ticks == nil {
			t := time.NewTicker(s.Poll)
			defer t.Stop()
			ticks = t.C
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks:
				etag = d.poll(ctx, client, etag)
			}
		}
	})
	return nil
}

// poll asks once and returns the entity tag of the bundle in force.
func (d *Decider) poll(ctx context.Context, client *http.Client, etag string) string {
	e, tag, err := d.fetch(ctx, client, etag)
	if ctx.Err() != nil {
		return etag
	}
	if err == nil && e == nil { // not modified
		d.fresh.Store(d.cfg.Now().UnixNano())
		if d.cfg.OnAttempt != nil {
			d.cfg.OnAttempt(d.Status())
		}
		return etag
	}
	if err = d.activate(e, err); err != nil {
		d.cfg.Log.Error("policy bundle not accepted, the last good policy stays in force", "revision", d.Status().Revision, "error", err)
		return etag
	}
	d.cfg.Log.Info("policy in force", "revision", e.revision)
	return tag
}

// fetch returns a compiled bundle, or nothing if it has not changed.
func (d *Decider) fetch(ctx context.Context, client *http.Client, etag string) (*engine, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.cfg.Bundle.URL, nil)
	if err != nil {
		return nil, "", err
	}
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	if !d.cfg.Bundle.Token.IsZero() {
		req.Header.Set("Authorization", "Bearer "+d.cfg.Bundle.Token.Reveal())
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && etag != "":
		return nil, etag, nil
	case resp.StatusCode != http.StatusOK:
		return nil, "", fmt.Errorf("bundle server answered %d", resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, d.cfg.MaxBytes+1))
	if err != nil {
		return nil, "", err
	}
	if int64(len(body)) > d.cfg.MaxBytes {
		return nil, "", fmt.Errorf("bundle is larger than %d bytes", d.cfg.MaxBytes)
	}
	e, err := compileBundle(body, d.cfg)
	return e, resp.Header.Get("ETag"), err
}

// compileBundle verifies and compiles one bundle file.
func compileBundle(body []byte, cfg Config) (e *engine, err error) {
	defer recovered(&err)
	version := ast.RegoV1
	if cfg.Rego == "v0" {
		version = ast.RegoV0
	}
	reader := bundle.NewReader(bytes.NewReader(body)).
		WithRegoVersion(version).
		WithCapabilities(capabilities(version)).
		WithProcessAnnotations(true).
		WithSizeLimitBytes(cfg.MaxBytes)
	if cfg.Bundle.Unsigned {
		reader = reader.WithSkipBundleVerification(true)
	} else {
		reader = reader.WithBundleVerificationConfig(verification(cfg.Bundle))
	}
	b, err := reader.Read()
	if err != nil {
		return nil, inFolder(err)
	}
	revision := digest(map[string][]byte{"bundle": body})
	if b.Manifest.Revision != "" {
		revision = b.Manifest.Revision + "@" + revision
	}
	return compile(&b, revision, cfg, false)
}

func verification(s *BundleServer) *bundle.VerificationConfig {
	keys := map[string]*bundle.KeyConfig{}
	for id, k := range s.Keys {
		keys[id] = &bundle.KeyConfig{Key: k.Key.Reveal(), Algorithm: k.Algorithm}
	}
	return bundle.NewVerificationConfig(keys, s.KeyID, s.Scope, nil)
}
