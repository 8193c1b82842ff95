package plan

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"maps"
	"slices"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// digestVersion starts the payload, so that a change of the encoding can never be mistaken for another payload.
const digestVersion = "gatehouse relation 1"

// PayloadDigest returns the base64url SHA-256, without padding, of all that decides what a relation reads and shows. A task's credential carries
// it, and an executor that computes it anew from what it was given knows that nothing was added, left out or changed.
//
// The payload is a sequence of values in the order of the code below, each of which has one encoding: an integer or a
// boolean is 8 bytes, big endian; a text is its length in bytes and then the bytes; a list or map is its length and then its
// elements, a map's sorted by key; an optional value is 0, or 1 and then the value; an expression is the text of its
// deterministic protobuf encoding, "" if there is none. The values of a computed scan follow all else, if it is one.
func (r *Relation) PayloadDigest() (string, error) {
	p := payload{h: sha256.New()}
	p.text(digestVersion)
	p.text(r.CTE)
	p.relation(r)
	p.scan(&r.Scan)
	if p.err != nil {
		return "", p.err
	}
	return base64.RawURLEncoding.EncodeToString(p.h.Sum(nil)), nil
}

type payload struct {
	h   hash.Hash
	buf [8]byte
	err error
}

func (p *payload) relation(r *Relation) {
	p.text(r.Name.Catalog)
	p.text(r.Name.Schema)
	p.text(r.Name.Table)
	p.num(int64(len(r.Columns)))
	for _, c := range r.Columns {
		p.text(c.Name)
		p.num(int64(c.FieldID))
		p.text(c.Type)
		p.node(c.Mask)
		p.num(int64(len(c.Reads)))
		for _, id := range c.Reads {
			p.num(int64(id))
		}
	}
	p.node(r.Filter)
	p.num(int64(len(r.Pushed)))
	for _, n := range r.Pushed {
		p.node(n)
	}
	p.bool(r.Barrier)
	p.bool(r.Raises)
	p.bool(r.MaskFails)
}

func (p *payload) scan(s *Scan) {
	p.text(s.Catalog)
	p.text(s.Schema)
	p.text(s.Table)
	p.text(s.UUID)
	p.num(s.Snapshot)
	p.num(s.Rows)
	p.num(int64(s.FilesTotal))
	p.num(s.Rough)
	p.fields(s.Fields)
	p.num(int64(len(s.Files)))
	for i := range s.Files {
		p.file(&s.Files[i])
	}
	p.num(int64(len(s.Deletes)))
	for _, d := range s.Deletes {
		p.num(int64(d.Kind))
		p.text(d.Path)
		p.num(d.Size)
		p.num(d.Rows)
		p.num(d.Offset)
		p.num(d.Length)
		p.fields(d.Equality)
	}
	if !s.Computed {
		return
	}
	p.bool(true)
	p.num(int64(len(s.Values)))
	for _, row := range s.Values {
		p.num(int64(len(row)))
		for _, v := range row {
			p.optional(v)
		}
	}
}

func (p *payload) file(f *File) {
	p.text(f.Path)
	p.num(f.Size)
	p.num(f.Rows)
	p.num(f.Seq)
	p.bool(f.FirstRow != nil)
	if f.FirstRow != nil {
		p.num(*f.FirstRow)
	}
	p.num(int64(len(f.Constants)))
	for _, id := range slices.Sorted(maps.Keys(f.Constants)) {
		p.num(int64(id))
		p.optional(f.Constants[id])
	}
	p.bool(f.Mapping != nil)
	p.num(int64(len(f.Mapping)))
	for _, name := range slices.Sorted(maps.Keys(f.Mapping)) {
		p.text(name)
		p.num(int64(f.Mapping[name]))
	}
	p.num(int64(len(f.Deletes)))
	for _, n := range f.Deletes {
		p.num(int64(n))
	}
}

func (p *payload) fields(fs []Field) {
	p.num(int64(len(fs)))
	for _, f := range fs {
		p.num(int64(f.ID))
		p.text(f.Name)
		p.text(f.Type)
		p.optional(f.Default)
		p.bool(f.NaN)
		p.fields(f.Nested)
	}
}

func (p *payload) num(n int64) {
	binary.BigEndian.PutUint64(p.buf[:], uint64(n))
	_, _ = p.h.Write(p.buf[:])
}

func (p *payload) bool(b bool) {
	if b {
		p.num(1)
	} else {
		p.num(0)
	}
}

func (p *payload) text(s string) {
	p.num(int64(len(s)))
	_, _ = p.h.Write([]byte(s))
}

func (p *payload) optional(s *string) {
	p.bool(s != nil)
	if s != nil {
		p.text(*s)
	}
}

func (p *payload) node(n *pgquery.Node) {
	if n == nil {
		p.text("")
		return
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(n)
	if err != nil {
		p.err = err
	}
	p.text(string(b))
}
