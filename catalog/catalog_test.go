package catalog_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"

	"gatehouse/catalog"
)

func TestSQLType(t *testing.T) {
	prim := iceberg.PrimitiveTypes
	field := func(name string, ty iceberg.Type) iceberg.NestedField {
		return iceberg.NestedField{ID: 9, Name: name, Type: ty}
	}
	for _, c := range []struct {
		t    iceberg.Type
		want string // "": unreadable
	}{
		{prim.Bool, "BOOLEAN"},
		{prim.Int32, "INTEGER"},
		{prim.Int64, "BIGINT"},
		{prim.Float32, "FLOAT"},
		{prim.Float64, "DOUBLE"},
		{prim.Date, "DATE"},
		{prim.Time, "TIME"},
		{prim.Timestamp, "TIMESTAMP"},
		{prim.TimestampTz, "TIMESTAMP WITH TIME ZONE"},
		{prim.TimestampNs, "TIMESTAMP_NS"},
		{prim.TimestampTzNs, ""},
		{prim.String, "VARCHAR"},
		{prim.UUID, "UUID"},
		{prim.Binary, "BLOB"},
		{iceberg.FixedTypeOf(5), "BLOB"},
		{iceberg.DecimalTypeOf(38, 10), "DECIMAL(38,10)"},
		{iceberg.UnknownType{}, ""},
		{iceberg.VariantType{}, ""},
		{&iceberg.ListType{Element: prim.Int32}, "INTEGER[]"},
		{&iceberg.ListType{Element: &iceberg.ListType{Element: prim.String}}, "VARCHAR[][]"},
		{&iceberg.ListType{Element: iceberg.VariantType{}}, ""},
		{&iceberg.MapType{KeyType: prim.String, ValueType: prim.Date}, "MAP(VARCHAR, DATE)"},
		{&iceberg.StructType{FieldList: []iceberg.NestedField{field("a b", prim.Int32), field(`q"`, prim.UUID)}}, `STRUCT("a b" INTEGER, "q""" UUID)`},
		{&iceberg.StructType{}, ""},
	} {
		got, err := catalog.SQLType(c.t)
		if got != c.want || (c.want == "") != errors.Is(err, catalog.ErrUnreadable) {
			t.Errorf("%v: got %q, %v, want %q", c.t, got, err, c.want)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
		got   string
		ok    bool
	}{
		{[]string{"a", "A"}, "a", "a", true},
		{[]string{"a", "A"}, "A", "A", true},
		{[]string{"Abc"}, "aBC", "Abc", true},
		{[]string{"aa", "AA"}, "aA", "", false},
		{[]string{"a"}, "b", "", false},
		{nil, "", "", false},
		{[]string{"ÜBER"}, "über", "ÜBER", true},
	} {
		if got, ok := catalog.Match(c.names, c.want); ok != c.ok || ok && got != c.got {
			t.Errorf("%q in %q: got %q, %v", c.want, c.names, got, ok)
		}
	}
}

// Locations are taken literally, and none leaves the roots.
func TestFiles(t *testing.T) {
	root := t.TempDir()
	odd := "region=n%2Fa b[1]?#ü"
	if err := os.Mkdir(filepath.Join(root, odd), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, odd, "f"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	files, err := catalog.NewFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"", "file:", "file://", "file://localhost"} {
		data, err := files.ReadFile(t.Context(), prefix+root+"/"+odd+"/f")
		if err != nil || string(data) != "x" {
			t.Errorf("%q: %v", prefix, err)
		}
	}
	for _, location := range []string{
		"", "f", "file:f", "file://host" + root + "/f", "s3://bucket/f", "s3:" + root + "/f", "http://x/f", "FILE:" + root, root + "x/f", "/etc/passwd",
		root + "/../f", root + "/a/../f", root + "/..", "/", root + "/\x00f", "file:" + "//" + "/etc/passwd", "file:../etc/passwd",
	} {
		if path, err := files.Path(location); !errors.Is(err, catalog.ErrUnreadable) || errors.Is(err, catalog.ErrOutside) && !strings.Contains(err.Error(), location) {
			t.Errorf("%q is %q, %v", location, path, err)
		}
	}
	var none catalog.Files
	if _, err := none.Path(root + "/f"); !errors.Is(err, catalog.ErrUnreadable) {
		t.Errorf("the zero value reads: %v", err)
	}
	io, err := files.IO(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := io.Remove(root + "/" + odd + "/f"); !errors.Is(err, os.ErrPermission) {
		t.Errorf("removed: %v", err)
	}
	if _, err := files.ReadFile(t.Context(), root); err == nil {
		t.Error("a folder was read")
	}
}

// Bad metadata is an error that names no content, never a panic.
func TestReadMetadata(t *testing.T) {
	root := t.TempDir()
	files, err := catalog.NewFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write([]byte(`{"format-version":99}`))
	_ = w.Close()
	for name, data := range map[string][]byte{
		"empty": {}, "text": []byte("hello"), "null": []byte("null"), "list": []byte("[]"), "object": []byte("{}"),
		"version": []byte(`{"format-version":4}`), "cut gzip": zipped.Bytes()[:15], "gzip": zipped.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(root, "m"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := files.ReadMetadata(t.Context(), root+"/m"); !errors.Is(err, catalog.ErrUnreadable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := files.ReadMetadata(t.Context(), root+"/none"); !errors.Is(err, catalog.ErrUnreadable) {
		t.Errorf("a missing file: %v", err)
	}
}
