package basic

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"gatehouse/auth"
)

// maxFile is the largest users file that is read, in bytes.
const maxFile = 8 << 20

// user is one checked entry of a users file.
type user struct {
	identity auth.Identity
	hash     hash
}

// users is one whole users file. It does not change.
type users struct {
	byName map[string]*user
	list   []*user // sorted by name: the pool from which unknown names borrow their costs
}

// entry is how a user stands in the file.
type entry struct {
	Name       string         `yaml:"name"`
	Password   string         `yaml:"password"`
	Roles      []string       `yaml:"roles"`
	Groups     []string       `yaml:"groups"`
	Attributes map[string]any `yaml:"attributes"`
}

// parseUsers reads a users file: strict YAML, unknown keys and a name that stands twice are errors. An
// error names the user, never the hash.
func parseUsers(text []byte) (*users, error) {
	var doc struct {
		Users []entry `yaml:"users"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("basic: users file: %w", withoutValues(err))
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("basic: users file: more than one document")
	}
	u := &users{byName: make(map[string]*user, len(doc.Users))}
	for i, e := range doc.Users {
		one, err := e.check()
		if err != nil {
			return nil, fmt.Errorf("basic: users file: user %d (%q): %w", i+1, e.Name, err)
		}
		if _, twice := u.byName[one.identity.User]; twice {
			return nil, fmt.Errorf("basic: users file: user %d (%q) stands twice", i+1, e.Name)
		}
		u.byName[one.identity.User] = one
		u.list = append(u.list, one)
	}
	slices.SortFunc(u.list, func(a, b *user) int { return strings.Compare(a.identity.User, b.identity.User) })
	return u, nil
}

// withoutValues keeps the lines of a YAML type error but not the values that it quotes, which may be
// passwords.
func withoutValues(err error) error {
	if t, ok := errors.AsType[*yaml.TypeError](err); ok {
		return fmt.Errorf("%d entries have an unknown key or a wrong type, the first at %s", len(t.Errors), firstLine(t.Errors))
	}
	return err
}

func firstLine(errs []string) string {
	var line int
	if _, err := fmt.Sscanf(errs[0], "line %d:", &line); err != nil {
		return "an unknown line"
	}
	return fmt.Sprintf("line %d", line)
}

func (e entry) check() (*user, error) {
	name, ok := auth.NormalizeUser(e.Name)
	if !ok {
		return nil, errors.New("not a user name")
	}
	for _, r := range name {
		if r == ':' {
			return nil, errors.New("a user name must not contain a colon, Basic authentication could not carry it")
		}
	}
	h, err := parseHash(e.Password)
	if err != nil {
		return nil, fmt.Errorf("password: %w", err)
	}
	if slices.Contains(e.Roles, "") || slices.Contains(e.Groups, "") {
		return nil, errors.New("a role or group is empty")
	}
	for key, v := range e.Attributes {
		if !plain(v) {
			return nil, fmt.Errorf("attribute %q must be a string, a number, true or false, or a list of strings", key)
		}
	}
	claims, err := numbers(e.Attributes)
	if err != nil {
		return nil, err
	}
	return &user{hash: h, identity: auth.Identity{
		Issuer: Issuer, Subject: name, User: name, Principal: name,
		Roles: e.Roles, Groups: e.Groups, Claims: claims, Method: "basic", Proof: proof(e.Password),
	}}, nil
}

// proof tells one stored hash from another without telling anything about either.
func proof(hash string) string {
	sum := sha256.Sum256([]byte("gatehouse users file\x00" + hash))
	return hex.EncodeToString(sum[:8])
}

// plain reports whether v is a value that an attribute may have.
func plain(v any) bool {
	switch v := v.(type) {
	case string, bool, int, int64, uint64, float64:
		return true
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { _, ok := x.(string); return !ok })
	}
	return false
}

// stamp tells whether a file changed since it was read. A file that is rewritten within the same tick
// of the file system's clock looks unchanged, so fresh says when the contents have to be read again.
type stamp struct {
	info os.FileInfo
	read time.Time
}

func (s stamp) unchanged(info os.FileInfo) bool {
	return s.info != nil && os.SameFile(s.info, info) && s.info.Size() == info.Size() &&
		s.info.ModTime().Equal(info.ModTime()) && s.read.Sub(s.info.ModTime()) > 2*time.Second
}

// readFile returns the file's text and stamp. A file that everybody may write is refused.
func readFile(path string) ([]byte, stamp, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, stamp{}, err
	}
	defer f.Close()
	read := time.Now()
	info, err := f.Stat()
	if err != nil {
		return nil, stamp{}, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o002 != 0 {
		return nil, stamp{}, fmt.Errorf("%s is no regular file, or everybody may write it", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, stamp{}, err
	}
	if len(text) > maxFile {
		return nil, stamp{}, fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return text, stamp{info: info, read: read}, nil
}
