package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
)

// person is one of the example users with what the example policy lets them see.
type person struct {
	name string
	want map[string]string // statement → regular expression of the whole answer
}

// The statements that every real client runs as every user. Each refusal of one user has its control in another.
const (
	countRegions = `SELECT region, count(*) > 0 AS some FROM customers GROUP BY region ORDER BY region`
	maskedRow    = `SELECT tax_id, email, phone, extract(month FROM birth_date) AS m, extract(day FROM birth_date) AS d FROM customers WHERE region = 'EU' ORDER BY id LIMIT 1`
	byMasked     = `SELECT count(*) AS n FROM customers WHERE tax_id LIKE '9%'`
	creditLimit  = `SELECT count(credit_limit) > 0 AS some FROM customers`
	salary       = `SELECT max(salary) > 0 AS some FROM employees`
	allEmployees = `SELECT * FROM employees ORDER BY id LIMIT 1`
	payroll      = `SELECT count(*) AS n FROM payroll`
	absent       = `SELECT count(*) AS n FROM nothing`
	newest       = `SELECT CAST(max(order_date) AS VARCHAR) AS newest, CAST(min(order_date) AS VARCHAR) AS oldest FROM orders`
	hashJoins    = `SELECT count(*) AS n FROM customers a JOIN customers b ON a.email = b.email WHERE a.id < 200 AND b.id < 200 AND a.id = b.id`
	hideRows     = `CREATE ROW FILTER IF NOT EXISTS whole ON products USING (true) EXCEPT USER nobody`
	bigAnswer    = `SELECT id, customer_id, total FROM orders`
)

var persons = []person{
	{"alice", map[string]string{
		countRegions: `EU\|true`,
		maskedRow:    `\*\*\*-\*\*-\d{4}\|[0-9a-f]{64}\|NULL\|1\|1`,
		byMasked:     `0`,
		creditLimit:  `true`,
		salary:       `error: .*column "salary" does not exist.*`,
		allEmployees: `\d+\|[^|]+\|[^|]+\|[^|]+\|[^|]+\|[^|]+`,
		payroll:      `error: .*table "payroll" does not exist.*`,
		absent:       `error: .*table "nothing" does not exist.*`,
		newest:       `2025-06-30\|20\d\d-\d\d-\d\d`,
		hideRows:     `error: .*access denied to CREATE ROW FILTER.*`,
	}},
	{"bob", map[string]string{
		countRegions: "APAC\\|true\nEU\\|true\nUS\\|true",
		maskedRow:    `NULL\|[^|@]+@example\.[a-z]+\|[^|]+\|\d+\|\d+`,
		byMasked:     `0`,
		creditLimit:  `false`,
		salary:       `error: .*table "employees" does not exist.*`,
		allEmployees: `error: .*table "employees" does not exist.*`,
		payroll:      `error: .*table "payroll" does not exist.*`,
		absent:       `error: .*table "nothing" does not exist.*`,
		newest:       `2025-06-30\|2025-04-0[12]`,
		hideRows:     `error: .*access denied to CREATE ROW FILTER.*`,
	}},
	{"admin", map[string]string{
		countRegions: "APAC\\|true\nEU\\|true\nUS\\|true",
		maskedRow:    `9\d\d-\d\d-\d{4}\|[^|@]+@example\.[a-z]+\|[^|]+\|\d+\|\d+`,
		byMasked:     `200000`,
		creditLimit:  `true`,
		salary:       `true`,
		allEmployees: `\d+\|[^|]+\|[^|]+\|[^|]+\|[^|]+\|[^|]+\|[^|]+`,
		payroll:      `6000`,
		absent:       `error: .*table "nothing" does not exist.*`,
		newest:       `2025-06-30\|20\d\d-\d\d-\d\d`,
		hideRows:     ``,
	}},
}

// Every real client sees, as each user, exactly what the policy lets them see.
func TestClients(t *testing.T) {
	s := demoServer(t)
	t.Cleanup(func() {
		_, _ = ask(context.Background(), s.flight, "admin", "admin", `DROP ROW FILTER IF EXISTS whole ON products`)
	})
	for _, c := range clients() {
		for _, p := range persons {
			t.Run(c.name+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				var texts []string
				var ss []statement
				for sql := range p.want { // one login for all
					texts = append(texts, sql)
					ss = append(ss, statement{SQL: sql})
				}
				answers := c.run(t, s.flight, p.name, p.name, ss)
				if len(answers) != len(ss) {
					t.Fatalf("%d answers to %d statements", len(answers), len(ss))
				}
				for i, a := range answers {
					want := regexp.MustCompile(`(?s)\A(?:` + p.want[texts[i]] + `)\z`)
					if got := strings.NewReplacer("True", "true", "False", "false").Replace(a.text()); !want.MatchString(got) {
						t.Errorf("%s\n got %.400s\nwant %s", texts[i], got, p.want[texts[i]])
					}
				}
			})
		}
	}
}

