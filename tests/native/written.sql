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
UPDATE t JOIN u ON u.a = t.a JOIN (SELECT a FROM t ORDER BY b LIMIT 10) d ON d.a = t.a SET t.b = 1000, u.b = 1000;
SELECT COUNT(*), SUM(t.b = 1000 AND u.b = 1000) FROM t JOIN u ON u.a = t.a WHERE t.b = 1000 OR u.b = 1000;
DELETE t, u FROM t JOIN u ON u.a = t.a JOIN (SELECT a FROM t ORDER BY b LIMIT 10) d ON d.a = t.a;
SELECT COUNT(*), COUNT(u.a) FROM t LEFT JOIN u ON u.a = t.a;
DELETE FROM t;
DELETE FROM u;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5);
INSERT INTO u VALUES (2, 2), (4, 4), (6, 6);
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
-- Many rows of one key, one after another.
CREATE TABLE again (a INT PRIMARY KEY, n INT, s VARCHAR(200), d DECIMAL(20,4), w TIMESTAMP NULL, g INT AS (n * 2), CHECK (n < 1000));
INSERT INTO again (a, n, s, d) VALUES (1, 1, 'x', 0.5), (9, 9, 'nine', 9);
INSERT INTO again (a, n, s, d, w) VALUES (1, 2, 'a', 1.25, NULL), (2, 1, 'b', 2, '2024-01-02 03:04:05'), (1, 3, 'c', 3, NULL), (2, 5, 'd', 0.1, NULL), (1, 4, 'E', 4, '2024-05-06'), (3, 1, 'f', 1, NULL), (1, 5, 'g', 5, NULL), (2, 6, 'h', 6, NULL), (1, 6, 'i', 6, NULL), (1, 7, 'j', 7, NULL), (1, 7, 'k', 7.5, NULL), (2, 1, 'l', 1, NULL), (1, 8, 'm', 8, NULL), (1, 9, 'n', 9, '2024-12-31 23:59:59') AS new ON DUPLICATE KEY UPDATE n = again.n + new.n, s = CONCAT(again.s, IF(new.n > 4, UPPER(new.s), new.s)), d = GREATEST(again.d, new.d) + 1, w = COALESCE(new.w, again.w);
SELECT * FROM again ORDER BY a;
INSERT INTO again (a, n, s) VALUES (1, 0, 'x'), (1, 0, 'x'), (1, 0, 'x'), (1, 0, 'x'), (1, 0, 'x'), (1, 0, 'x'), (1, 0, 'x') ON DUPLICATE KEY UPDATE n = n, s = LOWER(s);
SELECT * FROM again ORDER BY a;
INSERT INTO again (a, n) VALUES (1, 1), (1, 1), (1, 1), (1, 1), (1, 1), (1, 1), (1, 1) ON DUPLICATE KEY UPDATE n = (SELECT MAX(b) FROM u), d = d / 0;
INSERT INTO again (a, n) VALUES (3, 1), (3, 1), (3, 1), (3, 1), (3, 1), (3, 1), (3, 2000) ON DUPLICATE KEY UPDATE n = n + VALUES(n);
SELECT * FROM again ORDER BY a;
-- The manual's way to have a sequence.
CREATE TABLE seq (k INT PRIMARY KEY, id INT UNSIGNED NOT NULL);
INSERT INTO seq VALUES (1, 10), (2, 20);
UPDATE seq SET id = LAST_INSERT_ID(id + 1) WHERE k = 1;
SELECT LAST_INSERT_ID();
UPDATE seq SET id = LAST_INSERT_ID(id) WHERE k = 2;
SELECT LAST_INSERT_ID();
UPDATE seq SET id = LAST_INSERT_ID(id + 100);
SELECT LAST_INSERT_ID();
UPDATE seq SET id = id + 1;
SELECT LAST_INSERT_ID();
SELECT * FROM seq ORDER BY k;
