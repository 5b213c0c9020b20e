-- Window functions over linked tables.

SELECT id, row_number() OVER (ORDER BY id) FROM orders ORDER BY id LIMIT 5;
SELECT id, rank() OVER (ORDER BY pay DESC), dense_rank() OVER (ORDER BY pay DESC) FROM emp ORDER BY id;
SELECT id, sum(pay) OVER (PARTITION BY dept_id ORDER BY id) FROM emp ORDER BY id;
SELECT id, sum(pay) OVER (PARTITION BY dept_id) AS s, count(*) OVER () FROM emp ORDER BY id;
-- only: mysql
SELECT id, lag(pay) OVER (ORDER BY id), lead(pay, 2, 0) OVER (ORDER BY id) FROM emp ORDER BY id;
SELECT id, first_value(name) OVER w, last_value(name) OVER w FROM emp WINDOW w AS (PARTITION BY dept_id ORDER BY id) ORDER BY id;
SELECT id, avg(pay) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM emp ORDER BY id;
SELECT id, ntile(3) OVER (ORDER BY id), percent_rank() OVER (ORDER BY id), cume_dist() OVER (ORDER BY id) FROM emp ORDER BY id;
SELECT customer_id, id, n FROM (SELECT customer_id, id, row_number() OVER (PARTITION BY customer_id ORDER BY placed DESC, id) n FROM orders WHERE customer_id < 20) t WHERE n <= 2 ORDER BY customer_id, n;
SELECT status, count(*) c, sum(count(*)) OVER () FROM orders GROUP BY status ORDER BY status;
SELECT status, count(*) c, rank() OVER (ORDER BY count(*) DESC) FROM orders GROUP BY status ORDER BY c DESC, status;
SELECT YearD, count(*) c, sum(count(*)) OVER (ORDER BY YearD) FROM ontime GROUP BY YearD ORDER BY YearD;
SELECT count(*) FROM (SELECT id, dense_rank() OVER (ORDER BY amount) r FROM orders) t WHERE r <= 100;
SELECT max(running) FROM (SELECT sum(quantity) OVER (ORDER BY id) AS running FROM orders) t;
