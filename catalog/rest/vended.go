package rest

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/objects/s3"
)

// The header by which a catalog is asked for credentials, and the keys of the Iceberg REST specification that go with those of S3.
const (
	keyDelegation = "X-Iceberg-Access-Delegation"
	keyID         = "s3.access-key-id"
	keySecret     = "s3.secret-access-key"
	keySession    = "s3.session-token"
	keyEndpoint   = "s3.endpoint"
	keySigning    = "s3.remote-signing-enabled"
)

var (
	keysRegion = []string{"client.region", "s3.region"}
	keysEnd    = []string{"s3.session-token-expires-at-ms", "expiration-time"} // milliseconds since 1970
)

// vended opens the stores that an answer has credentials for, for this caller and table alone. Nothing that a table's own properties say is
// looked at: who may set them could send requests, and what signs them, to any place.
func (c *Catalog) vended(id auth.Identity, schema, name string, got *answer) (catalog.Files, error) {
	if c.cfg.S3 == nil {
		return c.files, nil
	}
	given := got.Credentials
	if len(given) == 0 {
		given = []credential{{Config: got.Config}}
	}
	scope := catalog.ScopeOf("vended", c.cfg.Name, id.Issuer, id.Subject, schema, name)
	var stores []catalog.Opened
	for _, g := range given {
		if !isS3(g.Prefix) {
			continue
		}
		store, err := c.open(g.Config, scope)
		if err != nil {
			return catalog.Files{}, err
		}
		if store != nil {
			stores = append(stores, catalog.Opened{Prefix: g.Prefix, Store: store})
		}
	}
	return c.files.WithVended(scope, stores...)
}

// isS3 reports whether a prefix is one of S3. Those of other stores may stand beside it.
func isS3(prefix string) bool {
	scheme, _, _ := strings.Cut(prefix, ":")
	return scheme == "" || scheme == "s3" || scheme == "s3a" || scheme == "s3n"
}

// open opens a store with the keys in m, nil if there are none. The place is the operator's: an endpoint or region in m has to be the
// same, but for a region where none is configured. The error is catalog.ErrStore, without a text of the catalog.
func (c *Catalog) open(m map[string]string, scope string) (*s3.Store, error) {
	unusable := func(why string) error { return fmt.Errorf("%w: %s", catalog.ErrStore, why) }
	if signs, _ := strconv.ParseBool(m[keySigning]); signs {
		return nil, unusable("it wants requests to be signed remotely")
	}
	if m[keyID] == "" && m[keySecret] == "" {
		return nil, nil
	}
	cfg := *c.cfg.S3
	if e := m[keyEndpoint]; e != "" && !sameEndpoint(e, cfg) {
		return nil, unusable("it names another endpoint than the configuration")
	}
	for _, k := range keysRegion {
		switch r := m[k]; {
		case r == "" || r == cfg.Region:
		case cfg.Region == "": // it goes into signatures only: the endpoint is configured
			cfg.Region = r
		default:
			return nil, unusable("it names another region than the configuration")
		}
	}
	cfg.KeyID, cfg.Secret, cfg.Scope = m[keyID], auth.NewSecret(m[keySecret]), scope
	if t := m[keySession]; t != "" {
		cfg.Session = auth.NewSecret(t)
	}
	for _, k := range keysEnd {
		if m[k] == "" {
			continue
		}
		ms, err := strconv.ParseInt(m[k], 10, 64)
		if err != nil {
			return nil, unusable("the end of its credentials is no number")
		}
		if end := time.UnixMilli(ms); cfg.Ends.IsZero() || end.Before(cfg.Ends) {
			cfg.Ends = end
		}
	}
	store, err := s3.New(cfg)
	if err != nil {
		return nil, unusable("its keys are not of the usual form")
	}
	return store, nil
}

// sameEndpoint reports whether a URL is the configured endpoint.
func sameEndpoint(given string, cfg s3.Config) bool {
	want, _, err := s3.Endpoint(cfg.Endpoint, cfg.Region)
	got, err2 := url.Parse(given)
	return err == nil && err2 == nil && got.User == nil && got.Scheme == want.Scheme && origin(got) == origin(want) && strings.Trim(got.Path, "/") == ""
}

// origin returns the host with its port in one form.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}
