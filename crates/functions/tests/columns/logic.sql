-- Columns of every type: logic.
SELECT v10 and 1 FROM t;
SELECT i and nn FROM t;
SELECT not i FROM t;
SELECT i xor nn FROM t;
SELECT i or null FROM t;
SELECT d52 and 1 FROM t;
SELECT dt and 1 FROM t;
SELECT i & 7 FROM t;
SELECT iu  FROM t;
SELECT  1 FROM t;
SELECT bu ^ 1 FROM t;
SELECT ~i FROM t;
SELECT i << 2 FROM t;
SELECT bi >> 1 FROM t;
SELECT bit_count(i) FROM t;
