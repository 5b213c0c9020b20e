"""Random tables, rows and `ALTER TABLE` statements, to be carried out on Pelorus and on a MySQL.

Values are at the edges of types and lengths, so that many statements fail for some row; columns can be
NULL, generated from others (a MySQL computes VIRTUAL ones when they are read), or have defaults that are expressions. What native tables refuse is rarely
said: unique keys beside the primary key, columns of geometry.
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
    "VARCHAR(10) COLLATE utf8mb4_bin": ("''", "'ABC'", "'a😀'", "'12'"),
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
}
NUMBERS = ("TINYINT", "TINYINT UNSIGNED", "SMALLINT", "INT", "INT UNSIGNED", "BIGINT", "DECIMAL(5,2)",
           "DECIMAL(20,6)")
TEXTS = ("VARCHAR(3)", "VARCHAR(20)", "CHAR(5)", "VARCHAR(10) COLLATE utf8mb4_bin")
# Generated columns and defaults over a number or a text.
OF_NUMBERS = ("{0} + 1", "{0} * 2", "-{0}", "COALESCE({0}, 0)", "{0} > 5", "CONCAT({0}, 'x')")
OF_TEXTS = ("CONCAT({0}, 'x')", "UPPER({0})", "CHAR_LENGTH({0})", "LEFT({0}, 2)")


class Column:
    """A column as it was last defined."""

    def __init__(self, name: str, kind: str, nullable: bool, generated: str | None = None):
        self.name, self.kind, self.nullable, self.generated = name, kind, nullable, generated


class Alters:
    """Makes a table of a seed, its rows, and statements that change it."""

    def __init__(self, chance: random.Random, table: str = "t"):
        self.chance = chance
        self.table = table
        self._names = 0
        self.columns = [self._column() for _ in range(chance.randint(2, 5))]
        if chance.random() < 0.6:
            self.columns += [it for it in [self._generated()] if it]

    def definition(self) -> str:
        """`CREATE TABLE`"""
        columns = [self._text(column) for column in self.columns]
        partitions = self.chance.choice(
            ("", "", "", " PARTITION BY HASH (id) PARTITIONS 3",
             " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (6), "
             "PARTITION p1 VALUES LESS THAN MAXVALUE)"))
        return (f"CREATE TABLE {self.table} (id INT PRIMARY KEY, {', '.join(columns)}"
                f"{self._check()}){partitions}")

    def rows(self) -> list[str]:
        """Statements that fill the table; some of them fail."""
        plain = [column for column in self.columns if not column.generated]
        names = ", ".join(f"`{column.name}`" for column in plain)
        statements = []
        for number in range(1, self.chance.randint(3, 14)):
            values = ", ".join(self._value(column) for column in plain)
            statements.append(f"INSERT INTO {self.table} (id, {names}) VALUES ({number}, {values})")
        return statements

    def alter(self) -> str:
        """A statement with one action or two."""
        actions = [self._action()]
        if self.chance.random() < 0.25:
            actions.append(self._action())
        return f"ALTER TABLE {self.table} {', '.join(actions)}"

    def learn(self, names: list[str]) -> None:
        """Notes which columns the table has after a statement."""
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
        number, text = self._of(NUMBERS), self._of(TEXTS)
        if number and (not text or self.chance.random() < 0.5):
            return self._one(*OF_NUMBERS).format(f"`{number.name}`")
        return self._one(*OF_TEXTS).format(f"`{text.name}`") if text else None

    def _generated(self) -> Column | None:
        expression = self._expression()
        if expression is None:
            return None
        kind = self._one("INT", "SMALLINT", "BIGINT", "DECIMAL(20,6)", "VARCHAR(20)", "VARCHAR(3)")
        return Column(self._name(), kind, self.chance.random() < 0.8, expression)

    def _text(self, column: Column) -> str:
        if column.generated:
            null = "" if column.nullable else " NOT NULL"
            return f"`{column.name}` {column.kind} AS ({column.generated}) STORED{null}"
        text = f"`{column.name}` {column.kind} {'NULL' if column.nullable else 'NOT NULL'}"
        if self.chance.random() < 0.35 and column.kind != "TEXT":
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
             self._add_check, self._add_key, self._convert),
            (9, 4, 5, 2, 2, 2, 1, 1, 1))[0]
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
        if column.generated and self.chance.random() < 0.7:
            new = Column(name, self._one("INT", "TINYINT", "VARCHAR(20)", "VARCHAR(3)"),
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
        return column and f"ADD KEY (`{column.name}`)"

    def _convert(self) -> str:
        charset = self._one("utf8mb4", "latin1", "utf8mb4 COLLATE utf8mb4_bin")
        return f"CONVERT TO CHARACTER SET {charset}"
