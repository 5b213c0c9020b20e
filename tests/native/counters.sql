-- AUTO_INCREMENT in the corners: rows that are changed, left out, and columns that are full.
CREATE TABLE moved (id INT AUTO_INCREMENT PRIMARY KEY, v INT);
INSERT INTO moved (v) VALUES (1);
UPDATE moved SET id = 3;
INSERT INTO moved (v) VALUES (2);
INSERT INTO moved (v) VALUES (3);
SELECT * FROM moved ORDER BY id;
UPDATE moved SET v = 9 WHERE id = 3;
UPDATE moved SET id = id + 100 WHERE v = 2;
INSERT INTO moved (v) VALUES (4);
SELECT * FROM moved ORDER BY id;
-- NULL is no number for rows that are there.
CREATE TABLE aside (k INT PRIMARY KEY, id INT NOT NULL AUTO_INCREMENT, KEY (id));
INSERT INTO aside (k) VALUES (1), (2);
UPDATE aside SET id = NULL;
UPDATE aside a JOIN moved m ON m.id = 3 SET a.id = NULL;
INSERT INTO aside (k) VALUES (1) ON DUPLICATE KEY UPDATE id = NULL;
SELECT * FROM aside ORDER BY k;
SET sql_mode = '';
UPDATE aside SET id = NULL WHERE k = 2;
SELECT * FROM aside ORDER BY k;
SET sql_mode = DEFAULT;
-- Numbers of rows that are left out are nobody's.
CREATE TABLE told (k INT PRIMARY KEY, id INT AUTO_INCREMENT, KEY (id));
INSERT INTO told (k) VALUES (1);
SELECT LAST_INSERT_ID();
INSERT IGNORE INTO told (k) VALUES (1);
SELECT LAST_INSERT_ID();
INSERT IGNORE INTO told (k) VALUES (1), (2), (3);
SELECT LAST_INSERT_ID();
-- A column that is full.
CREATE TABLE small (id TINYINT AUTO_INCREMENT PRIMARY KEY, v INT);
INSERT INTO small VALUES (127, 1);
INSERT INTO small (v) VALUES (2);
INSERT IGNORE INTO small (v) VALUES (2);
SELECT * FROM small ORDER BY id;
CREATE TABLE widest (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, v INT);
INSERT INTO widest VALUES (18446744073709551614, 1);
INSERT INTO widest (v) VALUES (2);
SELECT * FROM widest ORDER BY id;
-- A counter goes back to what is there.
CREATE TABLE back (id INT AUTO_INCREMENT PRIMARY KEY, v INT);
INSERT INTO back (v) VALUES (1), (2), (3), (4), (5);
DELETE FROM back WHERE id > 2;
ALTER TABLE back AUTO_INCREMENT = 1;
INSERT INTO back (v) VALUES (6);
SELECT * FROM back ORDER BY id;
DELETE FROM back WHERE id > 2;
ALTER TABLE back MODIFY v BIGINT, AUTO_INCREMENT = 2;
INSERT INTO back (v) VALUES (7);
ALTER TABLE back AUTO_INCREMENT = 50;
INSERT INTO back (v) VALUES (8);
SELECT * FROM back ORDER BY id;
-- A row that would break a CHECK stays as it is.
CREATE TABLE checked (a INT PRIMARY KEY, b INT, CHECK (b < 10));
INSERT INTO checked VALUES (1, 1), (2, 2);
INSERT INTO checked VALUES (1, 1) ON DUPLICATE KEY UPDATE b = 50;
INSERT IGNORE INTO checked VALUES (1, 1), (2, 2), (3, 3) ON DUPLICATE KEY UPDATE b = b * 5;
SELECT * FROM checked ORDER BY a;
-- In a transaction as outside of one.
CREATE TABLE many (id INT PRIMARY KEY, v INT);
INSERT INTO many VALUES (3, 0), (5, 0);
BEGIN;
INSERT IGNORE INTO many VALUES (1, 1), (3, 1), (5, 1), (6, 1);
INSERT IGNORE INTO many SELECT id + 1, 2 FROM many;
SELECT * FROM many ORDER BY id;
SAVEPOINT a;
INSERT INTO many VALUES (20, 1);
INSERT INTO many VALUES (21, 1), (20, 2);
INSERT INTO many VALUES (22, 1);
UPDATE many SET v = 7 WHERE id = 20;
SELECT * FROM many ORDER BY id;
ROLLBACK TO a;
SELECT * FROM many ORDER BY id;
INSERT INTO many VALUES (23, 1);
DELETE FROM many WHERE id < 4;
COMMIT;
SELECT * FROM many ORDER BY id;
