package task

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// NewKey returns a new random signing key.
func NewKey() (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return key, err
}

// LoadKey reads one Ed25519 private key from a PEM file ("PRIVATE KEY", PKCS #8), as `openssl genpkey
// -algorithm ed25519` writes it. A file that others than its owner and group may read is refused.
func LoadKey(path string) (ed25519.PrivateKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("task: signing key: %w", err)
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("task: signing key %s: others may read or write it; chmod 600 it", path)
	}
	key, err := loadPEM(path, "PRIVATE KEY", x509.ParsePKCS8PrivateKey)
	if err != nil {
		return nil, err
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("task: %s holds no Ed25519 key", path)
	}
	return private, nil
}

// LoadPublicKey reads one Ed25519 public key from a PEM file ("PUBLIC KEY").
func LoadPublicKey(path string) (ed25519.PublicKey, error) {
	key, err := loadPEM(path, "PUBLIC KEY", x509.ParsePKIXPublicKey)
	if err != nil {
		return nil, err
	}
	public, ok := key.(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("task: %s holds no Ed25519 key", path)
	}
	return public, nil
}

func loadPEM(path, kind string, parse func([]byte) (any, error)) (any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("task: key: %w", err)
	}
	block, rest := pem.Decode(text)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("task: %s does not begin with a PEM block %q", path, kind)
	}
	if next, _ := pem.Decode(rest); next != nil {
		return nil, fmt.Errorf("task: %s holds more than one PEM block", path)
	}
	key, err := parse(block.Bytes)
	if err != nil {
		// The parser's error may quote the key.
		return nil, errors.New("task: " + path + " holds no key that can be read")
	}
	return key, nil
}

// thumbprint is the JWK thumbprint (RFC 7638, RFC 8037 appendix A.3) of key.
func thumbprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(key) + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
