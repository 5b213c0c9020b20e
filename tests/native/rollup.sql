-- GROUP BY ... WITH ROLLUP.
CREATE TABLE r (id INT NOT NULL PRIMARY KEY, year INT NOT NULL, country VARCHAR(10), product CHAR(5), amount DECIMAL(10,2), day DATE) PARTITION BY HASH(id) PARTITIONS 2;
SELECT year, SUM(amount) FROM r GROUP BY year WITH ROLLUP;
SELECT country, product, COUNT(*) FROM r GROUP BY country, product WITH ROLLUP;
INSERT INTO r VALUES (1, 2000, 'fi', 'pc', 1500.00, '2000-01-01'), (2, 2000, 'fi', 'phone', 100.50, '2000-02-01'), (3, 2001, 'FI', 'phone', 10.00, NULL), (4, 2000, 'in', 'calc', 75.00, '2000-01-01'), (5, 2000, 'in', 'calc', 75.00, '2000-03-01'), (6, 2001, NULL, 'tv', 250.00, '2001-01-01'), (7, 2001, 'us', NULL, NULL, '2001-01-01'), (8, 2001, 'us', 'pc', -1.25, '2001-05-01');
SELECT year, SUM(amount), COUNT(*), MIN(day) FROM r GROUP BY year WITH ROLLUP;
-- values only: BIGINT and VARCHAR where MySQL takes a temporary table
SELECT year, SUM(amount) AS s FROM r GROUP BY year WITH ROLLUP ORDER BY s;
SELECT year, country, SUM(amount) FROM r WHERE id <> 3 GROUP BY year, country WITH ROLLUP;
SELECT year, product, COUNT(*), AVG(amount), COUNT(DISTINCT day) FROM r GROUP BY year, product WITH ROLLUP;
-- values only: BIGINT and VARCHAR where MySQL takes a temporary table
SELECT year, UPPER(country) AS c, product, SUM(amount) FROM r GROUP BY year, c, product WITH ROLLUP ORDER BY year, c, product, 4;
SELECT day, COUNT(*) FROM r GROUP BY day WITH ROLLUP;
SELECT amount, COUNT(*) FROM r GROUP BY amount WITH ROLLUP;
-- values only: BIGINT and VARCHAR where MySQL takes a temporary table
SELECT year, GROUPING(year), country IS NULL, GROUPING(country), GROUPING(year, country), COUNT(*) FROM r GROUP BY year, country WITH ROLLUP ORDER BY GROUPING(year), year, GROUPING(country), country;
SELECT IF(GROUPING(year), 'all', year) AS y, SUM(amount) FROM r GROUP BY year WITH ROLLUP;
SELECT year, SUM(amount) AS s FROM r GROUP BY year WITH ROLLUP HAVING s > 0;
-- values only: BIGINT and VARCHAR where MySQL takes a temporary table
SELECT year, country, COUNT(*) FROM r GROUP BY year, country WITH ROLLUP HAVING GROUPING(country) = 1 ORDER BY year;
SELECT year, COUNT(*) FROM r GROUP BY year WITH ROLLUP HAVING year IS NULL;
SELECT year, COUNT(*) FROM r GROUP BY year WITH ROLLUP LIMIT 2;
SELECT year + 1 AS y, COUNT(*) FROM r GROUP BY year + 1 WITH ROLLUP;
-- values only: BIGINT and VARCHAR where MySQL takes a temporary table
SELECT t.year, t.c FROM (SELECT year, COUNT(*) AS c FROM r GROUP BY year WITH ROLLUP) AS t WHERE t.year IS NULL;
SELECT COUNT(*) FROM r GROUP BY year WITH ROLLUP;
SELECT DISTINCT COUNT(*) AS c FROM r GROUP BY year WITH ROLLUP ORDER BY c;
-- values only: BIGINT and VARCHAR where MySQL takes a temporary table
SELECT a.year, COUNT(*) FROM r a JOIN r b ON a.year = b.year GROUP BY a.year WITH ROLLUP;
SELECT year, COUNT(*) FROM r WHERE id > 100 GROUP BY year WITH ROLLUP;
-- values only: BIGINT and VARCHAR where MySQL takes a temporary table
SELECT year, SUM(amount), RANK() OVER (ORDER BY SUM(amount) DESC) AS place FROM r GROUP BY year WITH ROLLUP ORDER BY place;
-- The most keys and arguments.
SELECT COUNT(*) FROM r WHERE id < 3 GROUP BY id + 0, id + 1, id + 2, id + 3, id + 4, id + 5, id + 6, id + 7, id + 8, id + 9, id + 10, id + 11, id + 12, id + 13, id + 14, id + 15, id + 16, id + 17, id + 18, id + 19 WITH ROLLUP;
-- refused: 1235 (MySQL rolls up 127)
SELECT COUNT(*) FROM r WHERE id < 3 GROUP BY id + 0, id + 1, id + 2, id + 3, id + 4, id + 5, id + 6, id + 7, id + 8, id + 9, id + 10, id + 11, id + 12, id + 13, id + 14, id + 15, id + 16, id + 17, id + 18, id + 19, id + 20, id + 21, id + 22, id + 23, id + 24, id + 25, id + 26, id + 27, id + 28, id + 29, id + 30, id + 31, id + 32, id + 33, id + 34, id + 35, id + 36, id + 37, id + 38, id + 39, id + 40, id + 41, id + 42, id + 43, id + 44, id + 45, id + 46, id + 47, id + 48, id + 49, id + 50, id + 51, id + 52, id + 53, id + 54, id + 55, id + 56, id + 57, id + 58, id + 59, id + 60, id + 61, id + 62, id + 63, id + 64, id + 65, id + 66, id + 67, id + 68, id + 69, id + 70, id + 71, id + 72, id + 73, id + 74, id + 75, id + 76, id + 77, id + 78, id + 79, id + 80, id + 81, id + 82, id + 83, id + 84, id + 85, id + 86, id + 87, id + 88, id + 89, id + 90, id + 91, id + 92, id + 93, id + 94, id + 95, id + 96, id + 97, id + 98, id + 99, id + 100, id + 101, id + 102, id + 103, id + 104, id + 105, id + 106, id + 107, id + 108, id + 109, id + 110, id + 111, id + 112, id + 113, id + 114, id + 115, id + 116, id + 117, id + 118, id + 119, id + 120, id + 121, id + 122, id + 123, id + 124, id + 125, id + 126 WITH ROLLUP;
SELECT COUNT(*) FROM r WHERE id < 3 GROUP BY id + 0, id + 1, id + 2, id + 3, id + 4, id + 5, id + 6, id + 7, id + 8, id + 9, id + 10, id + 11, id + 12, id + 13, id + 14, id + 15, id + 16, id + 17, id + 18, id + 19, id + 20, id + 21, id + 22, id + 23, id + 24, id + 25, id + 26, id + 27, id + 28, id + 29, id + 30, id + 31, id + 32, id + 33, id + 34, id + 35, id + 36, id + 37, id + 38, id + 39, id + 40, id + 41, id + 42, id + 43, id + 44, id + 45, id + 46, id + 47, id + 48, id + 49, id + 50, id + 51, id + 52, id + 53, id + 54, id + 55, id + 56, id + 57, id + 58, id + 59, id + 60, id + 61, id + 62, id + 63, id + 64, id + 65, id + 66, id + 67, id + 68, id + 69, id + 70, id + 71, id + 72, id + 73, id + 74, id + 75, id + 76, id + 77, id + 78, id + 79, id + 80, id + 81, id + 82, id + 83, id + 84, id + 85, id + 86, id + 87, id + 88, id + 89, id + 90, id + 91, id + 92, id + 93, id + 94, id + 95, id + 96, id + 97, id + 98, id + 99, id + 100, id + 101, id + 102, id + 103, id + 104, id + 105, id + 106, id + 107, id + 108, id + 109, id + 110, id + 111, id + 112, id + 113, id + 114, id + 115, id + 116, id + 117, id + 118, id + 119, id + 120, id + 121, id + 122, id + 123, id + 124, id + 125, id + 126, id + 127 WITH ROLLUP;
SELECT year, GROUPING(year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year) AS g FROM r GROUP BY year WITH ROLLUP;
SELECT year, GROUPING(year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year, year) AS g FROM r GROUP BY year WITH ROLLUP;
