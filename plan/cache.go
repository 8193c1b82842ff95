package plan

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

// cacheKey names one snapshot as one version of a table's metadata describes it. Whoever gets at it has been allowed, for this
// very statement, to load that version. Manifests that came out of an object store under one scope are for that scope alone.
type cacheKey struct {
	scope                   string
	catalog, uuid, location string
	snapshot                int64
	schema                  int
}

// cache keeps decoded snapshots, bounded by the number of files that they list.
type cache struct {
	mu    sync.Mutex
	lru   *lru.Cache[cacheKey, *snapshot]
	files int
	max   int
}

// maxSnapshots bounds the entries, however few files each lists.
const maxSnapshots = 4096

func newCache(files int) (*cache, error) {
	c := &cache{max: files}
	var err error
	c.lru, err = lru.NewWithEvict(maxSnapshots, func(_ cacheKey, s *snapshot) { c.files -= s.cost() })
	return c, err
}

func (s *snapshot) cost() int { return len(s.data) + len(s.deletes) + 1 }

func (c *cache) get(k cacheKey) (*snapshot, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(k)
}

func (c *cache) put(k cacheKey, s *snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lru.Contains(k) || s.cost() > c.max {
		return
	}
	c.files += s.cost()
	c.lru.Add(k, s)
	for c.files > c.max {
		c.lru.RemoveOldest()
	}
}
