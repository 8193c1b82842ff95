package opa

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"gatehouse/auth"
	"gatehouse/policy"
)

// The bounds of what is kept. Users and answers may be twice as many: see recent.
const (
	keptUsers   = 128
	keptAnswers = 1024     // of one user
	keptSize    = 16 << 10 // bytes of a question
	keptItems   = 1 << 10  // of a list or set that is an answer
)

// memo keeps answers of one engine with one version of the rights. Either changes: it is left, with all that it holds.
//
// An answer is kept by the digest of everything that the rule was shown, and for one user: nobody meets an answer that another
// user's question left, nor can push one out. A rule that asked for the time has an answer for this statement only.
type memo struct {
	rights policy.Rights
	mu     sync.Mutex
	users  recent[owner, *answers]
}

type owner struct{ issuer, subject string }

// memoOf returns the memo for e and rights.
func (e *engine) memoOf(rights policy.Rights) *memo {
	m := e.memo.Load()
	if m == nil || m.rights != rights {
		m = &memo{rights: rights, users: recent[owner, *answers]{limit: keptUsers}}
		e.memo.Store(m)
	}
	return m
}

// of returns the answers that one user got.
func (m *memo) of(id auth.Identity) *answers {
	m.mu.Lock()
	defer m.mu.Unlock()
	who := owner{id.Issuer, id.Subject}
	a, ok := m.users.get(who)
	if !ok {
		a = &answers{kept: recent[question, answer]{limit: keptAnswers}}
		m.users.put(who, a)
	}
	return a
}

// answers are those of one user. It is safe for use by many goroutines at once.
type answers struct {
	mu   sync.Mutex
	kept recent[question, answer]
}

// question is the digest of an entry rule and its whole input.
type question [sha256.Size]byte

// answer is the value of an entry rule, which nobody may change, or errUndefined.
type answer struct {
	value any
	err   error
}

func (a *answers) get(q question) (answer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept.get(q)
}

// put keeps an answer, unless it is long. One that is an error is none.
func (a *answers) put(q question, value any, err error) {
	if err != nil && !errors.Is(err, errUndefined) {
		return
	}
	if list, ok := value.([]any); ok && len(list) > keptItems {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept.put(q, answer{value, err})
}

// questionOf makes the question of an input to a rule, and says whether it is small enough to keep its answer.
func questionOf(path string, input ast.Value) (question, bool, error) {
	b := make([]byte, 0, 1024)
	b, err := canonical(appendText(b, path), input)
	if err != nil || len(b) > keptSize {
		return question{}, false, err
	}
	return sha256.Sum256(b), true, nil
}

// canonical appends v in a form that two different values never share: each part says its kind and its length.
func canonical(b []byte, v ast.Value) ([]byte, error) {
	var err error
	each := func(t *ast.Term) {
		if err == nil {
			b, err = canonical(b, t.Value)
		}
	}
	switch v := v.(type) {
	case ast.Null:
		return append(b, 'n'), nil
	case ast.Boolean:
		if v {
			return append(b, 't'), nil
		}
		return append(b, 'f'), nil
	case ast.Number:
		return appendText(append(b, '#'), string(v)), nil
	case ast.String:
		return appendText(append(b, '"'), string(v)), nil
	case *ast.Array:
		b = binary.AppendUvarint(append(b, '['), uint64(v.Len()))
		v.Foreach(each)
	case ast.Set:
		b = binary.AppendUvarint(append(b, '('), uint64(v.Len()))
		v.Foreach(each)
	case ast.Object:
		b = binary.AppendUvarint(append(b, '{'), uint64(v.Len()))
		v.Foreach(func(k, value *ast.Term) {
			each(k)
			each(value)
		})
	default:
		return nil, fmt.Errorf("opa: %T in an input", v)
	}
	return b, err
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// recent is a map that forgets: it holds the entries put or got last, at least limit of them and at most twice as many.
type recent[K comparable, V any] struct {
	limit      int
	young, old map[K]V
}

func (r *recent[K, V]) get(k K) (V, bool) {
	if v, ok := r.young[k]; ok {
		return v, true
	}
	v, ok := r.old[k]
	if ok {
		r.put(k, v)
	}
	return v, ok
}

func (r *recent[K, V]) put(k K, v V) {
	if _, ok := r.young[k]; !ok && len(r.young) >= r.limit {
		r.young, r.old = nil, r.young
	}
	if r.young == nil {
		r.young = map[K]V{}
	}
	r.young[k] = v
}
