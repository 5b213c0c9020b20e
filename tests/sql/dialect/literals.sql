-- Literals: quotes, escapes, charsets, numbers, dates.
SELECT 'it''s', 'a\\b', 'a\'b', 'line\nbreak', 'tab\tx', '\%', '\_', 'q\q', '''', '\\';
SELECT "dq'x", "a""b", "a\"b", 'x"y', "it's";
-- only: mysql
SELECT 'a' 'b', 'a''' '''b', "a'" 'b', 'a'   "b";
SELECT N'nat', n'it''s';
SELECT _utf8mb4'abc', _utf8mb4 'x';
SELECT HEX(x'4142'), HEX(X'4a'), HEX(0x4142), 0x0a + 0, x'0a' + 0;
SELECT b'101' + 0, 0b101 + 0, HEX(b'1000001');
SELECT 1.5, .5, 1., 1e3, 1.5e-3, 1E+2;
SELECT 18446744073709551615, 9223372036854775808, -9223372036854775808;
SELECT 123456789012345678901234567890, 0.000000000000000000000000000001;
SELECT TRUE, FALSE, NULL, true + true;
SELECT DATE '2024-02-29', TIME '10:11:12', TIMESTAMP '2024-01-01 00:00:00', DATE'2024-01-01';
SELECT {d '2024-02-29'}, {t '10:11:12'}, {ts '2024-01-01 00:00:00'};
SELECT {fn CONCAT('a', 'b')};
SELECT LENGTH('é'), CHAR_LENGTH('é'), '日本', 'Ünï';
SELECT '%', 'a_b', 'a\_b' LIKE 'a\_b', 'a\%b';
SELECT '' = ' ', 'a ' = 'a', '';
