-- Subqueries that name columns of the block around them.
CREATE TABLE o (id INT NOT NULL PRIMARY KEY, who INT, kind VARCHAR(10), amount DECIMAL(10,2), day DATE, n BIGINT UNSIGNED);
CREATE TABLE i (id INT NOT NULL PRIMARY KEY, o INT, part INT NOT NULL, qty INT, price DECIMAL(10,2), kind VARCHAR(10), day DATE) PARTITION BY HASH(id) PARTITIONS 2;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.o = o.id);
INSERT INTO o VALUES (1, 10, 'a', 5.00, '2024-01-01', 1), (2, 10, 'A', 7.50, '2024-01-02', 2), (3, 20, 'b', NULL, NULL, 3), (4, NULL, NULL, 1.00, '2024-01-01', 4), (5, 30, 'ä', 0.00, '2024-01-05', 18446744073709551615);
INSERT INTO i VALUES (1, 1, 100, 2, 1.10, 'a', '2024-01-01'), (2, 1, 101, NULL, 2.20, 'b', '2024-01-02'), (3, 2, 100, 5, 3.30, 'A', NULL), (4, NULL, 102, 7, NULL, NULL, '2024-01-01'), (5, 4, 100, -1, 4.40, 'c', '2024-01-05'), (6, 2, 103, 0, 5.50, 'x', '2024-01-02'), (7, 9, 104, 1, 6.60, 'a', '2024-01-09');
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.o = o.id) ORDER BY id;
SELECT id FROM o WHERE NOT EXISTS (SELECT * FROM i WHERE i.o = o.id) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.o = o.id AND i.qty > 1) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE o = o.id AND qty IS NULL) AND amount > 1 ORDER BY id;
SELECT id FROM o AS outside WHERE EXISTS (SELECT 1 FROM o WHERE o.who = outside.who AND o.id <> outside.id) ORDER BY id;
SELECT id FROM o AS outside WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.who = outside.who AND o.id <> outside.id) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.o = o.id AND i.price < o.amount) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.price > o.amount) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.kind = o.kind) ORDER BY id;
SELECT id FROM o WHERE NOT EXISTS (SELECT 1 FROM i WHERE i.kind = o.kind) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.day = o.day AND i.o <> o.id) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.o = o.id) OR amount = 0 ORDER BY id;
SELECT id FROM o WHERE NOT (EXISTS (SELECT 1 FROM i WHERE i.o = o.id) AND kind = 'a') ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.o = o.id) AND NOT EXISTS (SELECT 1 FROM i WHERE i.o = o.id AND i.part = 103) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i JOIN i AS j ON i.part = j.part AND i.id <> j.id WHERE i.o = o.id) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.o = o.id LIMIT 1) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.o = o.id AND EXISTS (SELECT 1 FROM i AS j WHERE j.part = i.part AND j.id > i.id)) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE EXISTS (SELECT 1 FROM i AS j WHERE j.part = i.part AND j.id > i.id)) ORDER BY id;
SELECT id FROM o WHERE id IN (SELECT i.o FROM i WHERE i.qty > o.amount - 4) ORDER BY id;
SELECT id FROM o WHERE id IN (SELECT o FROM i WHERE i.kind = o.kind) ORDER BY id;
SELECT id FROM o WHERE amount > (SELECT AVG(price) FROM i WHERE i.o = o.id) ORDER BY id;
SELECT id FROM o WHERE (SELECT COUNT(*) FROM i WHERE i.o = o.id) = 0 ORDER BY id;
SELECT id FROM o WHERE 2 = (SELECT COUNT(*) FROM i WHERE i.o = o.id) ORDER BY id;
SELECT id FROM o WHERE (SELECT COUNT(qty) + 1 FROM i WHERE i.o = o.id) < 2 ORDER BY id;
SELECT id FROM o WHERE (SELECT SUM(qty) FROM i WHERE i.o = o.id) IS NULL ORDER BY id;
SELECT id, (SELECT COUNT(*) FROM i WHERE i.o = o.id) AS c, (SELECT SUM(qty) FROM i WHERE i.o = o.id) AS s FROM o ORDER BY id;
SELECT id, (SELECT MAX(price) FROM i WHERE i.o = o.id AND part <> 101) AS m FROM o ORDER BY m, id;
SELECT id, (SELECT COUNT(*) * 10 + 5 FROM i WHERE i.o = o.id) AS c FROM o ORDER BY id;
SELECT id, (SELECT COALESCE(MAX(qty), -7) FROM i WHERE i.o = o.id) AS c FROM o ORDER BY id;
SELECT id, (SELECT IF(COUNT(*) = 0, 'none', 'some') FROM i WHERE i.o = o.id) AS c FROM o ORDER BY id;
SELECT id, (SELECT BIT_AND(part) FROM i WHERE i.o = o.id) AS b, (SELECT BIT_OR(part) FROM i WHERE i.o = o.id) AS c FROM o ORDER BY id;
SELECT id, (SELECT COUNT(*) FROM i WHERE i.o = o.id AND i.day = o.day) AS c FROM o ORDER BY id;
SELECT id, amount - (SELECT AVG(amount) FROM o AS p WHERE p.who = o.who) AS off FROM o ORDER BY id;
SELECT id FROM o ORDER BY (SELECT COUNT(*) FROM i WHERE i.o = o.id) DESC, id;
SELECT a.id FROM i a WHERE a.qty < (SELECT 0.5 * SUM(b.qty) FROM i b WHERE b.part = a.part) ORDER BY a.id;
SELECT o.id, i.id FROM o JOIN i ON i.o = o.id WHERE i.price = (SELECT MIN(p.price) FROM i AS p JOIN o AS q ON q.id = p.o WHERE p.o = o.id) ORDER BY o.id;
SELECT who, SUM(amount) FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.o = o.id) GROUP BY who ORDER BY who;
SELECT COUNT(*) FROM o WHERE who IN (SELECT who FROM o AS p WHERE p.id > o.id);
SELECT x.id FROM (SELECT id, who AS w FROM o) AS x WHERE EXISTS (SELECT 1 FROM o WHERE o.who = x.w AND o.id > x.id) ORDER BY x.id;
WITH big AS (SELECT * FROM i WHERE qty > 0) SELECT id FROM o WHERE EXISTS (SELECT 1 FROM big WHERE big.o = o.id) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM (SELECT o AS k, COUNT(*) AS c FROM i GROUP BY o) AS g WHERE g.k = o.id AND g.c > 1) ORDER BY id;
-- refused: 1235
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.o = o.id LIMIT 0) OR id = 2 ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT o.id, i.part FROM i WHERE i.o = o.id GROUP BY i.part ORDER BY i.part) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT o.id FROM i) AND NOT EXISTS (SELECT o.who FROM i WHERE i.id > 100) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.o = o.id AND o.id = 2) ORDER BY id;
SELECT id FROM o WHERE NOT EXISTS (SELECT 1 FROM i WHERE i.o = o.id AND o.id > 1 AND i.qty > 0) ORDER BY id;
SELECT id FROM o WHERE EXISTS (SELECT DISTINCT part FROM i WHERE i.o = o.id) ORDER BY id;
-- refused: 1235 an aggregate has a row whatever its condition says
SELECT id FROM o WHERE EXISTS (SELECT COUNT(*) FROM i WHERE i.o = o.id) ORDER BY id;
-- refused: 1235 there may be several
SELECT id, (SELECT qty FROM i WHERE i.o = o.id) FROM o;
-- refused: 1235 NULL among what is found
SELECT id FROM o WHERE id NOT IN (SELECT i.part FROM i WHERE i.o = o.id);
-- refused: 1235 groups
SELECT id FROM o WHERE EXISTS (SELECT i.o FROM i WHERE i.part > o.id GROUP BY i.o HAVING COUNT(*) > 1);
-- refused: 1235 more than equality
SELECT id, (SELECT COUNT(*) FROM i WHERE i.id > o.id) FROM o;
SELECT who, (SELECT COUNT(*) FROM i WHERE i.o = o.who) FROM o GROUP BY who;
-- refused: 1235 from two blocks further out
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.o = o.id AND EXISTS (SELECT 1 FROM i AS j WHERE j.o = o.id AND j.id <> i.id));
