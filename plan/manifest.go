package plan

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	iceio "github.com/apache/iceberg-go/io"

	"gatehouse/catalog"
)

// manifestFiles opens manifests and manifest lists, so that iceberg-go can decode them. It lives as long as one call with its context, for
// which iceberg-go's interface has no place.
type manifestFiles struct {
	ctx   context.Context
	files catalog.Files
	ahead *ahead // nil if nothing is read ahead
}

var _ iceio.IO = manifestFiles{}

// Open implements iceberg-go's IO. It reads the whole file, which is a manifest, and never data.
func (m manifestFiles) Open(name string) (iceio.File, error) {
	data, err := m.read(name)
	if err != nil {
		return nil, err
	}
	return &memoryFile{Reader: bytes.NewReader(asciiNames(data)), name: name}, nil
}

func (m manifestFiles) read(name string) ([]byte, error) {
	if m.ahead != nil {
		if data, ok, err := m.ahead.take(m.ctx, name); ok {
			return data, err
		}
	}
	return m.files.ReadFile(m.ctx, name)
}

// Remove implements iceberg-go's IO and always fails.
func (manifestFiles) Remove(name string) error {
	return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrPermission}
}

// memoryFile is a file that was read.
type memoryFile struct {
	*bytes.Reader
	name string
}

func (f *memoryFile) Close() error               { return nil }
func (f *memoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *memoryFile) Name() string               { return f.name }
func (f *memoryFile) Mode() fs.FileMode          { return 0o444 }
func (f *memoryFile) ModTime() time.Time         { return time.Time{} }
func (f *memoryFile) IsDir() bool                { return false }
func (f *memoryFile) Sys() any                   { return nil }

// asciiNames returns an Avro file whose schema has only names that Avro's specification allows. A manifest's schema has the table's
// partition fields in it, and Iceberg's Java library keeps letters such as "ö" in their names, which the Avro library of iceberg-go v0.7.0
// refuses. Iceberg goes by field ids, so that the names do not matter. A file without such names comes back as it is.
func asciiNames(data []byte) []byte {
	h, err := readAvroHeader(data)
	if err != nil {
		return data // the decoder will say what is wrong
	}
	var schema any
	decoder := json.NewDecoder(bytes.NewReader(h.meta[avroSchema]))
	decoder.UseNumber()
	if decoder.Decode(&schema) != nil || !renameFields(schema) {
		return data
	}
	if h.meta[avroSchema], err = json.Marshal(schema); err != nil {
		return data
	}
	return append(h.bytes(), data[h.size:]...)
}

// renameFields gives every record field with a name that Avro does not allow the name "f" and its code points, and reports whether there
// was one.
func renameFields(schema any) bool {
	found := false
	switch s := schema.(type) {
	case []any:
		for _, x := range s {
			found = renameFields(x) || found
		}
	case map[string]any:
		for _, x := range s {
			found = renameFields(x) || found
		}
		fields, _ := s["fields"].([]any)
		for _, f := range fields {
			field, _ := f.(map[string]any)
			name, _ := field["name"].(string)
			if name != "" && !isAvroName(name) {
				field["name"] = fmt.Sprintf("f_%x", name)
				found = true
			}
		}
	}
	return found
}

func isAvroName(s string) bool {
	for i, c := range s {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

const (
	avroMagic  = "Obj\x01"
	avroSchema = "avro.schema"
)

// avroHeader is the head of an Avro object container file: magic, metadata, sync marker.
type avroHeader struct {
	meta map[string][]byte
	keys []string
	sync []byte
	size int // bytes of the head in the file
}

var errAvro = errors.New("not an Avro file")

func readAvroHeader(data []byte) (avroHeader, error) {
	h := avroHeader{meta: map[string][]byte{}}
	if !bytes.HasPrefix(data, []byte(avroMagic)) {
		return h, errAvro
	}
	r := avroReader{data: data, at: len(avroMagic)}
	for {
		count := r.long()
		if count == 0 || r.bad {
			break
		}
		if count < 0 { // then the block's size in bytes follows
			count = -count
			r.long()
		}
		for ; count > 0 && !r.bad; count-- {
			key := string(r.bytes())
			h.keys = append(h.keys, key)
			h.meta[key] = r.bytes()
		}
	}
	h.sync = r.take(16)
	h.size = r.at
	if r.bad || len(h.keys) != len(h.meta) {
		return h, errAvro
	}
	return h, nil
}

// bytes encodes the head anew.
func (h avroHeader) bytes() []byte {
	out := []byte(avroMagic)
	out = binary.AppendVarint(out, int64(len(h.keys))) // Avro's long is Go's zigzag varint
	for _, k := range h.keys {
		out = append(binary.AppendVarint(out, int64(len(k))), k...)
		out = append(binary.AppendVarint(out, int64(len(h.meta[k]))), h.meta[k]...)
	}
	out = binary.AppendVarint(out, 0)
	return append(out, h.sync...)
}

type avroReader struct {
	data []byte
	at   int
	bad  bool
}

func (r *avroReader) long() int64 {
	v, n := binary.Varint(r.data[r.at:])
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.at += n
	return v
}

func (r *avroReader) take(n int64) []byte {
	if r.bad || n < 0 || n > int64(len(r.data)-r.at) {
		r.bad = true
		return nil
	}
	out := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return out
}

func (r *avroReader) bytes() []byte { return r.take(r.long()) }
