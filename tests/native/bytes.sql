-- Strings of bytes are texts where numbers are asked for; literals of bits are numbers.
CREATE TABLE b (id INT PRIMARY KEY, v VARBINARY(10), w VARBINARY(10) NOT NULL DEFAULT '7', i INT, d DECIMAL(6,2));
INSERT INTO b (id, v, w) VALUES (1, '12', '3'), (2, '1.5', '4'), (3, NULL, '5');
SELECT id, v + 0.5, v * 2, -v, ABS(w), w / 4 FROM b ORDER BY id;
SELECT SUM(v), AVG(w) FROM b;
SELECT id FROM b WHERE v > 1.7 OR w = 5 ORDER BY id;
UPDATE b SET i = w, d = v WHERE v IS NOT NULL;
UPDATE b SET i = b'101', d = x'41' WHERE id = 3;
INSERT INTO b SELECT 4, 'x', 'y', 0x41, b'11';
INSERT INTO b SELECT 5, b.v, b.w, b.w, b.v FROM b WHERE id = 2;
SELECT id, i, d FROM b ORDER BY id;
SELECT x'41' + 0, 0x41 + 0.5, -x'41', CAST(0x41 AS UNSIGNED), b'101' + 0;
SET @h = x'41';
SELECT @h + 0, LENGTH(@h);
UPDATE b SET w = '6' WHERE id = 4;
ALTER TABLE b MODIFY w INT NOT NULL;
SELECT id, w FROM b ORDER BY id;
-- BIT columns are numbers to BIN, OCT and CONV.
CREATE TABLE n (id INT PRIMARY KEY, b BIT(10));
INSERT INTO n VALUES (1, b'101'), (2, 0), (3, b'1111111111'), (4, NULL);
SELECT id, BIN(b), OCT(b), CONV(b, 10, 16) FROM n ORDER BY id;
-- refused: 1235
SELECT BIN(IF(id > 1, b, b)) FROM n;
-- A literal beside bytes has those of the connection's charset.
CREATE TABLE sent (id INT PRIMARY KEY, v VARBINARY(10));
INSERT INTO sent VALUES (1, x'E4'), (2, x'C3A4'), (3, 'a'), (4, NULL);
SET collation_connection = 'latin1_swedish_ci';
SELECT id FROM sent WHERE v = 'ä';
SELECT id FROM sent WHERE v IN ('a', 'ä') ORDER BY id;
SELECT id FROM sent WHERE v < 'ä' ORDER BY id;
SELECT id FROM sent WHERE v = 'a';
SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci;
SELECT id FROM sent WHERE v = 'ä';
SELECT id FROM sent WHERE v < 'ä' ORDER BY id;
