package grants_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder is a folder of one property case, which has no TempDir of its own.
type folder struct{ path string }

func tempDir() (folder, error) {
	dir, err := os.MkdirTemp("", "gatehouse-grants-")
	return folder{dir}, err
}

func (f folder) remove() { _ = os.RemoveAll(f.path) }
