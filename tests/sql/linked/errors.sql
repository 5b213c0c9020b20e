-- Statements that a server refuses are refused with its number, and the connection goes on.

SELECT * FROM there_is_no_such_table;
SELECT there_is_no_such_column FROM orders;
SELECT o.nope FROM orders o;
SELECT id FROM orders WHERE nope = 1;
-- only: mysql
SELECT id FROM no_such_database.orders;
SELECT id FROM orders ORDER BY nope;
SELECT id FROM orders GROUP BY nope;
SELECT count(*) FROM orders WHERE count(*) > 1;
SELECT id, count(*) FROM orders;
SELECT customer_id, amount FROM orders GROUP BY customer_id;
SELECT id FROM orders o JOIN customers c ON o.customer_id = c.id;
SELECT FROM orders;
SELECT id FROM orders WHERE;
SELECT id FORM orders;
SELECT NO_SUCH_FUNCTION(id) FROM orders;
SELECT id FROM orders UNION SELECT id, name FROM dept;
SELECT SUBSTRING() FROM orders;
SELECT id FROM orders o, customers o;
SELECT x.id FROM orders;
SELECT id FROM orders LIMIT -1;
-- only: mysql
SELECT * FROM (SELECT id FROM orders);
SELECT (SELECT id FROM emp) FROM dept;
SELECT sum(sum(amount)) FROM orders;
SELECT max(id) FROM orders HAVING nope > 1;
-- only: mysql
SELECT id FROM emp WHERE id = (SELECT id, name FROM dept LIMIT 1);
SELECT 1 FROM orders ORDER BY 2;
SELECT id FROM orders GROUP BY 5;
SELECT row_number() FROM orders;
-- The connection still works.
SELECT count(*) FROM dept;