// A million rows come whole, through batches and back-pressure, to every client that reads rows as a table.
func TestClientsLargeResult(t *testing.T) {
	s := demoServer(t)
	a := pythonClient(t, s.flight, "admin", "admin", []statement{{SQL: bigAnswer}, {SQL: "SELECT count(*), sum(total), sum(id) FROM orders"}})
	if a[0].Error != "" || a[1].Error != "" {
		t.Fatal(a[0].Error, a[1].Error)
	}
	if len(a[0].Rows) != 1_000_000 || *a[1].Rows[0][0] != "1000000" {
		t.Errorf("%d rows came, and the count is %s, want 1000000", len(a[0].Rows), *a[1].Rows[0][0])
	}
}

// A wrong password is the same refusal for a user who exists and for one who does not.
func TestClientsLogin(t *testing.T) {
	s := demoServer(t)
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			known := c.run(t, s.flight, "alice", "wrong", []statement{{SQL: "SELECT 1"}})
			unknown := c.run(t, s.flight, "mallory", "wrong", []statement{{SQL: "SELECT 1"}})
			if known[0].Error == "" || known[0].Error != unknown[0].Error {
				t.Errorf("known user: %q, unknown user: %q, want one refusal", known[0].Error, unknown[0].Error)
			}
		})
	}
}

// Bound parameters, with the drivers that bind.
func TestClientsParameters(t *testing.T) {
	s := demoServer(t)
	q := statement{SQL: "SELECT count(*) AS n FROM customers WHERE region = ? AND id <= ?", Params: []any{"US", 1000}}
	for _, c := range clients()[:2] {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// A parameter that is a column by itself is text.
			if got := c.run(t, s.flight, "alice", "alice", []statement{{SQL: "SELECT ? AS x", Params: []any{"abcdefghijkl"}}})[0].text(); got != "abcdefghijkl" {
				t.Errorf("SELECT ? gives %q", got)
			}
			alice, admin := c.run(t, s.flight, "alice", "alice", []statement{q})[0].text(), c.run(t, s.flight, "admin", "admin", []statement{q})[0].text()
			if alice != "0" || admin == "0" || strings.HasPrefix(admin, "error") {
				t.Errorf("alice %q, admin %q, want 0 and more than 0", alice, admin)
			}
		})
	}
}

// Metadata calls show what queries find, and nothing more.
func TestClientsMetadata(t *testing.T) {
	s := demoServer(t)
	hidden := map[string][]string{"alice": {"payroll", "salary"}, "bob": {"payroll", "employees", "order_items"}, "admin": {}}
	for user, words := range hidden {
		t.Run("adbc/"+user, func(t *testing.T) {
			t.Parallel()
			got := pythonClient(t, s.flight, user, user, []statement{{Call: "objects"}})[0].text()
			checkWords(t, got, words)
		})
		t.Run("jdbc/"+user, func(t *testing.T) {
			t.Parallel()
			for _, a := range javaClient(t, s.flight, user, user, []statement{{Call: "tables"}, {Call: "columns"}}) {
				if a.Error != "" {
					t.Fatal(a.Error)
				}
				checkWords(t, a.text(), words)
			}
		})
	}
}

func checkWords(t *testing.T, text string, hidden []string) {
	t.Helper()
	if !strings.Contains(text, "customers") || !strings.Contains(text, "products") {
		t.Errorf("customers and products are missing in %.300s", text)
	}
	for _, w := range hidden {
		if strings.Contains(text, w) {
			t.Errorf("the metadata names %q", w)
		}
	}
	if len(hidden) == 0 && !strings.Contains(text, "payroll") {
		t.Errorf("the control lacks payroll: %.300s", text)
	}
}

// The JDBC driver cannot read instants, so it gets the wall clock in UTC; others get instants; the setting decides for both.
func TestClientsInstants(t *testing.T) {
	s := demoServer(t)
	const (
		sql  = `SELECT TIMESTAMPTZ '2024-02-29 12:34:56.789012+02' AS at`
		wall = "2024-02-29 10:34:56.789012"
	)
	t.Run("jdbc", func(t *testing.T) {
		t.Parallel()
		got := javaClient(t, s.flight, "alice", "alice", []statement{
			{SQL: "SELECT signed_up_at FROM customers ORDER BY id LIMIT 1"}, {SQL: sql}, {SQL: "SET timestamptz = 'instant'"}, {SQL: sql},
		})
		if got[0].Error != "" || got[1].text() != wall {
			t.Errorf("signed_up_at %q, literal %q, want no error and %s", got[0].text(), got[1].text(), wall)
		}
		if got[3].Error == "" { // if the driver learns it, the default can go
			t.Errorf("the driver reads an instant now: %s", got[3].text())
		}
	})
	t.Run("adbc", func(t *testing.T) {
		t.Parallel()
		got := pythonClient(t, s.flight, "alice", "alice", []statement{{SQL: sql}, {SQL: "SET timestamptz = 'utc'"}, {SQL: sql}})
		if got[0].text() != wall+"+00:00" || got[2].text() != wall {
			t.Errorf("instant %q, wall clock %q", got[0].text(), got[2].text())
		}
	})
}
