-- ENUM and SET: columns are sorted by the numbers of their members, and compared as text.
CREATE TABLE t (id INT PRIMARY KEY, size ENUM('s','m','l'), tags SET('p','q','r'), v VARCHAR(5), w ENUM('zz','b','A') COLLATE utf8mb4_bin NOT NULL);
INSERT INTO t VALUES (1,'s','p,q','x','A'),(2,'m','q','x','b'),(3,'l','r','y','zz'),(4,NULL,NULL,'y','b'),(5,'m','','z','A');
SELECT id, size FROM t ORDER BY size, id;
SELECT id, size FROM t ORDER BY size DESC, id;
SELECT id FROM t ORDER BY tags, id;
SELECT id FROM t ORDER BY tags DESC, id DESC;
SELECT id FROM t ORDER BY w, id;
SELECT id FROM t ORDER BY size DESC LIMIT 1;
SELECT id FROM t WHERE size IS NOT NULL ORDER BY size LIMIT 2;
SELECT id FROM t ORDER BY w, tags DESC LIMIT 1, 3;
SELECT id, RANK() OVER (ORDER BY size), DENSE_RANK() OVER (ORDER BY size DESC), COUNT(*) OVER (PARTITION BY size) FROM t ORDER BY id;
SELECT id, SUM(id) OVER (ORDER BY tags) AS s FROM t ORDER BY id;
SELECT id, ROW_NUMBER() OVER (PARTITION BY v ORDER BY size DESC, id) AS n FROM t ORDER BY id;
SELECT id, FIRST_VALUE(id) OVER (ORDER BY w, id) AS f FROM t ORDER BY w DESC, id;
SELECT MIN(size), MAX(size), MIN(tags), MAX(tags), MIN(w), MAX(w) FROM t;
SELECT size, COUNT(*) FROM t GROUP BY size ORDER BY size;
SELECT size, COUNT(*) FROM t GROUP BY size ORDER BY size DESC;
SELECT tags, MAX(id) FROM t GROUP BY tags ORDER BY tags LIMIT 3;
SELECT size, v, COUNT(*) FROM t GROUP BY size, v ORDER BY size, v;
SELECT size AS x, SUM(id) AS s FROM t GROUP BY x HAVING s > 1 ORDER BY x;
SELECT size, COUNT(*) FROM t GROUP BY size ORDER BY 2, 1;
SELECT size, COUNT(*) FROM t GROUP BY size WITH ROLLUP;
SELECT size, v, COUNT(*) FROM t GROUP BY size, v WITH ROLLUP;
SELECT v, tags, COUNT(*) FROM t GROUP BY v, tags WITH ROLLUP;
SELECT DISTINCT size FROM t ORDER BY size;
SELECT DISTINCT v, size FROM t ORDER BY size DESC, v;
-- The least and the greatest are those of the text, and are sorted by their numbers.
SELECT v, MAX(size) AS m FROM t GROUP BY v ORDER BY m, v;
SELECT v FROM t GROUP BY v ORDER BY MIN(size), v;
WITH c AS (SELECT MAX(size) AS size, v FROM t GROUP BY v) SELECT v FROM c ORDER BY size, v;
-- Derived tables keep the type.
SELECT d.size FROM (SELECT size FROM t ORDER BY id LIMIT 4) AS d ORDER BY d.size;
SELECT d.size FROM (SELECT DISTINCT size FROM t) AS d ORDER BY d.size DESC;
SELECT d.s, d.c FROM (SELECT size AS s, COUNT(*) AS c FROM t GROUP BY size) AS d ORDER BY d.s;
WITH c AS (SELECT size, id FROM t) SELECT id FROM c ORDER BY size, id;
SELECT u.size FROM t LEFT JOIN t AS u ON u.id = t.id + 1 ORDER BY u.size, u.id;
SELECT id FROM t JOIN (SELECT size AS z, MIN(id) AS n FROM t GROUP BY size) AS g ON g.n = t.id ORDER BY z, id;
-- Expressions are text.
SELECT id, IF(id > 0, size, size) AS x FROM t ORDER BY x, id;
SELECT id, IFNULL(size, 'm') AS x FROM t ORDER BY x, id;
-- values only: it is an ENUM to MySQL, which orders its text
SELECT id, COALESCE(size) AS x FROM t ORDER BY x, id;
-- values only: it is an ENUM to MySQL, which orders its text
SELECT id, CASE WHEN id > 0 THEN size END AS x FROM t ORDER BY x, id;
SELECT id, GREATEST(size, 'm') AS x FROM t ORDER BY x, id;
SELECT id FROM t ORDER BY CONCAT(size), id;
SELECT id, size COLLATE utf8mb4_bin AS x FROM t ORDER BY x, id;
-- values only: ANY_VALUE of an ENUM is a VARCHAR to MySQL
SELECT v, ANY_VALUE(size) AS a FROM t WHERE id <> 2 AND id <> 4 GROUP BY v ORDER BY a, v;
SELECT id, MAX(size) OVER (PARTITION BY v) AS x FROM t ORDER BY x, id;
SELECT size FROM t UNION SELECT size FROM t ORDER BY size;
SELECT size FROM t UNION ALL SELECT 'm' ORDER BY 1;
SELECT d.size FROM (SELECT size FROM t UNION ALL SELECT size FROM t) AS d ORDER BY d.size;
-- values only: the union is an ENUM to MySQL
SELECT size FROM t UNION ALL SELECT NULL ORDER BY 1;
-- values only: the union is an ENUM to MySQL
SELECT size FROM t UNION SELECT NULL UNION ALL SELECT NULL ORDER BY size DESC;
-- unordered
(SELECT size FROM t WHERE id < 3 ORDER BY size LIMIT 1) UNION ALL (SELECT size FROM t ORDER BY size DESC LIMIT 1);
SELECT id FROM t WHERE size < 'm' ORDER BY id;
SELECT id FROM t WHERE size BETWEEN 'l' AND 'm' ORDER BY id;
SELECT a.id, b.id FROM t AS a JOIN t AS b WHERE a.size < b.size ORDER BY 1, 2;
-- As numbers they are the places of their members.
SELECT id FROM t WHERE size = 2 ORDER BY id;
SELECT id FROM t WHERE size < 2 ORDER BY id;
SELECT id FROM t ORDER BY size + 0, id;
-- refused: 1235
SELECT id, LAG(size) OVER (ORDER BY id) AS x FROM t ORDER BY x, id;
-- refused: 1235
SELECT id, MIN(size) OVER (ORDER BY size) FROM t;
-- Sorted writes.
CREATE TABLE n (a INT AUTO_INCREMENT PRIMARY KEY, size ENUM('s','m','l'));
INSERT INTO n (size) SELECT size FROM t WHERE size IS NOT NULL ORDER BY size, id;
SELECT * FROM n ORDER BY a;
DELETE FROM n ORDER BY size DESC LIMIT 1;
UPDATE n SET size = 'l' ORDER BY size, a LIMIT 1;
SELECT * FROM n ORDER BY a;
-- Members of other character sets, with spaces and commas.
CREATE TABLE o (id INT PRIMARY KEY, l ENUM('ö','ä','z') CHARACTER SET latin1, c ENUM('x, y','x','a b'), s SET('é','d') CHARACTER SET latin1);
INSERT INTO o VALUES (1,'ä','x','d'),(2,'z','x, y','é'),(3,'ö','a b','é,d'),(4,NULL,NULL,'');
SELECT id FROM o ORDER BY l, id;
SELECT id FROM o ORDER BY c, id;
SELECT id FROM o ORDER BY s DESC, id;
SELECT l, COUNT(*) FROM o GROUP BY l ORDER BY l;
SELECT l, COUNT(*) FROM o GROUP BY l WITH ROLLUP;
-- The error value comes first.
SET sql_mode = '';
INSERT INTO t VALUES (6,'nothing','p,nothing','x','b'),(7,'','r,p','y','zz');
SELECT id, size, tags FROM t ORDER BY size, id;
SELECT id FROM t ORDER BY tags, id;
SELECT size, COUNT(*) FROM t GROUP BY size ORDER BY size;
SET sql_mode = DEFAULT;
CREATE TABLE e (id INT PRIMARY KEY, a ENUM('','y','x'), b ENUM('y','x',''));
INSERT INTO e VALUES (1,'x','x'),(2,'','y'),(3,'y','x');
SELECT id FROM e ORDER BY a, id;
SELECT id FROM e ORDER BY b, id;
INSERT INTO e VALUES (4,'y','');
-- refused: 1235
SELECT id FROM e ORDER BY b, id;
-- As conditions they are their numbers.
SELECT id FROM t WHERE size ORDER BY id;
SELECT id FROM t WHERE NOT size ORDER BY id;
SELECT id FROM t WHERE tags AND id > 1 ORDER BY id;
SELECT id FROM t WHERE NOT tags ORDER BY id;
-- refused: 1235
SELECT v FROM t GROUP BY v HAVING MIN(size) ORDER BY v;
-- refused: 1235
SELECT id FROM e WHERE a;
SELECT IF(size, 1, 2) FROM t;
SELECT CASE WHEN tags THEN 1 END FROM t;
SELECT id FROM t WHERE COALESCE(size, 'm');
SELECT IFNULL(size, 'm') + 1 FROM t;
SELECT ELT(size, 'a', 'b', 'c') FROM t;
SELECT MAKE_SET(tags, 'a', 'b', 'c') FROM t;
SELECT MAKEDATE(2020, size) FROM t;
SELECT MAKETIME(size, 1, 1) FROM t;
-- refused: 1235
SELECT id FROM t WHERE id IN (SELECT size FROM t);
-- refused: 1235
SELECT id FROM t WHERE size NOT IN (SELECT id FROM t);
-- refused: 1235
SELECT id FROM t WHERE id + 0.5 IN (SELECT tags FROM t);
SELECT id, size + 0, tags * 2, size = 2, 2 <= size, size <=> NULL, size BETWEEN 2 AND 3, size IN (1, 3), 2 IN (size, tags), tags & 1, -size, size DIV 2, ROUND(size / 2, 1) FROM t ORDER BY id;
SELECT id, IF(id > 2, size, 'x') + 1, CASE WHEN id > 2 THEN size ELSE tags END + 1, GREATEST(size, 2) + 0, NULLIF(2, size), CASE size WHEN 2 THEN 'two' WHEN 3 THEN 'three' END FROM t ORDER BY id;
SELECT SUM(size), AVG(tags), MAX(size + 0), COUNT(DISTINCT size * 1) FROM t;
SELECT CAST(size AS UNSIGNED), CAST(tags AS SIGNED), CAST(size AS DECIMAL(5,2)), CAST(size AS CHAR), REPEAT('x', size), size AND 1 FROM t ORDER BY id;
SELECT id FROM t WHERE size > 1.5 AND tags < 4 ORDER BY id;
SELECT p.id, q.id FROM t p JOIN t q ON p.size = q.id ORDER BY 1, 2;
-- refused: 1235
SELECT size IN (2, 's') FROM t;
-- refused: 1235
SELECT x.size + 0 FROM (SELECT MAX(size) AS size FROM t) x;
