package classify

import (
	"errors"
	"fmt"
	"testing"
)

// Every part of a statement about filters, masks and tags is read, and nothing else passes for one.
func TestRuleStatements(t *testing.T) {
	for text, want := range map[string]string{
		`CREATE ROW FILTER eu ON c.s.t USING (region = 'EU')`:                                                         `create_row_filter eu on table c.s.t [region = 'EU']`,
		`create or replace row filter eu on t using ((a) = 'x)' AND f(b)) TO ROLE r, USER u EXCEPT ROLE boss, PUBLIC`: `create_row_filter replace eu on table t [(a) = 'x)' AND f(b)] to=role:r,user:u except=role:boss,public:`,
		`CREATE ROW FILTER IF NOT EXISTS "E U" ON t USING ( true ) EXCEPT ROLE boss`:                                  `create_row_filter E U on table t exists [true] except=role:boss`,
		`ALTER ROW FILTER IF EXISTS eu ON t EXCEPT NONE`:                                                              `alter_row_filter eu on table t exists except=none`,
		`ALTER ROW FILTER eu ON t TO PUBLIC`:                                                                          `alter_row_filter eu on table t to=public:`,
		`DROP ROW FILTER IF EXISTS a, b ON t`:                                                                         `drop_row_filter a,b on table t exists`,
		`CREATE MASK m ON t (a, "B") USING (left(value, 4)) PRIORITY -3`:                                              `create_mask m on table t (a,B) [left(value, 4)] priority=-3`,
		`CREATE MASK m ON TAG pii = 'email' USING (gw_hash(value)) TO ROLE analyst`:                                   `create_mask m tag=pii=email [gw_hash(value)] to=role:analyst`,
		`CREATE MASK m ON TAG pii USING (NULL)`:                                                                       `create_mask m tag=pii [NULL]`,
		`CREATE MASK m ON tag (a) USING (NULL)`:                                                                       `create_mask m on table tag (a) [NULL]`,
		`ALTER MASK m ON t USING (NULL) TO USER x FROM ISSUER 'https://i' EXCEPT USER y PRIORITY 2`:                   `alter_mask m on table t [NULL] to=user:x@https://i except=user:y priority=2`,
		`DROP MASK m ON TAG pii = 'email'`:                                                                            `drop_mask m tag=pii=email`,
		`ALTER TABLE t SET TAG cost = 'high', team`:                                                                   `set_tag on table t tags=cost=high,team=`,
		`ALTER TABLE t SET TAGS ('cost' = 'high', 'team')`:                                                            `set_tag on table t tags=cost=high,team=`,
		`ALTER TABLE c.s.t ALTER COLUMN a, b SET TAG pii = 'email'`:                                                   `set_tag on table c.s.t columns=a,b tags=pii=email`,
		`ALTER TABLE t MODIFY COLUMN a UNSET TAG pii, cost`:                                                           `unset_tag on table t columns=a tags=pii=,cost=`,
		`SHOW ROW FILTERS`:                                          `show_row_filters`,
		`SHOW MASKS ON TAG pii`:                                     `show_masks tag=pii`,
		`SHOW TAGS ON t AS OF '2026-01-31'`:                         `show_tags on table t at=2026-01-31`,
		`CREATE ROW FILTER eu ON t`:                                 ``,
		`CREATE ROW FILTER eu ON t USING region = 'EU'`:             ``,
		`CREATE ROW FILTER eu ON t USING ()`:                        ``,
		`CREATE ROW FILTER eu ON t USING (a = (1)`:                  ``,
		`CREATE ROW FILTER eu ON t USING (a = ?)`:                   ``,
		`CREATE ROW FILTER eu ON t USING (a) USING (b)`:             ``,
		`CREATE ROW FILTER eu ON t USING (a) PRIORITY 1`:            ``,
		`CREATE ROW FILTER eu ON t USING (a) TO bob`:                ``,
		`CREATE ROW FILTER eu ON t, u USING (a)`:                    ``,
		`CREATE ROW FILTER eu ON SCHEMA s USING (a)`:                ``,
		`CREATE ROW FILTER eu ON TAG pii USING (a)`:                 ``,
		`CREATE OR REPLACE MASK IF NOT EXISTS m ON t (a) USING (b)`: ``,
		`CREATE MASK m ON t USING (a)`:                              ``,
		`CREATE MASK m ON t (a) USING (b) PRIORITY x`:               ``,
		`CREATE MASK m ON t (a) USING (b); SELECT 1`:                ``,
		`ALTER MASK m ON t`:                                         ``,
		`ALTER TABLE t SET TAG`:                                     ``,
		`ALTER TABLE t SET TAG a = b`:                               ``,
		`ALTER TABLE t UNSET TAG a = 'b'`:                           ``,
		`ALTER TABLE t ADD COLUMN a int`:                            ``,
		`ALTER TABLE t ALTER COLUMN a TYPE bigint`:                  ``,
		`DROP TABLE t`:                                              ``,
		`CREATE TABLE t (a int)`:                                    ``,
		`SHOW ROW FILTERS ON TAG pii`:                               ``,
	} {
		s, err := Parse(text)
		var syntax *SyntaxError
		var unsupported *UnsupportedError
		switch {
		case want == "" && !errors.As(err, &syntax) && !errors.As(err, &unsupported):
			t.Errorf("%s: %v, want a refusal", text, err)
		case want != "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && sayRule(s.Access()) != want:
			t.Errorf("%s: %s, want %s", text, sayRule(s.Access()), want)
		}
	}
}

func sayRule(a *Access) string {
	out := string(a.Action)
	r := a.Rule
	if r == nil {
		r = &Rule{}
	}
	if r.Replace {
		out += " replace"
	}
	for i, n := range r.Names {
		out += []string{" ", ","}[min(i, 1)] + n
	}
	out += say(&Access{Level: a.Level, Objects: a.Objects, Exists: a.Exists, At: a.At})
	list := func(name string, items []string) {
		for i, c := range items {
			out += []string{name, ","}[min(i, 1)] + c
		}
	}
	if len(r.Columns) > 0 {
		list(" (", r.Columns)
		out += ")"
	}
	list(" columns=", a.Columns)
	text := func(t Tag) string {
		if t.Any {
			return t.Key
		}
		return t.Key + "=" + t.Value
	}
	var tags []string
	for _, t := range a.Tags {
		tags = append(tags, text(t))
	}
	list(" tags=", tags)
	if r.Tag != nil {
		out += " tag=" + text(*r.Tag)
	}
	if r.Using != "" {
		out += " [" + r.Using + "]"
	}
	who := func(gs []Grantee) (names []string) {
		for _, g := range gs {
			name := g.Kind + ":" + g.Name
			if g.Issuer != "" {
				name += "@" + g.Issuer
			}
			names = append(names, name)
		}
		return names
	}
	list(" to=", who(r.To))
	list(" except=", who(r.Except))
	if r.Nobody {
		out += " except=none"
	}
	if r.Priority != nil {
		out += fmt.Sprint(" priority=", *r.Priority)
	}
	return out
}
