package cluster

import (
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The files of the key for what only executors may know: its private half for them, and its public one for the gateway.
const (
	sealPrivate = "seal.key"
	sealPublic  = "seal.json"
)

// jwk is an X25519 key (RFC 8037), without D a public one.
type jwk struct {
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	D   string `json:"d,omitempty"`
}

type jwks struct {
	Keys []jwk `json:"keys"`
}

// sealKey makes the executors' key, unless the public one is there. If a private one is, it is the one before: executors keep it for a while.
func sealKey(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, sealPublic)); err == nil {
		return nil
	}
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	all := []*ecdh.PrivateKey{key}
	file := filepath.Join(dir, sealPrivate)
	switch old, err := readKeys(file); {
	case err == nil:
		d, err := base64.RawURLEncoding.DecodeString(old.Keys[0].D)
		if err != nil {
			return fmt.Errorf("cluster: %s: %w", file, err)
		}
		before, err := ecdh.X25519().NewPrivateKey(d)
		if err != nil {
			return fmt.Errorf("cluster: %s: %w", file, err)
		}
		all = append(all, before)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	return WriteSealKeys(dir, all...)
}

// readKeys reads a file of keys, of which there is one at least.
func readKeys(file string) (jwks, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return jwks{}, fmt.Errorf("cluster: the executors' key: %w", err)
	}
	var all jwks
	if err := json.Unmarshal(text, &all); err != nil || len(all.Keys) == 0 || all.Keys[0].Kty != "OKP" || all.Keys[0].Crv != "X25519" {
		return jwks{}, fmt.Errorf("cluster: %s is no set of X25519 keys", file)
	}
	return all, nil
}

// WriteSealKeys writes the files of the executors' key: two while one is rotated, of which the gateway takes the first.
func WriteSealKeys(dir string, keys ...*ecdh.PrivateKey) error {
	var private, public jwks
	for _, k := range keys {
		w := jwk{Kty: "OKP", Crv: "X25519", X: base64.RawURLEncoding.EncodeToString(k.PublicKey().Bytes())}
		public.Keys = append(public.Keys, w)
		w.D = base64.RawURLEncoding.EncodeToString(k.Bytes())
		private.Keys = append(private.Keys, w)
	}
	// The gateway must not seal for a key that executors do not have yet.
	if err := writeKeys(dir, sealPrivate, private, 0o600); err != nil {
		return err
	}
	return writeKeys(dir, sealPublic, public, 0o644)
}

// writeKeys replaces a file that other processes may read at any time.
func writeKeys(dir, name string, keys jwks, mode os.FileMode) error {
	text, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	part := filepath.Join(dir, "."+name)
	if err := os.WriteFile(part, text, mode); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(dir, name))
}

// SealKey is the key with which a gateway seals for the executors of the cluster of dir, or nil if the cluster's material has none.
func SealKey(dir string) (hpke.PublicKey, error) {
	file := filepath.Join(dir, sealPublic)
	all, err := readKeys(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x, err := base64.RawURLEncoding.DecodeString(all.Keys[0].X)
	if err != nil {
		return nil, fmt.Errorf("cluster: %s: %w", file, err)
	}
	key, err := hpke.DHKEM(ecdh.X25519()).NewPublicKey(x)
	if err != nil {
		return nil, fmt.Errorf("cluster: %s: %w", file, err)
	}
	return key, nil
}
