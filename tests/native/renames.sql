-- RENAME TABLE with several pairs: each sees what those before it have done, and all count or none.
CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(9));
CREATE TABLE b (id INT PRIMARY KEY, v VARCHAR(9));
CREATE TABLE n (id INT AUTO_INCREMENT PRIMARY KEY);
INSERT INTO a VALUES (1, 'a');
INSERT INTO b VALUES (1, 'b');
INSERT INTO n VALUES (), ();
RENAME TABLE a TO x, b TO a, x TO b;
SELECT a.v, b.v FROM a, b;
-- One that is gone, one that is not free, the same name, and a chain that ends where it began.
RENAME TABLE a TO x, a TO y;
SHOW TABLES;
RENAME TABLE a TO x, b TO x;
RENAME TABLE a TO x, nothing TO y;
RENAME TABLE a TO x, x TO b;
RENAME TABLE a TO a;
RENAME TABLE nothing TO a;
RENAME TABLE a TO x, x TO y, y TO a;
RENAME TABLE a TO nowhere.a;
SHOW TABLES;
SELECT a.v, b.v FROM a, b;
RENAME TABLE a TO c, n TO m, c TO n;
SELECT * FROM n;
INSERT INTO m VALUES ();
SELECT * FROM m ORDER BY id;
ALTER TABLE n RENAME TO m;
ALTER TABLE n RENAME TO n;
ALTER TABLE n RENAME TO a, ADD COLUMN w INT DEFAULT 3;
SELECT * FROM a;
-- Names of constraints that were made of the table's.
CREATE TABLE ch (id INT PRIMARY KEY CHECK (id > 0), CONSTRAINT ch_chk_x CHECK (id < 9));
RENAME TABLE ch TO hc;
ALTER TABLE hc DROP CHECK ch_chk_1;
ALTER TABLE hc DROP CHECK hc_chk_1, DROP CHECK ch_chk_x;
INSERT INTO hc VALUES (-1), (10);
SELECT * FROM hc ORDER BY id;
