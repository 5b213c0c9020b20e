"""Random tables, rows and `ALTER TABLE` statements, to be carried out on Pelorus and on a MySQL.

Values are at the edges of types and lengths, so that many statements fail for some row; columns can be
NULL, generated from others, count by themselves, or have defaults that are expressions; tables have CHECKs,
keys and partitions. What native tables refuse is rarely said: unique keys, columns of geometry.
"""

from __future__ import annotations

import random

# Types with values that rows have in columns of them. Zero dates are left to `sql_mode`.
TYPES = {
    "TINYINT": ("0", "1", "-128", "127", "12"),
    "TINYINT UNSIGNED": ("0", "1", "255", "128"),
    "SMALLINT": ("0", "-32768", "300", "12"),
    "INT": ("0", "-1", "70000", "2147483647", "12"),
    "INT UNSIGNED": ("0", "4294967295", "12", "7"),
    "BIGINT": ("0", "-9223372036854775808", "12", "5000000000"),
    "DECIMAL(5,2)": ("0.00", "-999.99", "12.50", "0.05"),
    "DECIMAL(20,6)": ("0.000000", "123456789.123456", "-12.5", "12"),
    "FLOAT": ("0", "1.5", "-3e10", "12"),
    "DOUBLE": ("0", "1e200", "-2.5", "12"),
    "VARCHAR(3)": ("''", "'abc'", "'a'", "'12'", "'é'"),
    "VARCHAR(20)": ("''", "'a long text'", "'12'", "'2024-02-29'", "'x  '", "'-7.55'"),
    "CHAR(5)": ("''", "'abc'", "'12'", "'a'"),
    "VARCHAR(10) CHARACTER SET latin1": ("''", "'abc'", "'é'", "'12'"),
    "VARCHAR(10) COLLATE utf8mb4_bin": ("''", "'ABC'", "'aß'", "'12'"),
    "TEXT": ("''", "'some text'", "'12'"),
    "VARBINARY(6)": ("''", "X'00FF'", "'abc'", "'12'"),
    "DATE": ("'2024-02-29'", "'1999-12-31'", "'2024-01-01'"),
    "DATETIME": ("'2024-02-29 23:59:59'", "'1999-12-31 00:00:00'"),
    "DATETIME(3)": ("'2024-02-29 23:59:59.999'", "'1999-12-31 00:00:00.500'"),
    "TIMESTAMP": ("'2024-02-29 23:59:59'", "'1999-12-31 00:00:00'"),
    "TIME": ("'00:00:00'", "'-12:30:15'", "'838:59:59'"),
    "YEAR": ("2024", "1901", "2155"),
    "ENUM('a','b','12')": ("'a'", "'b'", "'12'"),
    "SET('a','b','c')": ("''", "'a,c'", "'b'"),
    "BIT(8)": ("b'0'", "b'11111111'", "b'1100'"),
    "TINYINT(1)": ("0", "1", "-1"),
    "MEDIUMINT UNSIGNED": ("0", "16777215", "12"),
    "BIGINT UNSIGNED": ("0", "18446744073709551615", "12"),
    "INT(6) ZEROFILL": ("0", "12", "4294967295"),
    "DECIMAL(10,0) UNSIGNED": ("0", "12", "9999999999"),
    "FLOAT(7,2)": ("0", "1.5", "-99999.99"),
    "DOUBLE UNSIGNED": ("0", "0.1", "123456.789"),
    "CHAR(3) CHARACTER SET ascii": ("''", "'abc'", "'12'"),
    "VARCHAR(300)": ("''", "'é'", f"'{'y' * 300}'"),
    "TINYTEXT": ("''", "'abc'", "'20240229'"),
    "MEDIUMTEXT": ("''", "'1.5'", "'12'"),
    "LONGTEXT": ("''", "'abc'"),
    "BINARY(4)": ("''", "'abc'", "X'00FF'"),
    "BLOB": ("''", "'abc'", "X'FF'"),
    "DATETIME(6)": ("'2024-02-29 23:59:59.999999'", "'1999-12-31 00:00:00'"),
    "TIMESTAMP(2)": ("'2024-02-29 23:59:59.25'", "'1999-12-31 00:00:00'"),
    "TIME(3)": ("'00:00:00'", "'-12:30:15.125'", "'23:59:59.999'"),
    "ENUM('b','x','a')": ("'a'", "'b'", "'x'"),
    "SET('c','b','a','d')": ("''", "'a,d'", "'b'"),
    "BIT(20)": ("b'0'", "b'11111111000000001111'", "b'1100'"),
    "JSON": ("'{}'", "'[1, 2]'", "'12'", "'\"a\"'"),
}
# The types that have no literal defaults.
WITHOUT_DEFAULTS = ("TEXT", "TINYTEXT", "MEDIUMTEXT", "LONGTEXT", "BLOB", "JSON")
MODES = ("", "STRICT_TRANS_TABLES", "NO_ZERO_DATE,NO_ZERO_IN_DATE",
         "STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE")
