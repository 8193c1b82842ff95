-- The values of the example lakehouse. Everything is computed from the row's own key through hash(), so each run
-- of the same engine version makes the same rows, whatever the number of threads. Only +, -, *, /, sqrt and floor
-- are used on doubles: these are exact in IEEE 754 on every processor.
--
-- Variables set by the caller: customers (rows with the erased ones), orders (a multiple of 20), employees.

-- rnd is uniform in [0, 1); pick is uniform in 0 … n-1; item takes one element of a list. The second hash() is
-- needed: the first one xors the hash of the key with the hash of the salt, so that two salts give dependent values.
CREATE MACRO dice(k, salt) AS hash(hash(k, salt));
CREATE MACRO rnd(k, salt) AS (dice(k, salt) >> 11)::DOUBLE / 9007199254740992.0;
CREATE MACRO pick(k, salt, n) AS (dice(k, salt) % n::UBIGINT)::BIGINT;
CREATE MACRO item(l, k, salt) AS l[1 + pick(k, salt, len(l))];
CREATE MACRO money(cents) AS cents::DOUBLE / 100;
CREATE MACRO ascii_word(s) AS regexp_replace(translate(lower(strip_accents(s)), 'łøßđ', 'losd'), '[^a-z]', '', 'g');

-- 200,600 customers are written and each 334th (600 in all) is erased later; orders never refer to those.
CREATE MACRO erased(id) AS id % 334 = 0;
-- Customers come in a growing stream from 2019-01-01 on; the day of a customer is a function of its id.
CREATE MACRO joined_day(id) AS floor(2371 * sqrt(id::DOUBLE / getvariable('customers')))::BIGINT;
CREATE MACRO joined_by(day) AS floor(getvariable('customers') * (day::DOUBLE / 2371) * (day::DOUBLE / 2371))::BIGINT;

