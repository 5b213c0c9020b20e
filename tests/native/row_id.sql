-- Tables without a primary key, where a hidden row number is asked for.
-- refused: 3750
CREATE TABLE u (a INT);
SET sql_generate_invisible_primary_key = ON;
CREATE TABLE t (a INT, b VARCHAR(10), KEY (a));
INSERT INTO t VALUES (1, 'x'), (1, 'x'), (2, NULL);
INSERT INTO t (b) VALUES ('y');
SELECT * FROM t ORDER BY a, b;
SELECT my_row_id, a, b FROM t ORDER BY my_row_id;
SELECT COUNT(*) FROM t;
UPDATE t SET b = 'z' WHERE a = 1;
UPDATE t SET b = 'w' WHERE a = 1 LIMIT 1;
DELETE FROM t WHERE my_row_id = 3;
SELECT my_row_id, t.* FROM t ORDER BY my_row_id;
INSERT INTO t SELECT a, b FROM t;
SELECT a, b, COUNT(*) FROM t GROUP BY a, b ORDER BY a, b;
INSERT INTO t (my_row_id, a) VALUES (100, 100);
INSERT INTO t (my_row_id, a) VALUES (100, 101);
INSERT INTO t (a) VALUES (102);
SELECT my_row_id, a FROM t WHERE a >= 100 ORDER BY a;
-- values only: types of the columns of SHOW are those of Pelorus's own tables
SHOW COLUMNS FROM t;
CREATE TABLE t2 LIKE t;
INSERT INTO t2 VALUES (7, 'seven');
SELECT my_row_id, a, b FROM t2;
CREATE TABLE t3 AS SELECT a, b FROM t WHERE a < 100;
SELECT a, b FROM t3 ORDER BY a, b;
CREATE TABLE kept (a INT PRIMARY KEY);
INSERT INTO kept VALUES (1);
SELECT * FROM kept;
CREATE TABLE bad (my_row_id INT);
CREATE TABLE bad (a INT AUTO_INCREMENT, KEY (a));
CREATE TABLE bad (a INT) PARTITION BY HASH (a) PARTITIONS 2;
ALTER TABLE t ADD COLUMN c INT DEFAULT 5;
SELECT * FROM t WHERE a = 2 ORDER BY b;
SET sql_generate_invisible_primary_key = OFF;
