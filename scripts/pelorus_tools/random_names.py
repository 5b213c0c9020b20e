"""Random queries whose names can mean several things, to be asked of Pelorus and of a MySQL: columns
that two tables have, aliases that are names of columns, keys through joins and derived tables.

Many are errors (1052, 1054, 1055, 1140): both must give the same one.
"""

from __future__ import annotations

import random

DEFINITIONS = (
    "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, s VARCHAR(10))",
    "INSERT INTO t VALUES (1, 2, -10, 'x'), (2, 2, 5, 'w'), (3, 1, 7, 'y'), (4, -1, 1, NULL)",
    "CREATE TABLE u (id INT PRIMARY KEY, a INT, c INT NOT NULL, d INT)",
    "INSERT INTO u VALUES (1, 2, 3, 4), (2, 1, 1, NULL), (5, 7, 9, 8)",
    "CREATE TABLE v (id INT PRIMARY KEY, a INT, b INT, c INT)",
    "INSERT INTO v VALUES (1, 2, 3, 4), (2, 1, 1, NULL), (6, 7, 9, 8)",
)
COLUMNS = {"t": ("id", "a", "b", "s"), "u": ("id", "a", "c", "d"), "v": ("id", "a", "b", "c")}
# FROM clauses with the tables whose columns they have.
FROM = (
    ("t", "t"), ("u", "u"), ("t JOIN u ON t.id = u.id", "tu"), ("t LEFT JOIN u ON t.a = u.a", "tu"),
    ("t LEFT JOIN u ON u.id = t.id AND u.c > 0", "tu"), ("t, u", "tu"), ("t JOIN u USING (id)", "tu"),
    ("t NATURAL JOIN u", "tu"), ("t RIGHT JOIN u ON t.id = u.id", "tu"),
    ("(SELECT id, a, b FROM t) t JOIN u ON u.a = t.a", "tu"),
    ("(SELECT a, COUNT(*) b, MAX(id) id, MIN(s) s FROM t GROUP BY a) t LEFT JOIN u ON u.a = t.a", "tu"),
    ("t JOIN t AS u ON t.id = u.a", "tu"), ("(SELECT id, a, a + 1 b, 1 s FROM t WHERE a = 2) t", "t"),
    ("u LEFT JOIN (SELECT id, a, ABS(a) b, IFNULL(s, 1) s FROM t) t ON t.id = u.id", "tu"),
    ("t LEFT JOIN (u JOIN v ON u.a = v.a) ON t.a = u.a", "tuv"),
    ("(t LEFT JOIN u ON t.id = u.id) JOIN v ON v.id = u.id", "tuv"),
    ("(SELECT u.id, u.a, v.b, v.c FROM u LEFT JOIN v ON u.id = v.id) t", "t"),
)
ALIASES = ("a", "b", "x", "id", "c", "z")
AGGREGATES = ("COUNT(*)", "SUM({})", "MAX({})", "MIN({})", "COUNT(DISTINCT {})", "MAX({}) + 1")
CONDITIONS = ("{} = 2", "{} > 0", "{} IS NOT NULL", "{} = {}", "{} > 0 AND {} = 1", "{} IN (1)",
              "{} > 0 OR {} = 1")


class Names:
    """Makes queries over the tables of `DEFINITIONS`."""

    def __init__(self, chance: random.Random):
        self._chance = chance
        self._tables = ""
        self._aliases: list[str] = []

    def query(self) -> str:
        """The next query."""
        chance = self._chance
        source, self._tables = chance.choice(FROM)
        grouped, self._aliases = chance.random() < 0.65, []
        items = ", ".join(self._item(grouped) for _ in range(chance.randint(1, 3)))
        distinct = "DISTINCT " if chance.random() < 0.15 else ""
        text = f"SELECT {distinct}{items} FROM {source}"
        if chance.random() < 0.35:
            text += " WHERE " + self._filled(chance.choice(CONDITIONS))
        if grouped and chance.random() < 0.85:
            text += " GROUP BY " + ", ".join(self._term() for _ in range(chance.randint(1, 2)))
        if chance.random() < 0.25:
            text += f" HAVING {self._value(True, 0.4)} {chance.choice(('> 0', 'IS NOT NULL', '< 5'))}"
        if chance.random() < 0.5:
            terms = (self._value(grouped, 0.4) if chance.random() < 0.5 else self._term()
                     for _ in range(chance.randint(1, 2)))
            text += " ORDER BY " + ", ".join(terms)
        return text

    def _item(self, grouped: bool) -> str:
        item = self._value(grouped or self._chance.random() < 0.15, 0)
        if self._chance.random() < 0.4:
            self._aliases.append(self._chance.choice(ALIASES))
            item += f" AS {self._aliases[-1]}"
        return item

    def _column(self) -> str:
        table = self._chance.choice(self._tables)
        column = self._chance.choice(COLUMNS[table])
        return f"{table}.{column}" if self._chance.random() < 0.55 else column

    def _filled(self, pattern: str) -> str:
        while "{}" in pattern:
            pattern = pattern.replace("{}", self._column(), 1)
        return pattern

    def _term(self) -> str:
        if self._chance.random() < 0.12:
            return str(self._chance.randint(1, 3))
        return self._value(False, 0.35)

    def _value(self, aggregates: bool, aliases: float) -> str:
        chance = self._chance
        if self._aliases and chance.random() < aliases:
            return chance.choice(self._aliases)
        patterns = ["{}"] * 5 + ["-{}", "{} + {}", "ABS({})", "{} * 2", "5"]
        return self._filled(chance.choice([*patterns, *AGGREGATES] if aggregates else patterns))