NUMBERS = ("TINYINT", "TINYINT UNSIGNED", "SMALLINT", "INT", "INT UNSIGNED", "BIGINT", "DECIMAL(5,2)",
           "DECIMAL(20,6)", "TINYINT(1)", "MEDIUMINT UNSIGNED", "DECIMAL(10,0) UNSIGNED")
TEXTS = ("VARCHAR(3)", "VARCHAR(20)", "CHAR(5)", "VARCHAR(10) COLLATE utf8mb4_bin", "TINYTEXT")
DATES = ("DATE", "DATETIME", "DATETIME(3)", "DATETIME(6)")
# Generated columns and defaults over a number, a text or a date.
OF_NUMBERS = ("{0} + 1", "{0} * 2", "-{0}", "COALESCE({0}, 0)", "{0} > 5", "CONCAT({0}, 'x')",
              "IFNULL({0}, 1.5)", "IF({0} > 1, {0}, 0)", "CASE WHEN {0} IS NULL THEN 0 ELSE {0} END",
              "ABS({0})", "{0} IS NULL")
OF_TEXTS = ("CONCAT({0}, 'x')", "UPPER({0})", "CHAR_LENGTH({0})", "LEFT({0}, 2)", "TRIM({0})",
            "COALESCE({0}, 'none')")
OF_DATES = ("YEAR({0})", "DATE({0})", "TO_DAYS({0})", "{0} + INTERVAL 1 DAY")


class Column:
    """A column as it was last defined."""

    def __init__(self, name: str, kind: str, nullable: bool, generated: str | None = None,
                 stored: bool = True):
        self.name, self.kind, self.nullable = name, kind, nullable
        self.generated, self.stored = generated, stored


