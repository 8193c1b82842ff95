package oidc

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"

	"gatehouse/auth"
)

const (
	maxKeys    = 64   // of one issuer
	minRSABits = 2048 // RFC 7518 section 3.3
	maxRSABits = 8192 // verification time grows with the square
)

// key is one usable verification key of an issuer.
type key struct {
	kid    string
	alg    string // "" if the issuer does not say
	public crypto.PublicKey
}

// suits reports whether k may verify signatures by alg. Key type and algorithm must belong together
// whatever the token says.
func (k key) suits(alg string) bool {
	if k.alg != "" && k.alg != alg {
		return false
	}
	switch p := k.public.(type) {
	case *rsa.PublicKey:
		return slices.Contains([]string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}, alg)
	case *ecdsa.PublicKey:
		return map[string]string{"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}[alg] == p.Params().Name
	case ed25519.PublicKey:
		return alg == "EdDSA"
	}
	return false
}

// keySet holds an issuer's keys and fetches them again when they are old or a token names one that is
// not there. A failed fetch never removes keys, a successful one replaces them all, so that a key
// which the issuer withdrew stops counting.
type keySet struct {
	fetch    func(context.Context) ([]key, error)
	refresh  time.Duration // age at which keys are fetched again
	maxAge   time.Duration // age beyond which keys do not count any more
	cooldown time.Duration // between two fetches, whatever tokens ask for
	now      func() time.Time

	turn chan struct{} // held while fetching

	mu      sync.Mutex
	keys    []key
	fetched time.Time // of keys; zero: never
	tried   time.Time
}

// find returns the keys that may verify a token by alg and kid. It returns auth.ErrUnavailable if there
// are no keys to look among, and none if the issuer has no such key.
func (s *keySet) find(ctx context.Context, alg, kid string) ([]key, error) {
	found, fresh, _ := s.look(alg, kid)
	if fresh && len(found) > 0 {
		return found, nil
	}
	// Either the keys are old or this one is unknown: fetch, unless we did so just now. While somebody
	// else fetches, an old key that still counts is good enough.
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	default:
		if len(found) > 0 {
			return found, nil
		}
		select {
		case s.turn <- struct{}{}:
			defer func() { <-s.turn }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if s.mayFetch() {
		s.load(ctx)
	}
	found, _, known := s.look(alg, kid)
	if !known {
		return nil, auth.ErrUnavailable
	}
	return found, nil
}

// look returns matching keys, whether the set is fresh, and whether there is a set that counts.
func (s *keySet) look(alg, kid string) (found []key, fresh, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := s.now().Sub(s.fetched)
	if s.fetched.IsZero() || age >= s.maxAge {
		return nil, false, false
	}
	for _, k := range s.keys {
		if k.suits(alg) && (kid == "" || k.kid == kid) {
			found = append(found, k)
		}
	}
	if kid == "" && len(found) > 1 {
		found = nil // which one would be a guess
	}
	return found, age < s.refresh, true
}

func (s *keySet) mayFetch() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if !s.tried.IsZero() && now.Sub(s.tried) < s.cooldown {
		return false
	}
	s.tried = now
	return true
}

// load fetches once. It does not stop when the caller goes away: otherwise somebody could use up the
// cool-down with calls that they cancel.
func (s *keySet) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	keys, err := s.fetch(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.fetched = keys, s.now()
	return nil
}

// parseKeys reads a JWK set. Keys that are not for signatures, or of a kind that we do not use, are
// skipped: issuers list an encryption key beside.
func parseKeys(text []byte) ([]key, error) {
	var set struct {
		Keys []jwkset.JWKMarshal `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New("oidc: the key set is not JSON of the right form")
	}
	if len(set.Keys) > maxKeys {
		return nil, errors.New("oidc: the key set has too many keys")
	}
	var keys []key
	for _, m := range set.Keys {
		if k, ok := parseKey(m); ok {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("oidc: the key set has no key that verifies signatures")
	}
	return keys, nil
}

func parseKey(m jwkset.JWKMarshal) (key, bool) {
	if (m.USE != "" && m.USE != jwkset.UseSig) || (len(m.KEYOPS) > 0 && !slices.Contains(m.KEYOPS, jwkset.KeyOpsVerify)) {
		return key{}, false
	}
	// Only the public numbers: no certificate is looked at, nothing is fetched.
	bare := jwkset.JWKMarshal{KTY: m.KTY, CRV: m.CRV, X: m.X, Y: m.Y, N: m.N, E: m.E}
	parsed, err := jwkset.NewJWKFromMarshal(bare, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	if err != nil {
		return key{}, false
	}
	k := key{kid: m.KID, alg: string(m.ALG), public: parsed.Key()}
	switch p := k.public.(type) {
	case *rsa.PublicKey:
		bits := p.N.BitLen()
		return k, bits >= minRSABits && bits <= maxRSABits && p.E >= 3 && p.E < 1<<31 && p.E%2 == 1
	case *ecdsa.PublicKey:
		_, err := p.ECDH() // refuses a point that is not on the curve
		return k, err == nil
	case ed25519.PublicKey:
		return k, true
	}
	return key{}, false
}
