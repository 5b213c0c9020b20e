-- Statements that change rows, in the corners: keys that change by themselves, rows that a join has
-- several times or not at all, rows that stay as they are.
CREATE TABLE touched (id INT, ts DATETIME NOT NULL DEFAULT '2020-01-01' ON UPDATE CURRENT_TIMESTAMP, v INT, PRIMARY KEY (id, ts));
INSERT INTO touched (id, v) VALUES (1, 1), (2, 2);
UPDATE touched SET v = 2 WHERE id = 1;
SELECT id, v, ts > '2020-01-01' FROM touched ORDER BY id;
UPDATE touched SET v = 2;
SELECT id, v, ts > '2020-01-01' FROM touched ORDER BY id;
-- refused: 1235
INSERT INTO touched (id, v) VALUES (2, 2) ON DUPLICATE KEY UPDATE v = 7;
CREATE TABLE made (a INT, b INT, g INT AS (b % 10) STORED, n INT, PRIMARY KEY (a, g));
INSERT INTO made (a, b, n) VALUES (1, 5, 1), (2, 7, 1);
-- refused: 1235
INSERT INTO made (a, b, n) VALUES (1, 15, 2) ON DUPLICATE KEY UPDATE b = 7, n = 9;
INSERT INTO made (a, b, n) VALUES (2, 17, 2) ON DUPLICATE KEY UPDATE b = 27, n = 9;
UPDATE made SET b = 6 WHERE a = 2;
SELECT * FROM made WHERE a = 2;
-- The key may be assigned where it stays what it is.
CREATE TABLE numbered (id INT AUTO_INCREMENT PRIMARY KEY, v INT);
INSERT INTO numbered (v) VALUES (1), (2);
INSERT INTO numbered (id, v) VALUES (1, 5) ON DUPLICATE KEY UPDATE id = id;
INSERT INTO numbered (id, v) VALUES (1, 5) ON DUPLICATE KEY UPDATE id = VALUES(id), v = VALUES(v);
INSERT INTO numbered (id, v) VALUES (2, 6) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), v = v + 10;
SELECT LAST_INSERT_ID();
-- refused: 1235
INSERT INTO numbered (id, v) VALUES (2, 6) ON DUPLICATE KEY UPDATE id = 1;
SELECT * FROM numbered ORDER BY id;
-- A table that stands twice in a join.
CREATE TABLE twice (id INT PRIMARY KEY, x INT, y INT);
INSERT INTO twice VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0);
-- refused: 1235
UPDATE twice a JOIN twice b ON b.id = a.id + 1 SET a.x = 1, b.y = 2 WHERE a.id > 100;
UPDATE twice a JOIN twice b ON b.id = a.id + 1 SET a.x = b.id;
SELECT * FROM twice ORDER BY id;
DELETE a, b FROM twice a JOIN twice b ON b.id = a.id + 1 WHERE b.id < 4;
SELECT * FROM twice ORDER BY id;
BEGIN;
INSERT INTO twice VALUES (5, 0, 0), (6, 0, 0);
DELETE a, b FROM twice a JOIN twice b ON b.id = a.id + 1;
SELECT * FROM twice ORDER BY id;
ROLLBACK;
SELECT * FROM twice ORDER BY id;
-- Rows that an outer join makes up.
CREATE TABLE p (id INT PRIMARY KEY);
CREATE TABLE c (id INT PRIMARY KEY, pid INT, x INT);
INSERT INTO p VALUES (1), (2);
INSERT INTO c VALUES (10, 1, 0);
UPDATE p LEFT JOIN c ON c.pid = p.id SET c.x = 1;
SELECT * FROM c;
DELETE p, c FROM p LEFT JOIN c ON c.pid = p.id;
SELECT COUNT(*) FROM p;
SELECT COUNT(*) FROM c;
-- Rows that are replaced by what they are.
CREATE TABLE r (id INT PRIMARY KEY, v VARCHAR(5), d DOUBLE);
REPLACE INTO r VALUES (1, 'a', 1);
REPLACE INTO r VALUES (1, 'a', 1);
REPLACE INTO r VALUES (1, 'A', 1);
REPLACE INTO r VALUES (2, NULL, NULL), (2, NULL, NULL);
REPLACE INTO r VALUES (3, 'a', 1), (3, 'b', 1), (3, 'b', 1), (1, 'A', 1);
REPLACE INTO r SELECT * FROM r;
BEGIN;
REPLACE INTO r VALUES (1, 'A', 1), (4, 'x', 0);
REPLACE INTO r VALUES (4, 'x', 0), (4, 'y', 0);
ROLLBACK;
SELECT * FROM r ORDER BY id;
-- Definitions.
CREATE TABLE texts (id INT PRIMARY KEY, c TINYTEXT, b TINYBLOB);
INSERT INTO texts VALUES (1, REPEAT('x', 200), REPEAT('y', 200));
ALTER TABLE texts MODIFY c VARCHAR(64);
ALTER TABLE texts MODIFY c VARCHAR(200);
ALTER TABLE texts MODIFY b VARBINARY(100);
ALTER TABLE texts MODIFY c TINYTEXT;
SELECT CHAR_LENGTH(c), LENGTH(b) FROM texts;
CREATE TABLE computed (id INT PRIMARY KEY, d DATETIME, g VARCHAR(40) AS (CONCAT(d)) STORED, v VARCHAR(9) CHARACTER SET latin1, l INT AS (LENGTH(v)) STORED);
INSERT INTO computed (id, d, v) VALUES (1, '2024-01-01', 'é');
SELECT g, l FROM computed;
ALTER TABLE computed MODIFY d DATETIME(6);
SELECT g, l FROM computed;
ALTER TABLE computed MODIFY v VARCHAR(9) CHARACTER SET utf8mb4;
SELECT g, l FROM computed;
CREATE TABLE depending (id INT PRIMARY KEY, a INT, b INT DEFAULT (a + 1));
ALTER TABLE depending RENAME COLUMN a TO z;
ALTER TABLE depending DROP COLUMN a;
ALTER TABLE depending DROP COLUMN b, RENAME COLUMN a TO z;
INSERT INTO depending (id, z) VALUES (1, 1);
SELECT * FROM depending;
CREATE TABLE wrong (id INT PRIMARY KEY, b INT DEFAULT (nope + 1));
CREATE TABLE one (id INT PRIMARY KEY);
CREATE TABLE other (id INT PRIMARY KEY);
ALTER TABLE one ADD COLUMN x INT, RENAME TO other;
SELECT * FROM one;
ALTER TABLE one RENAME TO one;
ALTER TABLE one ADD COLUMN y INT, RENAME TO third;
SELECT * FROM third;
-- Values that name columns of their own row: those in front are set, the others have their defaults.
CREATE TABLE own (a INT PRIMARY KEY, b INT, c INT DEFAULT 7, d VARCHAR(10) NOT NULL DEFAULT 'x');
INSERT INTO own (a, b) VALUES (15, a * 2);
INSERT INTO own (b, a) VALUES (c + 1, 16);
INSERT INTO own SET a = 17, b = a + 1, d = CONCAT(d, b);
INSERT INTO own VALUES (18, a + 1, b + 1, CONCAT(a, b, c)), (19, c, own.a, d), (20, 1, 2, 'y');
INSERT INTO own (a, b) VALUES (a + 21, 1);
INSERT INTO own (b, a) VALUES (b, 22);
INSERT INTO own (a, b) VALUES (30, nothing + a);
INSERT INTO own SET a = 31, b = nothing;
INSERT INTO own (a, d) VALUES (32, 'z'), (33, CONCAT(d, 'more than ten', a));
-- Rows with the same expressions, and rows with others between them.
CREATE TABLE alike (a INT PRIMARY KEY, b VARCHAR(20) DEFAULT 'd', c VARCHAR(40), d TINYINT);
INSERT INTO alike (a, b, c) VALUES (1, 'p', REPEAT(b, a)), (2, 'q', REPEAT(b, a)), (3, DEFAULT, REPEAT(b, a)), (4, 'r', CONCAT(b, c)), (5, 's', 'plain'), (6, CONCAT('t', a), REPEAT(b, 2)), (7, CONCAT('t', a), REPEAT(b, 2)), (8, 'u', REPEAT(b, a));
SELECT a, b, c, d FROM alike ORDER BY a;
INSERT INTO alike (a, c, d) VALUES (11, CONCAT(a), 1), (12, CONCAT(a), 2), (13, CONCAT(a), 300), (14, CONCAT(a, REPEAT('x', 50)), 4);
INSERT INTO alike (a, c, d) VALUES (15, REPEAT('x', a), 1), (16, REPEAT('x', a + 50), 2), (17, REPEAT('x', a), 'y');
INSERT IGNORE INTO alike (a, c, d) VALUES (18, REPEAT('x', a), 1), (19, REPEAT('x', a + 40), 300), (20, REPEAT('x', a + 40), 'y');
SELECT a, c, d FROM alike WHERE a > 8 ORDER BY a;
DROP TABLE alike;
REPLACE INTO own (a, b) VALUES (15, b);
SELECT * FROM own ORDER BY a;
-- Rows that would break a CHECK stay as they are under IGNORE.
CREATE TABLE kept (a INT PRIMARY KEY, b INT, CHECK (b < 10));
INSERT INTO kept VALUES (1, 1), (2, 2);
INSERT IGNORE INTO kept VALUES (1, 1) ON DUPLICATE KEY UPDATE b = 50;
INSERT INTO kept VALUES (1, 1) ON DUPLICATE KEY UPDATE b = 50;
INSERT IGNORE INTO kept VALUES (3, 3), (1, 1), (2, 9), (2, 1), (4, 20), (2, 3) ON DUPLICATE KEY UPDATE b = b + VALUES(b);
INSERT IGNORE INTO kept VALUES (1, 1) ON DUPLICATE KEY UPDATE a = 9, b = 50;
INSERT IGNORE INTO kept VALUES (1, 50) ON DUPLICATE KEY UPDATE b = 5;
SELECT * FROM kept ORDER BY a;
-- A constant text that is no number is complained of once, however many rows it is compared with.
SET sql_mode = '';
CREATE TABLE once (id INT PRIMARY KEY, n DECIMAL(10,2), f DOUBLE);
INSERT INTO once VALUES (1,1,1),(2,2,2),(12,12,12),(13,13,NULL);
INSERT INTO once SELECT id + 100, n, f FROM once WHERE id < 100 AND id = '12abc';
INSERT INTO once SELECT id + 200, n, f FROM once WHERE id < 100 AND id + 0 < '12abc';
INSERT INTO once SELECT id + 300, n, f FROM once WHERE id < 100 AND '2x' <= f;
INSERT INTO once SELECT id + 400, n, f FROM once WHERE id < 100 AND f <=> '2x';
INSERT INTO once SELECT id + 500, n, f FROM once WHERE id < 100 AND id IN ('12abc', '13x');
INSERT INTO once SELECT id + 600, n, f FROM once WHERE id < 100 AND id + 0 NOT IN ('12abc', '13x');
INSERT INTO once SELECT id + 700, n, f FROM once WHERE id < 100 AND f <> '';
INSERT INTO once SELECT id + 800, n, f FROM once WHERE id < 100 AND n > 'two';
INSERT INTO once SELECT id + 1000, id = '12abc', f FROM once WHERE id < 100;
SELECT * FROM once ORDER BY id;
UPDATE once SET n = 1 WHERE f = '2x';
DELETE FROM once WHERE f > '2x';
SET sql_mode = DEFAULT;
UPDATE once SET n = 1 WHERE f = '2x';
SELECT * FROM once ORDER BY id;
