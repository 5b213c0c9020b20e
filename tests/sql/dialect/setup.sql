-- Small tables for the statements of this folder.

SET sql_mode = '';

CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT, b VARCHAR(20), d DATE, ts DATETIME, x DECIMAL(10,2), KEY ka (a), KEY kb (b));
CREATE TABLE u (id INT NOT NULL PRIMARY KEY, tid INT, c VARCHAR(20), `order` INT, KEY (tid));
CREATE TABLE p (id INT NOT NULL PRIMARY KEY, v INT) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE);
INSERT INTO t VALUES (1, 1, 'one', '2024-01-01', '2024-01-01 01:02:03', 1.5), (2, 2, 'Two', '2024-02-29', '2024-02-29 23:59:59', -2.25), (3, NULL, 'it''s', '2023-12-31', NULL, 0), (4, 1, 'back\\slash', '2020-05-05', '2020-05-05 00:00:00', 99.99), (5, 7, NULL, NULL, NULL, NULL);
INSERT INTO u VALUES (1, 1, 'x', 10), (2, 1, 'y', 20), (3, 2, 'X', 30), (4, NULL, 'z', 40);
INSERT INTO p VALUES (1, 1), (5, 2), (10, 3), (20, 4);
