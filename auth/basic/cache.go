package basic

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxVerified bounds the cache of verified passwords.
const maxVerified = 4096

// snapshot is one users file and the passwords that were verified against it. Both go together when
// the file changes. The key of an entry is a MAC of name and password under a key that lives in this
// process only, so the cache is looked up by value without a timing signal: who cannot compute the
// MAC cannot steer the look-up.
type snapshot struct {
	users *users

	mu       sync.Mutex
	verified map[[sha256.Size]byte]verified
}

type verified struct {
	user  *user
	until time.Time
}

func (s *snapshot) cached(key [sha256.Size]byte, now time.Time) *user {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.verified[key]; ok && now.Before(v.until) {
		return v.user
	}
	return nil
}

func (s *snapshot) remember(key [sha256.Size]byte, u *user, now time.Time, d time.Duration) {
	if d <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.verified) >= maxVerified {
		for k, v := range s.verified {
			if !now.Before(v.until) {
				delete(s.verified, k)
			}
		}
	}
	if len(s.verified) >= maxVerified {
		clear(s.verified)
	}
	s.verified[key] = verified{user: u, until: now.Add(d)}
}
