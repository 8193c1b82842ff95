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
	"slices"
	"sync"
	"time"
)

// The files of the key for what only executors may know: its private half for them, and its public one for the gateway.
const (
	sealPrivate = "seal.key"
	sealPublic  = "seal.json"
)

// overlap is how long the executors' key of before still opens what was sealed for it: statements in a cluster end within an hour.
const overlap = time.Hour + time.Minute

// jwk is an X25519 key (RFC 8037), without D a public one. Exp is when a private one ends that has been replaced, in seconds since 1970.
type jwk struct {
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	D   string `json:"d,omitempty"`
	Exp int64  `json:"exp,omitempty"`
}

type jwks struct {
	Keys []jwk `json:"keys"`
}

// sealKey makes the executors' key, unless the public one is there.
func sealKey(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, sealPublic)); err == nil {
		return nil
	}
	return newSealKey(dir)
}

// RotateSealKey makes a new key for the executors of the cluster of dir, in the folders of its processes too. The one before ends in an hour.
// Executors and gateways of this folder take the new one at once.
func RotateSealKey(dir string) error {
	if _, err := readKeys(filepath.Join(dir, sealPublic)); err != nil {
		return err
	}
	if err := newSealKey(dir); err != nil {
		return err
	}
	// The gateway must not seal for a key that executors do not have yet.
	for _, copies := range []struct {
		folders, name string
		mode          os.FileMode
	}{{"executor-*", sealPrivate, 0o600}, {"gateway", sealPublic, 0o644}} {
		files, err := filepath.Glob(filepath.Join(dir, copies.folders, copies.name))
		if err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, copies.name))
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := replace(filepath.Dir(f), copies.name, text, copies.mode); err != nil {
				return err
			}
		}
	}
	return nil
}

// newSealKey writes a new key in front of the private ones that have not ended, and the public one of it alone.
func newSealKey(dir string) error {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	public := jwk{Kty: "OKP", Crv: "X25519", X: base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes())}
	private := public
	private.D = base64.RawURLEncoding.EncodeToString(key.Bytes())
	all, err := readKeys(filepath.Join(dir, sealPrivate))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	now := time.Now()
	before := slices.DeleteFunc(all.Keys, func(k jwk) bool { return k.Exp != 0 && k.Exp <= now.Unix() })
	for i := range before {
		if before[i].Exp == 0 {
			before[i].Exp = now.Add(overlap).Unix()
		}
	}
	// See RotateSealKey.
	if err := writeKeys(dir, sealPrivate, jwks{append([]jwk{private}, before...)}, 0o600); err != nil {
		return err
	}
	return writeKeys(dir, sealPublic, jwks{[]jwk{public}}, 0o644)
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

func writeKeys(dir, name string, keys jwks, mode os.FileMode) error {
	text, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	return replace(dir, name, text, mode)
}

// replace replaces a file that other processes may read at any time.
func replace(dir, name string, text []byte, mode os.FileMode) error {
	part := filepath.Join(dir, "."+name)
	if err := os.WriteFile(part, text, mode); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(dir, name))
}

// SealKey returns what tells the key with which a gateway seals for the executors of the cluster of dir, as its file has it at that time: while
// the file cannot be used, half copied for example, the last good one. It is nil if the cluster's material has none.
func SealKey(dir string) (func() hpke.PublicKey, error) {
	last, err := readSealKey(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	return func() hpke.PublicKey {
		mu.Lock()
		defer mu.Unlock()
		if key, err := readSealKey(dir); err == nil {
			last = key
		}
		return last
	}, nil
}

func readSealKey(dir string) (hpke.PublicKey, error) {
	file := filepath.Join(dir, sealPublic)
	all, err := readKeys(file)
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
