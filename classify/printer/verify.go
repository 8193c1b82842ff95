package printer

import (
	"errors"
	"fmt"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/classify"
)

// ErrNotTheSame says that printed text, read again, is not the tree that it was printed from.
var ErrNotTheSame = errors.New("printed text does not read back as its tree")

// Verify reads text, which PrintSelect wrote from sel in the DuckDB dialect, again and compares the trees. The compare is
// made by the parser of user text, which shares no code with the printer; an engine's own reading of the text is for
// its plan check.
func Verify(sel *pgquery.SelectStmt, text string) error {
	again, err := classify.Reparse(text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotTheSame, err)
	}
	if !classify.EqualTrees(sel, again) {
		return ErrNotTheSame
	}
	return nil
}
