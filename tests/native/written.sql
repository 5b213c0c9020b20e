-- Statements that write: what they leave, and what they say.
CREATE TABLE t (a INT PRIMARY KEY, b INT);
CREATE TABLE u (a INT PRIMARY KEY, b INT);
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
-- A table that is made of a query has its rows whatever becomes of transactions.
SET autocommit = 0;
CREATE TABLE made (a INT PRIMARY KEY) SELECT a FROM t;
ROLLBACK;
SELECT a FROM made ORDER BY a;
CREATE TABLE unmade (a INT PRIMARY KEY) SELECT 1 AS a UNION ALL SELECT 1;
INSERT INTO t VALUES (4, 4);
ROLLBACK;
SELECT COUNT(*) FROM unmade;
SELECT COUNT(*) FROM t;
SET autocommit = 1;
-- All tables of a statement change by what one query found.
INSERT INTO u SELECT a, b FROM t;
INSERT INTO t SELECT a + 10, b FROM t UNION ALL SELECT a + 20, b FROM t UNION ALL SELECT a + 30, b FROM t;
INSERT INTO t SELECT a + 100, b FROM t UNION ALL SELECT a + 200, b FROM t UNION ALL SELECT a + 300, b FROM t;
INSERT IGNORE INTO u SELECT a, b FROM t;
UPDATE t JOIN u ON u.a = t.a JOIN (SELECT a FROM t ORDER BY RAND() LIMIT 10) d ON d.a = t.a SET t.b = 1000, u.b = 1000;
SELECT COUNT(*), SUM(t.b = 1000 AND u.b = 1000) FROM t JOIN u ON u.a = t.a WHERE t.b = 1000 OR u.b = 1000;
DELETE t, u FROM t JOIN u ON u.a = t.a JOIN (SELECT a FROM t ORDER BY RAND() LIMIT 10) d ON d.a = t.a;
SELECT COUNT(*), COUNT(u.a) FROM t LEFT JOIN u ON u.a = t.a;
DELETE FROM u WHERE a > 100;
DELETE t, u FROM t LEFT JOIN u ON u.a = t.a WHERE t.a > 2;
SELECT COUNT(*) FROM t;
SELECT COUNT(*) FROM u WHERE a > 2;
-- What a DELETE of several tables names.
DELETE native_written.t FROM t JOIN u ON u.a = t.a WHERE t.a = 99;
DELETE t FROM native_written.t JOIN u ON u.a = t.a WHERE t.a = 99;
DELETE native_written.x FROM t AS x JOIN u ON u.a = x.a;
DELETE t FROM t AS x JOIN u ON u.a = x.a;
DELETE nowhere.t FROM t JOIN u ON u.a = t.a;
DELETE x FROM t AS x JOIN u ON u.a = x.a WHERE x.a = 99;
-- A default that is an expression sees what was assigned before it.
CREATE TABLE computed (a INT PRIMARY KEY, b INT, c INT DEFAULT (b + 1), d INT DEFAULT (c * 2));
INSERT INTO computed (a, b) VALUES (1, 1), (2, 2);
UPDATE computed SET b = b * 10, c = DEFAULT, d = DEFAULT;
SELECT * FROM computed ORDER BY a;
UPDATE computed SET c = DEFAULT, b = 7;
SELECT * FROM computed ORDER BY a;
INSERT INTO computed (a, b) VALUES (1, 3) ON DUPLICATE KEY UPDATE b = VALUES(b), c = DEFAULT;
SELECT * FROM computed ORDER BY a;
