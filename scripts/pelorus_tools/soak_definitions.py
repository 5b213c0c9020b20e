"""Random changes of definitions for `mirror_soak`: columns that come and go, change and move, keys,
partitions, renames there and back, tables made, swapped and dropped. (Swaps by copies under triggers
are in `test_mirror_ddl.py`: beside so many locks they lose rows on a server by themselves.)

What writers and questions rely on stays: the columns that tables are made with keep their names and
can hold the values that writers give them, and no row of `lefts` and `rights` is lost.
"""

from __future__ import annotations

import random
from collections import Counter

import pymysql

# What a client says whose server was killed.
GONE = {0, 2003, 2006, 2013, 2014}
# Of columns that are added. Each has a value for the rows that are there.
KINDS = ("INT", "INT NOT NULL DEFAULT 7", "BIGINT UNSIGNED DEFAULT 18446744073709551615",
         "TINYINT NOT NULL DEFAULT -1", "VARCHAR(30) DEFAULT 'é'",
         "VARCHAR(30) CHARACTER SET latin1 NOT NULL DEFAULT 'ü'", "CHAR(5) NOT NULL DEFAULT 'c'",
         "DECIMAL(12,3) DEFAULT 1.5", "DOUBLE", "DATE NOT NULL DEFAULT '2026-01-02'",
         "DATETIME(3) DEFAULT '2026-01-02 03:04:05.678'", "TIMESTAMP NULL DEFAULT NULL",
         "TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP", "TIME(1)", "YEAR DEFAULT 2026",
         "ENUM('a','b','c') DEFAULT 'b'", "SET('x','y') NOT NULL DEFAULT 'x'",
         "VARBINARY(9) DEFAULT 'bin'", "BIT(9) DEFAULT 5", "TEXT", "MEDIUMBLOB", "JSON")
# What a column of `lefts`, `rights` and `bag` may become without loss of what writers put there.
OF_WRITERS = {
    "lefts": (("v", ("BIGINT NOT NULL", "DECIMAL(25,0) NOT NULL", "DECIMAL(22,2) NOT NULL")),
              ("note", ("VARCHAR(40)", "VARCHAR(300)", "TEXT", "CHAR(60)"))),
    "rights": (("v", ("BIGINT NOT NULL", "DECIMAL(25,0) NOT NULL")),
               ("w", ("DECIMAL(20,5) NOT NULL", "DECIMAL(30,8) NOT NULL", "DOUBLE NOT NULL"))),
    "bag": (("payload", ("TEXT", "MEDIUMTEXT", "VARCHAR(2000)", "LONGBLOB")),
            ("at", ("DATETIME(3)", "DATETIME(6)", "DATETIME", "TIMESTAMP(3) NULL"))),
}
TABLES = tuple(OF_WRITERS)
# Tables that nobody writes to but this.
SIDE = ("side_a", "side_b", "side_c")


