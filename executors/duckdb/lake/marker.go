package lake

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// version changes with the tables or values, so that an older example is written anew.
const version = 1

// markerFile is written first with whole = false and last with whole = true.
const markerFile = "gatehouse-lake.json"

type marker struct {
	Note    string           `json:"note"`
	Version int              `json:"version"`
	Dir     string           `json:"dir"` // where Iceberg's metadata expects the folder
	Whole   bool             `json:"whole"`
	Files   map[string]int64 `json:"files,omitempty"` // slash-separated relative name to size in bytes
}

func readMarker(dir string) (marker, error) {
	var m marker
	b, err := os.ReadFile(filepath.Join(dir, markerFile))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("%w: %s cannot be read: %w", ErrDamaged, markerFile, err)
	}
	return m, nil
}

// writeMarker writes the marker of a lakehouse that is now in staging and belongs in dir.
func writeMarker(staging, dir string, whole bool) error {
	m := marker{
		Note:    "The example lakehouse of gatehouse; it may be deleted at any time and is written anew.",
		Version: version, Dir: dir, Whole: whole,
	}
	if whole {
		m.Files = map[string]int64{}
		err := filepath.WalkDir(staging, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == markerFile {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(staging, name)
			m.Files[filepath.ToSlash(rel)] = info.Size()
			return err
		})
		if err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(staging, markerFile), append(b, '\n'), 0o644)
}
