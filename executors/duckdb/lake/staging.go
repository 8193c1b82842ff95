package lake

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// draftRoot stands for the lakehouse's folder in the locations that iceberg-go composes. It treats locations as
// URLs and would write those below a folder with a space, a quote or a percent sign in an escaped form that other
// readers do not take back; finish puts the plain form in their place.
const draftRoot = "file:///lakehouse"

// stagingFS shows the folder that is being built under the name that it will have ("file://" and an absolute path,
// nothing escaped) and under draftRoot. It opens nothing else.
type stagingFS struct{ final, staging string }

var _ iceio.WriteFileIO = stagingFS{}

// uri is the location of a file of the finished lakehouse, as metadata spells it.
func (s stagingFS) uri(elem ...string) string {
	return "file://" + filepath.ToSlash(filepath.Join(append([]string{s.final}, elem...)...))
}

// plain turns a location below draftRoot into the one of the finished lakehouse.
func (s stagingFS) plain(location string) string {
	if rel, ok := strings.CutPrefix(location, draftRoot+"/"); ok {
		return s.uri(rel)
	}
	return location
}

// path is where the file with this location is now.
func (s stagingFS) path(location string) (string, error) {
	rel, ok := strings.CutPrefix(s.plain(location), "file://"+filepath.ToSlash(s.final)+"/")
	if !ok {
		return "", fmt.Errorf("lake: %q is outside of the lakehouse", location)
	}
	return filepath.Join(s.staging, filepath.FromSlash(rel)), nil
}

func (s stagingFS) Open(uri string) (iceio.File, error) {
	p, err := s.path(uri)
	if err != nil {
		return nil, err
	}
	return os.Open(p)
}

func (s stagingFS) Remove(uri string) error {
	p, err := s.path(uri)
	if err != nil {
		return err
	}
	return os.Remove(p)
}

func (s stagingFS) Create(uri string) (iceio.FileWriter, error) {
	p, err := s.path(uri)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return nil, err
	}
	return os.Create(p)
}

func (s stagingFS) WriteFile(uri string, b []byte) error {
	p, err := s.path(uri)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return err
	}
	return os.WriteFile(p, b, 0o644)
}

// draft is the catalog of one table while its history is made: it keeps the metadata in memory only.
type draft struct {
	fs   stagingFS
	name table.Identifier
	meta table.Metadata
}

var _ table.CatalogIO = (*draft)(nil)

func (d *draft) LoadTable(context.Context, table.Identifier) (*table.Table, error) {
	return table.New(d.name, d.meta, "", func(context.Context) (iceio.IO, error) { return d.fs, nil }, d), nil
}

func (d *draft) CommitTable(_ context.Context, _ table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	for _, r := range reqs {
		if err := r.Validate(d.meta); err != nil {
			return nil, "", err
		}
	}
	next, err := table.UpdateTableMetadata(d.meta, updates, "")
	if err != nil {
		return nil, "", err
	}
	d.meta = next
	return next, "", nil
}

// commit runs one transaction.
func (d *draft) commit(ctx context.Context, change func(*table.Transaction) error) error {
	t, err := d.LoadTable(ctx, d.name)
	if err != nil {
		return err
	}
	tx := t.NewTransaction()
	if err := change(tx); err != nil {
		return err
	}
	_, err = tx.Commit(ctx)
	return err
}

// finish writes the table's metadata file and returns its location. The n-th snapshot is dated times[n]: the
// library dates each one now, and a lakehouse for documents and tests needs the same "as of" each time.
func (d *draft) finish(times []time.Time) (string, error) {
	for _, s := range d.meta.Snapshots() {
		if err := d.relocate(s); err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(d.meta)
	if err != nil {
		return "", err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber() // snapshot ids don't fit a float64
	var doc map[string]any
	if err := dec.Decode(&doc); err != nil {
		return "", err
	}
	for _, key := range []string{"snapshots", "snapshot-log"} {
		list, _ := doc[key].([]any)
		if len(list) != len(times) {
			return "", fmt.Errorf("lake: %d entries in %s, %d times", len(list), key, len(times))
		}
		for i, entry := range list {
			s := entry.(map[string]any)
			s["timestamp-ms"] = times[i].UnixMilli()
			if list, ok := s["manifest-list"].(string); ok {
				s["manifest-list"] = d.fs.plain(list)
			}
		}
	}
	doc["location"] = d.fs.plain(d.meta.Location())
	doc["last-updated-ms"] = times[len(times)-1].UnixMilli()
	doc["metadata-log"] = []any{}
	if b, err = json.Marshal(doc); err != nil {
		return "", err
	}
	if _, err := table.ParseMetadataBytes(b); err != nil {
		return "", fmt.Errorf("lake: dated metadata: %w", err)
	}
	loc := d.fs.uri(Namespace, d.name[1], "metadata", "00000-"+uuid.NewString()+".metadata.json")
	return loc, d.fs.WriteFile(loc, b)
}

// relocate rewrites a snapshot's manifest list with the plain locations of the manifests.
func (d *draft) relocate(s table.Snapshot) error {
	old, err := s.Manifests(d.fs)
	if err != nil {
		return err
	}
	var files []iceberg.ManifestFile
	for _, m := range old {
		files = append(files, iceberg.NewManifestFile(m.Version(), d.fs.plain(m.FilePath()), m.Length(), m.PartitionSpecID(), m.SnapshotID()).
			Content(m.ManifestContent()).SequenceNum(m.SequenceNum(), m.MinSequenceNum()).Partitions(m.Partitions()).
			AddedFiles(m.AddedDataFiles()).ExistingFiles(m.ExistingDataFiles()).DeletedFiles(m.DeletedDataFiles()).
			AddedRows(m.AddedRows()).ExistingRows(m.ExistingRows()).DeletedRows(m.DeletedRows()).Build())
	}
	var b bytes.Buffer
	if err := iceberg.WriteManifestList(2, &b, s.SnapshotID, s.ParentSnapshotID, &s.SequenceNumber, 0, files); err != nil {
		return err
	}
	return d.fs.WriteFile(s.ManifestList, b.Bytes())
}
