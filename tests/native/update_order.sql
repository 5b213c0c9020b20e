-- The order in which UPDATE comes to its rows: by partition, then by primary key; only by primary
-- key where that changes. What IGNORE leaves out, the first error and the numbers of rows in warnings follow from it.
CREATE TABLE o (a INT PRIMARY KEY, b VARCHAR(4)) PARTITION BY HASH (a) PARTITIONS 3;
INSERT INTO o VALUES (9, 'i'), (7, 'g'), (5, 'e'), (3, 'c'), (1, 'a');
INSERT INTO o VALUES (8, 'h'), (6, 'f'), (4, 'd'), (2, 'b');
UPDATE IGNORE o SET a = a + 2;
SELECT * FROM o ORDER BY a;
UPDATE IGNORE o SET a = a - 1 WHERE a > 2;
SELECT * FROM o ORDER BY a;
UPDATE IGNORE o SET b = CONCAT(b, IF(a % 2, 'long', ''));
SELECT * FROM o ORDER BY a;
UPDATE o SET b = CONCAT(b, REPEAT('x', a));
UPDATE o SET a = a + 3;
SELECT * FROM o ORDER BY a;
UPDATE IGNORE o SET a = 4, b = 'x' WHERE a IN (4, 5, 6);
SELECT * FROM o ORDER BY a;
-- Rows that stay as they are count as rows.
UPDATE IGNORE o SET b = IF(a < 6, b, CONCAT(b, 'long'));
UPDATE IGNORE o SET a = IF(a < 6, a, a - 1);
SELECT * FROM o ORDER BY a;
UPDATE IGNORE o SET a = a + 2 ORDER BY a DESC;
SELECT * FROM o ORDER BY a;
-- By bounds, among them bounds that rows leave
CREATE TABLE g (a INT, b VARCHAR(5), PRIMARY KEY (b, a)) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (0), PARTITION p1 VALUES LESS THAN (10), PARTITION p2 VALUES LESS THAN (15));
INSERT INTO g VALUES (14, 'a'), (3, 'z'), (4, 'y'), (-3, 'x'), (12, 'm'), (9, 'a');
UPDATE IGNORE g SET a = a + 5;
SELECT * FROM g ORDER BY b, a;
UPDATE IGNORE g SET b = 'a';
SELECT * FROM g ORDER BY b, a;
UPDATE IGNORE g SET b = 'm', a = 14;
SELECT * FROM g ORDER BY b, a;
UPDATE g SET a = 20 WHERE a > 0;
-- Without partitions
CREATE TABLE n (a VARCHAR(5) PRIMARY KEY, b TINYINT);
INSERT INTO n VALUES ('c', 30), ('b', 20), ('a', 10);
INSERT INTO n VALUES ('B2', 21), ('_', 0), ('A2', 11);
UPDATE IGNORE n SET b = b * 10;
SELECT * FROM n ORDER BY a;
UPDATE IGNORE n SET a = 'q';
UPDATE n SET b = b * 10;
UPDATE n SET a = 'b' WHERE a IN ('c', 'A2');
SELECT * FROM n ORDER BY a;
-- Of a join
UPDATE IGNORE n JOIN o ON n.b > o.a SET n.b = 200;
SELECT * FROM n ORDER BY a;