CREATE TABLE places AS
SELECT slot, country, region, tongue, hours
FROM (
	SELECT *, coalesce(sum(weight) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::BIGINT AS start
	FROM (VALUES
		(1, 'DE', 'EU', 'de', 1, 130), (2, 'FR', 'EU', 'fr', 1, 95), (3, 'ES', 'EU', 'es', 1, 60),
		(4, 'IT', 'EU', 'it', 1, 55), (5, 'NL', 'EU', 'nl', 1, 45), (6, 'PL', 'EU', 'pl', 1, 40),
		(7, 'SE', 'EU', 'sv', 1, 25), (8, 'IE', 'EU', 'en', 0, 20), (9, 'AT', 'EU', 'de', 1, 20),
		(10, 'US', 'US', 'us', -6, 320),
		(11, 'JP', 'APAC', 'ja', 9, 65), (12, 'AU', 'APAC', 'en', 10, 50), (13, 'IN', 'APAC', 'hi', 5, 40),
		(14, 'KR', 'APAC', 'ko', 9, 20), (15, 'SG', 'APAC', 'en', 8, 15)
	) t(n, country, region, tongue, hours, weight)
), LATERAL (SELECT unnest(range(start, start + weight)) AS slot);

CREATE TABLE customers AS
WITH base AS (
	SELECT i AS id, pick(i, 'place', 1000) AS slot, rnd(i, 'age') + rnd(i, 'age2') AS age
	FROM range(1, getvariable('customers') + 1) t(i)
), person AS (
	SELECT b.id, p.country, p.region, p.hours, b.age, item(n.given, b.id, 'given') AS given, item(n.family, b.id, 'family') AS family
	FROM base b JOIN places p USING (slot) JOIN names n USING (tongue)
)
SELECT id,
	given || CASE WHEN pick(id, 'middle?', 3) = 0 THEN ' ' || chr((65 + pick(id, 'middle', 26))::INT) || '. ' ELSE ' ' END || family AS name,
	ascii_word(given) || '.' || ascii_word(family) || id || '@example.' || item(['com', 'com', 'com', 'org', 'net'], id, 'domain') AS email,
	-- Ranges that the numbering authorities keep for fiction; where there is none, the unassigned country code 999.
	CASE country
		WHEN 'US' THEN format('+1-{}-555-01{:02d}', item([206, 212, 213, 303, 312, 404, 415, 512, 602, 617, 702, 713, 718, 773, 808, 816, 919], id, 'area'), pick(id, 'phone', 100))
		WHEN 'DE' THEN format('+49 30 23125 {:03d}', pick(id, 'phone', 1000))
		WHEN 'FR' THEN format('+33 6 39 98 {:02d} {:02d}', pick(id, 'phone', 100), pick(id, 'phone2', 100))
		WHEN 'IE' THEN format('+353 20 91{} {:04d}', pick(id, 'phone', 10), pick(id, 'phone2', 10000))
		WHEN 'SE' THEN format('+46 70 174 06 {:02d}', 5 + pick(id, 'phone', 95))
		WHEN 'AU' THEN format('+61 2 5550 {:04d}', pick(id, 'phone', 10000))
		ELSE format('+999 {} 555 {:04d}', 10 + pick(country, 'phone', 90), pick(id, 'phone', 10000))
	END AS phone,
	country, region,
	DATE '2007-06-30' - floor(age * 12500)::INT AS birth_date,
	-- Area 9xx was never given out as a social security number, group 01 to 49 never as any other tax number.
	format('9{:02d}-{:02d}-{:04d}', tax // 490000, 1 + tax // 10000 % 49, tax % 10000) AS tax_id,
	10000 * (3 + floor((20 + 60 * age) * (0.15 + rnd(id, 'limit') * rnd(id, 'limit2') * CASE region WHEN 'US' THEN 1.6 WHEN 'EU' THEN 1.1 ELSE 0.9 END))::BIGINT)
		* CASE WHEN pick(id, 'business', 40) = 0 THEN 25 ELSE 1 END AS credit_limit,
	make_timestamptz(1546300800000000 + 86400000000 * joined_day(id)
		+ floor(3600000000 * (7 - hours + 8 * (rnd(id, 'hour') + rnd(id, 'hour2'))))::BIGINT) AS signed_up_at,
	CASE WHEN pick(id, 'note?', 6) = 0 THEN item([
		'Prefers delivery in the morning', 'Asked for paper invoices', 'Leave parcels with the neighbour', 'Gift wrapping by default',
		'Called about a late delivery, solved', 'Doesn''t want marketing e-mail', 'Speaks English only', 'Loyalty card lost, replaced',
		'Reported a damaged parcel; refunded', 'Company account, needs a purchase order', 'Wants "quiet hours" respected', 'Moved house recently'], id, 'note') END AS note
FROM (SELECT *, (id * 48271 + 7919) % 49000000 AS tax FROM person)
ORDER BY id;

CREATE TABLE products AS
SELECT id, adjective || ' ' || noun AS name, category,
	100 * floor(low + (high - low) * rnd(id, 'price') * rnd(id, 'price2'))::BIGINT + item([99, 99, 49, 0], id, 'ending') AS price
FROM (
	SELECT i AS id, c.category, c.low, c.high, c.nouns[1 + (i - 1) // 12 % len(c.nouns)] AS noun,
		a[1 + ((i - 1) // 12 // len(c.nouns) * 7 + (i - 1) % 12) % len(a)] AS adjective
	FROM range(1, 1001) t(i)
	JOIN (VALUES
		(0, 'Kitchen', 6, 220, ['Kettle', 'Saucepan', 'Knife Set', 'Blender', 'Toaster', 'Mixing Bowl', 'Cutting Board', 'Espresso Pot']),
		(1, 'Books', 5, 60, ['Cookbook', 'Atlas', 'Mystery Novel', 'Travel Guide', 'Field Guide', 'Notebook', 'Puzzle Book', 'Poetry Collection']),
		(2, 'Electronics', 15, 1900, ['Headphones', 'Monitor', 'Keyboard', 'Laptop', 'Speaker', 'Webcam', 'Tablet', 'Router']),
		(3, 'Clothing', 9, 240, ['Jacket', 'Jumper', 'Rain Coat', 'Shirt', 'Trousers', 'Scarf', 'Cap', 'Socks']),
		(4, 'Garden', 4, 480, ['Watering Can', 'Hedge Trimmer', 'Bench', 'Lantern', 'Planter', 'Rake', 'Hose', 'Bird House']),
		(5, 'Toys', 5, 150, ['Building Blocks', 'Train Set', 'Board Game', 'Kite', 'Doll House', 'Puzzle', 'Robot Kit', 'Marble Run']),
		(6, 'Sports', 8, 900, ['Yoga Mat', 'Bicycle Helmet', 'Tent', 'Dumbbells', 'Skateboard', 'Running Belt', 'Rucksack', 'Climbing Rope']),
		(7, 'Office', 3, 420, ['Desk Lamp', 'Stapler', 'Chair', 'Whiteboard', 'Fountain Pen', 'File Box', 'Paper Tray', 'Desk Mat']),
		(8, 'Beauty', 4, 130, ['Hand Cream', 'Soap Bar', 'Hair Dryer', 'Shampoo', 'Perfume', 'Face Mask', 'Comb', 'Bath Salt']),
		(9, 'Pets', 4, 160, ['Dog Bed', 'Cat Tree', 'Lead', 'Aquarium', 'Feeding Bowl', 'Chew Toy', 'Carrier', 'Brush']),
		(10, 'Food', 2, 45, ['Green Tea', 'Coffee Beans', 'Olive Oil', 'Honey', 'Dark Chocolate', 'Pasta', 'Almonds', 'Sea Salt']),
		(11, 'Furniture', 40, 1600, ['Bookcase', 'Side Table', 'Armchair', 'Wardrobe', 'Bed Frame', 'Mirror', 'Shelf', 'Stool'])
	) c(n, category, low, high, nouns) ON c.n = (i - 1) % 12,
	(SELECT ['Compact', 'Classic', 'Nordic', 'Folding', 'Everyday', 'Premium', 'Travel', 'Vintage', 'Modern', 'Light', 'Sturdy', 'Bright', 'Quiet', 'Coastal', 'Alpine', 'Urban', 'Recycled', 'Natural', 'Royal'] AS a)
)
ORDER BY id;

CREATE TABLE employees AS
WITH base AS (
	SELECT i AS id, pick(i, 'place', 1000) AS slot,
		CASE WHEN i = 1 THEN 8 WHEN i < 10 THEN i - 2 WHEN i < 58 THEN (i - 10) % 8
			ELSE item([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 4, 5, 6, 6, 7], i, 'department') END AS dept
	FROM range(1, getvariable('employees') + 1) t(i)
)
SELECT b.id, given || ' ' || family AS name, ascii_word(given) || '.' || ascii_word(family) || '.' || b.id || '@example.org' AS email,
	['Sales', 'Engineering', 'Operations', 'Support', 'Marketing', 'Finance', 'Logistics', 'People', 'Management'][1 + dept] AS department,
	CASE WHEN b.id = 1 THEN NULL WHEN b.id < 10 THEN 1 WHEN b.id < 58 THEN 2 + dept ELSE 10 + dept + 8 * pick(b.id, 'lead', 6) END AS manager_id,
	b.region,
	-- In cents: level, department, region, then luck.
	100000 * ((CASE WHEN b.id = 1 THEN 310 WHEN b.id < 10 THEN 165 WHEN b.id < 58 THEN 96 ELSE 48 END
		+ [10, 24, 2, 0, 8, 14, 3, 5, 0][1 + dept]) * CASE b.region WHEN 'US' THEN 125 WHEN 'EU' THEN 100 ELSE 85 END // 100
		* (85 + pick(b.id, 'luck', 31)) // 100) AS salary
FROM (
	SELECT base.id, base.dept, p.region, item(n.given, base.id + 1000000, 'given') AS given, item(n.family, base.id + 1000000, 'family') AS family
	FROM base JOIN places p USING (slot) JOIN names n USING (tongue)
) b
ORDER BY b.id;

CREATE TABLE payroll AS
SELECT e.id AS employee_id, month, gross, gross * (100 - CASE WHEN e.salary > 15000000 THEN 43 WHEN e.salary > 9000000 THEN 37 WHEN e.salary > 6000000 THEN 31 ELSE 25 END) // 100 AS net
FROM (
	SELECT e.id, e.salary, (DATE '2024-07-01' + to_months(m::INT))::DATE AS month,
		e.salary // 12 * CASE WHEN m = 5 AND e.department IN ('Sales', 'Management') THEN 180 WHEN m = 5 THEN 120 ELSE 100 END // 100 AS gross
	FROM employees e, range(0, 12) t(m)
) e
ORDER BY employee_id, month;

-- Orders per day: growth, season and weekday as weights; the last one of the cumulative sums is the number of orders.
CREATE TABLE days AS
SELECT day, customers, coalesce(lag(upto) OVER (ORDER BY day), 0) AS first, upto
FROM (
	SELECT day, joined_by(n + 1459) AS customers,
		(sum(weight) OVER (ORDER BY day ROWS UNBOUNDED PRECEDING) * getvariable('orders') // sum(weight) OVER ())::BIGINT AS upto
	FROM (
		SELECT n, DATE '2023-01-01' + n::INT AS day,
			(1000 + n) * [78, 80, 94, 97, 100, 96, 92, 90, 101, 104, 142, 168][month(DATE '2023-01-01' + n::INT)]
				* [112, 104, 100, 98, 99, 108, 118][1 + dayofweek(DATE '2023-01-01' + n::INT)] // 100
				* (92 + pick(n, 'weather', 17)) // 100 AS weight
		FROM range(0, 912) t(n)
	)
);

-- Most orders come from anybody who has joined by then, the older the likelier; one in seven from a few heavy buyers.
CREATE TABLE drafts AS
WITH placed AS (
	SELECT id, order_date, CASE WHEN erased(buyer) THEN buyer - 1 ELSE buyer END AS customer_id
	FROM (
		SELECT id, day AS order_date, CASE
			WHEN pick(id, 'heavy?', 7) = 0 THEN 1 + floor(heavy * rnd(id, 'heavy') * rnd(id, 'heavy'))::BIGINT * 48271 % heavy
			ELSE 1 + floor(customers * rnd(id, 'buyer') * (0.35 + 0.65 * rnd(id, 'buyer')))::BIGINT END AS buyer
		FROM days, LATERAL (SELECT unnest(range(first + 1, upto + 1)) AS id), (SELECT getvariable('customers') * 36 // 100 AS heavy)
	)
)
SELECT p.id, p.customer_id, p.order_date, c.region,
	-- Twenty orders in a row have fifty lines, in an order of their own.
	[1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 6, 7][1 + ((p.id - 1) * 7 + pick((p.id - 1) // 20, 'lines', 20)) % 20] AS lines
FROM placed p JOIN customers c ON c.id = p.customer_id;

CREATE TABLE order_items AS
WITH line AS (
	SELECT *, order_id * 8 + line_number AS k
	FROM (SELECT id AS order_id, order_date, region, unnest(range(1, lines + 1))::INT AS line_number FROM drafts)
), chosen AS (
	SELECT *, CASE
		WHEN month(order_date) >= 11 AND pick(k, 'gift', 6) = 0 THEN 6 + 12 * pick(k, 'toy', 83)
		WHEN month(order_date) BETWEEN 4 AND 6 AND pick(k, 'gift', 9) = 0 THEN 5 + 12 * pick(k, 'garden', 83)
		ELSE 1 + floor(1000 * rnd(k, 'product') * rnd(k, 'product'))::BIGINT * 617 % 1000 END AS product_id,
		CASE WHEN month(order_date) = 11 THEN item([0, 0, 10, 20, 30], k, 'discount') ELSE item([0, 0, 0, 0, 0, 0, 0, 5, 10, 15], k, 'discount') END AS discount
	FROM line
)
SELECT order_id, order_date, line_number, product_id,
	CASE WHEN p.price > 20000 THEN 1 ELSE item([1, 1, 1, 1, 1, 1, 2, 2, 3, 4, 6, 10], k, 'quantity') END AS quantity,
	p.price * (100 - discount) // 100 AS price, region
FROM chosen c JOIN products p ON p.id = c.product_id;

CREATE TABLE orders AS
SELECT d.id, customer_id, order_date, CASE
		WHEN pick(d.id, 'cancel', 100) < 3 THEN 'cancelled'
		WHEN age <= 1 THEN 'open'
		WHEN age <= 4 THEN item(['open', 'shipped', 'shipped'], d.id, 'status')
		WHEN age <= 12 THEN item(['shipped', 'delivered', 'delivered'], d.id, 'status')
		WHEN pick(d.id, 'return', 100) < 5 THEN 'returned' ELSE 'delivered' END AS status,
	region, total
FROM (SELECT *, DATE '2025-06-30' - order_date AS age FROM drafts) d
JOIN (SELECT order_id, sum(quantity * price)::BIGINT AS total FROM order_items GROUP BY order_id) i ON i.order_id = d.id;
