-- Queries over native tables: what WHERE, joins, groups and pruning make of them.
CREATE TABLE orders (id INT NOT NULL, customer INT NOT NULL, placed DATETIME NOT NULL, amount DECIMAL(10,2) NOT NULL, note VARCHAR(40), PRIMARY KEY (id));
CREATE TABLE customers (id INT NOT NULL PRIMARY KEY, name VARCHAR(30) NOT NULL, country CHAR(2));
INSERT INTO customers VALUES (1, 'Ada', 'GB'), (2, 'Émile', 'FR'), (3, 'emile', 'fr'), (4, 'Zoë', NULL);
INSERT INTO orders VALUES (1, 1, '2024-01-01 10:00:00', 10.50, 'first'), (2, 1, '2024-01-02 11:00:00', 20.00, NULL), (3, 2, '2024-02-01 00:00:00', 5.25, 'Äpfel'), (4, 3, '2024-02-29 23:59:59', 100.00, 'apfel'), (5, 9, '2024-03-01 00:00:00', 1.00, 'lost');
SELECT * FROM orders WHERE id = 3;
SELECT * FROM orders WHERE id > 1 AND id <= 4 ORDER BY id;
SELECT id FROM orders WHERE placed >= '2024-02-01' AND placed < '2024-03-01' ORDER BY id;
SELECT id FROM orders WHERE placed BETWEEN '2024-01-02 11:00:00' AND '2024-02-01' ORDER BY id;
SELECT id FROM orders WHERE amount = 20 OR amount IN (5.25, 1);
SELECT id FROM orders WHERE amount > 5.255 ORDER BY id;
SELECT id FROM orders WHERE amount < 5.2500000 ORDER BY id;
SELECT id FROM orders WHERE note IS NULL;
SELECT id FROM orders WHERE note IS NOT NULL ORDER BY id;
SELECT id FROM orders WHERE note = 'APFEL' ORDER BY id;
SELECT id FROM orders WHERE NOT (id = 3) ORDER BY id;
SELECT id FROM orders WHERE id <> 3 ORDER BY id;
SELECT id FROM orders WHERE id = '3';
SELECT id FROM orders WHERE id IN (1, NULL, 5) ORDER BY id;
SELECT c.name, COUNT(*), SUM(o.amount), AVG(o.amount) FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.id, c.name ORDER BY c.id;
SELECT c.name, o.id FROM customers c LEFT JOIN orders o ON o.customer = c.id AND o.amount > 10 ORDER BY c.id, o.id;
SELECT o.id, c.name FROM customers c RIGHT JOIN orders o ON o.customer = c.id WHERE o.amount < 50 ORDER BY o.id;
SELECT name, country FROM customers WHERE id IN (SELECT customer FROM orders WHERE amount > 6) ORDER BY id;
SELECT country, COUNT(*) FROM customers GROUP BY country ORDER BY country;
SELECT MONTH(placed) AS m, SUM(amount) AS s FROM orders GROUP BY m HAVING s > 10 ORDER BY s DESC;
SELECT DISTINCT customer FROM orders ORDER BY customer DESC LIMIT 2;
SELECT COUNT(*) FROM orders;
SELECT MAX(id), MIN(placed), MAX(note) FROM orders;
SELECT id, amount, SUM(amount) FROM orders GROUP BY id ORDER BY id;
SELECT * FROM (SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer) AS x WHERE total > 10 ORDER BY customer;
SELECT id FROM orders ORDER BY amount DESC LIMIT 2 OFFSET 1;
WITH big AS (SELECT * FROM orders WHERE amount > 9) SELECT COUNT(*) FROM big;
SELECT id FROM orders UNION ALL SELECT id FROM customers ORDER BY id;
SELECT COUNT(*) FROM orders WHERE nope = 1;
UPDATE orders SET amount = amount * 2 WHERE customer IN (SELECT id FROM customers WHERE country = 'FR');
SELECT id, amount FROM orders ORDER BY id;
DELETE FROM orders WHERE customer NOT IN (SELECT id FROM customers);
SELECT COUNT(*) FROM orders;
-- What a subquery is ordered or grouped by is not among its columns.
SELECT (SELECT MAX(amount) FROM orders), (SELECT name FROM customers ORDER BY id LIMIT 1);
SELECT id FROM customers WHERE name = (SELECT name FROM customers ORDER BY id DESC LIMIT 1);
SELECT id, (SELECT name FROM customers ORDER BY id LIMIT 1) FROM customers ORDER BY name, id;
SELECT id FROM customers WHERE id IN (SELECT customer FROM orders ORDER BY amount) ORDER BY id;
SELECT id FROM customers WHERE id NOT IN (SELECT customer FROM orders WHERE id > 1 ORDER BY amount) ORDER BY id;
SELECT id FROM customers WHERE name IN (SELECT name FROM customers ORDER BY id DESC) ORDER BY id;
SELECT EXISTS (SELECT customer FROM orders ORDER BY amount);
SELECT (SELECT name FROM customers GROUP BY name ORDER BY MAX(id) DESC LIMIT 1);
SELECT (SELECT DISTINCT country FROM customers WHERE id = 1);
SELECT * FROM (SELECT name FROM customers ORDER BY id DESC LIMIT 2) AS x ORDER BY name;
WITH w AS (SELECT name FROM customers ORDER BY id LIMIT 1) SELECT (SELECT name FROM w), (SELECT name FROM w ORDER BY 1);
-- HAVING without groups knows what is selected.
SELECT id FROM customers HAVING country = 'FR';
SELECT id + 1 FROM customers HAVING id > 2;
SELECT c.id FROM customers c JOIN orders o ON o.customer = c.id HAVING o.amount > 10;
SELECT id, country FROM customers HAVING country = 'FR' ORDER BY id;
SELECT * FROM customers HAVING country = 'FR' ORDER BY id;
SELECT c.*, o.id AS o FROM customers c JOIN orders o ON o.customer = c.id HAVING c.country = 'FR' AND o > 3 ORDER BY o;
SELECT id, country AS c FROM customers HAVING country = 'FR' AND c = 'fr' ORDER BY id;
SELECT customers.id FROM customers HAVING id > 2 ORDER BY id;
SELECT id FROM customers HAVING customers.id > 2 ORDER BY id;
SELECT name AS country FROM customers HAVING country = 'Ada';
-- A constant orders nothing.
-- unordered
SELECT 1 UNION SELECT 2 ORDER BY NULL;
SELECT id FROM customers UNION SELECT 9 ORDER BY NULL, id DESC;
-- What WITH defines is the same rows wherever it is named.
WITH c AS (SELECT id FROM customers LIMIT 2) SELECT COUNT(*) FROM c a JOIN c b USING (id);
WITH c AS (SELECT id FROM customers ORDER BY country LIMIT 2) SELECT COUNT(*) FROM c a JOIN c b USING (id);
WITH c AS (SELECT country AS id FROM customers ORDER BY id LIMIT 2) SELECT COUNT(*) FROM c a, c b;
WITH c AS (SELECT id FROM (SELECT id FROM customers LIMIT 2) AS x) SELECT COUNT(*) FROM c a JOIN c b USING (id);
WITH c AS (SELECT id FROM customers LIMIT 2), d AS (SELECT id FROM c) SELECT COUNT(*) FROM d a JOIN d b USING (id);
WITH c AS (SELECT id FROM customers LIMIT 2), d AS (SELECT id FROM c LIMIT 1) SELECT COUNT(*) FROM d a JOIN d b USING (id) JOIN c ON c.id = a.id;
WITH c AS (SELECT id, ROW_NUMBER() OVER (ORDER BY country) AS n FROM customers) SELECT COUNT(*) FROM c a JOIN c b ON a.id = b.id AND a.n = b.n;
WITH c AS (SELECT id, name, ROW_NUMBER() OVER (PARTITION BY country ORDER BY country) AS n FROM customers) SELECT a.name FROM c a JOIN c b ON a.id = b.id AND a.n = b.n ORDER BY a.id;
WITH c AS (SELECT id FROM customers LIMIT 2) SELECT COUNT(*) FROM (SELECT id FROM c UNION SELECT id FROM c) AS x;
WITH c AS (SELECT id FROM customers LIMIT 2) SELECT COUNT(*) FROM c WHERE id IN (SELECT id FROM c);
WITH c AS (SELECT id FROM customers LIMIT 2) SELECT COUNT(*) FROM c WHERE id NOT IN (SELECT id FROM c);
WITH c AS (SELECT id FROM customers LIMIT 2) SELECT COUNT(*) FROM c a WHERE EXISTS (SELECT 1 FROM c b WHERE b.id = a.id);
WITH c AS (SELECT id FROM customers LIMIT 1) SELECT COUNT(*) FROM customers WHERE id = (SELECT id FROM c) AND id = (SELECT MAX(id) FROM c);
WITH c AS (SELECT id FROM customers LIMIT 2) SELECT COUNT(*) FROM customers k LEFT JOIN c a ON a.id = k.id LEFT JOIN c b ON b.id = k.id WHERE a.id IS NULL AND b.id IS NULL;
-- What one reference leaves out is there for the others.
WITH c AS (SELECT id FROM customers LIMIT 3) SELECT COUNT(*) FROM (SELECT id FROM c LIMIT 1) AS a JOIN c b USING (id);
WITH c AS (SELECT id FROM customers LIMIT 3) SELECT COUNT(*) FROM (SELECT id FROM c WHERE id < 0 UNION ALL SELECT id FROM c) AS x;
WITH c AS (SELECT id FROM customers LIMIT 3) SELECT COUNT(*) FROM (SELECT id FROM c WHERE (SELECT COUNT(*) FROM orders) > 100 UNION ALL SELECT id FROM c) AS x;
WITH c AS (SELECT country, GROUP_CONCAT(id) AS ids FROM customers GROUP BY country) SELECT COUNT(*) FROM c a JOIN c b USING (ids);
WITH c AS (SELECT country, SUM(id / 3e0) AS s FROM customers GROUP BY country) SELECT COUNT(*) FROM c a JOIN c b ON a.s = b.s;
-- Subqueries of what is kept.
WITH c AS (SELECT customer, AVG(amount + 0e0) AS m FROM orders WHERE id > (SELECT MIN(id) FROM customers) GROUP BY customer) SELECT COUNT(*) FROM c WHERE m > (SELECT AVG(m) FROM c);
WITH c AS (SELECT customer, AVG(amount + 0e0) AS m FROM orders WHERE EXISTS (SELECT 1 FROM customers WHERE id > 3) GROUP BY customer) SELECT a.customer FROM c a JOIN c b USING (customer) WHERE a.m >= (SELECT MAX(m) FROM c);
WITH c AS (SELECT id FROM customers WHERE id > (SELECT MIN(id) FROM orders WHERE id >= (SELECT MIN(id) FROM customers)) LIMIT 2), d AS (SELECT id FROM c WHERE id <= (SELECT MAX(id) FROM orders) + (SELECT COUNT(*) FROM c) LIMIT 2) SELECT COUNT(*) FROM d x JOIN d y USING (id) WHERE (SELECT COUNT(*) FROM c) = (SELECT COUNT(*) FROM d);
WITH c AS (SELECT id FROM customers WHERE id > (SELECT id FROM customers) LIMIT 2) SELECT COUNT(*) FROM c WHERE id >= (SELECT MIN(id) FROM c);
-- Every execution has rows of its own.
PREPARE p FROM 'WITH c AS (SELECT id FROM customers ORDER BY country LIMIT 9) SELECT COUNT(*), MAX(a.id) FROM c a JOIN c b USING (id)';
EXECUTE p;
INSERT INTO customers VALUES (5, 'Max', 'DE');
EXECUTE p;
DELETE FROM customers WHERE id = 5;
EXECUTE p;
-- Rows that are no matter of chance.
WITH c AS (SELECT id FROM customers ORDER BY country, id LIMIT 2) SELECT COUNT(*) FROM c a JOIN c b USING (id);
WITH c AS (SELECT k.id AS x FROM customers k ORDER BY x DESC LIMIT 2) SELECT a.x FROM c a JOIN c b USING (x) ORDER BY a.x;
WITH c AS (SELECT id, ROW_NUMBER() OVER (ORDER BY country, id) AS n FROM customers) SELECT COUNT(*) FROM c a JOIN c b ON a.id = b.id AND a.n = b.n;
WITH c AS (SELECT id, RANK() OVER (ORDER BY country) AS n FROM customers) SELECT COUNT(*) FROM c a JOIN c b ON a.id = b.id AND a.n = b.n;
WITH c AS (SELECT id FROM customers LIMIT 2) SELECT COUNT(*) FROM c;
