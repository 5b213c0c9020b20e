-- Tables of all kinds for the statements of this folder. Made with CRC32, so they are the same on
-- every server and in every run.

SET sql_mode = '';

CREATE TABLE seq (n int NOT NULL PRIMARY KEY);
INSERT INTO seq
WITH d AS (SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
    UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)
SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d FROM d a, d b, d c, d e, d f
WHERE f.d < 6;

-- Ids have a wide gap and most rows lie at the end, so equal strides would be unequal work.
CREATE TABLE orders (
    id int NOT NULL PRIMARY KEY,
    customer_id int unsigned NOT NULL,
    sku char(8) NOT NULL,
    status enum('new','paid','shipped','cancelled') NOT NULL,
    amount decimal(12,2),
    quantity smallint unsigned NOT NULL,
    placed datetime NOT NULL,
    day date,
    note varchar(40),
    country char(2) CHARACTER SET latin1 NOT NULL,
    ticket bigint unsigned NOT NULL,
    rate double,
    gift tinyint(1) NOT NULL,
    KEY by_customer (customer_id),
    KEY by_day (day)
) DEFAULT CHARSET=utf8mb4;
INSERT INTO orders
SELECT IF(n < 2000, n - 1000, n + 1000000),
    1 + CRC32(CONCAT('c', n)) % 2200,
    CONCAT('SKU', LPAD(CRC32(CONCAT('p', n)) % 320, 4, '0')),
    1 + CRC32(CONCAT('s', n)) % 4,
    IF(n % 17 = 0, NULL, (CRC32(CONCAT('a', n)) % 1000000) / 100 - 1000),
    CRC32(CONCAT('q', n)) % 9,
    TIMESTAMP('2020-01-01') + INTERVAL CRC32(CONCAT('t', n)) % 94608000 SECOND,
    IF(n % 23 = 0, NULL, DATE('2020-01-01') + INTERVAL CRC32(CONCAT('d', n)) % 1095 DAY),
    ELT(1 + CRC32(CONCAT('n', n)) % 7, NULL, '', 'Gift', 'gift ', 'GIFT', 'straße', 'Crème brûlée'),
    ELT(1 + CRC32(CONCAT('l', n)) % 5, 'DE', 'FR', 'US', 'us', 'AT'),
    18446744073709551615 - CRC32(CONCAT('b', n)) % 1000,
    IF(n % 29 = 0, NULL, (CRC32(CONCAT('r', n)) % 4000) / 4 - 250),
    CRC32(CONCAT('g', n)) % 2
FROM seq WHERE n <= 60000;

CREATE TABLE customers (
    id int unsigned NOT NULL PRIMARY KEY,
    name varchar(60) NOT NULL,
    city varchar(30),
    code varchar(10) COLLATE utf8mb4_bin NOT NULL,
    born date,
    credit decimal(20,6),
    referrer int unsigned,
    UNIQUE KEY by_code (code)
) DEFAULT CHARSET=utf8mb4;
INSERT INTO customers
SELECT n, CONCAT(ELT(1 + n % 6, 'Anna', 'ANNA', 'ännä', 'Bob', 'bób', 'Zoë'), ' ', n),
    ELT(1 + CRC32(CONCAT('y', n)) % 9, 'Berlin', 'BERLIN', 'berlin', 'Paris', 'paris', 'Wien', 'Zürich', 'zurich', NULL),
    CONCAT(IF(n % 2, 'a', 'A'), LPAD(n, 6, '0')),
    IF(n % 13 = 0, NULL, DATE('1950-01-01') + INTERVAL n * 11 DAY),
    (CRC32(CONCAT('k', n)) % 100000000) / 1000 - 30000.123456,
    IF(n % 5 = 0, NULL, 1 + n % 100)
FROM seq WHERE n <= 2000;

CREATE TABLE products (
    sku char(8) NOT NULL PRIMARY KEY,
    title varchar(50) NOT NULL,
    category varchar(20) CHARACTER SET latin1,
    price decimal(10,2) NOT NULL,
    weight float,
    tags set('red','green','blue','heavy') NOT NULL
) DEFAULT CHARSET=utf8mb4;
INSERT INTO products
SELECT CONCAT('SKU', LPAD(n, 4, '0')), CONCAT('Product ', n),
    ELT(1 + n % 5, 'Tools', 'tools', 'Toys', 'Books', NULL),
    (CRC32(CONCAT('z', n)) % 50000) / 100, (n % 64) / 8, n % 16
FROM seq WHERE n <= 300;

