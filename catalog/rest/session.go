package rest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	icerest "github.com/apache/iceberg-go/catalog/rest"

	"gatehouse/auth"
	"gatehouse/catalog"
)

// sessionTTL is how long the server's configuration for a caller is kept.
const sessionTTL = 5 * time.Minute

// session is what the server told one caller: its configuration, inside of client, and names.
type session struct {
	client *icerest.Catalog
	born   time.Time
	ttl    time.Duration
	now    func() time.Time

	mu    sync.Mutex
	names map[string]listing
}

// listing is a list of names with the time of its answer.
type listing struct {
	at    time.Time
	names []string
}

// session returns the caller's session. A new one asks the server for its configuration, with the caller's token.
func (c *Catalog) session(ctx context.Context, id auth.Identity) (*session, error) {
	key := principal{id.Issuer, id.Subject}
	c.mu.Lock()
	s, ok := c.sessions.Get(key)
	c.mu.Unlock()
	if ok && c.cfg.Now().Sub(s.born) < sessionTTL {
		return s, nil
	}
	client, err := icerest.NewCatalog(ctx, c.cfg.Name, c.cfg.URI,
		icerest.WithAuthManager(bearer{}), icerest.WithCustomTransport(c.trans), icerest.WithWarehouseLocation(c.cfg.Warehouse))
	if err != nil {
		err = mapped(err)
		if errors.Is(err, catalog.ErrNoSuchTable) { // the warehouse, or all of it, is closed to this caller
			err = errors.Join(catalog.ErrRefused, err)
		}
		return nil, err
	}
	s = &session{client: client, born: c.cfg.Now(), ttl: c.cfg.NamesTTL, now: c.cfg.Now, names: map[string]listing{}}
	c.mu.Lock()
	c.sessions.Add(key, s)
	c.mu.Unlock()
	return s, nil
}

// maxNames bounds one caller's kept listings, maxDepth how deep namespaces are followed.
const (
	maxNames = 1000
	maxDepth = 16
)

// listed returns the names under key, from memory unless fresh is set, or else from fetch.
func (s *session) listed(key string, fresh bool, fetch func() ([]string, error)) ([]string, error) {
	s.mu.Lock()
	l, ok := s.names[key]
	s.mu.Unlock()
	if ok && !fresh && s.now().Sub(l.at) < s.ttl {
		return l.names, nil
	}
	names, err := fetch()
	if err != nil {
		if errors.Is(err, catalog.ErrNoSuchTable) {
			return nil, nil
		}
		return nil, err
	}
	slices.Sort(names)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.names) >= maxNames {
		clear(s.names)
	}
	s.names[key] = listing{s.now(), names}
	return names, nil
}

// levels lists the namespaces right below parent. Those with a dot in their own name cannot be written in a statement.
func (s *session) levels(ctx context.Context, parent []string, fresh bool) ([]string, error) {
	return s.listed("n\x00"+strings.Join(parent, "\x00"), fresh, func() ([]string, error) {
		found, err := s.client.ListNamespaces(ctx, parent)
		if err != nil {
			return nil, mapped(err)
		}
		var out []string
		for _, ns := range found {
			if len(ns) == len(parent)+1 && slices.Equal(ns[:len(parent)], parent) && !strings.Contains(ns[len(parent)], ".") {
				out = append(out, ns[len(parent)])
			}
		}
		return out, nil
	})
}

func (s *session) tables(ctx context.Context, ns []string, fresh bool) ([]string, error) {
	return s.listed("t\x00"+strings.Join(ns, "\x00"), fresh, func() ([]string, error) {
		var out []string
		for ident, err := range s.client.ListTables(ctx, ns) {
			if err != nil {
				return nil, mapped(err)
			}
			out = append(out, ident[len(ident)-1])
		}
		return out, nil
	})
}

// resolve finds the canonical names. What is not in the kept listings may be new: the server is asked once more.
func (s *session) resolve(ctx context.Context, schema, name string) ([]string, string, error) {
	for _, fresh := range []bool{false, true} {
		ns, ok, err := s.namespace(ctx, schema, fresh)
		if err != nil {
			return nil, "", err
		}
		if !ok {
			continue
		}
		names, err := s.tables(ctx, ns, fresh)
		if err != nil {
			return nil, "", err
		}
		if canonical, ok := catalog.Match(names, name); ok {
			return ns, canonical, nil
		}
	}
	return nil, "", catalog.ErrNoSuchTable
}

func (s *session) namespace(ctx context.Context, schema string, fresh bool) ([]string, bool, error) {
	var ns []string
	for _, level := range strings.Split(schema, ".") {
		names, err := s.levels(ctx, ns, fresh)
		if err != nil {
			return nil, false, err
		}
		canonical, ok := catalog.Match(names, level)
		if !ok || len(ns) >= maxDepth {
			return nil, false, nil
		}
		ns = append(ns, canonical)
	}
	return ns, true, nil
}

// namespaces lists all namespaces of all depths.
func (s *session) namespaces(ctx context.Context) ([]catalog.Entry, error) {
	var out []catalog.Entry
	var walk func(parent []string) error
	walk = func(parent []string) error {
		names, err := s.levels(ctx, parent, true)
		if err != nil {
			return err
		}
		for _, n := range names {
			ns := append(slices.Clone(parent), n)
			out = append(out, catalog.Entry{Schema: strings.Join(ns, ".")})
			if len(ns) < maxDepth {
				if err := walk(ns); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(nil); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b catalog.Entry) int { return strings.Compare(a.Schema, b.Schema) })
	return out, nil
}

// list lists the tables and views of one namespace.
func (s *session) list(ctx context.Context, schema string) ([]catalog.Entry, error) {
	ns, ok, err := s.namespace(ctx, schema, true)
	if err != nil || !ok {
		return nil, err
	}
	shown := strings.Join(ns, ".")
	names, err := s.tables(ctx, ns, true)
	if err != nil {
		return nil, err
	}
	var out []catalog.Entry
	for _, n := range names {
		out = append(out, catalog.Entry{Schema: shown, Name: n})
	}
	for ident, err := range s.client.ListViews(ctx, ns) {
		if err != nil {
			if err = mapped(err); errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, icerest.ErrEndpointNotSupported) {
				break
			}
			return nil, err
		}
		out = append(out, catalog.Entry{Schema: shown, Name: ident[len(ident)-1], View: true})
	}
	slices.SortFunc(out, func(a, b catalog.Entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
