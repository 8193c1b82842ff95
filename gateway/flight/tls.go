package flight

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
)

// TLS names the files of the server's certificate. All are PEM.
type TLS struct {
	CertFile string
	KeyFile  string
	// ClientCAFile holds the authorities of client certificates. If set, a certificate that a client shows must verify.
	ClientCAFile string
	// RequireClientCert refuses clients that show no certificate. It needs ClientCAFile. A certificate does not say who
	// the user is: the client authenticates as well.
	RequireClientCert bool
}

func (t TLS) set() bool { return t.CertFile != "" || t.KeyFile != "" }

// open reads the files. It returns nil if no certificate is configured.
func (t TLS) open(log *slog.Logger) (*reloader, error) {
	if !t.set() {
		if t.ClientCAFile != "" || t.RequireClientCert {
			return nil, errors.New("client certificates need a server certificate")
		}
		return nil, nil
	}
	if t.RequireClientCert && t.ClientCAFile == "" {
		return nil, errors.New("client certificates are required but no authority is set")
	}
	r := &reloader{files: t, log: log}
	if _, err := r.load(); err != nil {
		return nil, err
	}
	return r, nil
}

// reloader reads certificate files again once they change. While what they hold cannot be used (half written, key and
// certificate of different pairs) the last good pair stays in use.
type reloader struct {
	files TLS
	log   *slog.Logger

	mu      sync.Mutex
	config  *tls.Config
	stamp   string
	checked time.Time
}

// credentials are those of each new connection.
func (r *reloader) credentials() credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"h2"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.load() },
	})
}

// recheck bounds how often the files are looked at.
const recheck = time.Second

func (r *reloader) load() (*tls.Config, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.config != nil && time.Since(r.checked) < recheck {
		return r.config, nil
	}
	r.checked = time.Now()
	stamp := r.stampFiles()
	if r.config != nil && stamp == r.stamp {
		return r.config, nil
	}
	config, err := r.read()
	if err != nil {
		if r.config == nil {
			return nil, err
		}
		r.log.Error("certificate files cannot be used, the last good ones stay in use", slog.Any("cause", err))
		return r.config, nil
	}
	r.config, r.stamp = config, stamp
	return config, nil
}

// stampFiles tells versions of the files apart by size and time of change.
func (r *reloader) stampFiles() string {
	var out string
	for _, name := range []string{r.files.CertFile, r.files.KeyFile, r.files.ClientCAFile} {
		if name == "" {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			out += "absent;"
			continue
		}
		out += fmt.Sprintf("%d %d;", info.Size(), info.ModTime().UnixNano())
	}
	return out
}

func (r *reloader) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(r.files.CertFile, r.files.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{pair}}
	if r.files.ClientCAFile == "" {
		return c, nil
	}
	pem, err := os.ReadFile(r.files.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("read client authorities: %w", err)
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, errors.New("the file of client authorities holds no certificate")
	}
	c.ClientAuth = tls.VerifyClientCertIfGiven
	if r.files.RequireClientCert {
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}
