-- REGEXP_LIKE with what it is to do otherwise.
CREATE TABLE r (id INT PRIMARY KEY, s VARCHAR(20), b VARCHAR(20) COLLATE utf8mb4_bin, m VARCHAR(8));
INSERT INTO r VALUES (1, 'aB', 'aB', 'i'), (2, 'Ab', 'Ab', 'c'), (3, NULL, NULL, 'i'), (4, 'xab', 'xab', NULL), (5, 'AB', 'AB', 'ic'), (6, 'b', 'b', '');
SELECT id, REGEXP_LIKE(s, '^ab', 'i'), REGEXP_LIKE(s, '^Ab', 'c'), REGEXP_LIKE(s, '^ab', ''), REGEXP_LIKE(s, '^ab', NULL) FROM r ORDER BY id;
SELECT id, REGEXP_LIKE(b, '^ab', 'i'), REGEXP_LIKE(b, '^ab', 'c'), REGEXP_LIKE(b, '^ab', '') FROM r ORDER BY id;
SELECT id, REGEXP_LIKE(s, '^AB', 'ic'), REGEXP_LIKE(s, '^AB', 'ci'), REGEXP_LIKE(s, '^AB', 'iiicccc') FROM r ORDER BY id;
SELECT id, REGEXP_LIKE(s, '^AB', m) FROM r ORDER BY id;
SELECT id FROM r WHERE REGEXP_LIKE(s, '^A', 'c') ORDER BY id;
SELECT id FROM r WHERE NOT REGEXP_LIKE(s, '^a', 'i') ORDER BY id;
SELECT REGEXP_LIKE('a\nb', '^b', 'm'), REGEXP_LIKE('a\nb', 'a.b', 'n'), REGEXP_LIKE('ab', '^A.$', 'imn'), REGEXP_LIKE('ab', 'b$', 'u');
SELECT REGEXP_LIKE('aB', '^ab', 'x');
SELECT REGEXP_LIKE('aB', '^ab', 'I');
SELECT REGEXP_LIKE('aB', '^ab', 'ix');
SELECT REGEXP_LIKE('aB', '^ab', 1);
SELECT REGEXP_LIKE(NULL, '^ab', 'x');
SELECT REGEXP_LIKE('a', '', 'i');
SELECT REGEXP_LIKE('a', 'a', 'i', 'i');
SELECT id FROM r WHERE REGEXP_LIKE(s, '^A', IF(id < 3, 'i', 'c')) ORDER BY id;
SELECT id FROM r WHERE REGEXP_LIKE(s, '^A', IF(id < 3, 'i', 'x')) ORDER BY id;
SELECT REGEXP_LIKE('a\rb', 'a.b', 'nu'), REGEXP_LIKE('a\nb', 'a.b', 'nu');
-- refused: 1235
SELECT REGEXP_LIKE('a\r\nb', 'a.b', 'nu');
-- refused: 1235
SELECT REGEXP_LIKE('a\r\nb', 'a..b', 'nu');
