-- ALTER TABLE: what it refuses as CREATE TABLE does, and what it keeps together.
-- rows are checked when a CHECK reads them otherwise
CREATE TABLE ck (a INT PRIMARY KEY, c VARCHAR(10), CHECK (c = 'ABC'));
INSERT INTO ck VALUES (1, 'abc');
-- refused: 3819
ALTER TABLE ck MODIFY c VARCHAR(10) COLLATE utf8mb4_bin;
-- refused: 3819
ALTER TABLE ck CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
DROP TABLE ck;