class Definitions:
    """One session that changes what tables look like."""

    def __init__(self, server, database: str, chance: random.Random):
        self.database, self.random = database, chance
        self.connection = server.connect(database=database,
                                         init_command="SET lock_wait_timeout = 5")
        self.cursor = self.connection.cursor()
        # What servers carried out and what they refused: which statements are legal where is theirs
        # to say.
        self.done: Counter[str] = Counter()
        self.refused: Counter[int] = Counter()

    def change(self) -> None:
        """Changes something at random."""
        what = self.random.choice((self.add, self.add, self.drop, self.rename, self.modify,
                                   self.modify, self.retype, self.move, self.key, self.partition,
                                   self.primary_key, self.fill, self.fill, self.there_and_back,
                                   self.side, self.side, self.side, self.rest))
        try:
            what(self.random.choice(TABLES))
            self.done[what.__name__] += 1
        except pymysql.MySQLError as error:
            if error.args[0] in GONE:
                raise
            self.refused[error.args[0]] += 1

    def sql(self, text: str) -> tuple:
        self.cursor.execute(text)
        return self.cursor.fetchall()

    def columns(self, table: str) -> list[str]:
        """The names of columns that were added here and hold what is written to them."""
        found = self.sql("SELECT column_name, extra FROM information_schema.columns WHERE table_schema = "
                         f"'{self.database}' AND table_name = '{table}' ORDER BY ordinal_position")
        return [name for name, extra in found
                if name.startswith("x") and "GENERATED" not in extra.upper()]

    def one_added(self, table: str) -> str:
        """A column that was added here; when there is none, one is."""
        if not self.columns(table):
            self.sql(f"ALTER TABLE {table} ADD COLUMN x{self.random.randint(0, 99)} INT")
        return self.random.choice(self.columns(table))

    def place(self, table: str) -> str:
        return self.random.choice(("", "", " FIRST", f" AFTER `{self.one_added(table)}`"))

    def add(self, table: str) -> None:
        if len(self.columns(table)) > 6:
            return self.drop(table)
        name, kind = f"x{self.random.randint(0, 99)}", self.random.choice(KINDS)
        if table != "bag" and self.random.random() < 0.1:
            kind = f"DECIMAL(30,2) AS (v * 2) {self.random.choice(('STORED', 'VIRTUAL'))}"
        self.sql(f"ALTER TABLE {table} ADD COLUMN {name} {kind}{self.place(table)}")

    def drop(self, table: str) -> None:
        self.sql(f"ALTER TABLE {table} DROP COLUMN {self.one_added(table)}")

    def rename(self, table: str) -> None:
        names = self.columns(table)
        if len(names) > 1 and self.random.random() < 0.4:
            one, other = self.random.sample(names, 2)
            self.sql(f"ALTER TABLE {table} RENAME COLUMN {one} TO {other}, RENAME COLUMN {other} TO {one}")
        else:
            self.sql(f"ALTER TABLE {table} RENAME COLUMN {self.one_added(table)} TO "
                     f"x{self.random.randint(0, 99)}")

    def retype(self, table: str) -> None:
        """What writers use gets another type."""
        name, kinds = self.random.choice(OF_WRITERS[table])
        self.sql(f"ALTER TABLE {table} MODIFY `{name}` {self.random.choice(kinds)}")

    def modify(self, table: str) -> None:
        self.sql(f"ALTER TABLE {table} MODIFY {self.one_added(table)} {self.random.choice(KINDS)}"
                 f"{self.place(table)}")

    def move(self, table: str) -> None:
        name, kinds = self.random.choice(OF_WRITERS[table])
        self.sql(f"ALTER TABLE {table} MODIFY `{name}` {kinds[0]} FIRST, COMMENT 'moved'")

    def key(self, table: str) -> None:
        column = self.one_added(table)
        self.sql(self.random.choice((f"CREATE INDEX i ON {table} ({column})",
                                     f"ALTER TABLE {table} ADD KEY j ({column}), ADD KEY l ({column})",
                                     f"DROP INDEX i ON {table}", f"ALTER TABLE {table} DROP KEY j, DROP KEY l")))

    def partition(self, table: str) -> None:
        self.sql(self.random.choice((
            "ALTER TABLE bag PARTITION BY HASH (x) PARTITIONS 3", "ALTER TABLE bag REMOVE PARTITIONING",
            "ALTER TABLE bag PARTITION BY RANGE (x) (PARTITION p0 VALUES LESS THAN (500), PARTITION p1 "
            "VALUES LESS THAN (2000), PARTITION p2 VALUES LESS THAN MAXVALUE)",
            "ALTER TABLE bag TRUNCATE PARTITION p1", "ALTER TABLE bag REORGANIZE PARTITION p0, p1 INTO "
            "(PARTITION p0 VALUES LESS THAN (800), PARTITION p1 VALUES LESS THAN (1500))",
            "ALTER TABLE bag ADD PARTITION PARTITIONS 2", "TRUNCATE TABLE bag",
            "ALTER TABLE bag REBUILD PARTITION p0, p1")))

    def primary_key(self, table: str) -> None:
        order = self.random.choice(("x, y", "y, x"))
        self.sql(f"ALTER TABLE bag DROP PRIMARY KEY, ADD PRIMARY KEY ({order})")

    def fill(self, table: str) -> None:
        """Values for a column that was added."""
        value = self.random.choice(("3", "'b'", "NULL", "'2026-03-04'", "DEFAULT", "'[1]'", "TRUE"))
        where = "x" if table == "bag" else "v"
        self.sql(f"UPDATE {table} SET {self.one_added(table)} = {value} WHERE `{where}` % 7 = "
                 f"{self.random.randint(0, 6)}")

    def there_and_back(self, table: str) -> None:
        self.sql(f"RENAME TABLE {table} TO _away, _away TO {table}")

    def side(self, table: str) -> None:
        """Tables that come, go and change places."""
        del table
        one, other = self.random.sample(SIDE, 2)
        number = self.random.randint(1, 99)
        self.sql(self.random.choice((
            f"CREATE TABLE {one} (id INT PRIMARY KEY, t VARCHAR(20))", f"DROP TABLE IF EXISTS {one}",
            f"CREATE TABLE {one} (a VARCHAR(9), n INT, KEY (n)) COMMENT 'without a primary key'",
            f"CREATE TABLE {one} LIKE lefts", f"RENAME TABLE {one} TO {other}",
            f"RENAME TABLE {one} TO _s, {other} TO {one}, _s TO {other}", f"TRUNCATE TABLE {one}",
            f"CREATE TABLE {one} (PRIMARY KEY (id)) AS SELECT id, v, note FROM lefts WHERE id < {number}",
            f"INSERT INTO {one} VALUES ({number}, 'one')", f"INSERT INTO {one} VALUES ({number}, {number})",
            f"ALTER TABLE {one} ADD COLUMN more INT DEFAULT {number}", f"DELETE FROM {one} LIMIT 1",
            f"INSERT INTO {one} SELECT * FROM {other}", f"ALTER TABLE {one} RENAME TO {other}")))

    def rest(self, table: str) -> None:
        self.sql(self.random.choice((
            f"ANALYZE TABLE {table}", f"ALTER TABLE {table} ENGINE=InnoDB", f"OPTIMIZE TABLE {table}",
            f"ALTER TABLE {table} COMMENT 'said {self.random.randint(1, 9)}'",
            "ALTER TABLE bag CONVERT TO CHARACTER SET utf8mb4", "FLUSH BINARY LOGS",
            "ALTER TABLE lefts ALTER note SET DEFAULT 'none'")))
