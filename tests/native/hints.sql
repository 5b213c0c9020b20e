-- Index hints: they say nothing here, but what they name must be there.
CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY by_a (a), KEY by_b (b));
INSERT INTO t VALUES (1, 10, 100), (2, 20, 200);
SELECT * FROM t FORCE INDEX (PRIMARY) ORDER BY id;
SELECT * FROM t USE INDEX () WHERE a = 20;
SELECT * FROM t USE INDEX (by_a, BY_B) IGNORE INDEX FOR ORDER BY (by_a) ORDER BY id;
SELECT * FROM t FORCE INDEX (nope);
SELECT * FROM t USE KEY (by_a, nope);
SELECT * FROM t IGNORE INDEX (nope);
SELECT * FROM t USE INDEX (by_);
SELECT * FROM t x FORCE INDEX (nope);
SELECT COUNT(*) FROM t JOIN t u FORCE INDEX (nope) ON u.id = t.id;
UPDATE t FORCE INDEX (by_a) SET b = b + 1 WHERE a = 10;
UPDATE t FORCE INDEX (nope) SET b = 0;
SELECT * FROM t ORDER BY id;
