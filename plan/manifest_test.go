package plan

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"

	"gatehouse/catalog"
)

// A partition field whose name is not ASCII, as Iceberg's Java library writes it, decodes with its values.
func TestPartitionFieldNames(t *testing.T) {
	c := openZoo(t)
	tbl, err := c.Table(t.Context(), alice, "spark", "v1_plain")
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := tbl.Snapshot.Manifests(manifestFiles{ctx: t.Context(), files: tbl.Files})
	if err != nil {
		t.Fatal(err)
	}
	path, err := tbl.Files.Path(manifests[0].FilePath())
	if err != nil {
		t.Fatal(err)
	}
	original, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if same := asciiNames(original); !bytes.Equal(same, original) {
		t.Error("a plain manifest was changed")
	}
	h, err := readAvroHeader(original)
	if err != nil {
		t.Fatal(err)
	}
	if again := append(h.bytes(), original[h.size:]...); len(again) != len(original) {
		t.Errorf("the head is %d bytes longer than it was", len(again)-len(original))
	}
	for _, name := range []string{"größe", "Ünïcöde_🦆", "1st", "a b", "a-b"} {
		h.meta[avroSchema] = bytes.ReplaceAll(h.meta[avroSchema], []byte(`"region"`), []byte(`"`+name+`"`))
		if !strings.Contains(string(h.meta[avroSchema]), name) {
			t.Fatal("the manifest has no partition field region")
		}
		odd := append(h.bytes(), original[h.size:]...)
		if _, err := iceberg.ReadManifest(manifests[0], bytes.NewReader(odd), true); err == nil {
			t.Logf("%s: iceberg-go decodes it by itself now", name)
		}
		got, err := iceberg.ReadManifest(manifests[0], bytes.NewReader(asciiNames(odd)), true)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, err := iceberg.ReadManifest(manifests[0], bytes.NewReader(original), true)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if partitionKey(0, got[i].DataFile().Partition()) != partitionKey(0, want[i].DataFile().Partition()) {
				t.Errorf("%s: partition %v, want %v", name, got[i].DataFile().Partition(), want[i].DataFile().Partition())
			}
		}
		h.meta[avroSchema] = bytes.ReplaceAll(h.meta[avroSchema], []byte(`"`+name+`"`), []byte(`"region"`))
	}
}

// Whatever a manifest holds, decoding it ends with a result or an error.
func FuzzAvroHeader(f *testing.F) {
	f.Add([]byte("Obj\x01\x02\x16avro.schema\x04{}\x00 0123456789abcdef"))
	f.Add([]byte("Obj\x01\x01\x02"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		asciiNames(data)
		if h, err := readAvroHeader(data); err == nil {
			again, err := readAvroHeader(append(h.bytes(), data[h.size:]...))
			if err != nil || len(again.meta) != len(h.meta) {
				t.Errorf("a head that was read does not come back: %v", err)
			}
		}
	})
}

// A manifest or a file outside of the folders that may be read ends the plan.
func TestFilesOutside(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	tbl, err := c.Table(t.Context(), alice, "spark", "object_layout") // its data lies outside of the table's folder
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.scan(t.Context(), tbl, whole(tbl), nil); err != nil {
		t.Fatal(err)
	}
	narrow := *tbl
	if narrow.Files, err = catalog.NewFiles(filepath.Join("/tmp/gatehouse-testdata", "warehouse")); err != nil {
		t.Fatal(err)
	}
	fresh := newPlanner(t)
	if _, err := fresh.scan(t.Context(), &narrow, whole(&narrow), nil); err == nil {
		t.Error("data outside of the folders was planned")
	}
}
