package classify

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// hostile are texts that end the process, take minutes or are cut silently when they reach the C parser as they are.
var hostile = map[string]string{
	"additions":            "SELECT 1" + strings.Repeat("+1", 100_000),
	"additions below 1MiB": "SELECT 1" + strings.Repeat("+1", 24_000),
	"casts":                "SELECT 1" + strings.Repeat("::int", 30_000),
	"unions":               "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 50_000),
	"joins":                "SELECT 1 FROM t" + strings.Repeat(" CROSS JOIN t", 30_000),
	"is null":              "SELECT 1" + strings.Repeat(" IS NULL", 30_000),
	"collate":              "SELECT a" + strings.Repeat(` COLLATE "C"`, 30_000),
	"time zones":           "SELECT a" + strings.Repeat(" AT TIME ZONE b", 15_000),
	"subscripts":           "SELECT a" + strings.Repeat("[1]", 30_000),
	"signs":                "SELECT " + strings.Repeat("- ", 30_000) + "a",
	"parentheses":          "SELECT " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000),
	"lists":                "SELECT " + strings.Repeat("[", 5_000) + "1" + strings.Repeat("]", 5_000),
	"structs":              "SELECT " + strings.Repeat("{a: ", 5_000) + "1" + strings.Repeat("}", 5_000),
	"subselects":           "SELECT " + strings.Repeat("(SELECT ", 10_000) + "1" + strings.Repeat(")", 10_000),
	"nots":                 "SELECT " + strings.Repeat("NOT ", 50_000) + "a",
	"comments":             "SELECT " + strings.Repeat("/*", 80_000) + "1" + strings.Repeat("*/", 80_000),
	"cases":                "SELECT " + strings.Repeat("CASE WHEN a THEN ", 6_000) + "1" + strings.Repeat(" END", 6_000),
	"from first":           strings.Repeat("FROM (", 350) + "FROM t" + strings.Repeat(")", 350),
	"lambdas":              "SELECT " + strings.Repeat("list_filter(l, x -> ", 390) + "1" + strings.Repeat(")", 390),
	"intervals":            "SELECT " + strings.Repeat("INTERVAL (", 390) + "1" + strings.Repeat(") DAY", 390),
	"long":                 "SELECT '" + strings.Repeat("x", 2<<20) + "'",
	"nul":                  "SELECT 1\x00; DROP TABLE t",
	"nul in a string":      "SELECT '\x00'",
	"utf8":                 "SELECT '\xff'",
	"utf8 in a comment":    "SELECT 1 /* \xff */",
	"bom":                  "\ufeffSELECT 1",
	"parameter":            "SELECT $99999999999999999999",
	"escaped nul":          `SELECT E'\000'`,
	"bad escape":           `SELECT E'\u12'`,
	"surrogate":            `SELECT E'\ud800'`,
}

// TestHostileText parses each text in a process of its own: what the guard lets through must not end that process.
func TestHostileText(t *testing.T) {
	if name := os.Getenv("GATEHOUSE_HOSTILE"); name != "" {
		parseHostile(t, hostile[name])
		return
	}
	for name := range hostile {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestHostileText$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), "GATEHOUSE_HOSTILE="+name)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%.2000s", err, out)
			}
		})
	}
}

// parseHostile wants an error of ours, or a statement for the texts that are merely large.
func parseHostile(t *testing.T, text string) {
	_, err := Parse(text)
	if err != nil {
		wantOurError(t, text, err)
	}
}

func wantOurError(t *testing.T, text string, err error) {
	t.Helper()
	var syntax *SyntaxError
	var unsupported *UnsupportedError
	var name *NameError
	pos := -1
	switch {
	case errors.As(err, &syntax):
		pos = syntax.Pos
	case errors.As(err, &unsupported):
		pos = unsupported.Pos
	case errors.As(err, &name):
		pos = name.Pos
	default:
		t.Errorf("an error of type %T: %v", err, err)
	}
	if pos < -1 || pos > len(text) {
		t.Errorf("position %d of %d", pos, len(text))
	}
}

// TestGuardIsNeeded is the control of TestHostileText: without the guard the C parser does end the process.
func TestGuardIsNeeded(t *testing.T) {
	if os.Getenv("GATEHOUSE_CONTROL") != "" {
		_, _ = pgquery.Parse(hostile["additions"])
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestGuardIsNeeded$")
	cmd.Env = append(os.Environ(), "GATEHOUSE_CONTROL=1")
	if cmd.Run() == nil {
		t.Error("100,000 additions no longer end the process: the guard's limits can be reconsidered")
	}
}

// TestLongListsPass is the other control: what is long but flat is served.
func TestLongListsPass(t *testing.T) {
	for name, text := range map[string]string{
		"in list":    "SELECT a FROM t WHERE b IN (1" + strings.Repeat(", 12345", 50_000) + ")",
		"conditions": "SELECT a FROM t WHERE a = 1" + strings.Repeat(" OR a = 1", 3_000),
		"unions":     "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 400),
		"additions":  "SELECT 1" + strings.Repeat("+1", 800),
		"identifier": "SELECT " + strings.Repeat("a", 63),
	} {
		if _, err := Parse(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
