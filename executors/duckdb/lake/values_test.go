package lake

import "testing"

// TestValues asks the engine whether the values have the shape that documents and examples rely on.
func TestValues(t *testing.T) {
	b := &builder{fs: stagingFS{staging: t.TempDir()}, progress: func(string, float64) {}, scale: scale{200_600, 1_000_000, 500}}
	checks := []struct{ name, query string }{
		{"newest order", "SELECT max(order_date) = DATE '2025-06-30' AND min(order_date) = DATE '2023-01-01' FROM orders"},
		{"orders on each day", "SELECT count(DISTINCT order_date) = 912 FROM orders"},
		{"regions", "SELECT count(*) = 3 AND min(n) > 30000 FROM (SELECT region, count(*) AS n FROM customers WHERE region IN ('EU', 'US', 'APAC') GROUP BY 1)"},
		{"a country is in one region", "SELECT count(*) = 0 FROM (SELECT country FROM customers GROUP BY 1 HAVING count(DISTINCT region) > 1)"},
		{"keys", "SELECT count(DISTINCT id) = 200600 AND count(DISTINCT email) = 200600 AND count(DISTINCT tax_id) = 200600 FROM customers"},
		{"emails go nowhere", "SELECT bool_and(regexp_full_match(email, '[a-z]+[.][a-z]+[0-9]+@example[.](com|org|net)')) FROM customers"},
		{"emails of employees", "SELECT bool_and(regexp_full_match(email, '[a-z]+[.][a-z]+[.][0-9]+@example[.]org')) FROM employees"},
		{"tax ids were never given out", "SELECT bool_and(regexp_full_match(tax_id, '9[0-9]{2}-(0[1-9]|[1-4][0-9])-[0-9]{4}')) FROM customers"},
		{"phones are fiction", `SELECT bool_and(regexp_full_match(phone, '[+]1-[0-9]{3}-555-01[0-9]{2}|[+]49 30 23125 [0-9]{3}|[+]33 6 39 98 [0-9]{2} [0-9]{2}|[+]353 20 91[0-9] [0-9]{4}|[+]46 70 174 06 [0-9]{2}|[+]61 2 5550 [0-9]{4}|[+]999 [0-9]{2} 555 [0-9]{4}')) FROM customers`},
		{"grown-ups of all ages", "SELECT min(birth_date) BETWEEN DATE '1938-01-01' AND DATE '1942-01-01' AND max(birth_date) BETWEEN DATE '2005-01-01' AND DATE '2007-07-01' FROM customers"},
		{"limits by region", "SELECT avg(credit_limit) FILTER (region = 'US') > 1.2 * avg(credit_limit) FILTER (region = 'APAC') FROM customers"},
		{"limits are skewed", "SELECT median(credit_limit) < 0.7 * avg(credit_limit) AND max(credit_limit) < 1000000000 FROM customers"},
		{"notes are rare", "SELECT count(note) BETWEEN 25000 AND 45000 AND count(DISTINCT note) = 12 FROM customers"},
		{"nobody orders before joining", "SELECT count(*) = 0 FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.signed_up_at::DATE > o.order_date"},
		{"no orders of erased customers", "SELECT count(*) = 0 FROM orders WHERE erased(customer_id)"},
		{"an order's region is its customer's", "SELECT bool_and(c.region = o.region) AND count(*) = 1000000 FROM orders o JOIN customers c ON c.id = o.customer_id"},
		{"an item's region is its order's", "SELECT bool_and(i.region = o.region) AND count(*) = 2500000 FROM orders o JOIN order_items i ON o.id = i.order_id"},
		{"totals add up", "SELECT sum(total) = (SELECT sum(quantity * price) FROM order_items) FROM orders"},
		{"heavy buyers", "SELECT max(n) BETWEEN 100 AND 1000 AND count(*) > 150000 FROM (SELECT count(*) AS n FROM orders GROUP BY customer_id)"},
		{"December beats February", "SELECT count(*) FILTER (month(order_date) = 12) > 1.5 * count(*) FILTER (month(order_date) = 2) FROM orders WHERE year(order_date) = 2024"},
		{"growth", "SELECT count(*) FILTER (order_date >= DATE '2025-01-01') > 1.1 * count(*) FILTER (order_date < DATE '2024-07-01') FROM orders WHERE month(order_date) < 7 AND year(order_date) > 2023"},
		{"toys for Christmas", "SELECT avg((category = 'Toys')::INT) FILTER (month(order_date) = 12) > 1.5 * avg((category = 'Toys')::INT) FILTER (month(order_date) = 2) FROM order_items JOIN products ON product_id = id"},
		{"open orders are new", "SELECT min(order_date) >= DATE '2025-06-25' AND count(*) > 1000 FROM orders WHERE status = 'open'"},
		{"all statuses", "SELECT count(DISTINCT status) = 5 FROM orders"},
		{"best sellers", "SELECT max(n) > 3 * median(n) AND count(*) = 1000 FROM (SELECT count(*) AS n FROM order_items GROUP BY product_id)"},
		{"product names", "SELECT count(DISTINCT name) = 1000 AND count(DISTINCT category) = 12 FROM products"},
		{"one boss", "SELECT count(*) FILTER (manager_id IS NULL) = 1 AND bool_and(coalesce(manager_id, 0) < id) FROM employees"},
		{"managers are of the department", "SELECT count(*) = 491 FROM employees e JOIN employees m ON m.id = e.manager_id WHERE e.id > 9 AND m.department = e.department"},
		{"a year of pay", "SELECT count(*) = 6000 AND count(DISTINCT month) = 12 AND bool_and(net < gross AND net > 0) FROM payroll"},
	}
	err := b.withEngine(t.Context(), func() error {
		if err := b.values(t.Context()); err != nil {
			return err
		}
		for _, c := range checks {
			var ok bool
			if err := b.engine.QueryRowContext(t.Context(), c.query).Scan(&ok); err != nil || !ok {
				t.Errorf("%s: %v, %v", c.name, ok, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
