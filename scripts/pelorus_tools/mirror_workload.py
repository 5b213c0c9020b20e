"""What the benchmark of mirrors works on: tables of MySQL, and procedures that change their rows."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from .generated import DATABASE
from .servers import Server
from .show import Step

# 16 columns of the kinds that tables of shops have.
WIDE = """CREATE TABLE wide (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, customer INT UNSIGNED NOT NULL,
    product INT NOT NULL, quantity INT NOT NULL, price DECIMAL(12,2) NOT NULL,
    discount DECIMAL(5,4), weight DOUBLE, flags TINYINT UNSIGNED NOT NULL, ordered DATE NOT NULL,
    created DATETIME(6) NOT NULL, changed TIMESTAMP NULL, country CHAR(2) NOT NULL,
    channel VARCHAR(16) NOT NULL, name VARCHAR(40) NOT NULL, note VARCHAR(120),
    state ENUM('new', 'paid', 'sent', 'done') NOT NULL)"""

TICKS = "CREATE TABLE ticks (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(40))"
TICK_ROWS = 1000

_CHUNK = 100_000

# Of 100 rows 70 are changed in place, 15 added and 15 removed; every row is a statement of its own,
# as an application would write it. Seeds that are odd and even keep out of each other's way.
CHANGE = """CREATE PROCEDURE change_rows(transactions INT, size INT, highest BIGINT, seed INT)
BEGIN
    DECLARE i INT DEFAULT 0;
    DECLARE j INT;
    DECLARE place BIGINT;
    SET autocommit = 0;
    WHILE i < transactions DO
        SET j = 0;
        WHILE j < size DO
            SET place = 1 + seed % 2 + 2 * (((i * size + j) * 7919 + seed * 104729) % (highest DIV 2));
            IF (i * size + j) % 100 < 70 THEN
                UPDATE wide SET quantity = quantity + 1, price = price + 0.5, changed = NOW(),
                    state = 'paid' WHERE id = place;
            ELSEIF (i * size + j) % 100 < 85 THEN
                INSERT INTO wide SELECT NULL, customer, product, quantity + 1, price, discount,
                    weight, flags, ordered, NOW(6), NULL, country, channel, name, note, 'new'
                    FROM wide WHERE id = place;
            ELSE
                DELETE FROM wide WHERE id = place;
            END IF;
            SET j = j + 1;
        END WHILE;
        COMMIT;
        SET i = i + 1;
    END WHILE;
    SET autocommit = 1;
END"""

# What must be the same on both sides afterwards.
CHECK = """SELECT COUNT(*), SUM(id), SUM(customer), SUM(product), SUM(quantity), SUM(price),
    SUM(discount), COUNT(weight), SUM(flags), MAX(ordered), MAX(created), COUNT(changed),
    COUNT(DISTINCT country), SUM(CHAR_LENGTH(name)), SUM(CHAR_LENGTH(note)),
    SUM(state = 'paid') FROM wide"""


def make(server: Server, rows: int) -> None:
    """Makes the tables, and fills `wide`. Nothing of it goes to the binlog."""
    server.run("SET sql_log_bin = 0", f"CREATE DATABASE IF NOT EXISTS {DATABASE}", f"USE {DATABASE}",
               WIDE, TICKS, CHANGE, "CREATE TABLE digits (d INT NOT NULL PRIMARY KEY)",
               "INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
               f"INSERT INTO ticks SELECT a.d * 100 + b.d * 10 + c.d, 0, REPEAT('n', 40) "
               "FROM digits a, digits b, digits c")
    with Step(f"generate {rows:,} rows of 16 columns") as step:
        _in_two(server, [(first, min(_CHUNK, rows - first + 1))
                         for first in range(1, rows + 1, _CHUNK)], rows, step)
    server.run("ANALYZE TABLE wide", "SELECT COUNT(*), SUM(price) FROM wide", database=DATABASE)


def _in_two(server: Server, chunks: list[tuple[int, int]], rows: int, step: Step) -> None:
    """Two connections, each with its own half of the key."""
    done, lock = [0], threading.Lock()

    def work(part: list[tuple[int, int]]) -> None:
        connection = server.connect(database=DATABASE)
        with connection.cursor() as cursor:
            cursor.execute("SET sql_log_bin = 0, unique_checks = 0")
            for first, count in part:
                cursor.execute(_insert(first, count))
                with lock:
                    done[0] += count
                    step.part(done[0], rows, "rows")
        connection.close()

    middle = len(chunks) // 2
    with ThreadPoolExecutor() as pool:
        list(pool.map(work, (chunks[:middle], chunks[middle:])))


def _insert(first: int, count: int) -> str:
    numbers = (f"SELECT {first} + a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d AS n "
               "FROM digits e, digits d, digits c, digits b, digits a "
               f"HAVING n < {first + count} ORDER BY n")
    return f"""INSERT INTO wide
        SELECT n, n * 7919 % 200003, n * 104729 % 30011, 1 + n % 9, 1 + n * 31 % 99991 / 100,
            IF(n % 7 = 0, NULL, n % 100 / 400), n * 13 % 5003 / 7, n % 4,
            '2020-01-01' + INTERVAL n * 17 % 1900 DAY,
            '2020-01-01' + INTERVAL n * 977 % 164160000 SECOND, NULL,
            ELT(1 + n % 5, 'DE', 'FR', 'US', 'JP', 'BR'),
            ELT(1 + n * 3 % 4, 'web', 'store', 'telephone', 'partner'),
            CONCAT('Customer ', n * 7919 % 200003, ' of ', n % 97),
            IF(n % 3 = 0, NULL, CONCAT('note ', n * 48271 % 65537, REPEAT(' and so on', n % 6))),
            ELT(1 + n % 4, 'new', 'paid', 'sent', 'done')
        FROM ({numbers}) AS numbers"""


def change(server: Server, transactions: int, size: int, highest: int, seed: int) -> None:
    """Changes `transactions * size` rows, by two connections with transactions of `size` rows."""
    def work(part: int, seed: int) -> None:
        server.run(f"CALL change_rows({part}, {size}, {highest}, {seed})", database=DATABASE)

    half = transactions // 2
    with ThreadPoolExecutor() as pool:
        list(pool.map(work, (half, transactions - half), (seed, seed + 1)))
