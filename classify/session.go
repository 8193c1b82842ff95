package classify

import "strings"

// session parses the statements that we answer ourselves. It returns nil and no error if toks is none of them.
func session(text string, toks []token) (*Statement, error) {
	first := toks[0]
	if first.kind != tokWord {
		return nil, nil
	}
	word := strings.ToUpper(first.text)
	if refused[word] {
		return nil, &UnsupportedError{Construct: word, Pos: first.pos}
	}
	return nil, nil
}

// refused are first words of statements that write, or act on an engine.
var refused = map[string]bool{
	"INSERT": true, "UPDATE": true, "DELETE": true, "MERGE": true, "UPSERT": true, "REPLACE": true, "CREATE": true, "DROP": true,
	"ALTER": true, "TRUNCATE": true, "COPY": true, "EXPORT": true, "IMPORT": true, "ATTACH": true, "DETACH": true, "INSTALL": true,
	"LOAD": true, "PRAGMA": true, "CALL": true, "EXECUTE": true, "PREPARE": true, "DEALLOCATE": true, "DO": true, "VACUUM": true,
	"ANALYZE": true, "CHECKPOINT": true, "FORCE": true, "GRANT": true, "REVOKE": true, "LOCK": true, "DECLARE": true, "FETCH": true, "MOVE": true,
	"CLOSE": true, "COMMENT": true, "REFRESH": true, "SUMMARIZE": true, "SAVEPOINT": true, "RELEASE": true, "LISTEN": true, "NOTIFY": true,
	"UNLISTEN": true, "DISCARD": true, "REINDEX": true, "CLUSTER": true, "SECURITY": true, "REASSIGN": true, "OPTIMIZE": true,
}
