package oidc

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	fetchTimeout = 10 * time.Second
	maxDocument  = 1 << 20
)

// endpoints is what we use of an issuer's discovery document (OpenID Connect Discovery 1.0 section 3).
type endpoints struct {
	Issuer string `json:"issuer"`
	Keys   string `json:"jwks_uri"`
	Token  string `json:"token_endpoint"`
}

// checkURL allows https, and http on loopback addresses if the configuration says so in as many words.
func (c Config) checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return errors.New("oidc: an address of the issuer is not a plain URL")
	}
	if u.Scheme == "https" {
		return nil
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && c.InsecureLoopback && ip != nil && ip.IsLoopback() {
		return nil
	}
	return errors.New("oidc: an address of the issuer is not https (http is possible on a loopback IP address only, with insecure_loopback)")
}

// client returns a client that follows a redirect only within the same scheme and host, and none for
// anything but GET, so that a password never goes elsewhere.
func (c Config) client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12}
	transport.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{Transport: transport, Timeout: fetchTimeout, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		first := via[0]
		if first.Method != http.MethodGet || len(via) > 3 || r.URL.Scheme != first.URL.Scheme || r.URL.Host != first.URL.Host {
			return errors.New("oidc: redirect refused")
		}
		return nil
	}}
}

func (i *Issuer) get(ctx context.Context, from string) ([]byte, error) {
	if err := i.cfg.checkURL(from); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, fmt.Errorf("oidc: %w", err)
	}
	r.Header.Set("Accept", "application/json")
	status, body, err := i.do(r)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("oidc: the issuer answered %d", status)
	}
	return body, err
}

func (i *Issuer) do(r *http.Request) (int, []byte, error) {
	response, err := i.http.Do(r)
	if err != nil {
		return 0, nil, fmt.Errorf("oidc: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	if err != nil {
		return 0, nil, fmt.Errorf("oidc: %w", err)
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if len(body) > maxDocument || (kind != "application/json" && kind != "application/jwk-set+json") {
		return 0, nil, errors.New("oidc: the issuer's answer is too long or no JSON")
	}
	return response.StatusCode, body, nil
}

// discover reads the discovery document. Its issuer must be ours, letter by letter.
func (i *Issuer) discover(ctx context.Context) (endpoints, error) {
	text, err := i.get(ctx, strings.TrimSuffix(i.cfg.Issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return endpoints{}, err
	}
	var e endpoints
	if err := json.Unmarshal(text, &e); err != nil || e.Issuer != i.cfg.Issuer {
		return endpoints{}, errors.New("oidc: the discovery document is another issuer's")
	}
	if err := i.cfg.checkURL(e.Keys); err != nil {
		return endpoints{}, err
	}
	i.found.Store(&discovered{endpoints: e, at: i.cfg.Now()})
	return e, nil
}

// discovered is a discovery document and when it was read.
type discovered struct {
	endpoints
	at time.Time
}

// endpoints returns the discovery document, read no longer ago than keys are kept fresh.
func (i *Issuer) endpoints(ctx context.Context) (endpoints, error) {
	if d := i.found.Load(); d != nil && i.cfg.Now().Sub(d.at) < i.cfg.KeysRefresh {
		return d.endpoints, nil
	}
	return i.discover(ctx)
}

// fetchKeys is the fetch of a keySet.
func (i *Issuer) fetchKeys(ctx context.Context) ([]key, error) {
	keys, err := i.readKeys(ctx)
	if err != nil {
		i.cfg.Log.Warn("keys of the issuer not fetched", "issuer", i.cfg.Issuer, "error", err)
	}
	return keys, err
}

func (i *Issuer) readKeys(ctx context.Context) ([]key, error) {
	from := i.cfg.KeysURL
	if from == "" {
		e, err := i.discover(ctx)
		if err != nil {
			return nil, err
		}
		from = e.Keys
	}
	text, err := i.get(ctx, from)
	if err != nil {
		return nil, err
	}
	return parseKeys(text)
}
