-- Shapes of wrong answers that public bug reports of other MySQL-compatible servers describe, in statements of our own. The number in front of a group names the report (docs/internals/testing.md lists the trackers).
CREATE TABLE n1 (id INT NOT NULL PRIMARY KEY, a INT, b INT, c INT);
INSERT INTO n1 VALUES (1, 1, 2, 3), (2, 4, 5, 6), (3, 0, 7, 8), (4, 1, NULL, 4), (5, NULL, 1, 2);
CREATE TABLE n2 (id INT NOT NULL PRIMARY KEY, a INT, s VARCHAR(20), d DECIMAL(22,0), f FLOAT, u INT UNSIGNED, t DATETIME(3), day DATE);
INSERT INTO n2 VALUES (1, 1, 'r', 123, 1.5, 4294967295, '2024-02-29 12:00:00.500', '2024-02-29'), (2, NULL, 's', NULL, 2.5, 0, NULL, NULL), (3, 9, 'S', 456, NULL, 1, '1999-12-31 23:59:59.999', '1999-12-31'), (4, 2, NULL, 123, -0.5, 7, '2024-01-01 00:00:00', '2024-01-01');
CREATE TABLE empty_table (i INT NOT NULL PRIMARY KEY);
-- TiDB 30499: an ORDER BY that repeats a window function
SELECT id, a, SUM(b) OVER (PARTITION BY a) AS x FROM n1 ORDER BY SUM(b) OVER (PARTITION BY a), id;
-- TiDB 58879: MIN and MAX of texts over a sliding frame with an empty text
CREATE TABLE slide (p INT, o INT, v VARCHAR(100) NOT NULL, PRIMARY KEY (p, o));
INSERT INTO slide VALUES (3, 10, 'j7jhgvuev'), (3, 20, 'pmgo99f3'), (3, 40, ''), (3, 41, 'TGh54h54htever');
SELECT p, o, v, MIN(v) OVER w AS lowest, MAX(v) OVER w AS highest FROM slide WINDOW w AS (PARTITION BY p ORDER BY o ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) ORDER BY o;
-- TiDB 11612: ROW_NUMBER over a filter of the partition's own order
SELECT * FROM (SELECT id, a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b DESC, id) AS rn FROM n1) x WHERE rn = 1 ORDER BY id;
-- TiDB 11518, 16473: groups by a window function
SELECT ROW_NUMBER() OVER () FROM n1 GROUP BY 1;
SELECT ROW_NUMBER() OVER () AS x FROM n1 GROUP BY x;
-- TiDB 12356: a named window that is wrong and not used
SELECT id FROM n1 WINDOW w AS (ORDER BY a, b RANGE 1 PRECEDING);
-- TiDB 25038: LEAD beyond the end, with NULL as default
SELECT id, LEAD(a, 4, NULL) OVER w, LAG(a, 1, -1) OVER w FROM n1 WINDOW w AS (ORDER BY id) ORDER BY id;
-- TiDB 20403: NOT IN of an aggregate over nothing
SELECT 1 FROM n1 RIGHT JOIN n2 ON n2.a = n1.a WHERE n1.b NOT IN (SELECT MIN(x.a) FROM n2 AS x JOIN empty_table e ON e.i = x.id);
-- TiDB 19423: a correlated NOT IN with NULLs on its own side
-- refused: 1235
SELECT id, a FROM n1 WHERE a NOT IN (SELECT n2.a FROM n2 WHERE n1.a = n2.a) ORDER BY id;
-- refused: 1235
SELECT id, a FROM n1 WHERE a <> ALL (SELECT n2.a FROM n2 WHERE n1.a = n2.a) ORDER BY id;
-- TiDB 60866: NOT IN whose subquery's condition names only the outer row
-- refused: 1235
SELECT id FROM n1 WHERE a NOT IN (SELECT n2.id FROM n2 WHERE 1 >= n1.id) ORDER BY id;
-- TiDB 60182: EXISTS and NOT EXISTS of an inequality are opposites
SELECT id FROM n1 WHERE EXISTS (SELECT 1 FROM n2 WHERE n1.a < n2.a) ORDER BY id;
SELECT id FROM n1 WHERE NOT EXISTS (SELECT 1 FROM n2 WHERE n1.a < n2.a) ORDER BY id;
-- TiDB 16150: IN of a subquery beside XOR
-- refused: 1235
SELECT id FROM n1 WHERE a IN (SELECT n2.a FROM n2 WHERE n2.id < 4) XOR b IS NULL ORDER BY id;
-- TiDB 3773: NULL IN (subquery)
-- refused: 1235
SELECT NULL IN (SELECT s FROM n2), NULL IN (SELECT i FROM empty_table), NULL NOT IN (SELECT i FROM empty_table);
-- refused: 1235
SELECT id, a IN (SELECT n2.a FROM n2), b NOT IN (SELECT n2.a FROM n2) FROM n1 ORDER BY id;
-- TiDB 25799: NOT IN joined by another column, with NULLs
-- refused: 1235
SELECT id FROM n1 WHERE b NOT IN (SELECT n2.f FROM n2 WHERE n2.a = n1.a) ORDER BY id;
-- TiDB 8642: NULL NOT IN (keys)
SELECT id FROM n2 WHERE d NOT IN (SELECT id FROM n1) ORDER BY id;
-- TiDB 12757, 3965: STR_TO_DATE that lacks its end, and with spaces
SELECT STR_TO_DATE('20190101', '%Y%m%d%H%i%s'), STR_TO_DATE('04 /30/2004', '%m /%d/%Y'), STR_TO_DATE('2019-01-01 10', '%Y-%m-%d %H:%i');
-- TiDB 9730: TIMESTAMPADD keeps the type of a DATE
SELECT id, TIMESTAMPADD(WEEK, 1, day), TIMESTAMPADD(HOUR, 1, day), TIMESTAMPADD(MONTH, -1, t) FROM n2 ORDER BY id;
-- TiDB 11645: intervals written as texts with signs
SELECT DATE_ADD('2007-03-28 22:08:28', INTERVAL '-2.-2' SECOND), DATE_ADD('2007-03-28 22:08:28', INTERVAL '-2.+2' SECOND), DATE_ADD('2007-03-28 22:08:28', INTERVAL '2.2.2' SECOND), DATE_ADD('2007-03-28', INTERVAL '' DAY);
-- TiDB 19150: ADDTIME of two dates
SELECT ADDTIME('2020-05-13 14:01:24', '2020-04-29 05:11:19'), SUBTIME('2020-05-13 14:01:24', '2020-04-29 05:11:19');
-- TiDB 13822: ADDDATE of a number by a negative text
SELECT ADDDATE(20111111, INTERVAL '-123' DAY), SUBDATE(20111111, INTERVAL '-123' DAY), ADDDATE(20111111, -123);
-- TiDB 9715: intervals of two parts written as others
SELECT DATE_ADD('1997-12-31 23:59:59', INTERVAL '1:1' DAY_HOUR), DATE_ADD('1997-12-31 23:59:59', INTERVAL '1 1' YEAR_MONTH), DATE_SUB('1998-01-01', INTERVAL '1 1:1:1' DAY_SECOND);
-- Dolt 11714: ORDER BY over a UNION of constants
SELECT 1000 UNION SELECT 1 ORDER BY 1;
-- Dolt 3020: ORDER BY and LIMIT of a UNION of parentheses
(SELECT s, id FROM n2) UNION (SELECT CONCAT('n', b), id FROM n1) ORDER BY id DESC, s LIMIT 4;
-- Dolt 11427: GROUP_CONCAT of several expressions
SELECT GROUP_CONCAT(s, id ORDER BY id SEPARATOR '|'), GROUP_CONCAT(DISTINCT a, d ORDER BY a DESC) FROM n2;
-- Dolt 6189: one value or two of the same in IN
SELECT id, COUNT(*) FROM n1 WHERE id IN (2) AND a = 4;
SELECT id, COUNT(*) FROM n1 WHERE id IN (2, 2) AND a = 4;
-- dble 952: UNION of an unsigned column and a negative number
SELECT u FROM n2 UNION SELECT -1 ORDER BY 1;
SELECT u FROM n2 UNION SELECT '-1' ORDER BY 1;
-- dble 820: GROUP_CONCAT ordered by its own argument, with NULLs
SELECT a, GROUP_CONCAT(b ORDER BY b DESC), GROUP_CONCAT(DISTINCT b ORDER BY b SEPARATOR ':') FROM n1 GROUP BY a ORDER BY a;
-- dble 274: COUNT(DISTINCT) by groups
SELECT COUNT(DISTINCT id), COUNT(DISTINCT a, b), b FROM n1 GROUP BY b ORDER BY b;
-- TiDB 10098: GROUP_CONCAT(DISTINCT) of several columns of texts that hold numbers
SELECT GROUP_CONCAT(DISTINCT a, b ORDER BY a, b) FROM n1;
-- Doris 16662: TRUNCATE beyond the digits that there are
SELECT v, TRUNCATE(CAST(v AS DECIMAL(25,6)), 3), TRUNCATE(CAST(v AS DECIMAL(25,6)), 7), TRUNCATE(CAST(v AS DOUBLE), 5), TRUNCATE(CAST(v AS DOUBLE), 7) FROM (SELECT '7.1' AS v UNION ALL SELECT '8.123456') x ORDER BY v;
-- Doris 35585: milliseconds to seconds are rounded
SELECT id, CAST(t AS DATETIME), CAST(t AS TIME), CAST(t AS DATE) FROM n2 ORDER BY id;
-- Doris 37143: ROUND of COALESCE of an integer and a long decimal
SELECT ROUND(COALESCE(186, -33280029.8473323000000000000000000)), COALESCE(186, 1.50);
-- Doris 15307, 18861, 33676, 20015; StarRocks 46997: ROUND of halves
SELECT ROUND(16.025000, 2), ROUND(2.5), ROUND(-2.5), ROUND(38482.465, 2), ROUND(1.25, 1), ROUND(1.20000, 6), ROUND(CAST(16.0175 AS DOUBLE), 3), ROUND(2.5e0), ROUND(3.5e0);
SELECT id, ROUND(f), ROUND(f * 10, -1) FROM n2 ORDER BY id;
-- Doris 32755: the number of digits as a column
SELECT id, TRUNCATE(1234.5678, a), ROUND(1234.5678, a) FROM n1 ORDER BY id;
-- StarRocks 5608: texts and decimals there and back
SELECT CAST('360.000000' AS DECIMAL(10,2)), CAST(CAST(360 AS DECIMAL(10,2)) AS CHAR);
-- Vitess 7700, 11275: conditions on the side that may lack rows stay after the join
SELECT n1.id, n2.id FROM n1 LEFT JOIN n2 ON n1.a = n2.a WHERE n2.id IS NULL ORDER BY n1.id;
SELECT n1.id, n2.id FROM n1 LEFT JOIN n2 ON n1.a = n2.a WHERE n2.s = 'r' OR n1.b = 7 ORDER BY n1.id;
-- Vitess 15778: a condition of ON that names only the left side
SELECT n1.id, n2.id FROM n1 LEFT JOIN n2 ON n1.id <> 1 ORDER BY n1.id, n2.id;
-- MatrixOne 3305: IS NULL in ON and in WHERE
SELECT n1.id, n2.id FROM n1 LEFT JOIN n2 ON n1.a = n2.a AND n2.s IS NULL ORDER BY n1.id;
-- Virtuoso 1236, 1238, 1250: LEFT JOIN on conditions that are never true, and UNION ALL of both halves
SELECT n1.id, n2.s FROM n1 LEFT JOIN n2 ON NULL IN ('') WHERE n2.s IS NULL UNION ALL SELECT n1.id, n2.s FROM n1 LEFT JOIN n2 ON NULL IN ('') WHERE NOT 1 ORDER BY 1;
SELECT n1.id FROM n1 LEFT JOIN n2 ON n1.b WHERE NOT NULL UNION ALL SELECT n1.id FROM n1 LEFT JOIN n2 ON n1.b WHERE NULL IS NULL ORDER BY 1;
-- MPOS 2577: an alias in GROUP BY under ONLY_FULL_GROUP_BY
SELECT n1.*, n2.s AS finder, COUNT(n1.id) AS found FROM n1 LEFT JOIN n2 ON n1.a = n2.a GROUP BY finder;
SELECT n2.s AS finder, COUNT(n1.id) AS found FROM n1 LEFT JOIN n2 ON n1.a = n2.a GROUP BY finder ORDER BY found DESC, finder;
-- coral 236: GROUP BY repeats an expression that the select list names
SELECT UPPER(SUBSTR(TRIM(LEADING 'The ' FROM s), 1, 1)) AS letter, COUNT(SUBSTR(TRIM(LEADING 'The ' FROM s), 1, 1)) AS letters FROM n2 GROUP BY SUBSTR(TRIM(LEADING 'The ' FROM s), 1, 1) ORDER BY 1;
-- Dolt 407: a bare column beside an aggregate, with and without LIMIT
SELECT a, MAX(b), c FROM n1 GROUP BY a;
SELECT a, MAX(b), c FROM n1 GROUP BY a LIMIT 3;
