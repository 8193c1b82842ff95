// Package rest reads Iceberg tables through a REST catalog, always with the caller's own bearer token.
//
// Everything that a server says about one caller, its configuration, names, tables, credentials, stays with that caller.
package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	icerest "github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
	lru "github.com/hashicorp/golang-lru/v2"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/objects"
	"gatehouse/objects/s3"
)

// Config says where a catalog is.
type Config struct {
	Name      string // what statements call it; required
	URI       string // base of the REST API, without "/v1"; https, or http on a loopback address
	Warehouse string // asked for at /v1/config; may be empty
	TLS       *tls.Config
	// ServiceToken, if set, is sent for callers that have no token of their own, so that the catalog sees the gateway in place of
	// them. Without it they are refused.
	ServiceToken auth.Secret
	// Roots are the local folders and the prefixes of object stores, "s3://bucket/prefix", below which files may be read; none by default,
	// because whoever may make tables in the catalog could otherwise have the gateway read any file of its machine.
	Roots []string
	// S3, if set, is the one store in which the catalog's tables may lie, without keys: the catalog is asked for them (vended credentials)
	// for each caller and table.
	S3 *s3.Config
	// Objects reads what lies in object stores for every caller with the same rights; nil, or in place of S3.
	Objects  objects.Store
	Timeout  time.Duration    // of one call; 0 means 30 s
	MaxBytes int64            // of one answer; 0 means 256 MiB
	NamesTTL time.Duration    // how long the names that a caller may list are kept for that caller; 0 means 10 s
	Now      func() time.Time // time.Now if nil
}

// Catalog is one REST catalog.
type Catalog struct {
	cfg    Config
	client *http.Transport
	trans  *transport
	files  catalog.Files

	mu       sync.Mutex
	sessions *lru.Cache[principal, *session]
}

var _ catalog.Catalog = (*Catalog)(nil)

// principal identifies a caller; see auth.Identity.
type principal struct{ issuer, subject string }

// maxSessions bounds the callers whose configuration and names are kept.
const maxSessions = 1024

// New checks the configuration. It does not call the server: nobody's token is at hand yet.
func New(c Config) (*Catalog, error) {
	if c.Name == "" {
		return nil, errors.New("rest catalog: no name is set")
	}
	base, err := url.Parse(c.URI)
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" {
		return nil, fmt.Errorf("rest catalog %q: the address is not a URL of the form https://host/path", c.Name)
	}
	if base.Scheme != "https" && (base.Scheme != "http" || !isLoopback(base.Hostname())) {
		return nil, fmt.Errorf("rest catalog %q: the address must begin with https, because callers' tokens are sent there", c.Name)
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = 256 << 20
	}
	if c.NamesTTL == 0 {
		c.NamesTTL = 10 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Timeout < 0 || c.MaxBytes < 0 || c.NamesTTL < 0 {
		return nil, fmt.Errorf("rest catalog %q: a negative bound", c.Name)
	}
	files, err := catalog.NewFiles(c.Roots...)
	if err != nil {
		return nil, fmt.Errorf("rest catalog %q: %w", c.Name, err)
	}
	if files.HasPlaces() != (c.S3 != nil || c.Objects != nil) || c.S3 != nil && c.Objects != nil {
		return nil, fmt.Errorf("rest catalog %q: roots in an object store and one way to read them belong together", c.Name)
	}
	if c.Objects != nil {
		if files, err = files.With(c.Objects.Scope(), catalog.Opened{Store: c.Objects}); err != nil {
			return nil, fmt.Errorf("rest catalog %q: %w", c.Name, err)
		}
	}
	if c.S3 != nil {
		template := *c.S3
		if _, _, err = s3.Endpoint(template.Endpoint, template.Region); err != nil {
			return nil, fmt.Errorf("rest catalog %q: %w", c.Name, err)
		}
		if template.Transport == nil {
			template.Transport = s3.NewTransport(nil)
		}
		c.S3 = &template
	}
	out := &Catalog{cfg: c, files: files}
	out.client = &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: c.TLS, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
		ResponseHeaderTimeout: c.Timeout, MaxResponseHeaderBytes: 1 << 20,
	}
	out.trans = &transport{next: out.client, scheme: base.Scheme, host: base.Host, max: c.MaxBytes, vends: c.S3 != nil}
	out.sessions, err = lru.New[principal, *session](maxSessions)
	return out, err
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Table implements catalog.Catalog. The name is looked up in what the server lists for this caller, never taken as written:
// a server that does not care about case would otherwise let one table be asked for by names that policy does not know. A table that
// the caller may not list therefore does not exist.
func (c *Catalog) Table(ctx context.Context, id auth.Identity, schema, name string) (*catalog.Table, error) {
	ctx, cancel, err := c.as(ctx, id)
	if err != nil {
		return nil, err
	}
	defer cancel()
	s, err := c.session(ctx, id)
	if err != nil {
		return nil, err
	}
	ns, table, err := s.resolve(ctx, schema, name)
	if err != nil {
		return nil, err
	}
	return c.load(ctx, id, s, ns, table)
}

