-- CHECK constraints, generated columns and defaults whose branches only some rows reach.
CREATE TABLE reach (id INT PRIMARY KEY, n INT, t VARCHAR(10), u BIGINT UNSIGNED,
  q INT AS (IF(n = 0, NULL, 100 DIV n)) STORED, s INT AS (CASE WHEN t IN ('12', '121') THEN CAST(t AS SIGNED) END) STORED,
  CHECK (u = 0 OR u - 1 >= 0));
INSERT INTO reach (id, n, t, u) VALUES (1, 0, 'abc', 0), (2, 7, '12', 5), (3, NULL, NULL, NULL), (4, 1, '', 1);
SELECT * FROM reach ORDER BY id;
UPDATE reach SET n = n + 1, t = CONCAT(t, '1'), u = u + 1;
SELECT * FROM reach ORDER BY id;
UPDATE reach SET n = CASE WHEN u > 2 THEN u - 2 ELSE 0 END;
SELECT id, n, q FROM reach ORDER BY id;
