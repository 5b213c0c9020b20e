-- What result columns are called.
SELECT 1 +  2;
SELECT 1 /* c */ + 2 /* d */;
SELECT /* x */ 1+1;
SELECT 'abc', "dq", 'it''s', '  lead', 'tail  ', '';
SELECT N'nat', _utf8mb4'int', x'41', 0x41, b'1000001';
SELECT (1), (  1 ), ('a'), (('a')), (NULL), null, (1 + 1 );
SELECT + 1, + (1), - 1, -(1), +'a', ((+1));
SELECT @@autocommit, @@session.autocommit;
SELECT count( * ), COUNT(*)   , concat('a' , 'b' )  ;
SELECT (SELECT 1), (SELECT   1   ), EXISTS(SELECT 1);
SELECT 1 -- comment
;
SELECT 1 # comment
;
SELECT 1 AS one, 2 two, 3 'three', 4 "four", 5 `five six`, 6 AS 'a b';
SELECT 1 AS '', 1 AS ' x', 1 AS 'x ';
SELECT 'a' COLLATE utf8mb4_bin, binary 'a', interval(1,2), 1 IS   NULL;
SELECT 1.50, .5, 1e3, 0b01;
SELECT d.x FROM (SELECT 1 AS X) d;
SELECT `d` . `X`, (d.x), +d.x, d.x+1, `d`.`x`+1 FROM (SELECT 1 AS X) d;
SELECT /*!50000 1 + */ 1;
SELECT /*!50000 1 + 1 */;
SELECT 1 FROM dual UNION SELECT 2 AS two;
SELECT a, A, T.a, `T`.`B` FROM t T LIMIT 0;
SELECT 1+1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111-1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111+111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111;
