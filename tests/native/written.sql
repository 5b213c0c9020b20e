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
