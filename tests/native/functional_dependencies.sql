-- What ONLY_FULL_GROUP_BY permits above groups: columns that the keys determine.
CREATE TABLE c (id INT NOT NULL PRIMARY KEY, name VARCHAR(20), city VARCHAR(20), boss INT);
CREATE TABLE o (a INT NOT NULL, b INT NOT NULL, c INT, eur DECIMAL(8,2), note VARCHAR(10), PRIMARY KEY (a, b));
CREATE TABLE n (k INT NOT NULL PRIMARY KEY, x INT, y INT, z INT);
INSERT INTO c VALUES (1, 'ann', 'Rome', NULL), (2, 'bob', 'Oslo', 1), (3, 'cat', NULL, 1), (4, 'dan', 'Bern', 9);
INSERT INTO o VALUES (1, 1, 1, 5, 'p'), (1, 2, 1, 6, 'q'), (2, 1, 2, 7, NULL), (3, 3, 9, 8, 'r');
INSERT INTO n VALUES (1, 1, 1, 5), (2, 2, 3, 5), (3, 2, 3, 6), (4, NULL, NULL, 7);
-- Keys of tables.
SELECT id, name, city FROM c GROUP BY id ORDER BY id;
SELECT name, COUNT(*) FROM c GROUP BY id ORDER BY name;
SELECT name, id FROM c GROUP BY name;
SELECT c.*, COUNT(o.a) AS n FROM c LEFT JOIN o ON o.c = c.id GROUP BY c.id ORDER BY c.id;
SELECT a, b, eur FROM o GROUP BY a, b ORDER BY a, b;
SELECT a, eur FROM o GROUP BY b, a, c ORDER BY eur;
SELECT a, eur FROM o GROUP BY a;
SELECT a, b, eur FROM o WHERE b = 1 GROUP BY a ORDER BY a;
SELECT eur, note FROM o WHERE (a, b) = (1, 2) GROUP BY c;
SELECT MAX(eur), note FROM o WHERE a = 1 AND b = 2;
SELECT id, COUNT(*) FROM c GROUP BY id ORDER BY city, name;
SELECT id, COUNT(*) OVER (ORDER BY city), ROW_NUMBER() OVER (PARTITION BY boss ORDER BY name) FROM c GROUP BY id ORDER BY id;
SELECT id, ROW_NUMBER() OVER w FROM c GROUP BY id WINDOW w AS (ORDER BY name) ORDER BY id;
-- Errors say what is not determined, and where.
SELECT city, name FROM c GROUP BY city;
SELECT city, COUNT(*), name FROM c GROUP BY city;
SELECT city, CONCAT(name, '!') FROM c GROUP BY city;
SELECT COUNT(*) FROM c GROUP BY city ORDER BY MAX(id), name;
SELECT city, ROW_NUMBER() OVER (ORDER BY name) FROM c GROUP BY city;
SELECT city, ROW_NUMBER() OVER w FROM c GROUP BY city WINDOW w AS (PARTITION BY city, name);
SELECT COUNT(*), name FROM c;
SELECT name, COUNT(*) FROM c;
SELECT 1, COUNT(*) + id FROM c;
SELECT COUNT(*) FROM c ORDER BY ROW_NUMBER() OVER (ORDER BY name);
SELECT name FROM c HAVING COUNT(*) > 0;
SELECT x.name FROM c AS x GROUP BY x.city;
SELECT city, SUM(id) OVER () FROM c GROUP BY city;
SELECT city, SUM(SUM(id)) OVER () FROM c GROUP BY city ORDER BY city;
-- Expressions are keys as a whole.
SELECT x + y, COUNT(*) FROM n GROUP BY x + y ORDER BY 1;
SELECT x + y + 1 FROM n GROUP BY x + y;
SELECT x + y AS s FROM n GROUP BY s ORDER BY (x + y) * 2;
SELECT x + y AS s FROM n GROUP BY s ORDER BY x + y, s * 2;
SELECT x, x + y FROM n GROUP BY x + y;
SELECT x, x + y FROM n GROUP BY x, y ORDER BY x;
-- Equalities of WHERE and of joins.
SELECT x, y FROM n WHERE x = y GROUP BY x;
SELECT x, y FROM n WHERE x = y GROUP BY y;
SELECT x, z FROM n WHERE z = 5 GROUP BY x ORDER BY x;
SELECT x, z FROM n WHERE 5 = z GROUP BY x ORDER BY x;
SELECT x, z FROM n WHERE z IN (5) GROUP BY x ORDER BY x;
SELECT x, z FROM n WHERE z BETWEEN 5 AND 5 GROUP BY x ORDER BY x;
SELECT x, z FROM n WHERE NOT (z <> 5) GROUP BY x ORDER BY x;
SELECT x, z FROM n WHERE z = 2 + 3 GROUP BY x ORDER BY x;
SELECT x, z FROM n WHERE z = x + 1 GROUP BY x;
SELECT x, z FROM n WHERE z <=> 5 GROUP BY x;
SELECT x, z FROM n WHERE z IN (5, 6) GROUP BY x;
SELECT x, z FROM n WHERE z = 5 OR z = 6 GROUP BY x;
SELECT x, z FROM n WHERE z IS NULL GROUP BY x;
SELECT x, z FROM n WHERE z = RAND() GROUP BY x;
SELECT x, z FROM n WHERE z = @unset GROUP BY x;
SELECT COUNT(*), z FROM n WHERE z = 5;
SELECT c.name, o.c, COUNT(*) FROM c JOIN o ON o.c = c.id GROUP BY o.c ORDER BY o.c;
SELECT c.name, SUM(o.eur) FROM c, o WHERE o.c = c.id GROUP BY o.c ORDER BY 1;
SELECT c.name, b.name FROM c JOIN c AS b ON b.id = c.boss GROUP BY c.id ORDER BY c.id;
SELECT name, SUM(eur) FROM c JOIN (SELECT c AS id, eur FROM o) AS p USING (id) GROUP BY id ORDER BY id;
SELECT name, SUM(eur) FROM c NATURAL JOIN (SELECT c AS id, eur FROM o) AS p GROUP BY id ORDER BY id;
-- Outer joins.
SELECT c.name, b.name FROM c LEFT JOIN c AS b ON b.id = c.boss GROUP BY c.id ORDER BY c.id;
SELECT c.boss, b.id, b.name FROM c LEFT JOIN c AS b ON b.id = c.boss GROUP BY c.boss ORDER BY 1;
SELECT c.boss, b.id FROM c LEFT JOIN c AS b ON b.id = c.boss GROUP BY b.id;
SELECT c.boss, b.id FROM c LEFT JOIN c AS b ON b.id = c.boss WHERE b.name > '' GROUP BY b.id;
SELECT c.id, IF(ISNULL(n.x), 0, COUNT(*)) FROM c LEFT JOIN n ON n.x = c.id GROUP BY c.id ORDER BY c.id;
SELECT c.boss, n.x FROM c LEFT JOIN n ON n.x = c.boss AND n.y > c.id GROUP BY c.boss;
SELECT c.boss, n.x FROM c LEFT JOIN n ON n.x = c.boss AND n.y > c.id GROUP BY c.boss, c.id ORDER BY c.id;
SELECT c.name, n.z FROM c LEFT JOIN n ON n.z = 5 AND n.x = c.id GROUP BY c.id ORDER BY c.id;
SELECT c.name, n.z FROM c LEFT JOIN n ON n.z = 5 GROUP BY c.id ORDER BY c.id;
SELECT c.name, o.note FROM o RIGHT JOIN c ON o.a = c.id AND o.b = 1 GROUP BY c.id ORDER BY c.id;
SELECT c.name, o.note FROM o RIGHT JOIN c ON o.a = c.id GROUP BY c.id;
SELECT c.id, m.y FROM c LEFT JOIN (n JOIN n AS m ON n.x = m.y) ON n.x = c.id GROUP BY c.id, n.x ORDER BY c.id;
SELECT c.id, m.z FROM c LEFT JOIN (n JOIN n AS m ON n.x = m.y AND m.z = 5) ON n.x = c.id GROUP BY c.id ORDER BY c.id;
-- Derived tables and common table expressions.
SELECT q.id, q.name, COUNT(*) FROM (SELECT id, name, city FROM c WHERE city IS NOT NULL) AS q LEFT JOIN o ON o.c = q.id GROUP BY q.id ORDER BY q.id;
WITH q AS (SELECT id, name FROM c) SELECT q.id, q.name, SUM(o.eur) AS s FROM q JOIN o ON o.c = q.id GROUP BY q.id ORDER BY s DESC;
WITH q (k, v) AS (SELECT id, name FROM c) SELECT v, COUNT(*) FROM q GROUP BY k ORDER BY v;
WITH q AS (SELECT x, y FROM n WHERE x = y) SELECT y FROM q GROUP BY x;
SELECT q.c, q.total, COUNT(*) FROM o JOIN (SELECT c, SUM(eur) AS total FROM o GROUP BY c) AS q ON q.c = o.c GROUP BY q.c ORDER BY 1;
SELECT q.k, q.total FROM (SELECT c + 1 AS k, SUM(eur) AS total FROM o GROUP BY c + 1) AS q GROUP BY q.k ORDER BY 1;
SELECT q.a, q.b, q.total FROM (SELECT c AS a, note AS b, SUM(eur) AS total FROM o GROUP BY c, note) AS q GROUP BY q.a, q.b ORDER BY 1, 2;
SELECT q.a, q.total FROM (SELECT c AS a, note AS b, SUM(eur) AS total FROM o GROUP BY c, note) AS q GROUP BY q.a;
SELECT q.s, q.m, n.x FROM (SELECT COUNT(*) AS s, MAX(eur) AS m FROM o) AS q JOIN n ON 1 = 1 GROUP BY n.x, q.s ORDER BY n.x;
SELECT q.s, n.x FROM (SELECT COUNT(*) AS s FROM o) AS q JOIN n ON 1 = 1 GROUP BY n.x;
-- values only: computed integers that MySQL puts into temporary tables are INT or BIGINT by its plan
SELECT q.one, n.x FROM (SELECT 1 AS one FROM c) AS q JOIN n ON 1 = 1 GROUP BY n.x ORDER BY n.x;
SELECT q.x, q.w FROM (SELECT x, x + 1 AS w FROM n) AS q GROUP BY q.x ORDER BY q.x;
SELECT q.x, q.w FROM (SELECT x, x + 1 AS w FROM n) AS q GROUP BY q.w;
SELECT q.x, q.y FROM (SELECT x, y FROM n WHERE y = 3) AS q GROUP BY q.x;
SELECT q.id, q.name FROM (SELECT DISTINCT id, name FROM c) AS q GROUP BY q.id ORDER BY q.id;
SELECT q.id, q.name FROM (SELECT id, name FROM c ORDER BY id LIMIT 2) AS q GROUP BY q.id ORDER BY q.id;
SELECT q.id, q.name FROM (SELECT id, name FROM c UNION SELECT a, note FROM o) AS q GROUP BY q.id;
SELECT q.c, q.t FROM (SELECT c, SUM(eur) AS t FROM o GROUP BY c WITH ROLLUP) AS q GROUP BY q.c;
SELECT q.a, q.eur FROM (SELECT p.a, p.b, p.eur FROM (SELECT a, b, eur FROM o) AS p) AS q WHERE q.b = 1 GROUP BY q.a ORDER BY q.a;
-- Derived tables that an outer join fills with NULL.
SELECT q.id, q.name FROM n LEFT JOIN (SELECT id, name FROM c) AS q ON q.id = n.z GROUP BY q.id;
SELECT q.x, q.w FROM c LEFT JOIN (SELECT x, x + 1 AS w FROM n) AS q ON q.x = c.id GROUP BY q.x ORDER BY q.x;
SELECT q.x, q.w FROM c LEFT JOIN (SELECT DISTINCT x, IFNULL(x, 1) AS w FROM n) AS q ON q.x = c.id GROUP BY q.x;
SELECT q.id, q.w FROM n LEFT JOIN (SELECT id, IFNULL(name, 1) AS w FROM c) AS q ON q.id = n.x GROUP BY q.id ORDER BY q.id;
SELECT q.x, q.y FROM c LEFT JOIN (SELECT x, y FROM n WHERE y = 3) AS q ON q.x = c.id GROUP BY q.x;
SELECT q.x, q.y FROM c LEFT JOIN (SELECT x, y FROM n WHERE y = 3) AS q ON q.x = c.id GROUP BY c.id ORDER BY c.id;
SELECT q.one, c.id FROM c LEFT JOIN (SELECT 1 AS one, x FROM n) AS q ON q.x = c.id GROUP BY c.id ORDER BY c.id;
-- WITH ROLLUP knows keys only.
SELECT id, name FROM c GROUP BY id WITH ROLLUP;
SELECT id, name FROM c GROUP BY id, name WITH ROLLUP;
-- Without the mode any value of the group will do.
SET sql_mode = '';
SELECT city, COUNT(name) FROM c GROUP BY city ORDER BY city;
SELECT boss, id > 0 FROM c GROUP BY boss ORDER BY boss;
SELECT COUNT(*), (SELECT 1 FROM n WHERE x > 100) AS one FROM n AS p, (SELECT 1 FROM n WHERE x > 100) AS q, n AS r ORDER BY ROW_NUMBER() OVER (ORDER BY -r.x);
SELECT COUNT(*), id FROM c WHERE id > 100;
SET sql_mode = DEFAULT;
