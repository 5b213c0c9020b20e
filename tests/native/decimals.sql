-- Decimals of every width: products that need more than 38 digits, sums of them, groups by short texts.
CREATE TABLE d (a INT NOT NULL PRIMARY KEY, g CHAR(3), x DECIMAL(15,2), y DECIMAL(30,10), z DECIMAL(38,0), w DECIMAL(60,20));
INSERT INTO d VALUES (1, 'a', 10.25, 12345678901234567890.1234567891, 99999999999999999999999999999999999999, 1.00000000000000000001), (2, 'A', -7.10, -99999999999999999999.9999999999, -99999999999999999999999999999999999999, -9999999999999999999999999999999999999999.5), (3, 'b', NULL, NULL, NULL, NULL), (4, 'B ', 9999999999999.99, 0.0000000001, 1, 0.00000000000000000001), (5, NULL, 0.00, 1, 12345678901234567890123456789012345678, 5), (6, 'ä', 3.33, 33333333333333333333.3333333333, 3, 3);
SELECT a, x * y, y * y, x * (1 - x) * (1 + x), x * z FROM d ORDER BY a;
SELECT a, x + y, y - x, z + x, w - y, w + w FROM d ORDER BY a;
SELECT SUM(x), SUM(y), SUM(z), SUM(w) FROM d;
SELECT SUM(x * y), SUM(y * y), SUM(x * (1 - x) * (1 + x)), SUM(x * z) FROM d;
SELECT AVG(x), AVG(y), AVG(z), AVG(w), AVG(x * y) FROM d;
SELECT MIN(g), COUNT(*), SUM(y * y), AVG(x * (1 - x)), MIN(w), MAX(z) FROM d GROUP BY g ORDER BY 2, 3;
SELECT g, SUM(x * y) FROM d WHERE a IN (1, 4, 6) GROUP BY g ORDER BY g;
SELECT z * z FROM d WHERE a = 5;
SELECT z * z * z FROM d WHERE a = 1;
SELECT SUM(w * w) FROM d WHERE a IN (4, 5, 6);
SELECT a, x / 7 + y, x / 3 / 7 / 11 / 13 / 17 - y, y / 3 - x / 7, x / 3 / 7 / 11 / 13 / 17 / 19 / 23 + z FROM d ORDER BY a;
SELECT SUM(x / 3 / 7 / 11 / 13 + y) FROM d;
-- AVG has more digits than it shows, and what is computed of it has not.
CREATE TABLE v (id INT PRIMARY KEY, x INT);
INSERT INTO v VALUES (1, 1), (2, 1), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0);
INSERT INTO v SELECT a.id * 100 + b.id * 10 + c.id, 0 FROM v a, v b, v c;
DELETE FROM v WHERE id > 741;
SELECT COUNT(*) FROM v;
SELECT AVG(x), AVG(x) * 1000, AVG(x) + 0, (AVG(x) + 0) * 1000, (AVG(x) - 0) * 1000, (AVG(x) + AVG(x)) * 1000, (AVG(x) * 1) * 1000, MOD(AVG(x), 1) * 1000 FROM v;
SELECT IFNULL(AVG(x), 0) * 1000, COALESCE(AVG(x), 0) * 1000, GREATEST(AVG(x), 0) * 1000, LEAST(AVG(x), 1) * 1000, NULLIF(AVG(x), 0) * 1000, IF(1, AVG(x), 0) * 1000, CASE WHEN 1 THEN AVG(x) END * 1000 FROM v;
SELECT ROUND(AVG(x), 2), ROUND(AVG(x) + 0, 2), ROUND(AVG(x) * 1, 3), ROUND(IFNULL(AVG(x), 0), 3), -AVG(x) * 1000, ABS(AVG(x)) * 1000 FROM v;
SELECT TRUNCATE(AVG(x), 2), TRUNCATE(AVG(x), 3), TRUNCATE(AVG(x), 4), TRUNCATE(AVG(x), 5), TRUNCATE(AVG(x), 10), FLOOR(AVG(x) * 1000), CAST(AVG(x) AS DECIMAL(10,6)) FROM v;
SELECT AVG(x) OVER () * 1000, ROUND(AVG(x) OVER (), 3), TRUNCATE(AVG(x) OVER (), 3), TRUNCATE(AVG(x) OVER (), 4), IF(1, AVG(x) OVER (), 0) * 1000, NULLIF(AVG(x) OVER (), 0) * 1000, CAST(AVG(x) OVER () AS DECIMAL(10,6)) FROM v LIMIT 1;
SELECT SIGN(AVG(x) - (SELECT AVG(x) FROM v)) FROM v;
