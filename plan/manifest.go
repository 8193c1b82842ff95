package plan

import (
	iceio "github.com/apache/iceberg-go/io"

	"gatehouse/catalog"
)

// manifestFiles opens manifests and manifest lists.
type manifestFiles struct{ files catalog.Files }

var _ iceio.IO = manifestFiles{}

// Open implements iceberg-go's IO.
func (m manifestFiles) Open(name string) (iceio.File, error) { return m.files.Open(name) }

// Remove implements iceberg-go's IO and always fails.
func (m manifestFiles) Remove(name string) error { return m.files.Remove(name) }
