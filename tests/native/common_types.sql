-- The types that several values have in common.
CREATE TABLE c (id INT PRIMARY KEY, f FLOAT, t TINYINT, s SMALLINT, m MEDIUMINT, i INT, b BIGINT, d DECIMAL(6,2));
INSERT INTO c VALUES (1, 1.1, 1, 2, 3, 4, 5, 6.5), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (3, 0.3, NULL, NULL, NULL, NULL, NULL, -1.25);
SELECT id, IFNULL(f, 0), COALESCE(f, b), COALESCE(b, f), COALESCE(f, i), COALESCE(i, f), COALESCE(f, d), COALESCE(d, f) FROM c ORDER BY id;
SELECT id, COALESCE(t, f), COALESCE(s, f), COALESCE(m, f), COALESCE(f, t), IF(id > 1, f, s), CASE id WHEN 1 THEN t WHEN 2 THEN i ELSE f END FROM c ORDER BY id;
-- A server shows the digits of the branch that was taken, here all have those of the type: of an IF only equal digits are compared.
SELECT id, IF(id = 1, d, 0.00), IF(id = 1, d, 123456789.00), CASE WHEN id = 1 THEN d ELSE 0.00 END, COALESCE(d, 0), IFNULL(d, 1.005) FROM c ORDER BY id;
SELECT SUM(IF(id = 1, d, 0)), AVG(CASE WHEN id <> 2 THEN d ELSE 0 END) FROM c;
SELECT f FROM c WHERE id = 1 UNION ALL SELECT t FROM c WHERE id = 1;
-- ANY_VALUE makes no group of all rows by itself.
SELECT ANY_VALUE(f), COUNT(*) FROM c WHERE id = 1;
SELECT ANY_VALUE(id) FROM c;
