package flight

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// pair writes a certificate of its own authority, for name, and its key.
func pair(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &priv.PublicKey, priv)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// serverName connects and returns whose certificate the server shows.
func serverName(address string, c *tls.Config) (string, error) {
	c.InsecureSkipVerify = true
	c.NextProtos = []string{"h2"}
	conn, err := tls.Dial("tcp", address, c)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	// With TLS 1.3 a refusal of the client's certificate only shows at the first read.
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		return "", err
	}
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

func TestCertificateReload(t *testing.T) {
	dir := t.TempDir()
	cert, key := pair(t, dir, "first")
	r := newRig(t, func(c *Config) { c.TLS = TLS{CertFile: cert, KeyFile: key} })
	reload := func() {
		// The files are looked at again after a second.
		r.server.certs.mu.Lock()
		r.server.certs.checked = time.Time{}
		r.server.certs.mu.Unlock()
	}
	want := func(name string) {
		t.Helper()
		reload()
		if got, err := serverName(r.address, &tls.Config{}); err != nil || got != name {
			t.Errorf("the server is %q, want %q (%v)", got, name, err)
		}
	}
	want("first")
	pair(t, dir, "second")
	want("second")
	if err := os.WriteFile(key, []byte("half wri"), 0o600); err != nil {
		t.Fatal(err)
	}
	want("second")
	pair(t, dir, "third")
	want("third")
	if conn, err := net.Dial("tcp", r.address); err != nil {
		t.Fatal(err)
	} else {
		conn.Close()
	}
	_, err := r.dial().query("SELECT 'one'") // in plaintext
	if err == nil {
		t.Error("a plaintext call was answered")
	}
}

func TestClientCertificates(t *testing.T) {
	cert, key := pair(t, t.TempDir(), "server")
	clientCert, clientKey := pair(t, t.TempDir(), "client")
	strangeCert, strangeKey := pair(t, t.TempDir(), "stranger")
	load := func(c, k string) *tls.Config {
		p, err := tls.LoadX509KeyPair(c, k)
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &p, nil }}
	}
	for _, required := range []bool{false, true} {
		r := newRig(t, func(c *Config) {
			c.TLS = TLS{CertFile: cert, KeyFile: key, ClientCAFile: clientCert, RequireClientCert: required}
		})
		if _, err := serverName(r.address, load(clientCert, clientKey)); err != nil {
			t.Errorf("required %t: the client is refused: %v", required, err)
		}
		if _, err := serverName(r.address, load(strangeCert, strangeKey)); err == nil {
			t.Errorf("required %t: a stranger's certificate is taken", required)
		}
		if _, err := serverName(r.address, &tls.Config{}); (err != nil) != required {
			t.Errorf("required %t: without a certificate: %v", required, err)
		}
	}
}

// Plaintext is for loopback only.
func TestPlaintextOnlyOnLoopback(t *testing.T) {
	r := newRig(t)
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.server.Serve(l); err == nil {
		t.Error("served in plaintext on every address")
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the listener is still open")
	}
}