class Alters:
    """Makes a table of a seed, its rows, and statements that change it."""

    def __init__(self, chance: random.Random, table: str = "t"):
        self.chance = chance
        self.table = table
        self._names = 0
        self.keys: list[str] = []
        self.counts = chance.random() < 0.15
        self.columns = [self._column() for _ in range(chance.randint(2, 5))]
        if chance.random() < 0.6:
            self.columns += [it for it in [self._generated()] if it]

    def definition(self) -> str:
        """`CREATE TABLE`"""
        columns = [self._text(column) for column in self.columns]
        partitions = "" if self.chance.random() < 0.6 else f" {self._partitions()}"
        counts = " AUTO_INCREMENT" if self.counts else ""
        charset = self._one("", "", "", " CHARACTER SET latin1", " COLLATE utf8mb4_bin")
        return (f"CREATE TABLE {self.table} (id INT{counts} PRIMARY KEY, {', '.join(columns)}"
                f"{self._check()}){charset}{partitions}")

    def rows(self) -> list[str]:
        """Statements that fill the table; some of them fail."""
        plain = [column for column in self.columns if not column.generated]
        names = ", ".join(f"`{column.name}`" for column in plain)
        statements = []
        for number in range(1, self.chance.randint(3, 8)):
            values = ", ".join(self._value(column) for column in plain)
            statements.append(f"INSERT INTO {self.table} (id, {names}) VALUES ({number}, {values})")
        return statements

    def alter(self) -> str:
        """A statement with one action or two."""
        if self.chance.random() < 0.08:
            return f"SET sql_mode = '{self._one(*MODES)}'"
        if self.chance.random() < 0.08:
            return f"ALTER TABLE {self.table} {self._of_partitions()}"
        if self.chance.random() < 0.06:
            # Alone: of a TEXT that it also defines a MySQL makes a TINYTEXT.
            return f"ALTER TABLE {self.table} {self._convert()}"
        actions = [self._action()]
        while self.chance.random() < 0.25:
            actions.append(self._action())
        return f"ALTER TABLE {self.table} {', '.join(actions)}"

    def learn(self, names: list[str], keys: list[str] = ()) -> None:
        """Notes which columns and keys the table has after a statement."""
        self.keys = list(keys)
        known = {column.name: column for column in self.columns}
        self.columns = [known.get(name) or Column(name, "VARCHAR(20)", True)
                        for name in names if name != "id"]

    # Parts.

    def _one(self, *choices):
        return self.chance.choice(choices)

    def _name(self) -> str:
        self._names += 1
        return f"c{self._names}"

    def _column(self) -> Column:
        return Column(self._name(), self._one(*TYPES), self.chance.random() < 0.7)

    def _of(self, kinds: tuple[str, ...]) -> Column | None:
        found = [it for it in self.columns if it.kind in kinds]
        return self._one(*found) if found else None

    def _expression(self) -> str | None:
        found = [(self._of(kinds), forms)
                 for kinds, forms in ((NUMBERS, OF_NUMBERS), (TEXTS, OF_TEXTS), (DATES, OF_DATES))]
        found = [(column, forms) for column, forms in found if column]
        if not found:
            return None
        column, forms = self._one(*found)
        return self._one(*forms).format(f"`{column.name}`")

    def _generated(self) -> Column | None:
        expression = self._expression()
        if expression is None:
            return None
        if self.chance.random() < 0.2:
            # A MySQL computes it when it is read: what does not fit is not found out before.
            return Column(self._name(), "TEXT", True, expression, stored=False)
        kind = self._one("INT", "SMALLINT", "BIGINT", "DECIMAL(20,6)", "VARCHAR(20)", "VARCHAR(3)",
                         "DOUBLE", "TEXT", "DATE")
        return Column(self._name(), kind, self.chance.random() < 0.8, expression)

    def _text(self, column: Column) -> str:
        if column.generated:
            null = "" if column.nullable else " NOT NULL"
            stored = "STORED" if column.stored else "VIRTUAL"
            return f"`{column.name}` {column.kind} AS ({column.generated}) {stored}{null}"
        text = f"`{column.name}` {column.kind} {'NULL' if column.nullable else 'NOT NULL'}"
        if self.chance.random() < 0.35 and column.kind not in WITHOUT_DEFAULTS:
            text += f" DEFAULT {self._one(*TYPES[column.kind])}"
        elif self.chance.random() < 0.1 and (expression := self._expression()):
            text += f" DEFAULT ({expression})"
        return text

    def _check(self) -> str:
        number = self._of(NUMBERS)
        if number is None or self.chance.random() < 0.7:
            return ""
        return f", CHECK (`{number.name}` {self._one('<', '>', '<>')} {self._one(1, 12, 100)})"

    def _value(self, column: Column) -> str:
        if column.nullable and self.chance.random() < 0.25:
            return "NULL"
        return self._one(*TYPES.get(column.kind, ("NULL",)))

    # Actions.

    def _action(self) -> str:
        make = self.chance.choices(
            (self._modify, self._change, self._add, self._drop, self._rename, self._set_default,
             self._add_check, self._add_key, self._of_key, self._of_primary_key, self._of_table,
             self._visible),
            (12, 5, 5, 2, 2, 2, 1, 2, 1, 0.7, 1, 0.5))[0]
        return make() or self._modify() or "COMMENT = 'x'"

    def _any(self) -> Column | None:
        return self._one(*self.columns) if self.columns else None

    def _place(self) -> str:
        column = self._any()
        if self.chance.random() < 0.75 or column is None:
            return ""
        return self._one(" FIRST", f" AFTER `{column.name}`")

    def _again(self, column: Column, name: str) -> str:
        """A definition of a column of another type, or of the same one with another rule for NULL."""
        if column.generated and not column.stored:
            return self._text(Column(name, "TEXT", True, column.generated, stored=False))
        if column.generated and self.chance.random() < 0.7:
            new = Column(name, self._one("INT", "TINYINT", "VARCHAR(20)", "VARCHAR(3)", "DOUBLE"),
                         self.chance.random() < 0.6, column.generated)
            return self._text(new)
        kind = self._one(column.kind, *TYPES, *TYPES)
        return self._text(Column(name, kind, self.chance.random() < 0.6))

    def _modify(self) -> str | None:
        column = self._any()
        return column and f"MODIFY {self._again(column, column.name)}{self._place()}"

    def _change(self) -> str | None:
        column = self._any()
        if column is None:
            return None
        name = self._one(column.name, self._name())
        return f"CHANGE `{column.name}` {self._again(column, name)}{self._place()}"

    def _add(self) -> str:
        column = (self.chance.random() < 0.4 and self._generated()) or self._column()
        return f"ADD {self._text(column)}{self._place()}"

    def _drop(self) -> str | None:
        column = self._any()
        return column and f"DROP `{column.name}`"

    def _rename(self) -> str | None:
        column = self._any()
        return column and f"RENAME COLUMN `{column.name}` TO `{self._name()}`"

    def _set_default(self) -> str | None:
        column = self._any()
        if column is None:
            return None
        if self.chance.random() < 0.3:
            return f"ALTER COLUMN `{column.name}` DROP DEFAULT"
        value = self._one(*TYPES.get(column.kind, ("'a'",)), "NULL", "'abc'", "('12')")
        return f"ALTER COLUMN `{column.name}` SET DEFAULT {value}"

    def _add_check(self) -> str | None:
        number = self._of(NUMBERS)
        return number and f"ADD CHECK (`{number.name}` <> {self._one(0, 12, 255)})"

    def _add_key(self) -> str | None:
        column = self._any()
        if column is None:
            return None
        prefix = "(2)" if column.kind in (*TEXTS, "TEXT", "BLOB") and self.chance.random() < 0.5 else ""
        return f"ADD KEY {self._one('', self._name())} (`{column.name}`{prefix})"

    def _of_key(self) -> str | None:
        if not self.keys:
            return None
        key = self._one(*self.keys)
        return self._one(f"DROP KEY `{key}`", f"RENAME INDEX `{key}` TO `{self._name()}`",
                         f"ALTER INDEX `{key}` {self._one('VISIBLE', 'INVISIBLE')}")

    def _of_primary_key(self) -> str:
        column = self._any()
        if column is None or self.chance.random() < 0.3:
            return self._one("MODIFY id BIGINT", "MODIFY id INT AUTO_INCREMENT",
                             "MODIFY id VARCHAR(10)", "MODIFY id DECIMAL(5,0)")
        return f"DROP PRIMARY KEY, ADD PRIMARY KEY (id, `{column.name}`)"

    def _of_table(self) -> str:
        charset = self._one("utf8mb4", "latin1", "utf8mb4 COLLATE utf8mb4_bin")
        return self._one(f"DEFAULT CHARACTER SET {charset}", "COMMENT = 'text'",
                         f"AUTO_INCREMENT = {self._one(5, 100)}", "FORCE", "ENGINE = InnoDB",
                         "ALGORITHM = COPY")

    def _visible(self) -> str | None:
        column = self._any()
        return column and (f"ALTER COLUMN `{column.name}` SET "
                           f"{self._one('VISIBLE', 'INVISIBLE')}")

    def _partitions(self) -> str:
        return self._one("PARTITION BY HASH (id) PARTITIONS 3", "PARTITION BY HASH (id) PARTITIONS 2",
                         "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (4), "
                         "PARTITION p1 VALUES LESS THAN MAXVALUE)",
                         "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (4), "
                         "PARTITION p1 VALUES LESS THAN (20))",
                         "PARTITION BY LIST (id) (PARTITION p0 VALUES IN (1, 2, 3, 4), "
                         "PARTITION p1 VALUES IN (5, 6, 7, 8))")

    def _of_partitions(self) -> str:
        return self._one(self._partitions(), "REMOVE PARTITIONING", "DROP PARTITION p0",
                         "TRUNCATE PARTITION p1", "ADD PARTITION PARTITIONS 2",
                         "COALESCE PARTITION 1", "ADD PARTITION (PARTITION p2 VALUES LESS THAN (30))",
                         "ADD PARTITION (PARTITION p2 VALUES IN (20, 21))",
                         "REORGANIZE PARTITION p0 INTO (PARTITION p0 VALUES LESS THAN (2), "
                         "PARTITION p3 VALUES LESS THAN (4))", "REBUILD PARTITION p0")

    def _convert(self) -> str:
        charset = self._one("utf8mb4", "latin1", "utf8mb4 COLLATE utf8mb4_bin")
        return f"CONVERT TO CHARACTER SET {charset}"
