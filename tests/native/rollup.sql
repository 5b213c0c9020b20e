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
