-- Values of different types: what is compared as what, and what a column takes a constant for. (tests/test_mixed_types.py asks every pair of types.)
CREATE TABLE y (id INT PRIMARY KEY, y YEAR, d DATE);
INSERT INTO y VALUES (1, 1998, '1998-01-01'), (2, 2000, '2000-01-01'), (3, 1999, '1901-01-01');
-- values only: MySQL sorts rows of a temporary table, whose columns are INT
SELECT a.y, b.d, a.y > b.d, a.y = DATE'2000-01-01', a.y > DATE'1998-01-01', a.y < b.d FROM y a, y b ORDER BY 1, 2;
SELECT y = 1999.1, y = 1998.9, y IN (1999.1), y IN (1999.1, 1), y = 99, y = '99', y BETWEEN 1.1 AND 99, y <=> TIME'00:00:00', y = '1999-05-05' FROM y ORDER BY id;
SELECT id FROM y WHERE y = 1999.1;
SELECT id FROM y WHERE y <> 1998.9 ORDER BY id;
SELECT LEAST(d, y), GREATEST(y, d), LEAST(d, 20000101), GREATEST(d, 19990101.5) FROM y ORDER BY id;
SELECT GREATEST(d, 20010101) + 0 FROM y;
-- refused: 1235
SELECT GREATEST(d, 'abc') FROM y;
CREATE TABLE mx (id INT PRIMARY KEY, c DATETIME, d TIME, s VARCHAR(30), da DATE);
INSERT INTO mx VALUES (1, '2017-01-01 12:12:12', '12:12:12', '12:12:12', '2017-01-01'), (2, '2017-01-01', '00:00:00', 'ab', '2017-01-02'), (3, '2017-01-01', '00:00:01', 'fi', '2017-01-01');
SELECT '12:12:12' IN (c, d), '12:12:12' IN (d, c), '12:12:12' IN (d), '12:12:12' IN (s, c, d) FROM mx ORDER BY id;
SELECT d = DATE'1970-01-01', d NOT IN ('00:00:00', 'ab'), d IN ('00:00:01', '2024-01-31'), d = 'ab', d < '', d = '12:12', d = TIMESTAMP'2024-01-01 12:12:12', d BETWEEN 0e0 AND '00:00:01' FROM mx ORDER BY id;
-- refused: 1235
SELECT s IN ('fi', TIME'00:00:01') FROM mx;
SELECT c IN ('ab', 1) FROM mx, y;
SELECT id FROM mx WHERE d NOT IN ('00:00:00', 'ab') ORDER BY id;
SELECT id FROM mx WHERE d = DATE'1970-01-01';
SELECT s = c, s < c, s = DATE'2017-01-01', s <> da, c = 20170101, c = 20170101.5, da = 0.1e0, da = 99, da < 99, c IN (20170101, 1), da IN (20170101121212, 7) FROM mx ORDER BY id;
-- refused: 1235
SELECT da BETWEEN 0e0 AND '2017-01-01' FROM mx;
-- Bounds that are the same make an equality.
SELECT d BETWEEN TIMESTAMP'2024-02-29 12:12:12' AND TIMESTAMP'2024-02-29 12:12:12', d BETWEEN DATE'2024-02-29' AND DATE'2024-02-29', d NOT BETWEEN TIMESTAMP'2024-02-29 12:12:12' AND TIMESTAMP'2024-02-29 12:12:12', da BETWEEN 1 AND 1, da BETWEEN 20170101.5 AND 20170101.5, d BETWEEN 'ab' AND 'ab', c BETWEEN 1e30 AND 1e30, c BETWEEN 20170101 AND 20170101 FROM mx ORDER BY id;
SELECT id FROM mx WHERE d BETWEEN TIMESTAMP'2024-02-29 12:12:12' AND TIMESTAMP'2024-02-29 12:12:12';
CREATE TABLE mt (id INT PRIMARY KEY, ts TIMESTAMP NULL, d3 DATETIME(3));
INSERT INTO mt VALUES (1, '2024-02-29', '2024-02-29'), (2, '2024-02-29 12:12:12', '2024-02-29 00:00:00.5'), (3, '1970-01-02', '1970-01-01 00:00:00.5');
SELECT ts = 20240229.5, 20240229.5 <= ts, ts BETWEEN 20240229.5 AND 20240229.5, ts = 20240229000000.4, ts = 19000101, 0.6 <= ts, d3 = 20240229.5, 20240229.5 <= d3, d3 BETWEEN 20240229.5 AND 20240229.5, NULLIF(d3, 20240229.5), d3 = 20240229000000.5 FROM mt ORDER BY id;
SELECT id FROM mt WHERE ts > 20240229.5 ORDER BY id;
SELECT id FROM mx WHERE s <> da ORDER BY id;
SELECT a.id, b.id FROM mx a JOIN mx b ON a.s = b.da;
SELECT CASE d WHEN '12:12:12x' THEN 1 WHEN '' THEN 2 ELSE 0 END, CASE da WHEN 'ab' THEN 1 ELSE 0 END, CASE c WHEN 20170101 THEN 1 ELSE 0 END, NULLIF(d, '12:12:12'), NULLIF(da, 20170101) FROM mx ORDER BY id;
-- refused: 1235
SELECT NULLIF(20170101, da) FROM mx;
SELECT IF(id > 1, da, 'x') + 0 FROM mx;
SELECT CAST(IF(id > 1, da, '2020-02-02') AS DATE), IF(id > 1, da, 'x') = DATE'2017-01-02', CONCAT(IF(id > 1, da, 'x')) FROM mx ORDER BY id;
-- Whole numbers and texts.
CREATE TABLE big (a BIGINT UNSIGNED PRIMARY KEY, b BIGINT, s VARCHAR(30));
INSERT INTO big VALUES (0, 0, '0'), (3, 9007199254740991, '9007199254740991'), (18446744073709551614, 7, '7.0'), (18446744073709551615, -1, '-1');
SELECT a = '18446744073709551615', a = '18446744073709551616', a = 18446744073709551616, b = '9007199254740991.0', a = '3.0', a = '3.1' FROM big ORDER BY a;
SELECT a FROM big WHERE a = '18446744073709551615';
-- refused: 1235
SELECT a FROM big WHERE a = '18446744073709551616';
-- refused: 1235
SELECT a FROM big WHERE a < '18446744073709551616';
SELECT x.b, y.s FROM big x JOIN big y ON x.b = y.s ORDER BY x.b;
UPDATE big SET b = 9007199254740993 WHERE a = 3;
-- refused: 1235
SELECT x.b, y.s FROM big x JOIN big y ON x.b = y.s ORDER BY x.b;
-- Floating-point numbers.
CREATE TABLE f (id INT PRIMARY KEY, f FLOAT, g FLOAT(4,1), x DOUBLE);
INSERT INTO f VALUES (1, 0.1, 1.1, 0.1), (2, 2.5, 2.5, 1e20), (3, NULL, NULL, NULL);
SELECT id FROM f WHERE g = 1.1e0;
SELECT id FROM f WHERE g = '1.1';
SELECT id FROM f WHERE g = 1.1;
SELECT id FROM f WHERE g > 1.1e0;
SELECT id FROM f WHERE NOT g > 1.1e0;
-- refused: 1235
SELECT id FROM f WHERE g = 1.14e0;
SELECT g = 1.1e0, g = '1.1', g = 1.1, g > 1.1e0 FROM f ORDER BY id;
SELECT CONCAT(f), CONCAT(COALESCE(f, 0)), COALESCE(f, 0), CONCAT(IFNULL(f, f)), CONCAT(IF(id > 0, f, 1)), CONCAT(NULLIF(f, 2)), CONCAT(-f), CONCAT(GREATEST(f, 0)), COALESCE(f, x), COALESCE(g, 0), GREATEST(g, 1) FROM f ORDER BY id;
SELECT CONCAT(MAX(f)), MAX(f) FROM f;
SELECT CONCAT(IF(id = 1, f, x)) FROM f;
SELECT CAST(x AS SIGNED), CAST(x AS UNSIGNED), CAST(-x AS DOUBLE) FROM f ORDER BY id;
SELECT CAST(x * 1e10 AS SIGNED) FROM f;
SELECT CAST(SUM(x) AS UNSIGNED) FROM f;
SELECT VARIANCE(v) FROM (SELECT 1.7976931348623157e308 AS v UNION ALL SELECT -1.7976931348623157e308) AS x;
SELECT STDDEV_SAMP(v) FROM (SELECT 1.7976931348623157e308 AS v UNION ALL SELECT -1.7976931348623157e308) AS x;
-- Texts and numbers as times and dates.
CREATE TABLE tm (id INT PRIMARY KEY, n INT, big DECIMAL(30,2), s VARCHAR(40), dt DATETIME, t TIME, v VARCHAR(20), day_text VARCHAR(30));
INSERT INTO tm VALUES (1, 8390000, -1.60, '-512:37:22.00', '2017-01-01 12:12:12', '12:12:12', 'string', '2024-02-29'), (2, -790822912, -1000.50, '10:11:12', '2024-01-01 00:00:00', '00:00:00', 'x', '2024-02-29 01:00:00'), (3, 101010, -9223372036854775809.00, '2024-02-29 01:00:00', '2023-12-31 23:00:00', '-01:00:00', '12:12:12', '01:00:00'), (4, 0, 0, '0', NULL, NULL, NULL, NULL);
SELECT id, CAST(n AS TIME), YEAR(n), MONTH(n), DAY(n), EXTRACT(DAY_SECOND FROM n) FROM tm ORDER BY id;
SELECT COUNT(*) FROM tm WHERE CAST(n AS TIME) IS NULL;
SELECT id, EXTRACT(DAY_MICROSECOND FROM s), EXTRACT(DAY_HOUR FROM s), EXTRACT(HOUR_SECOND FROM s), EXTRACT(DAY_HOUR FROM t) FROM tm WHERE id < 4 ORDER BY id;
SELECT id, CAST('2024-01-10' AS DATE) + INTERVAL CAST(big AS UNSIGNED) DAY, CAST(big AS UNSIGNED) FROM tm ORDER BY id;
SELECT id, '12:12:12' IN (dt, t), '12:12:12' IN (v, dt, t) FROM tm ORDER BY id;
SELECT id, ADDTIME(day_text, '00:00:30'), SUBTIME(day_text, '00:00:30'), ADDTIME(dt, day_text), ADDTIME(t, n) FROM tm ORDER BY id;
SELECT id, TIMEDIFF(day_text, '2024-02-28 00:00:00'), TIMEDIFF(day_text, '2024-02-28'), TIMEDIFF(t, day_text) FROM tm ORDER BY id;
-- Numbers and texts of what IF and its like choose: those of the value.
SELECT IF(id > 1, da, '7x') + 0, CASE WHEN id = 1 THEN d WHEN id = 2 THEN c ELSE '1.5' END * 2, ROUND(IF(id > 1, s, da), 1), IF(id > 1, da, '') > 20000101, -IF(id = 1, c, 'x') FROM mx ORDER BY id;
SELECT id FROM mx WHERE IF(id > 1, da, 'x') ORDER BY id;
SELECT GREATEST(DATE'2005-05-05', 20010101) + 0, GREATEST(TIME'20:00:00', 120000) + 0, GREATEST('95-05-05', DATE'10-10-10') + 0, LEAST(CAST('01-01-01' AS DATE), '01-01-02') + 0;
SELECT IF(id = 1, f, 20240131101112) + 0, GREATEST(f, 20240131101112) + 0, COALESCE(f, 20240131101112) + 0 FROM f ORDER BY id;
SELECT CONCAT(IF(id = 1, 1.5, 2)), CONCAT(IF(id = 2, f, 1.25)), CONCAT(CASE WHEN id = 1 THEN 7 ELSE 0.50 END), LENGTH(IF(id = 1, x, 2)) FROM f ORDER BY id;
-- refused: 1235
SELECT IF(id > 1, da, 'x') DIV 2 FROM mx;
-- Lists of several types, each item by itself; bounds of several types, all as numbers.
SELECT s IN (7, da), s NOT IN (da, 1.5, NULL), da IN (20170101, '2017-01-02'), c IN ('2017-01-01', 20170101121212), 20170101 IN (da, s) FROM mx ORDER BY id;
-- refused: 1235
SELECT d IN (s, '12:12:12') FROM mx;
-- refused: 1235
SELECT y IN ('1999.1', 0e0) FROM y;
SELECT y IN (1999, id), y IN (s, 2000), y NOT IN (s, c) FROM y JOIN mx USING (id) ORDER BY id;
-- refused: 1235
SELECT y IN ('1999', '2000') FROM y;
-- refused: 1235
SELECT y NOT IN ('98', NULL) FROM y;
-- refused: 1235
SELECT y IN (1999, '2000.0') FROM y;
SELECT c BETWEEN id AND s, d BETWEEN id AND s, d BETWEEN id AND da, da NOT BETWEEN id AND c FROM mx ORDER BY id;
-- refused: 1235
SELECT da BETWEEN id AND '2017-01-02' FROM mx;
-- refused: 1235
SELECT d BETWEEN '00:00:00' AND '840:00:00' FROM mx;
-- IN of columns of two collations, one of which MySQL puts in the place of another.
CREATE TABLE cc (id INT PRIMARY KEY, ci VARCHAR(10) COLLATE utf8mb4_general_ci, bin VARCHAR(10) COLLATE utf8mb4_bin);
INSERT INTO cc VALUES (1, 'a', 'A'), (2, 'A', 'A');
SELECT id, ci IN ('A', bin), ci IN (ci, bin) FROM cc ORDER BY id;
SELECT p.id, q.id FROM cc p JOIN cc q ON p.id < q.id WHERE p.ci IN (q.ci, q.bin);
-- refused: 1235
SELECT p.id, q.id FROM cc p JOIN cc q ON p.ci = q.ci WHERE p.ci IN (q.ci, q.bin);
SELECT GREATEST(y, 'abc') + 0, LEAST(y, 'x') + 0 FROM y ORDER BY id;
SELECT GREATEST(s, 7) + 0, LEAST(s, 0.5) + 0 FROM mx ORDER BY id;
-- what a conditional chose keeps its number and its text in a block that is merged
CREATE TABLE chosen (id INT PRIMARY KEY, a INT, d DATE, t TIME, dt DATETIME, s VARCHAR(20), n INT, e DECIMAL(6,2), f FLOAT, b BIGINT);
INSERT INTO chosen VALUES (1, 1, '2024-01-01', '10:11:12', '2024-01-01 10:11:12', '7x', 5, 1.50, 0.1, 9007199254740993), (2, 0, '2024-02-29', '00:00:01', '1999-01-01', '12', NULL, 2.00, 1.1, 20240131), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT id, x + 0, x * 2, x = 2024, x > 20000000, -x, ABS(x), x FROM (SELECT id, IF(a, d, s) AS x FROM chosen) q ORDER BY id;
SELECT id, x + 0, y + 0, z + 0, x, y, z FROM (SELECT id, IF(a, t, s) AS x, CASE a WHEN 1 THEN dt ELSE s END AS y, IF(a, d, dt) AS z FROM chosen) q ORDER BY id;
SELECT SUM(x), AVG(x), MIN(x), MAX(x), COUNT(x), GROUP_CONCAT(x ORDER BY id) FROM (SELECT id, IF(a, d, s) AS x FROM chosen) q;
SELECT id, CONCAT(x), CONCAT(y), CONCAT(z), LENGTH(x), y, z FROM (SELECT id, IF(a, n, e) AS x, IF(a, f, e) AS y, CASE WHEN a THEN e ELSE f END AS z FROM chosen) q ORDER BY id;
SELECT CONCAT(x, '%'), GROUP_CONCAT(x) FROM (SELECT IF(a > 0, e, 0) AS x FROM chosen) q GROUP BY id ORDER BY id;
SELECT id, x + 0, CONCAT(x) FROM (SELECT id, COALESCE(f, b) AS x FROM chosen) q ORDER BY id;
SELECT id, x + 0, CONCAT(y) FROM (SELECT id, x, y FROM (SELECT id, IF(a, d, s) AS x, IF(a, n, e) AS y FROM chosen) q WHERE id < 9) r ORDER BY id;
WITH c AS (SELECT id, IF(a, d, s) AS x, IF(a, n, e) AS y FROM chosen) SELECT c.id, c.x + 0, CONCAT(c.y), k.x + 1, CONCAT(k.y) FROM c JOIN c AS k ON c.id = k.id ORDER BY c.id;
SELECT c.id, q.x + 0, CONCAT(q.y) FROM chosen AS c LEFT JOIN (SELECT id, IF(a, d, s) AS x, IF(a, n, e) AS y FROM chosen WHERE id = 2) q ON q.id = c.id ORDER BY c.id;
SELECT id FROM (SELECT id, IF(a, d, s) AS x FROM chosen) q WHERE x > 100 ORDER BY id;
SELECT id FROM (SELECT id, IF(a, d, s) AS x FROM chosen) q WHERE x ORDER BY id;
SELECT c.id, q.id FROM chosen AS c JOIN (SELECT id, IF(a, d, s) AS x FROM chosen) q ON c.b = q.x + 30 ORDER BY 1, 2;
-- and has those of its type in one that is not
SELECT id, x + 0, CONCAT(y) FROM (SELECT DISTINCT id, IF(a, d, s) AS x, IF(a, n, e) AS y FROM chosen) q ORDER BY id;
SELECT id, x + 0, CONCAT(y) FROM (SELECT id, IF(a, d, s) AS x, IF(a, n, e) AS y FROM chosen ORDER BY id LIMIT 5) q ORDER BY id;
SELECT id, x + 0, CONCAT(y) FROM (SELECT id, IF(a, d, s) AS x, IF(a, n, e) AS y FROM chosen UNION ALL SELECT 9, 'z', 1) q ORDER BY id;
DROP TABLE chosen;
