package sql

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"gatehouse/catalog"
	"gatehouse/objects"
)

// maxEntries bounds the cached tables, however small their metadata is.
const maxEntries = 1024

// cache keeps parsed tables by metadata file. A catalog's row is read for every statement, and a new version of a table has a new
// metadata file, so an entry is never out of date; it holds nothing that depends on who asked.
type cache struct {
	mu    sync.Mutex
	lru   *lru.Cache[string, cached]
	bytes int
	max   int
}

type cached struct {
	table *catalog.Table
	size  int
}

func newCache(bytes int) (*cache, error) {
	c := &cache{max: bytes}
	var err error
	c.lru, err = lru.NewWithEvict(maxEntries, func(_ string, v cached) { c.bytes -= v.size })
	return c, err
}

// table returns the table of r from the cache, or from load.
func (c *cache) table(ctx context.Context, r row, load func() (*catalog.Table, int, error), files catalog.Files) (*catalog.Table, error) {
	key, err := cacheKey(ctx, r, files)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	v, ok := c.lru.Get(key)
	c.mu.Unlock()
	if ok {
		return v.table, nil
	}
	t, size, err := load()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.lru.Peek(key); ok || size > c.max {
		return t, nil
	}
	c.bytes += size
	c.lru.Add(key, cached{t, size})
	for c.bytes > c.max {
		c.lru.RemoveOldest()
	}
	return t, nil
}

// unique is what most writers put into the name of a metadata file: a UUID, so that no other file ever has it.
var unique = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}[^/]*$`)

// cacheKey has the file's size and time in it, or an object's tag, because a catalog that was thrown away and made anew may use a name again.
// An object whose name cannot come again is not asked about, which would be a way to the store for each table of each statement.
func cacheKey(ctx context.Context, r row, files catalog.Files) (string, error) {
	if objects.IsObject(r.location) {
		if err := files.Check(r.location); err != nil {
			return "", err
		}
		tag := ""
		if !unique.MatchString(r.location) {
			var err error
			if tag, err = files.Tag(ctx, r.location); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%s", files.Scope(), r.key, r.name, r.location, tag), nil
	}
	path, err := files.Path(r.location)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("%w: metadata file: %w", catalog.ErrUnreadable, err)
	}
	return fmt.Sprintf("%s\x00%s\x00%s\x00%d\x00%d", r.key, r.name, r.location, info.Size(), info.ModTime().UnixNano()), nil
}