CREATE TABLE events (
    device varchar(12) NOT NULL,
    at datetime(3) NOT NULL,
    value double,
    level tinyint NOT NULL,
    payload json,
    address varbinary(16),
    PRIMARY KEY (device, at)
) DEFAULT CHARSET=utf8mb4;
INSERT INTO events
SELECT CONCAT('dev-', ELT(1 + n % 5, 'a', 'B', 'c', 'D', 'é'), n % 20),
    TIMESTAMP('2023-03-01') + INTERVAL n * 1500 * 1000 MICROSECOND,
    IF(n % 31 = 0, NULL, (n % 1000) / 8), n % 7 - 3,
    JSON_OBJECT('n', n % 3, 'name', CONCAT('x', n % 4)), UNHEX(LPAD(HEX(n % 50), 8, '0'))
FROM seq WHERE n <= 50000;

CREATE TABLE loose (word varchar(20), number int, moment time(2)) DEFAULT CHARSET=utf8mb4;
INSERT INTO loose
SELECT ELT(1 + n % 6, 'one', 'One', 'two', '', NULL, 'three'), IF(n % 11 = 0, NULL, n % 40 - 20),
    SEC_TO_TIME((n * 37) % 360000 - 180000)
FROM seq WHERE n <= 20000;

CREATE TABLE parted (
    id int NOT NULL, year smallint NOT NULL, sum decimal(30,10), label varchar(10),
    PRIMARY KEY (id, year)
) DEFAULT CHARSET=utf8mb4
PARTITION BY RANGE (year) (
    PARTITION p2000 VALUES LESS THAN (2000), PARTITION p2010 VALUES LESS THAN (2010),
    PARTITION p2020 VALUES LESS THAN (2020), PARTITION rest VALUES LESS THAN MAXVALUE);
INSERT INTO parted
SELECT n, 1990 + CRC32(CONCAT('y', n)) % 40, CRC32(CONCAT('v', n)) * 1.0000000001 - 2000000000,
    CONCAT('l', n % 12)
FROM seq WHERE n <= 50000;

CREATE TABLE nothing (id int NOT NULL PRIMARY KEY, word varchar(10), amount decimal(10,2)) DEFAULT CHARSET=utf8mb4;

CREATE TABLE kinds (
    id int NOT NULL PRIMARY KEY,
    t tinyint, tu tinyint unsigned, s smallint, su smallint unsigned, m mediumint,
    mu mediumint unsigned, i int, iu int unsigned, b bigint, bu bigint unsigned,
    z int(6) unsigned zerofill, f float, d double, d2 double(10,3), dec0 decimal(10,0),
    dec2 decimal(20,2), decu decimal(10,2) unsigned, dec65 decimal(65,30),
    da date, ti time, ti6 time(6), dt datetime, dt6 datetime(6), ts timestamp NULL,
    ts3 timestamp(3) NULL, y year, bit1 bit(1), bit20 bit(20), bit64 bit(64),
    c char(5), vc varchar(20), vl varchar(20) CHARACTER SET latin1, vb varchar(20) COLLATE utf8mb4_bin,
    u2 varchar(20) CHARACTER SET ucs2, tt tinytext, tx text, mt mediumtext, lt longtext,
    bi binary(5), vbi varbinary(20), bl blob, lb longblob, e enum('a','B','ç'), st set('x','y','z'),
    j json
) DEFAULT CHARSET=utf8mb4;
INSERT INTO kinds VALUES
(1, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0, 7, -1.5, -1e300, -1.125, -9999999999,
 -123456789012345678.99, 0, -99999999999999999999999999999999999.999999999999999999999999999999,
 '1000-01-01', '-838:59:59', '-00:00:00.000001', '1000-01-01 00:00:00', '1000-01-01 00:00:00.000001',
 '1970-01-01 00:00:01', '1970-01-01 00:00:01.001', 1901, b'0', b'0', 0,
 '', '', '', '', '', '', '', '', '', '', '', '', '', 'a', '', '{}'),
(2, 127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 9223372036854775807, 18446744073709551615, 1234567, 3.402823e38, 1.7976931348623157e308, 1234567.891, 9999999999,
 123456789012345678.99, 99999999.99, 99999999999999999999999999999999999.999999999999999999999999999999,
 '9999-12-31', '838:59:59', '838:59:58.999999', '9999-12-31 23:59:59', '9999-12-31 23:59:59.999999',
 '2038-01-19 03:14:07', '2038-01-19 03:14:07.999', 2155, b'1', b'11111111111111111111', 18446744073709551615,
 'Ab c', 'Straße 😀', 'Größe', 'Straße', 'Größe', 'tiny', 'text', 'medium', 'long', 'ab', 'a\0b', UNHEX('00FF10'), UNHEX('FF'), 'B', 'x,z', '[1, "two", null, {"three": 3.5}]'),
