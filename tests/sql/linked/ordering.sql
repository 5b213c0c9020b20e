-- ORDER BY, LIMIT, top-N, NULLs.

SELECT id FROM orders ORDER BY id LIMIT 10;
SELECT id FROM orders ORDER BY id DESC LIMIT 10;
SELECT id, amount FROM orders ORDER BY amount, id LIMIT 10;
SELECT id, amount FROM orders ORDER BY amount DESC, id DESC LIMIT 10;
SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 5, 10;
SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 10 OFFSET 1000;
SELECT id, day FROM orders ORDER BY day, id LIMIT 10;
SELECT id, day FROM orders ORDER BY day DESC, id LIMIT 10;
SELECT id, placed FROM orders ORDER BY placed DESC, id LIMIT 10;
SELECT id, ticket FROM orders ORDER BY ticket DESC, id LIMIT 10;
SELECT id, ticket FROM orders ORDER BY ticket, id LIMIT 10;
SELECT id, rate FROM orders ORDER BY rate, id LIMIT 10;
SELECT id, rate FROM orders ORDER BY rate DESC, id LIMIT 10;
SELECT id, -amount AS n FROM orders ORDER BY n, id LIMIT 10;
SELECT id, amount * quantity AS total FROM orders ORDER BY total DESC, id LIMIT 10;
SELECT id, quantity FROM orders WHERE gift ORDER BY quantity DESC, 1 LIMIT 10;
SELECT id, status FROM orders ORDER BY status, id LIMIT 10;
SELECT id, status FROM orders ORDER BY status DESC, id DESC LIMIT 10;
SELECT id FROM orders ORDER BY status = 'paid' DESC, id LIMIT 10;
SELECT id, amount IS NULL FROM orders ORDER BY amount IS NULL DESC, id LIMIT 10;
SELECT id FROM orders WHERE amount > 8000 AND status <> 'new' ORDER BY placed, id LIMIT 10;
SELECT count(*) FROM (SELECT id FROM orders LIMIT 100) AS t;
SELECT id FROM orders LIMIT 0;
SELECT id FROM orders ORDER BY id LIMIT 0;
SELECT id, id FROM orders WHERE id IN (1, 5, 999, -5) ORDER BY orders.id;
SELECT id AS amount, amount AS id FROM orders WHERE id BETWEEN 1 AND 30 ORDER BY id, amount;
SELECT customer_id, id FROM orders WHERE customer_id IN (5, 7) ORDER BY customer_id DESC, id;
SELECT id, sku FROM orders WHERE sku = 'SKU0007' ORDER BY id LIMIT 20;
SELECT DAYOFWEEK(day) w, id FROM orders WHERE id BETWEEN 100 AND 200 ORDER BY w, id;
SELECT id FROM orders WHERE id BETWEEN 1 AND 40 ORDER BY RAND(1) * 0, id;
SELECT number, moment FROM loose ORDER BY moment DESC, number LIMIT 10;
SELECT moment, number FROM loose ORDER BY moment, number LIMIT 10;
SELECT device, at FROM events ORDER BY at LIMIT 10;
SELECT device, at FROM events ORDER BY at DESC LIMIT 10;
SELECT at FROM events WHERE value IS NULL ORDER BY at LIMIT 10;
SELECT value, at FROM events ORDER BY value DESC, at DESC LIMIT 10;
SELECT device, at FROM events ORDER BY device, at LIMIT 15;
SELECT device, at FROM events ORDER BY device DESC, at DESC LIMIT 15;
SELECT id, year FROM parted ORDER BY year DESC, id LIMIT 10;
SELECT id, sum FROM parted ORDER BY sum LIMIT 10;
SELECT id, sum FROM parted WHERE year < 2010 ORDER BY sum DESC LIMIT 10;
SELECT id, sum FROM parted PARTITION (p2010) ORDER BY sum DESC LIMIT 3;
SELECT count(*) FROM parted PARTITION (p2000, rest);
SELECT * FROM nothing ORDER BY id;
SELECT * FROM nothing ORDER BY word LIMIT 3;
SELECT pay FROM emp ORDER BY pay, id;
SELECT pay FROM emp ORDER BY pay DESC, id;
SELECT dept_id, hired FROM emp ORDER BY dept_id, hired DESC;
SELECT id FROM emp ORDER BY ISNULL(pay), pay, id;
SELECT id, FIELD(name, 'Cem', 'Ada') FROM emp ORDER BY FIELD(name, 'Cem', 'Ada') DESC, id;
SELECT id FROM customers ORDER BY credit DESC LIMIT 10;
SELECT born, id FROM customers ORDER BY born DESC, id LIMIT 10;
SELECT born, id FROM customers ORDER BY born, id LIMIT 10;
SELECT sku, tags FROM products ORDER BY tags DESC, sku LIMIT 10;
SELECT sku, weight FROM products ORDER BY weight DESC, sku DESC LIMIT 10;
(SELECT id FROM orders ORDER BY id LIMIT 3) UNION ALL (SELECT id FROM orders ORDER BY id DESC LIMIT 3) ORDER BY id;
SELECT SQL_NO_CACHE id FROM orders ORDER BY id LIMIT 2;
SELECT /* a comment */ id -- and another
FROM orders # and a third
ORDER BY id LIMIT 2;

-- Constants order nothing, whatever number they are.
SELECT id, 1 AS kind, amount FROM orders ORDER BY kind, amount, id LIMIT 10;
SELECT amount, id FROM orders ORDER BY (2) DESC LIMIT 5;
SELECT id, 2 AS two FROM orders ORDER BY two DESC, id DESC LIMIT 5;

-- Variables and functions of the session are constants, too, never the number of a column.
SET @n = 2;
SELECT id, amount FROM orders ORDER BY @n, id LIMIT 3;
SELECT id, amount FROM orders ORDER BY (@n) DESC, id DESC LIMIT 3;
SELECT id, amount FROM orders ORDER BY +@n, id LIMIT 3;
SELECT id, amount FROM orders ORDER BY CONNECTION_ID(), id LIMIT 3;
SELECT id, amount FROM orders ORDER BY LAST_INSERT_ID(), @@auto_increment_increment, id LIMIT 3;
SELECT GROUP_CONCAT(id ORDER BY @n, id DESC) FROM emp;
SELECT id, SUM(id) OVER (PARTITION BY @n ORDER BY @n, id) AS sum FROM emp ORDER BY id;
SELECT id, SUM(id) OVER w FROM emp WINDOW w AS (PARTITION BY @n ORDER BY @n, id) ORDER BY id;
SELECT COUNT(*) FROM (SELECT id, amount FROM orders ORDER BY @n, id LIMIT 3) AS t WHERE id <= -997;
SET @n = 9;
SELECT id, amount FROM orders ORDER BY @n, id LIMIT 3;
SET @n = 1;
SELECT COUNT(*) FROM orders GROUP BY @n;
SELECT status, COUNT(*) FROM orders GROUP BY @n, status ORDER BY @n, status;
-- refused: 1235
SELECT COUNT(*) FROM orders GROUP BY @n WITH ROLLUP;

-- Parameters as well; a MariaDB takes them for numbers of columns.
SET @n = 2;
-- only: mysql
PREPARE s FROM 'SELECT id, amount FROM orders ORDER BY ?, id LIMIT 3';
-- only: mysql
EXECUTE s USING @n;
-- only: mysql
PREPARE s FROM 'SELECT COUNT(*) FROM orders GROUP BY ?';
-- only: mysql
EXECUTE s USING @n;
