-- Which collation decides: that of columns, of BINARY and casts, of variables; and texts that end
-- with characters that weigh nothing.
CREATE TABLE w (id INT PRIMARY KEY, s VARCHAR(8) COLLATE utf8mb4_0900_ai_ci, u VARCHAR(8) COLLATE utf8mb4_unicode_ci, g VARCHAR(8) COLLATE utf8mb4_general_ci, l VARCHAR(8) CHARACTER SET latin1, b VARBINARY(8));
INSERT INTO w VALUES (1, 'a', 'a', 'a', 'a', 'a'), (2, 'A', 'A', 'A', 'A', 'A'), (3, '1', '1', '1', '1', '1');
-- BINARY insists as a column does
SELECT id FROM w WHERE s = BINARY 'a' ORDER BY id;
SELECT id FROM w WHERE s = CAST('A' AS BINARY) ORDER BY id;
SELECT id FROM w WHERE s = CONVERT('A' USING binary) ORDER BY id;
SELECT id FROM w WHERE s = x'41' ORDER BY id;
SELECT id FROM w WHERE l = BINARY 'A' ORDER BY id;
SELECT id FROM w WHERE s <=> BINARY 'a' ORDER BY id;
SELECT id FROM w WHERE s IN (BINARY 'a') ORDER BY id;
SELECT id FROM w WHERE s IN (BINARY 'a', '1') ORDER BY id;
SELECT id FROM w WHERE s LIKE BINARY 'A' ORDER BY id;
SELECT id FROM w WHERE s BETWEEN BINARY 'A' AND 'Z' ORDER BY id;
SELECT id, CASE s WHEN BINARY 'A' THEN 'yes' ELSE 'no' END, NULLIF(s, BINARY 'A'), STRCMP(s, BINARY 'a') FROM w ORDER BY id;
SELECT id, GREATEST(s, BINARY 'B'), LEAST(s, BINARY 'a') FROM w ORDER BY id;
SELECT COUNT(*) FROM w WHERE s = BINARY 'a ';
SELECT x.id, y.id FROM w x JOIN w y ON x.s = BINARY y.s ORDER BY 1, 2;
SELECT COUNT(*) FROM w GROUP BY CONCAT(s, BINARY '') ORDER BY 1;
SELECT COUNT(DISTINCT IF(id > 0, s, BINARY 'x')) FROM w;
SELECT COERCIBILITY(BINARY 'a'), COERCIBILITY(CAST(1 AS BINARY(3))), COERCIBILITY(CONVERT('a' USING binary)), COERCIBILITY(CONCAT(BINARY 'a', 'b')), COERCIBILITY(x'41');
-- one argument decides for these
SELECT id, FIELD(s, BINARY 'A'), FIELD(BINARY 'A', s), FIELD('a', s, b) FROM w ORDER BY id;
SELECT id, INSTR(s, BINARY 'A'), INSTR(BINARY 'A', s), LOCATE(BINARY 'A', s), LOCATE(s, BINARY 'A'), INSTR('a', b), INSTR(b, 'a') FROM w ORDER BY id;
SELECT id, INSTR(u, g), LOCATE(g, u), FIELD(u, g, s) FROM w ORDER BY id;
SELECT COLLATION(REPLACE(s, b, 'x')), COLLATION(TRIM(b FROM s)), COLLATION(LPAD(s, 3, b)), COLLATION(INSERT(s, 1, 1, b)), COLLATION(SUBSTRING_INDEX(s, b, 1)), COERCIBILITY(REPLACE('a', s, b)), COLLATION(REPLACE(b, s, 'x')) FROM w WHERE id = 1;
-- variables
SET @v = 'a' COLLATE utf8mb4_bin, @w = 'a', @n = 1, @z = NULL, @b = x'41', @l = _latin1'A';
SELECT COERCIBILITY(@v), COERCIBILITY(@w), COERCIBILITY(@n), COERCIBILITY(@z), COERCIBILITY(@b), COERCIBILITY(@not_set), COERCIBILITY(CONCAT(@n, 'b'));
SELECT id FROM w WHERE s = @v ORDER BY id;
SELECT id FROM w WHERE u = @v ORDER BY id;
SELECT id FROM w WHERE s = @w ORDER BY id;
SELECT id FROM w WHERE l = @w ORDER BY id;
SELECT id FROM w WHERE g = @l ORDER BY id;
SELECT id FROM w WHERE s = @b ORDER BY id;
SELECT id FROM w WHERE u = @w ORDER BY id;
SELECT id FROM w WHERE g = @w ORDER BY id;
SELECT id FROM w WHERE g LIKE @n ORDER BY id;
SELECT id FROM w WHERE g = @n ORDER BY id;
SELECT id FROM w WHERE s LIKE CONCAT('%', @n, '%') ORDER BY id;
SELECT id FROM w WHERE s = @z ORDER BY id;
SELECT id FROM w WHERE g COLLATE utf8mb4_0900_ai_ci = @w ORDER BY id;
SELECT id FROM w WHERE s = IFNULL(@z, 'a') ORDER BY id;
SELECT COLLATION(IFNULL(@z, s)), COLLATION(CONCAT(u, @w)), COLLATION(CONCAT(l, @w)), COLLATION(CONCAT(g, @n)), COLLATION(CONCAT(s, @v)) FROM w WHERE id = 1;
-- collations that contradict each other
SELECT COERCIBILITY(CONCAT(u, g)), COERCIBILITY(CONCAT(u, g, 'a')), COLLATION(CONCAT(u, g, 'a')), COLLATION(CONCAT(u, g, u)), COLLATION(CONCAT(CONCAT(u, g), 'a')) FROM w WHERE id = 1;
SELECT id FROM w WHERE CONCAT(u, g) = 'aA' ORDER BY id;
SELECT id FROM w WHERE CONCAT(u, g) IN ('aA', 'b') ORDER BY id;
SELECT id FROM w WHERE u IN (CONCAT(u, g), 'a') ORDER BY id;
SELECT id FROM w WHERE u = g ORDER BY id;
SELECT id, GREATEST(u, g, 'B'), LEAST(u, g) FROM w ORDER BY id;
-- equal texts that are not the same: GREATEST gives the last, LEAST the first
SELECT GREATEST('a', 'A'), GREATEST('A', 'a'), LEAST('a', 'A'), LEAST('A', 'a'), GREATEST('a', 'A', 'a', 'á'), LEAST('A', 'b', 'a'), GREATEST('b', 'a', 'B', 'A');
SELECT id, GREATEST(u, UPPER(u)), GREATEST(UPPER(u), u), LEAST(u, UPPER(u)), LEAST(UPPER(u), u), GREATEST(u, CONCAT(u, '')) FROM w ORDER BY id;
-- writes
UPDATE w SET s = 'zz' WHERE s = BINARY 'A';
DELETE FROM w WHERE s LIKE BINARY 'A';
SELECT id, s FROM w ORDER BY id;
-- the name of a collation is no text of the connection
SET NAMES binary;
SELECT id FROM w WHERE s COLLATE utf8mb4_bin = 'a' ORDER BY id;
SELECT EXTRACT(YEAR FROM DATE'2020-01-02'), DATE'2020-01-02' + INTERVAL 1 DAY, TIMESTAMPDIFF(DAY, DATE'2020-01-02', DATE'2020-01-05');
SET NAMES utf8mb4;
-- what weighs nothing, behind spaces: U+200B, U+0301; a space that is not to be broken; U+00AD weighs something
CREATE TABLE z (s VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci PRIMARY KEY, n INT);
INSERT INTO z VALUES ('a', 1), ('b', 2), ('c d', 3);
INSERT INTO z VALUES (CONCAT('a ', CONVERT(x'E2808B' USING utf8mb4)), 4);
INSERT INTO z VALUES (CONCAT('a', CONVERT(x'CC812020E2808B' USING utf8mb4)), 4);
INSERT INTO z VALUES (CONCAT('A', CONVERT(x'C2A0' USING utf8mb4)), 4);
INSERT INTO z VALUES (CONCAT('c ', CONVERT(x'CC81' USING utf8mb4), 'd'), 4);
INSERT INTO z VALUES (CONCAT('a ', CONVERT(x'C2AD' USING utf8mb4)), 5);
INSERT INTO z VALUES (CONCAT('e ', CONVERT(x'E2808B' USING utf8mb4)), 6);
SELECT n FROM z WHERE s = 'e';
SELECT n FROM z WHERE s = CONCAT('b  ', CONVERT(x'CC81' USING utf8mb4)) COLLATE utf8mb4_unicode_ci;
SELECT n FROM z WHERE s > 'd' AND s < 'f' ORDER BY s;
SELECT n FROM z WHERE s >= 'a' AND s < 'b' ORDER BY n;
CREATE TABLE y (id INT PRIMARY KEY, s VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci);
INSERT INTO y VALUES (1, 'a'), (2, CONCAT('a ', CONVERT(x'E2808B' USING utf8mb4))), (3, CONCAT('a', CONVERT(x'C2A0' USING utf8mb4))), (4, CONCAT('a ', CONVERT(x'CC81' USING utf8mb4), 'b')), (5, 'a b');
SELECT COUNT(DISTINCT s) FROM y;
SELECT s = 'a', s = 'a b' FROM y ORDER BY id;
-- control characters beside the bounds of RANGE COLUMNS: MySQL places them by padding
CREATE TABLE r (s VARCHAR(6) COLLATE utf8mb4_bin PRIMARY KEY) PARTITION BY RANGE COLUMNS (s) (PARTITION p VALUES LESS THAN ('m'), PARTITION q VALUES LESS THAN ('x'));
INSERT INTO r VALUES ('a\t'), ('mm'), ('n\tx'), ('m '), ('lz');
SELECT HEX(s) FROM r PARTITION (p) ORDER BY 1;
SELECT HEX(s) FROM r PARTITION (q) ORDER BY 1;
SELECT HEX(s) FROM r WHERE s = 'n\tx';
-- refused: 1235
INSERT INTO r VALUES ('m\t');
-- refused: 1235
INSERT IGNORE INTO r VALUES ('b'), ('m  \t');
-- refused: 1235
UPDATE r SET s = 'x\t' WHERE s = 'mm';