func (c *Catalog) load(ctx context.Context, id auth.Identity, s *session, ns []string, name string) (*catalog.Table, error) {
	got := &answer{}
	loaded, err := s.client.LoadTable(context.WithValue(ctx, answerKey{}, got), append(slices.Clone(ns), name))
	if err != nil {
		if got.seen {
			// The server gave the table; it is its metadata that is not understood.
			return nil, fmt.Errorf("%w: %w", catalog.ErrUnreadable, err)
		}
		return nil, mapped(err)
	}
	if !got.seen {
		return nil, fmt.Errorf("%w: no table in the answer", catalog.ErrUnavailable)
	}
	if mode := got.Config["scan-planning-mode"]; mode != "" && !strings.EqualFold(mode, "client") {
		return nil, fmt.Errorf("%w: its catalog wants to plan scans itself", catalog.ErrUnreadable)
	}
	schema := strings.Join(ns, ".")
	files, err := c.vended(id, schema, name, got)
	if err != nil {
		return nil, err
	}
	t := table.New(loaded.Identifier(), loaded.Metadata(), loaded.MetadataLocation(), files.IO, s.client)
	return catalog.NewTable(c.cfg.Name, schema, name, t, files, got.restrictions())
}

// List implements catalog.Catalog. What the caller may not list is empty.
func (c *Catalog) List(ctx context.Context, id auth.Identity, schema string) ([]catalog.Entry, error) {
	ctx, cancel, err := c.as(ctx, id)
	if err != nil {
		return nil, err
	}
	defer cancel()
	s, err := c.session(ctx, id)
	if err != nil {
		return nil, err
	}
	if schema == "" {
		return s.namespaces(ctx)
	}
	return s.list(ctx, schema)
}

// Close implements catalog.Catalog.
func (c *Catalog) Close() error {
	c.mu.Lock()
	c.sessions.Purge()
	c.mu.Unlock()
	c.client.CloseIdleConnections()
	if c.cfg.S3 != nil {
		(&http.Client{Transport: c.cfg.S3.Transport}).CloseIdleConnections()
	}
	return nil
}

type tokenKey struct{}

// as puts the caller's token into the context, from which the authorization header of every call is made, and bounds the time.
func (c *Catalog) as(ctx context.Context, id auth.Identity) (context.Context, context.CancelFunc, error) {
	token := id.Token
	if token.IsZero() {
		token = c.cfg.ServiceToken
	}
	if !id.Valid() || token.Reveal() == "" {
		return nil, nil, fmt.Errorf("%w: the caller has no token for it", catalog.ErrRefused)
	}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, tokenKey{}, token), c.cfg.Timeout)
	return ctx, cancel, nil
}

// bearer makes the authorization header from the request's context. Nothing is sent without one.
type bearer struct{}

var _ icerest.ContextAuthManager = bearer{}

// AuthHeader implements rest.AuthManager and always fails: without a context it is nobody's request.
func (bearer) AuthHeader() (string, string, error) { return "", "", catalog.ErrRefused }

// AuthHeaderWithContext implements rest.ContextAuthManager.
func (bearer) AuthHeaderWithContext(ctx context.Context) (string, string, error) {
	token, ok := ctx.Value(tokenKey{}).(auth.Secret)
	if !ok || token.Reveal() == "" {
		return "", "", catalog.ErrRefused
	}
	return "Authorization", "Bearer " + token.Reveal(), nil
}

// mapped turns an error of the client into one of ours.
func mapped(err error) error {
	switch {
	case errors.Is(err, catalog.ErrRefused), errors.Is(err, icerest.ErrUnauthorized), errors.Is(err, icerest.ErrAuthorizationExpired):
		return fmt.Errorf("%w: %w", catalog.ErrRefused, err)
	case errors.Is(err, icecatalog.ErrNoSuchTable), errors.Is(err, icecatalog.ErrNoSuchNamespace), errors.Is(err, icerest.ErrForbidden):
		return fmt.Errorf("%w: %w", catalog.ErrNoSuchTable, err)
	}
	return fmt.Errorf("%w: %w", catalog.ErrUnavailable, err)
}
