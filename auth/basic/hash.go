package basic

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"golang.org/x/crypto/argon2"

	"gatehouse/auth"
)

// The bounds of what a users file may ask for: below them a hash is too weak, above them one login
// takes too much of the machine.
const (
	minMemory  = 7 << 10 // KiB, the smallest that OWASP's password storage cheat sheet lists
	maxMemory  = 64 << 10
	maxTime    = 10
	maxThreads = 4
	minSalt    = 8
	maxSalt    = 64
	minKey     = 16
	maxKey     = 64
)

// params are the costs of one argon2id hash.
type params struct {
	memory  uint32 // KiB
	time    uint32
	threads uint8
	key     uint32 // bytes
}

// defaultParams is OWASP's first choice for argon2id: 19 MiB, two passes, one lane; about 25 ms.
var defaultParams = params{memory: 19 << 10, time: 2, threads: 1, key: 32}

// hash is a parsed PHC string "$argon2id$v=19$m=…,t=…,p=…$salt$key".
type hash struct {
	params
	salt []byte
	sum  []byte
}

// Hash returns the argon2id hash of password in the PHC string format, with a new random salt, as it
// stands in a users file.
func Hash(password auth.Secret) (string, error) {
	if err := checkPassword(password.Reveal()); err != nil {
		return "", err
	}
	salt := make([]byte, 16)
	rand.Read(salt)
	p := defaultParams
	sum := argon2.IDKey([]byte(password.Reveal()), salt, p.time, p.memory, p.threads, p.key)
	return hash{params: p, salt: salt, sum: sum}.phc(), nil
}

// phc prints h as a PHC string.
func (h hash) phc() string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.time, h.threads,
		b64.EncodeToString(h.salt), b64.EncodeToString(h.sum))
}

func checkPassword(p string) error {
	if p == "" || len(p) > maxPassword {
		return fmt.Errorf("basic: a password has 1 to %d bytes", maxPassword)
	}
	return nil
}

// parseHash reads a PHC string and checks its costs against the bounds.
func parseHash(s string) (hash, error) {
	var h hash
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return hash{}, errors.New("not an argon2id hash in PHC format")
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); err != nil || n != 3 {
		return hash{}, errors.New("costs must be written m=…,t=…,p=…")
	}
	var err error
	if h.salt, err = base64.RawStdEncoding.Strict().DecodeString(parts[4]); err != nil {
		return hash{}, errors.New("the salt is not base64")
	}
	if h.sum, err = base64.RawStdEncoding.Strict().DecodeString(parts[5]); err != nil {
		return hash{}, errors.New("the hash is not base64")
	}
	h.key = uint32(min(len(h.sum), maxKey+1))
	if h.phc() != s { // Go's decoder skips line breaks
		return hash{}, errors.New("not an argon2id hash in PHC format")
	}
	switch {
	case h.memory < minMemory || h.memory > maxMemory || h.time < 1 || h.time > maxTime || h.threads < 1 || h.threads > maxThreads:
		return hash{}, fmt.Errorf("costs out of bounds: m %d to %d, t 1 to %d, p 1 to %d", minMemory, maxMemory, maxTime, maxThreads)
	case len(h.salt) < minSalt || len(h.salt) > maxSalt || len(h.sum) < minKey || len(h.sum) > maxKey:
		return hash{}, fmt.Errorf("the salt has %d to %d bytes, the hash %d to %d", minSalt, maxSalt, minKey, maxKey)
	}
	return h, nil
}

// matches runs argon2 once, counts it in runs, and compares in constant time.
func (h hash) matches(password string, runs *atomic.Int64) bool {
	runs.Add(1)
	sum := argon2.IDKey([]byte(password), h.salt, h.time, h.memory, h.threads, h.key)
	return subtle.ConstantTimeCompare(sum, h.sum) == 1
}
