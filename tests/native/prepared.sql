-- Prepared statements whose LIMIT and window functions have parameters.
CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(5));
INSERT INTO t VALUES (1, 'v'), (2, 'w'), (3, 'x'), (4, 'y'), (5, 'z');
SET @n = 2, @m = 1;
PREPARE p FROM 'SELECT a, b FROM t ORDER BY a LIMIT ?';
EXECUTE p USING @n;
EXECUTE p USING @m;
PREPARE q FROM 'SELECT a FROM t ORDER BY a LIMIT ? OFFSET ?';
EXECUTE q USING @n, @m;
PREPARE r FROM 'SELECT a FROM t WHERE b > ? ORDER BY a LIMIT ?, ?';
SET @b = 'v';
EXECUTE r USING @b, @m, @n;
PREPARE s FROM 'SELECT a, LAG(a, ?) OVER (ORDER BY a) AS l, NTILE(?) OVER (ORDER BY a) AS n, NTH_VALUE(a, ?) OVER (ORDER BY a) AS v FROM t ORDER BY a';
EXECUTE s USING @n, @n, @n;
