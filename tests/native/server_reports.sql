-- Shapes of wrong answers that public bug reports of MySQL and MariaDB describe, in statements of our own. The number in front of a group names the report: of bugs.mysql.com, or MDEV of jira.mariadb.org.
CREATE TABLE a (id INT PRIMARY KEY, g INT, n INT NOT NULL, s VARCHAR(10), d DATE, KEY (g));
INSERT INTO a VALUES (1, 4, 4, 'f', '2024-01-01'), (2, NULL, 4, 'm', NULL), (3, 3, 0, 'M', '1999-12-31'), (4, NULL, 7, NULL, '2024-02-29');
CREATE TABLE b (id INT PRIMARY KEY, x INT NOT NULL, y INT, t VARCHAR(10) NOT NULL);
INSERT INTO b VALUES (1, 0, 3, 'one'), (2, 0, NULL, 'm'), (3, 1, 4, 'three'), (4, 1, 4, 'n{');
CREATE TABLE e (id INT PRIMARY KEY, v INT);
-- 80526: ON with a constant condition on the side that may lack rows, which no row meets
SELECT a.id, b.id, b.t FROM a LEFT JOIN b ON a.n = b.id AND b.x = 0 ORDER BY a.id;
SELECT a.id, b.id, b.t FROM a LEFT JOIN b ON a.n = b.id AND b.x = 1 ORDER BY a.id;
-- 52636: NULL joins no NULL, where the condition on the other side is a bare number
SELECT p.id, p.g, q.g, q.id FROM a p LEFT JOIN a q ON q.g = p.g WHERE q.id ORDER BY p.id;
-- 120145: HAVING moved into a column of a derived table
SELECT DISTINCT CONCAT(s) FROM a WHERE -((n XOR 0.56) >= (0.25 <> 1342228223)) GROUP BY s HAVING MAX(DISTINCT n) <> -1599144071 ORDER BY 1;
SELECT c FROM (SELECT DISTINCT CONCAT(s) AS c, MAX(DISTINCT n) <> -1599144071 AS r FROM a WHERE -((n XOR 0.56) >= (0.25 <> 1342228223)) GROUP BY s) q WHERE r ORDER BY 1;
-- 118544: an ON that is false for all
SELECT a.id, b.id FROM a LEFT JOIN b ON CAST(-321952131 LIKE (1 = 0) AS SIGNED) ORDER BY 1, 2;
SELECT a.id, b.id FROM a RIGHT JOIN b ON CAST(-321952131 LIKE (1 = 0) AS SIGNED) ORDER BY 1, 2;
SELECT a.id, b.id FROM a JOIN b ON CAST(-321952131 LIKE (1 = 0) AS SIGNED) ORDER BY 1, 2;
-- 50402: CASE as the left side of an equality, with a count of another table
SELECT a.id FROM a WHERE CASE WHEN (SELECT COUNT(*) FROM b WHERE b.x = a.n) >= a.n THEN 'p' WHEN a.d >= '2000-01-01' AND a.d < '2024-02-01' THEN 'o' END = 'o' AND a.id = 1;
SELECT a.id, CASE WHEN (SELECT COUNT(*) FROM b WHERE b.x = a.n) >= a.n THEN 'p' WHEN a.d >= '2000-01-01' THEN 'o' END AS c FROM a ORDER BY a.id;
-- 85192, 85117: a constant of a derived table on the side that may lack rows
SELECT * FROM (SELECT * FROM (SELECT n FROM a) p LEFT JOIN (SELECT 'PEN' AS c, id AS i FROM b) q ON p.n = q.i) r WHERE c = 'PEN' ORDER BY n;
-- values only: in a table that is sorted MySQL has IS NULL as an INT
SELECT p.n, q.c, q.c IS NULL, IFNULL(q.c, 'none') FROM (SELECT n FROM a) p LEFT JOIN (SELECT 'PEN' AS c, id AS i FROM b) q ON p.n = q.i ORDER BY p.n, q.c;
SELECT p.id, q.c IS NOT NULL FROM a p LEFT JOIN (SELECT b.*, 1 AS c FROM b) q ON q.id = p.n WHERE q.c IS NULL ORDER BY p.id;
-- 99398: GROUP BY of a NOT NULL column on the side that may lack rows
SELECT b.t, COUNT(*), COUNT(b.id) FROM a LEFT JOIN b ON b.id = a.n GROUP BY b.t ORDER BY b.t;
SELECT a.id, b.x, COUNT(*) FROM a LEFT JOIN b ON b.id = a.n GROUP BY a.id, b.x ORDER BY a.id;
-- 59187: NULL NOT IN a subquery without rows, and with an outer join in it
-- refused: 1235
SELECT id FROM a WHERE NULL NOT IN (SELECT v FROM e) ORDER BY id;
SELECT id FROM a WHERE g NOT IN (SELECT v FROM e) ORDER BY id;
SELECT a.id FROM a WHERE a.g NOT IN (SELECT q.id FROM b q JOIN b p ON p.y = q.y WHERE q.t > 'o') ORDER BY a.id;
-- 105773, 106611: <=> within <=>
SELECT NULL <=> (0 <=> NULL), (NULL <=> NULL) <=> NULL, 0 <=> (NULL <=> 1), NOT (NULL <=> (1 <=> NULL));
SELECT id, g <=> (n <=> NULL), NULL <=> (g <=> 3), (g <=> NULL) <=> (s <=> NULL) FROM a ORDER BY id;
-- 115278: an index and <=> of what is NULL
SELECT id FROM a WHERE g <=> NULLIF('', '') ORDER BY id;
SELECT id FROM a WHERE g <=> NULL ORDER BY id;
SET @nothing = NULL;
SELECT id FROM a WHERE g <=> @nothing ORDER BY id;
-- 108981: NULLIF of a number and a text that is none, in the select list and in WHERE
-- refused: 1235
SELECT NULLIF(ASCII(-327253980), s) IS NULL AS x FROM a ORDER BY id;
-- refused: 1235
SELECT id FROM a WHERE NULLIF(ASCII(-327253980), s) IS NULL ORDER BY id;
SELECT id FROM a WHERE NULLIF(ASCII(s), n) IS NULL ORDER BY id;
-- 117706: = and <=> of the same columns
SELECT DISTINCT p.g, q.g FROM a p JOIN (SELECT r.g FROM b CROSS JOIN a r) q ON p.g = q.g WHERE (q.g <=> p.g) IS TRUE ORDER BY 1;
-- 88252: IS NULL of a constant on the side that may lack rows
SELECT a.id, q.c, q.c IS NULL, q.c IS NOT NULL, p.c IS NULL FROM a LEFT JOIN (SELECT id, 1 AS c FROM b WHERE x = 0) p ON p.id = a.id LEFT JOIN (SELECT id, 1 AS c FROM b WHERE x = 1) q ON q.id = a.id ORDER BY a.id;
-- 117013: MAX over a frame that begins behind the row, ordered by its own argument
SELECT n, MAX(n + 0) OVER (ORDER BY n DESC ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING) FROM a ORDER BY n, 2;
SELECT n, MIN(n + 0) OVER (ORDER BY n ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING), MAX(-n) OVER (ORDER BY n ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) FROM a ORDER BY n, 2;
-- 87760: ranks by partitions with buckets and distributions beside them
SELECT x, y, RANK() OVER w AS r, DENSE_RANK() OVER w AS d, NTILE(4) OVER w AS b, CUME_DIST() OVER w AS c, PERCENT_RANK() OVER w AS p FROM b WINDOW w AS (PARTITION BY x ORDER BY y DESC) ORDER BY x, y DESC;
-- 84070: ORDER BY over partitions with a key on a prefix
CREATE TABLE p (id INT NOT NULL, s VARCHAR(2), PRIMARY KEY (id, s)) PARTITION BY RANGE (id) (PARTITION p10 VALUES LESS THAN (10), PARTITION p20 VALUES LESS THAN (20));
INSERT INTO p VALUES (6, 'ab'), (4, 'ab'), (5, 'ab'), (16, 'ab'), (14, 'ab'), (15, 'ab'), (5, 'ac'), (15, 'aa');
SELECT id FROM p WHERE s = 'ab' ORDER BY id;
SELECT id FROM p WHERE s = 'ab' ORDER BY id DESC;
-- 32021, 49771, MDEV-17329: dates without day and month, and of zeros
SET sql_mode = '';
CREATE TABLE z (id INT PRIMARY KEY, d DATE);
INSERT INTO z VALUES (1, '0000-00-01'), (2, '0000-01-01'), (3, '0001-01-01'), (4, '0000-00-00'), (5, '2001-12-28');
SELECT id FROM z WHERE d BETWEEN '0000-00-01' AND '0000-00-02' ORDER BY id;
SELECT MIN(d), MAX(d), COUNT(DISTINCT d) FROM z;
SELECT MIN(z.d) FROM b LEFT JOIN z ON z.id = b.id WHERE NOT (z.id >= 5);
SELECT id, d < DATE'2001-01-01', DATE(d) < DATE'2001-01-01', TIMESTAMP(d) < TIMESTAMP'2001-01-01 00:00:00' FROM z ORDER BY id;
SET sql_mode = DEFAULT;
-- 68795: dates beside texts under another collation of the connection
SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci;
SELECT id FROM a WHERE d = '2024-01-01' ORDER BY id;
SELECT id FROM a WHERE d >= '2024-1-1' ORDER BY id;
SELECT id FROM a WHERE d IN ('2024-02-29', '1999-12-31') ORDER BY id;
SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci;
-- 105526: DISTINCT is what comes after HAVING
SELECT c FROM (SELECT DISTINCT x AS c FROM b GROUP BY x, id HAVING SUM(id) > 1) q ORDER BY c;
SELECT DISTINCT col FROM (SELECT SUM(x) * 2 + 7 AS col FROM b GROUP BY id HAVING SUM(id) > 1) q ORDER BY col;
-- 54416: HAVING of an aggregate over no rows
SELECT MAX(a.id) AS f FROM a JOIN b ON b.t LIKE 'x' HAVING f < 7;
SELECT MAX(a.id) AS f FROM a JOIN b ON b.t LIKE 'x' HAVING f IS NULL;
SELECT a.id AS f FROM a JOIN b ON b.t LIKE 'x' HAVING f < 7;
-- 45640: GROUP BY of an expression beside COUNT(DISTINCT)
SELECT IF(ISNULL(g), 0, s) AS k, n, COUNT(*), COUNT(DISTINCT d) FROM a GROUP BY k, n ORDER BY k, n;
SELECT IF(ISNULL(y), 0, x) AS k, COUNT(DISTINCT t) FROM b GROUP BY k + 0, k ORDER BY k;
-- 120832: totals over no rows
SELECT x, COUNT(*) FROM b WHERE 1 = 0 GROUP BY x WITH ROLLUP;
SELECT x IS NULL, SUM(y) FROM b WHERE id < 0 GROUP BY x WITH ROLLUP;
-- 119357: NOT IN of bits that are NULL
CREATE TABLE h (c1 BIT, c2 CHAR(14), id INT PRIMARY KEY);
INSERT INTO h (id) VALUES (1), (2);
SELECT COUNT(*) FROM h WHERE c1 IS NULL AND c2 IS NULL AND NOT (c1 = 1);
-- MDEV-5719: columns of the second table beside GROUP BY of the first one's key
SELECT a.id, a.s, q.id, q.s FROM a LEFT JOIN a q ON a.n = q.id AND q.s <> 'a' WHERE a.id > 1 GROUP BY a.id, q.id ORDER BY a.id;
-- MDEV-447: the greatest of nothing is NULL
SELECT id FROM b WHERE (SELECT MAX(id) FROM e) IS NULL ORDER BY id;
SELECT id FROM b WHERE (SELECT MAX(id) FROM a WHERE EXISTS (SELECT MAX(v) FROM e GROUP BY v)) IS NULL ORDER BY id;
-- MDEV-19790: IS NOT TRUE of the side that may lack rows
SELECT a.id, b.id FROM a LEFT JOIN b ON a.g = b.id WHERE (b.x = 1) IS NOT TRUE ORDER BY a.id;
SELECT a.id, b.id FROM a LEFT JOIN b ON a.g = b.id WHERE (b.x <> 1 OR b.t > 'a') IS NOT FALSE ORDER BY a.id;
-- MDEV-27132: a grouped derived table with an equality of its own
SELECT a.id, q.total FROM a JOIN (SELECT x, y, SUM(id) AS total FROM b WHERE x = 1 AND y = 4 GROUP BY x, y) q ON q.y = a.g ORDER BY a.id;
-- 7557: what is beyond all dates
SELECT id FROM a WHERE d > '9999-12-31' OR d < '1000-01-01' ORDER BY id;
SELECT id FROM a WHERE d > '9999-99-99';
