-- What the names in GROUP BY, HAVING and ORDER BY mean, and which tables a name may mean.
CREATE TABLE shop (id INT NOT NULL PRIMARY KEY, name VARCHAR(20), kind INT, sales INT);
CREATE TABLE sale (id INT NOT NULL PRIMARY KEY, shop INT, name VARCHAR(20), kind INT, day DATE);
INSERT INTO shop VALUES (1, 'north', 3, -10), (2, 'south', 3, 5), (3, 'east', 1, 7), (4, 'west', -1, 1);
INSERT INTO sale VALUES (1, 1, 'pen', 7, '2024-01-05'), (2, 1, 'ink', 8, '2023-02-05'), (3, 2, 'pen', 7, '2023-03-05'), (6, NULL, 'nib', 9, NULL);
-- ORDER BY: the item of the select list, then the column.
SELECT shop.id, sales FROM shop JOIN sale ON shop.id = sale.id ORDER BY id;
SELECT shop.* FROM shop LEFT JOIN sale ON shop.id = sale.shop ORDER BY id;
SELECT shop.id, shop.id FROM shop JOIN sale ON shop.id = sale.id ORDER BY id DESC;
SELECT shop.id, sale.id FROM shop JOIN sale ON shop.id = sale.id ORDER BY id;
SELECT shop.id AS number FROM shop JOIN sale ON shop.id = sale.id ORDER BY id;
SELECT shop.id FROM shop JOIN sale ON shop.id = sale.id ORDER BY id + 0;
SELECT shop.id AS id, sale.kind - 10 AS id FROM shop JOIN sale ON shop.id = sale.id ORDER BY id, 1;
SELECT kind, 1 - kind AS kind, sales AS kind FROM shop ORDER BY kind, 3;
SELECT id AS x, sales AS x FROM shop ORDER BY x;
SELECT -kind AS kind, sales FROM shop ORDER BY kind, sales;
SELECT -kind AS kind, sales FROM shop ORDER BY kind + 0, sales;
SELECT -kind AS k, sales FROM shop ORDER BY k + 0, sales;
SELECT kind AS k FROM shop ORDER BY kind;
SELECT kind AS k FROM shop ORDER BY shop.kind DESC;
SELECT kind AS sales FROM shop ORDER BY sales, id;
SELECT COUNT(*), kind FROM shop GROUP BY kind ORDER BY `COUNT(*)`, kind;
SELECT kind + 1 FROM shop ORDER BY `kind + 1`, id;
SELECT id FROM shop ORDER BY 2;
SELECT id FROM shop ORDER BY 0;
SELECT id, kind AS k FROM shop ORDER BY TIMESTAMPDIFF(DAY, '2024-01-01', '2024-01-03') * k, id;
SELECT kind AS day FROM shop ORDER BY TIMESTAMPDIFF(DAY, '2024-01-01', '2024-01-03'), day, id;
SELECT COUNT(*) AS n, kind FROM shop GROUP BY kind ORDER BY n * 2, kind;
SELECT COUNT(*) AS n FROM shop GROUP BY kind ORDER BY MAX(n);
SELECT ROW_NUMBER() OVER (ORDER BY id) AS n FROM shop ORDER BY n + 1;
SELECT COUNT(*) FROM shop ORDER BY id;
SELECT SUM(kind) FROM shop ORDER BY sales LIMIT 1;
SELECT GROUP_CONCAT(kind ORDER BY id) FROM shop WHERE id > 0 ORDER BY kind;
SELECT COUNT(*) FROM shop ORDER BY nothing;
SELECT 1 FROM shop ORDER BY COUNT(*);
SELECT id FROM shop ORDER BY id, MAX(kind);
-- GROUP BY: the column, then the item.
SELECT shop.id, COUNT(*) FROM shop JOIN sale ON shop.id = sale.shop GROUP BY id ORDER BY id;
SELECT shop.id AS number, COUNT(*) FROM shop JOIN sale ON shop.id = sale.shop GROUP BY id;
SELECT shop.id, sale.id, COUNT(*) FROM shop JOIN sale ON shop.id = sale.shop GROUP BY id;
SELECT sale.name, COUNT(*) FROM shop JOIN sale ON sale.shop = shop.id GROUP BY name ORDER BY name;
SELECT -kind AS kind FROM shop GROUP BY kind ORDER BY kind;
SELECT -kind AS kind FROM shop GROUP BY -kind ORDER BY kind;
SELECT ABS(kind) AS k, COUNT(*) FROM shop GROUP BY k ORDER BY k DESC;
SELECT kind, MAX(sales) AS kind FROM shop GROUP BY kind ORDER BY 1;
SELECT kind AS sales FROM shop GROUP BY sales;
SELECT kind AS kind, sales AS kind FROM shop GROUP BY kind, sales;
SELECT MAX(kind) AS m FROM shop GROUP BY m;
SELECT MAX(kind) FROM shop GROUP BY 1;
SELECT kind FROM shop GROUP BY 2;
SELECT 1 AS one FROM (SELECT 1 AS two) AS q GROUP BY 2;
SELECT kind FROM shop GROUP BY MAX(kind);
SELECT ROW_NUMBER() OVER (ORDER BY kind) AS n FROM shop GROUP BY n;
SELECT COUNT(*) FROM shop GROUP BY 'kind';
SELECT AVG(sales) FROM shop GROUP BY 1.1000000000000001;
SELECT COUNT(*) FROM shop GROUP BY NULL;
SELECT YEAR(day), COUNT(*) FROM sale GROUP BY 1 ORDER BY 1;
SELECT (CASE WHEN kind > 7 THEN 'high' ELSE 'low' END) AS c, kind > 8 AS d FROM sale GROUP BY 1, 2 ORDER BY 1, 2;
SELECT DATE_FORMAT(day, '%Y') AS day, COUNT(*) FROM sale GROUP BY DATE_FORMAT(day, '%Y') ORDER BY day;
-- HAVING: the item and the key, no other column.
SELECT shop.id, COUNT(*) FROM shop JOIN sale ON shop.id = sale.shop GROUP BY shop.id HAVING id > 1;
SELECT sale.kind, COUNT(*) AS n FROM shop JOIN sale ON sale.shop = shop.id GROUP BY kind HAVING kind > 7 OR n > 1 ORDER BY n DESC, kind;
SELECT -kind AS kind, COUNT(*) FROM shop GROUP BY kind HAVING kind > 0 ORDER BY kind;
SELECT -kind AS kind FROM shop GROUP BY -kind HAVING kind > 0;
SELECT kind AS k FROM shop HAVING kind > 1 ORDER BY id;
SELECT kind AS k FROM shop HAVING k > 1 ORDER BY id;
SELECT kind FROM shop HAVING sales > 1;
SELECT kind FROM shop GROUP BY kind HAVING sales > 1;
SELECT kind FROM shop GROUP BY kind, sales HAVING sales > 1 ORDER BY kind;
SELECT COUNT(*) FROM shop HAVING kind > 1;
SELECT SUM(kind) AS kind FROM shop HAVING kind > 1;
SELECT SUM(sales) AS sales FROM shop GROUP BY kind HAVING sales > 0 ORDER BY sales;
SELECT sales AS z FROM shop GROUP BY sales HAVING AVG(z) > 0 ORDER BY z;
SELECT SUM(sales) AS z FROM shop HAVING AVG(z) > 0;
SELECT MAX(kind) FROM shop HAVING MAX(sales) > 1;
SELECT SUM(sales) FROM shop HAVING COUNT(*) > 100;
SELECT SUM(sales) FROM shop WHERE id > 100 HAVING COUNT(1) = 0;
SELECT kind, ROW_NUMBER() OVER (ORDER BY id) AS n FROM shop HAVING n > 1;
SELECT kind + sales AS x FROM shop GROUP BY x HAVING x > 0 ORDER BY x * 2;
SELECT kind + sales AS x FROM shop GROUP BY kind + sales HAVING kind + sales > 0;
SELECT `COUNT(*)` FROM shop;
SELECT COUNT(*) FROM shop GROUP BY kind HAVING `COUNT(*)` > 1;
-- Aliases are no names in the select list and in WHERE.
SELECT kind AS k, k FROM shop;
SELECT kind AS k FROM shop WHERE k > 1;
-- DISTINCT is ordered by what is selected.
SELECT DISTINCT YEAR(day) FROM sale ORDER BY YEAR(day);
SELECT DISTINCT YEAR(day) AS y FROM sale ORDER BY YEAR(day) DESC;
SELECT DISTINCT UPPER(name) FROM sale ORDER BY UPPER(name);
SELECT DISTINCT DATE_FORMAT(day, '%Y') FROM sale ORDER BY DATE_FORMAT(day, '%Y') DESC;
SELECT DISTINCT kind FROM shop ORDER BY kind + 1;
SELECT DISTINCT kind + 1 AS k FROM shop ORDER BY k * 2;
SELECT DISTINCT kind AS k FROM shop ORDER BY shop.kind;
SELECT DISTINCT kind FROM shop ORDER BY sales;
SELECT DISTINCT kind + 1 FROM shop ORDER BY kind;
SELECT DISTINCT kind + 1 FROM shop ORDER BY (kind + 1) * 2;
SELECT DISTINCT kind FROM shop GROUP BY kind ORDER BY MAX(sales);
SELECT DISTINCT MAX(sales) FROM shop GROUP BY kind ORDER BY kind;
SELECT DISTINCT kind FROM shop GROUP BY kind, sales ORDER BY MAX(id);
SELECT DISTINCT kind, MAX(sales) FROM shop GROUP BY kind, id > 2 ORDER BY MAX(sales) + kind, 1;
-- Names of tables and aliases are case-sensitive.
SELECT SHOP.id FROM shop;
SELECT S.id FROM shop AS s;
SELECT s.ID, s.Kind FROM shop AS s ORDER BY s.iD;
SELECT s.id, S.id FROM shop AS s JOIN shop AS S ON s.id = S.kind ORDER BY s.id, S.id;
SELECT s.id FROM shop AS s JOIN shop AS S ON s.id = S.id WHERE s.id > 1 AND S.id < 3;
SELECT S.* FROM shop AS s;
SELECT T.table_name FROM information_schema.tables AS t WHERE 1 = 0;
-- Tables that are named twice.
SELECT * FROM shop JOIN shop ON 1 = 1;
SELECT * FROM (SELECT 1 AS a) AS q JOIN (SELECT 2 AS b) AS q;
-- Names that are defined twice.
WITH q AS (SELECT 1), q AS (SELECT 2) SELECT * FROM q;
SELECT COUNT(*) OVER w FROM shop WINDOW w AS (ORDER BY kind), w AS ();
-- Joins without common columns.
SELECT 1 FROM (SELECT 1 AS q FROM shop WHERE kind) AS q NATURAL LEFT JOIN sale;
SELECT q, id FROM (SELECT 5 AS q) AS q NATURAL RIGHT JOIN shop ORDER BY id;
SELECT q, id FROM (SELECT 5 AS q) AS q NATURAL JOIN shop ORDER BY id;
-- values only: MySQL's temporary table makes INT of the constant
SELECT q, sale.id FROM (SELECT 5 AS q FROM shop WHERE id > 100) AS q NATURAL RIGHT JOIN sale ORDER BY id;
-- EXISTS of a query without tables.
SELECT id FROM shop WHERE EXISTS (SELECT * FROM DUAL WHERE kind = 3) ORDER BY id;
SELECT id FROM shop WHERE NOT EXISTS (SELECT * FROM DUAL WHERE kind = 3) ORDER BY id;
SELECT id FROM shop WHERE EXISTS (SELECT 1 FROM DUAL WHERE FALSE);
SELECT EXISTS (SELECT * FROM DUAL WHERE 1 = 0), EXISTS (SELECT *);
SELECT *;
-- Aggregates of a block in its subqueries.
SELECT kind FROM shop GROUP BY kind HAVING kind IN (SELECT shop FROM sale WHERE MAX(sales) > 5) ORDER BY kind;
SELECT kind FROM shop GROUP BY kind HAVING kind IN (SELECT shop.id FROM shop WHERE MAX(sales) > 5) ORDER BY kind;
-- values only: computed integers that MySQL puts into temporary tables are INT or BIGINT by its plan
SELECT COUNT(*), kind, (SELECT MIN(shop) FROM sale WHERE shop = COUNT(*)) AS m FROM shop GROUP BY kind ORDER BY kind;
SELECT EXISTS (SELECT 1 FROM (SELECT id FROM sale) AS q GROUP BY q.id ORDER BY MIN(outside.sales)) FROM shop AS outside;
SELECT kind, (SELECT COUNT(*) FROM sale WHERE sale.shop = shop.kind) AS n FROM shop GROUP BY kind ORDER BY kind;
SELECT kind FROM shop GROUP BY kind HAVING EXISTS (SELECT 1 FROM sale WHERE sale.shop = shop.kind) ORDER BY kind;
SELECT kind FROM shop GROUP BY kind HAVING EXISTS (SELECT 1 FROM sale WHERE sale.shop = MAX(shop.id)) ORDER BY kind;
SELECT kind FROM shop WHERE SUM(sales) > 1;
SELECT id FROM shop WHERE id IN (SELECT id FROM sale WHERE MAX(sale.kind) > 1);
-- ANY_VALUE is a function of the row where nothing makes groups.
SELECT ANY_VALUE(kind) AS k FROM shop ORDER BY id;
SELECT ANY_VALUE(kind), COUNT(*) FROM shop WHERE id = 1;
-- A frame that ends after all rows.
SELECT id, SUM(id) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 18446744073709551615 FOLLOWING) AS s FROM shop ORDER BY id;
SELECT id, SUM(id) OVER (ORDER BY id ROWS BETWEEN 18446744073709551615 PRECEDING AND 1 PRECEDING) AS s FROM shop ORDER BY id;
SELECT id, SUM(id) OVER (ORDER BY id ROWS BETWEEN 18446744073709551614 FOLLOWING AND 18446744073709551615 FOLLOWING) AS s FROM shop ORDER BY id;
-- UPDATE and DELETE find their tables as SELECT does.
UPDATE shop AS s SET S.kind = 1;
UPDATE shop SET SHOP.kind = 1;
UPDATE shop AS s JOIN sale AS t ON s.id = t.shop SET T.kind = 1;
UPDATE shop AS s SET s.kind = S.kind;
UPDATE shop AS s SET s.kind = s.kind + 1 WHERE s.id = 1;
SELECT id, kind FROM shop ORDER BY id;
-- Columns of derived tables that MySQL merges: the alias of one wins over a column of its name, and what is computed has the name of its item alone.
SELECT id AS kind FROM (SELECT id, kind FROM shop) q GROUP BY kind ORDER BY 1;
SELECT MIN(kind) AS m, id AS kind FROM (SELECT id, kind FROM shop WHERE kind = 3) q GROUP BY kind ORDER BY 2;
-- values only: MySQL has the extreme of a merged column as a BIGINT
SELECT MIN(q.sales) AS m, q.kind AS id FROM (SELECT id, kind, sales FROM shop) q GROUP BY id ORDER BY 2;
SELECT MIN(q.sales) AS m, q.kind AS id FROM (SELECT id, kind, sales FROM shop LIMIT 10) q GROUP BY id ORDER BY q.id;
SELECT MIN(q.sales) AS m, q.kind AS id FROM (SELECT DISTINCT id, kind, sales FROM shop) q GROUP BY id ORDER BY q.id;
-- values only: MySQL has the extreme of a merged column as a BIGINT
WITH q AS (SELECT id, kind, sales FROM shop) SELECT MIN(sales) AS m, kind AS id FROM q GROUP BY id ORDER BY 2;
-- values only: MySQL has the extreme of a merged column as a BIGINT
SELECT MIN(q.sales) AS m, q.kind AS day FROM (SELECT id, kind, sales FROM shop) q JOIN sale ON sale.id = q.id GROUP BY day ORDER BY 2;
SELECT MIN(q.sales) AS m, q.kind + 0 AS sales FROM (SELECT id, kind, sales FROM shop) q GROUP BY sales;
SELECT kind AS x, more AS x FROM (SELECT id, kind, kind + 1 AS more FROM shop) q ORDER BY x, 1;
SELECT more AS x FROM (SELECT id, kind, kind + 1 AS more FROM shop) q GROUP BY x HAVING more > 0;
SELECT MAX(q.kind) + 1 AS m FROM (SELECT id, kind, kind + 1 AS more FROM shop) q GROUP BY q.more HAVING more * 2 < 5;
SELECT MAX(q.kind) + 1 AS m FROM (SELECT id, kind, kind AS more FROM shop) q GROUP BY q.more HAVING more * 2 < 5 ORDER BY 1;
SELECT more FROM (SELECT id, kind, kind + 1 AS more FROM shop) q GROUP BY more HAVING q.more > 2;
-- values only: MySQL has the extreme of a merged column as a BIGINT
SELECT q.more AS x, MIN(q.id) FROM (SELECT id, kind, kind + 1 AS more FROM shop) q GROUP BY id HAVING q.more > 2 ORDER BY 2;
SELECT q.more AS x FROM (SELECT id, kind, kind + 1 AS more FROM shop) q GROUP BY x HAVING more > 2;
-- HAVING means the key that is a column, whatever aliases other keys have.
SELECT MAX(sale.kind), sale.shop, shop.kind AS id FROM shop JOIN sale ON sale.shop = shop.id GROUP BY shop.id, sale.shop, shop.kind HAVING id < 2 ORDER BY 1;
SELECT DISTINCT -sale.kind AS id, id, COUNT(DISTINCT kind) AS id FROM sale GROUP BY 1, id HAVING id * 2 > 4 ORDER BY 1;
-- What is not there comes before what is not determined.
SELECT id FROM shop GROUP BY ABS(nothing);
SELECT id, COUNT(*) FROM shop HAVING MAX(nothing) > 0;
SELECT id FROM shop GROUP BY nothing HAVING sales > 0;
-- Constants among the keys tell no groups apart.
SELECT DISTINCT kind FROM shop GROUP BY kind, ABS(1) ORDER BY COUNT(*), kind;
SELECT DISTINCT kind FROM shop GROUP BY kind, id ORDER BY COUNT(*);
