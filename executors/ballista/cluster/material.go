package cluster

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// How long certificates are valid, those of authorities and the others, and how long before its end one of a local cluster is made anew.
const (
	authorityLife = 10 * life
	life          = 365 * 24 * time.Hour
	renewal       = 30 * 24 * time.Hour
)

// Prepare makes authorities, certificates and the key for task credentials in dir, unless they are there.
func Prepare(dir, issuer string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	gateways, members, err := authorities(dir)
	if err != nil {
		return err
	}
	for name, by := range map[string]*authority{"gateway": gateways, "scheduler": members, "executor": members} {
		if valid(filepath.Join(dir, name+".pem")) {
			continue
		}
		if err := by.issue(dir, name, ""); err != nil {
			return err
		}
	}
	if err := sealKey(dir); err != nil {
		return err
	}
	return taskKey(dir, issuer)
}

// authorities returns the two authorities of dir, and makes them on first use.
func authorities(dir string) (gateways, members *authority, err error) {
	if gateways, err = authorityOf(dir, "gateway-authority"); err == nil {
		members, err = authorityOf(dir, "cluster-authority")
	}
	return gateways, members, err
}

// valid reports whether there is a certificate that is valid for a while.
func valid(file string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return false
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	return err == nil && time.Until(cert.NotAfter) > renewal
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// authorityOf reads an authority, or makes it if there is none.
func authorityOf(dir, name string) (*authority, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key"))
	if errors.Is(err, os.ErrNotExist) {
		return newAuthority(dir, name)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("cluster: %s cannot be used: %w", filepath.Join(dir, name+".pem"), err)
	}
	return &authority{pair.Leaf, key}, nil
}

func newAuthority(dir, name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template("Gatehouse " + strings.ReplaceAll(name, "-", " "))
	t.NotAfter = time.Now().Add(authorityLife)
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert, key}, writePair(dir, name, der, key)
}

// issue makes a certificate for a process of that name, as server and client. Others know it by what it is: the name in front of ".gatehouse". The host
// that it runs on is in it for people, and for programs that ask for hosts; "" leaves it out.
func (a *authority) issue(dir, name, host string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	t := template(name)
	t.DNSNames = []string{name + ".gatehouse"}
	if ip := net.ParseIP(host); ip != nil {
		t.IPAddresses = []net.IP{ip}
	} else if host != "" {
		t.DNSNames = append(t.DNSNames, host)
	}
	t.BasicConstraintsValid = true
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	return writePair(dir, name, der, key)
}

func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-5 * time.Minute),
		NotAfter:     time.Now().Add(life),
	}
}

func writePair(dir, name string, der []byte, key any) error {
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644),
		os.WriteFile(filepath.Join(dir, name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
	)
}

// taskKey makes the gateway's key for task credentials, and the file of public keys that executors read.
func taskKey(dir, issuer string) error {
	if _, err := os.Stat(filepath.Join(dir, "keys.json")); err == nil {
		return nil
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "task.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return err
	}
	return WriteKeys(dir, issuer, public)
}

// WriteKeys writes the file of public keys that executors read: two while a key is rotated.
func WriteKeys(dir, issuer string, keys ...ed25519.PublicKey) error {
	type jwk struct {
		Kty string `json:"kty"`
		Crv string `json:"crv"`
		X   string `json:"x"`
	}
	var list []jwk
	for _, k := range keys {
		list = append(list, jwk{"OKP", "Ed25519", base64.RawURLEncoding.EncodeToString(k)})
	}
	text, err := json.MarshalIndent(map[string]any{"issuer": issuer, "keys": list}, "", "  ")
	if err != nil {
		return err
	}
	return replace(dir, "keys.json", text, 0o644)
}

// GatewayTLS is what a gateway shows to the cluster of dir, and trusts there.
func GatewayTLS(dir string) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "gateway.pem"), filepath.Join(dir, "gateway.key"))
	if err != nil {
		return nil, fmt.Errorf("cluster: the gateway's certificate: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "cluster-authority.pem"))
	if err != nil {
		return nil, fmt.Errorf("cluster: the cluster's authority: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, errors.New("cluster: the cluster's authority is no certificate")
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: roots, MinVersion: tls.VersionTLS13}, nil
}

// TaskKey is the file of the gateway's key for task credentials.
func TaskKey(dir string) string { return filepath.Join(dir, "task.key") }

// Address is the scheduler's address that a local cluster in dir has told.
func Address(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "address"))
	if err != nil {
		return "", fmt.Errorf("cluster: no cluster has been started in %s: gatehouse cluster starts one", dir)
	}
	return strings.TrimSpace(string(text)), nil
}

// withIdentity adds to a process's configuration its certificate and what it trusts, files whose paths at returns.
func withIdentity(role string, at func(name string) string, config map[string]any) map[string]any {
	config["certificate"], config["key"] = at(role+".pem"), at(role+".key")
	config["cluster_authority"], config["gateway_authority"] = at("cluster-authority.pem"), at("gateway-authority.pem")
	return config
}
