-- Texts beside dates: where a MySQL cuts the time of day off a text, where it compares texts, and what
-- is a date or a number to it.
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(30), d DATE, m DATETIME(3), h TIME);
INSERT INTO t VALUES (1, '2024-01-31 12:30:00', '2024-01-31', '2024-01-31 12:30:00', '12:30:00'), (2, '2024-01-31 00:00:01', '2024-01-30', NULL, '00:00:00'), (3, '2024-01-30', '2024-01-30', '2024-01-30', '00:00:00'), (4, '20240130', '2024-01-30', '2024-01-30', '01:00:00'), (5, '24-1-30', '2024-01-30', '2024-01-30', '12:30:00'), (6, '2024-01-29', '2024-01-30', '2024-01-30', '12:30:00'), (7, NULL, '2024-01-29', '2024-01-29 10:00:00', NULL);
CREATE TABLE u (id INT PRIMARY KEY, a VARCHAR(30), d DATE);
INSERT INTO u VALUES (1, '2024-01-31 12:30:00', '2024-01-31'), (2, '2024-01-29 11:00:00', '2024-01-30');
-- Neither is a constant: the date of the text alone counts.
SELECT id, a = d, a < d, a > d, a <=> d, a <> d, d = a, CONCAT(a) = d, a = CAST(m AS DATE), IF(id > 0, a, '') >= d FROM t ORDER BY id;
SELECT id FROM t WHERE a = d ORDER BY id;
SELECT t.id, u.id FROM t LEFT JOIN u ON u.a = t.d ORDER BY 1, 2;
SELECT t.id, u.id FROM t LEFT JOIN u ON u.d = t.a ORDER BY 1, 2;
SELECT id FROM t WHERE d IN (SELECT a FROM u) ORDER BY id;
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.d) ORDER BY id;
SELECT id, a IN (d), (a, 1) = (d, 1) FROM t ORDER BY id;
-- Elsewhere the time of day counts.
SELECT id, a = m, a = DATE'2024-01-31', a IN (DATE'2024-01-31'), a BETWEEN d AND d, d BETWEEN a AND m, NULLIF(a, d), NULLIF(d, a) FROM t ORDER BY id;
SELECT id, a IN (d, '2024-01-31'), a IN (m, '2024-01-31'), a IN (m, d), a IN ('2024-01-31', TIMESTAMP'2024-01-30 00:00:00') FROM t WHERE id NOT IN (2) ORDER BY id;
-- A list of constants without a DATETIME: the date counts.
SELECT id, a IN ('2024-01-31', DATE'2024-01-31'), a NOT IN (DATE'2024-01-30', DATE'2024-01-31'), CONCAT(a, '') IN (DATE'2024-01-31', '2024-1-30') FROM t ORDER BY id;
-- refused: 1235
SELECT id, a IN ('2024-01-31 12:30:00', DATE'2024-01-30') FROM t ORDER BY id;
-- CASE goes by what stands behind it.
SELECT id, CASE d WHEN a THEN 1 END, CASE a WHEN d THEN 1 END, CASE a WHEN m THEN 1 END, CASE a WHEN DATE'2024-01-30' THEN 1 END, CASE '2024-1-30' WHEN d THEN 1 END, CASE '2024-01-30' WHEN d THEN 1 END, CASE h WHEN '12:30' THEN 1 END FROM t ORDER BY id;
-- refused: 1235
SELECT CASE h WHEN m THEN 1 END FROM t;
SELECT id, FIELD(d, a), FIELD(d, m), FIELD(m, d), FIELD(d, '2024-01-30'), FIELD(d, '2024-1-30', '2024-01-31'), FIELD(d, DATE'2024-01-30'), FIELD(m, '2024-01-30 00:00:00.000'), FIELD(d, 20240130), FIELD(h, '12:30:00'), FIELD('12:30:00', h), FIELD(a, m, d) FROM t ORDER BY id;
SELECT d, COUNT(*) FROM t GROUP BY d ORDER BY FIELD(d, '2024-01-30', '2024-01-29', '2024-01-31');
SELECT id, GREATEST(a, d), LEAST(a, d), GREATEST(a, DATE'2024-01-30') FROM t ORDER BY id;
-- What was moved has a time of day, whatever its text shows.
SELECT id, a + INTERVAL 1 MONTH, (a + INTERVAL 1 DAY) - INTERVAL 1 DAY, DATE_SUB(DATE_ADD(a, INTERVAL 1 MONTH), INTERVAL 1 DAY) FROM t ORDER BY id;
SELECT DATE_SUB(DATE_ADD('2024-01-31', INTERVAL 1 MONTH), INTERVAL 1 DAY), DATE_ADD('2024-01-31', INTERVAL 1 MONTH), DATE_ADD(DATE'2024-01-31', INTERVAL 1 DAY) + INTERVAL 1 DAY FROM t WHERE id = 1;
-- Literals of bits are numbers.
SELECT CONV(0x01, 10, 2), CONV(0x31, 10, 2), CONV(b'101', 10, 2), BIN(0x05), OCT(0x41), CONV('0x01', 10, 2), CONV(x'', 10, 2) FROM t WHERE id = 1;
-- An ENUM that went through a derived table: a MySQL has its number in some plans.
CREATE TABLE e (id INT PRIMARY KEY, e ENUM('red', 'green', 'blue'));
INSERT INTO e VALUES (1, 'green'), (2, 'red'), (3, 'blue');
SELECT y, CONCAT(y, '!') FROM (SELECT IF(id > 0, e, e) AS y FROM e) AS x ORDER BY CONCAT(y);
-- refused: 1235
SELECT y + 0 FROM (SELECT IF(id > 0, e, e) AS y FROM e) AS x;
-- refused: 1235
SELECT y = 2 FROM (SELECT NULLIF(e, 'x') AS y FROM e) AS x;
-- refused: 1235
SELECT BIT_OR(y) FROM (SELECT MAX(e) AS y FROM e GROUP BY id) AS x;
-- refused: 1235
SELECT y FROM (SELECT MAX(e) AS y FROM e GROUP BY id) AS x WHERE y IN (1, 2);
SELECT MAX(y), MIN(y), COUNT(DISTINCT y) FROM (SELECT MAX(e) AS y FROM e GROUP BY id) AS x WHERE y > 'b';
-- The text of a date in TIME_FORMAT has the time of day that it says.
SELECT TIME_FORMAT('2024-02-29', '%H %i %s'), TIME_FORMAT('2024-02-29 10:11:12', '%H %i %s'), TIME_FORMAT('24-1-1', '%H'), TIME_FORMAT('10:11:12', '%H %i %s'), TIME_FORMAT('-100:11:12', '%H %i'), TIME_FORMAT('', '%H'), TIME_FORMAT('x', '%H');