(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
 NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
(4, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0.1, 0.001, 0, 0.01, 0.01, 0.000000000000000000000000000001,
 '0000-00-00', '00:00:00', '00:00:00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', 0, 0, 1, 1,
 'x', 'x ', 'x ', 'x ', 'x ', ' ', ' ', ' ', ' ', 'x', 'x ', 'x ', 'x ', 3, 'x,y,z', 'null'),
(5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
 '2024-02-29', '12:34:56', '12:34:56.789012', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789', 2024, 1, 3, 4,
 'ABC', 'abc', 'ABC', 'abc', 'ABC', 'ÀB', 'àb', 'ab', 'AB', 'abc', 'abc', 'abc', 'abc', 'ç', 'y', '"text"'),
(6, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 0.3333333, 0.3333333333333333, 0.333, 5, 5.5, 5.55, 3.141592653589793238462643383279,
 '2024-00-15', '24:00:00', '99:59:59.5', '2024-01-00 10:00:00', '2024-00-00 00:00:00.5', '2000-01-01', '2000-01-01 00:00:00.1', 70, 0, 21, 255,
 'abc', 'ABC', 'abc', 'ABC', 'abc', 'ab', 'AB', 'Àb', 'àB', UNHEX('80'), UNHEX('C3A4'), UNHEX('C3A4'), UNHEX('E4'), 'A', 'z,y', '{"b": 1, "a": [true, false]}');

CREATE TABLE dept (id int PRIMARY KEY, name varchar(20));
INSERT INTO dept VALUES (1, 'Sales'), (2, 'Tech'), (3, 'Empty'), (4, NULL);
CREATE TABLE emp (id int PRIMARY KEY, dept_id int, boss int, name varchar(20), pay decimal(8,2), hired date);
INSERT INTO emp VALUES (1, 1, NULL, 'Ada', 5000.00, '2001-01-01'), (2, 1, 1, 'Ben', 3000.50, '2002-02-02'),
(3, 2, 1, 'Cem', 3000.50, '2003-03-03'), (4, NULL, 2, 'Dan', NULL, NULL), (5, 2, 3, 'eva', 4100.00, '2005-05-05'),
(6, 2, 3, 'EVA', 4100.00, '2005-05-06'), (7, 9, 3, NULL, 10.00, '2007-07-07');

CREATE TABLE ontime (
    id int NOT NULL AUTO_INCREMENT, YearD int NOT NULL, Quarter tinyint, MonthD tinyint,
    DayofMonth tinyint, DayOfWeek tinyint, FlightDate date, UniqueCarrier char(7), AirlineID int,
    Carrier char(2), TailNum varchar(50), Origin char(5), Dest char(5), OriginState char(2),
    DestState char(2), DepDelayMinutes int, ArrDelayMinutes int, Cancelled tinyint,
    Diverted tinyint, Distance int,
    PRIMARY KEY (id)
) DEFAULT CHARSET=latin1;
INSERT INTO ontime
SELECT n, year, (month + 2) DIV 3, month, day, WEEKDAY(flown) + 1, flown, carrier, 19000 + ASCII(carrier), carrier,
    CONCAT('N', 100 + CRC32(CONCAT('w', n)) % 800), origin, dest,
    ELT(1 + origin_at, 'NC', 'NY', 'AK', 'HI', 'CA', 'NC', 'TX'), ELT(1 + dest_at, 'NC', 'NY', 'AK', 'HI', 'CA', 'NC', 'TX'),
    delay, IF(cancelled, NULL, GREATEST(CAST(delay AS SIGNED) - 5, 0)), cancelled, 0, 200 + CRC32(CONCAT('m', n)) % 2500
FROM (
    SELECT n, year, month, day, carrier, origin_at, dest_at, delay, cancelled,
        DATE(CONCAT(year, '-', month, '-', day)) AS flown,
        ELT(1 + origin_at, 'RDU', 'JFK', 'ANC', 'HNL', 'LAX', 'CLT', 'DFW') AS origin,
        ELT(1 + dest_at, 'RDU', 'JFK', 'ANC', 'HNL', 'LAX', 'CLT', 'DFW') AS dest
    FROM (
        SELECT n, 1988 + CRC32(CONCAT('Y', n)) % 28 AS year, 1 + CRC32(CONCAT('M', n)) % 12 AS month,
            1 + CRC32(CONCAT('D', n)) % 28 AS day,
            ELT(1 + LEAST(CRC32(CONCAT('C', n)) % 16, CRC32(CONCAT('K', n)) % 16),
                'WN', 'DL', 'AA', 'UA', 'US', 'MQ', 'EV', 'OO', 'B6', 'AS', 'FL', 'F9', 'HA', 'YV', 'VX', '9E') AS carrier,
            CRC32(CONCAT('O', n)) % 7 AS origin_at, CRC32(CONCAT('T', n)) % 7 AS dest_at,
            IF(CRC32(CONCAT('L', n)) % 3 = 0, CRC32(CONCAT('l', n)) % 120, 0) AS delay,
            CRC32(CONCAT('X', n)) % 50 = 0 AS cancelled
        FROM seq WHERE n <= 60000) AS drawn) AS flights;
ANALYZE TABLE seq, orders, customers, products, events, loose, parted, nothing, kinds, dept, emp, ontime;
