// Package s3 reads objects of Amazon S3 and of stores with its interface.
//
// Requests carry the given keys and no others: nothing is taken from the environment, from files of the machine's user or from the machine's
// provider. They go to the given endpoint and nowhere else, whatever an answer says.
package s3

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"gatehouse/auth"
	"gatehouse/objects"
)

// Config says where a store is and whose credentials open it.
type Config struct {
	// Endpoint is https://host or https://host:port; http is taken on a loopback address only. Empty means Amazon's own of Region.
	Endpoint string
	// Region is signed into each request; required for Amazon's endpoint, us-east-1 if empty elsewhere.
	Region string
	// PathStyle puts the bucket into the path, as most stores other than Amazon's want it, and not into the name of the host.
	PathStyle bool

	KeyID   string
	Secret  auth.Secret
	Session auth.Secret // the session token of temporary credentials; zero if they are not
	Ends    time.Time   // when the credentials end; zero if nobody knows
	// Renew returns the keys for each request, in place of the three above, if it is set. They open the same place with the same rights.
	Renew func() Keys
	// Scope is what the store's method of that name returns; required.
	Scope string

	// Transport carries the requests; stores of one endpoint should share one. NewTransport(nil) if nil.
	Transport http.RoundTripper
	// Timeout bounds one request up to its first byte; for each MiB that is asked for there are four seconds more. 0 means 30 s.
	Timeout time.Duration
	// Now is time.Now if nil.
	Now     func() time.Time
	Metrics *Metrics // nil: nothing is counted
}

// Keys sign requests.
type Keys struct {
	ID      string
	Secret  auth.Secret
	Session auth.Secret // see Config
}

// Check says what is wrong with keys that cannot be used.
func (k Keys) Check() error {
	if k.ID == "" || k.Secret.Reveal() == "" {
		return errors.New("s3: no keys are set")
	}
	if strings.ContainsAny(k.ID, "/\r\n ,=") {
		return errors.New("s3: the access key's id has characters that none has")
	}
	return nil
}

func (k Keys) credentials() aws.Credentials {
	return aws.Credentials{AccessKeyID: k.ID, SecretAccessKey: k.Secret.Reveal(), SessionToken: k.Session.Reveal()}
}

// Store is one store, opened with one set of credentials.
type Store struct {
	cfg    Config
	base   url.URL
	client *http.Client
	signer *v4.Signer
	keys   func() Keys
}

var _ objects.Store = (*Store)(nil)

// maxConns bounds the connections to one host.
const maxConns = 64

// NewTransport returns a transport that may be shared by stores. Roots of trust are the system's if c is nil.
func NewTransport(c *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: c,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, MaxIdleConns: 4 * maxConns, MaxIdleConnsPerHost: maxConns, MaxConnsPerHost: maxConns,
		IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		DisableCompression: true, // objects are read as they are stored
	}
}

var regionForm = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

// New checks the configuration. It asks nothing of the store.
func New(c Config) (*Store, error) {
	if c.Scope == "" {
		return nil, errors.New("s3: no scope is set")
	}
	keys := c.Renew
	if keys == nil {
		given := Keys{c.KeyID, c.Secret, c.Session}
		keys = func() Keys { return given }
	}
	if err := keys().Check(); err != nil {
		return nil, err
	}
	base, region, err := Endpoint(c.Endpoint, c.Region)
	if err != nil {
		return nil, err
	}
	c.Region = region
	if c.Timeout < 0 {
		return nil, errors.New("s3: a negative timeout")
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Transport == nil {
		c.Transport = NewTransport(nil)
	}
	return &Store{
		cfg: c, base: *base,
		client: &http.Client{
			Transport:     c.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }),
		keys:   keys,
	}, nil
}

// Endpoint checks an endpoint and a region, see Config, and returns both as they are used.
func Endpoint(endpoint, region string) (*url.URL, string, error) {
	if region == "" && endpoint == "" {
		return nil, "", errors.New("s3: neither an endpoint nor a region is set")
	}
	if region == "" {
		region = "us-east-1"
	}
	if !regionForm.MatchString(region) {
		return nil, "", errors.New("s3: a region has lower case letters, digits and hyphens only")
	}
	if endpoint == "" {
		host := "s3." + region + ".amazonaws.com"
		if strings.HasPrefix(region, "cn-") {
			host += ".cn"
		}
		return &url.URL{Scheme: "https", Host: host}, region, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return nil, "", errors.New("s3: the endpoint is not of the form https://host or https://host:port")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return nil, "", errors.New("s3: the endpoint must begin with https, because tables' rows and session tokens go there")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, region, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Format writes that it is a store, whatever the verb: its keys are in no text that somebody makes of it.
func (Store) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "an S3 store") }

// Scope implements objects.Store.
func (s *Store) Scope() string { return s.cfg.Scope }

// url returns where an object is. The bucket goes into the host unless it has dots, for which no certificate of a store holds.
func (s *Store) url(location string) (*url.URL, error) {
	l, err := objects.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", objects.ErrNotFound, err)
	}
	if l.Key == "" {
		return nil, fmt.Errorf("%w: a bucket is no object", objects.ErrNotFound)
	}
	u := s.base
	u.Path, u.RawPath = "/"+l.Key, "/"+escape(l.Key)
	if s.cfg.PathStyle || strings.Contains(l.Bucket, ".") {
		u.Path, u.RawPath = "/"+l.Bucket+u.Path, "/"+l.Bucket+u.RawPath
	} else {
		u.Host = l.Bucket + "." + u.Host
	}
	return &u, nil
}

// escape writes a key as the signature's specification wants it: all but letters, digits, "-._~" and slashes in hexadecimal.
func escape(key string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(key) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
