package ballista

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"gatehouse/executors/executortest"
)

// caseFile has the upper and the lower case of characters as the other executor knows them; the cluster's functions read it.
const caseFile = "engine/governed/src/functions/case.txt"

// TestCase asks the other executor for the case of all characters.
func TestCase(t *testing.T) {
	local := executortest.Zoo(t, inProcess(t))
	var out strings.Builder
	out.WriteString("# The upper (u) and lower (l) case of characters that have another one. Written by: go test ./executors/ballista -run TestCase -update\n")
	const step = 2800
	for from := 128; from <= utf8.MaxRune; from += step {
		rows, err := local.Rows(t.Context(), fmt.Sprintf(`SELECT n, unicode(upper(c)) AS u, unicode(lower(c)) AS l, length(upper(c)) + length(lower(c)) AS k
			FROM (SELECT n, chr(n) AS c FROM (SELECT CAST(row_number() OVER (ORDER BY id) + %d AS INTEGER) AS n FROM spark.v2_many_row_groups) a
			WHERE n < %d AND (n < 55296 OR n > 57343)) b WHERE unicode(upper(c)) <> n OR unicode(lower(c)) <> n OR length(upper(c)) + length(lower(c)) <> 2 ORDER BY n`,
			from-1, min(from+step, utf8.MaxRune+1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r[3] != "2" {
				t.Errorf("character %s has several in the other case", r[0])
			}
			for i, kind := range []string{"u", "l"} {
				if r[i+1] != r[0] {
					fmt.Fprintf(&out, "%s %s %s\n", kind, r[0], r[i+1])
				}
			}
		}
	}
	if *update {
		if err := os.WriteFile(caseFile, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(caseFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != out.String() {
		t.Error(caseFile + " is another one")
	}
}
