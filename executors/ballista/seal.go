package ballista

import (
	"context"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"gatehouse/executors"
	"gatehouse/executors/ballista/wire"
	"gatehouse/objects"
	"gatehouse/plan"
	"gatehouse/policy"
)

// These say what is sealed: nothing of another kind opens as this.
const (
	locationsInfo = "gatehouse locations 1"
	hashInfo      = "gatehouse hash key 1"
)

// slack is how long URLs hold after a statement's end: a store's clock may be before ours.
const slack = 10 * time.Second

// locations signs the URLs by which executors read the files of one scan, each file's once.
type locations struct {
	to    hpke.PublicKey // nil if nothing is to be sealed, neither these nor the key of hashes
	scan  *plan.Scan
	until time.Time
	urls  map[string]string
}

func (x *Executor) locations(p *plan.Plan, r *plan.Relation) (*locations, error) {
	var to hpke.PublicKey
	switch none := errors.New("gatehouse cluster material makes one"); {
	case r.Scan.Objects == nil && !hashes(r):
	case x.config.Executors != nil:
		to = x.config.Executors()
	case r.Scan.Objects != nil:
		return nil, unsupported("reading object stores: its executors have no key", none)
	default: // the words would speak of a policy
		return nil, unsupported("reading one of its tables", none)
	}
	return &locations{to, &r.Scan, p.Deadline().Add(slack), map[string]string{}}, nil
}

// of returns a URL that lets its bearer read an object, and nothing else; of a local file, none.
func (l *locations) of(ctx context.Context, location string) (string, error) {
	if !objects.IsObject(location) {
		return "", nil
	}
	if url, ok := l.urls[location]; ok {
		return url, nil
	}
	url, err := l.scan.Objects.Presign(ctx, location, l.until)
	if err != nil {
		return "", storeError(err)
	}
	l.urls[location] = url
	return url, nil
}

// seal adds to a payload where its files are, for executors alone, if some may lie in an object store. What is sealed opens with the credential
// of the given id and with no other.
func (l *locations) seal(ctx context.Context, p *wire.Payload, id string) error {
	if l.scan.Objects == nil {
		return nil
	}
	all := &wire.Locations{}
	for _, f := range p.Files {
		url, err := l.of(ctx, f.Path)
		if err != nil {
			return err
		}
		all.Files = append(all.Files, url)
	}
	for _, d := range p.Equality {
		url, err := l.of(ctx, d.Path)
		if err != nil {
			return err
		}
		all.Equality = append(all.Equality, url)
	}
	text, err := proto.Marshal(all)
	if err != nil {
		return internal("%w", err)
	}
	p.Sealed, err = sealed(l.to, locationsInfo, text, p.Query, p.Relation, id)
	return err
}

// sealHash adds the key of hashes to the payload of a relation that has some, for executors alone.
func (x *Executor) sealHash(to hpke.PublicKey, p *wire.Payload, r *plan.Relation, id string) error {
	if !hashes(r) {
		return nil
	}
	keys, err := policy.DeriveHash(x.config.HashKey)
	if err != nil {
		return internal("%w", err)
	}
	text, err := proto.Marshal(&wire.HashKey{Inner: keys.Inner.Reveal(), Outer: keys.Outer.Reveal()})
	if err != nil {
		return internal("%w", err)
	}
	p.Hash, err = sealed(to, hashInfo, text, p.Query, p.Relation, id)
	return err
}

// hashes reports whether a relation's filter or masks have hashes.
func hashes(r *plan.Relation) bool {
	return r.Filter != nil && policy.UsesHash(r.Filter) || slices.ContainsFunc(r.Columns, func(c policy.Output) bool {
		return c.Mask != nil && policy.UsesHash(c.Mask)
	})
}

// sealed seals a text for executors.
func sealed(to hpke.PublicKey, info string, text []byte, query, relation, id string) (*wire.Sealed, error) {
	encapsulated, sender, err := hpke.NewSender(to, hpke.HKDFSHA256(), hpke.ChaCha20Poly1305(), []byte(info))
	if err != nil {
		return nil, internal("sealing for executors: %w", err)
	}
	ciphertext, err := sender.Seal([]byte(strings.Join([]string{query, relation, id}, "\x00")), text)
	if err != nil {
		return nil, internal("sealing for executors: %w", err)
	}
	return &wire.Sealed{Key: thumbprint(to), Encapsulated: encapsulated, Ciphertext: ciphertext}, nil
}

// thumbprint is the JWK thumbprint (RFC 7638, RFC 8037) of an X25519 key.
func thumbprint(k hpke.PublicKey) string {
	x := base64.RawURLEncoding.EncodeToString(k.Bytes())
	sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":"X25519","kty":"OKP","x":%q}`, x))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// storeError makes our error of a failure to read an object store, or to sign for it.
func storeError(err error) error {
	if e := executors.StoreError(err); e != nil {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return internal("object store: %w", err)
}

// ended reports that the credentials of a relation's files have ended since the statement began, which executors cannot tell from others
// that a store refuses.
func ended(ctx context.Context, p *plan.Plan) error {
	for i := range p.Relations() {
		s := &p.Relations()[i].Scan
		at := slices.IndexFunc(s.Files, func(f plan.File) bool { return objects.IsObject(f.Path) })
		if s.Objects == nil || at < 0 {
			continue
		}
		if _, err := s.Objects.Presign(ctx, s.Files[at].Path, p.Deadline()); errors.Is(err, objects.ErrExpired) {
			return executors.StoreError(err)
		}
	}
	return nil
}

// filePath is how executors know a file: a local one by its path, an object by its location.
func filePath(location string) (string, error) {
	if objects.IsObject(location) {
		return location, nil
	}
	return localPath(location)
}
