"""Random queries over small tables full of NULLs, to be asked of Pelorus and of a MySQL.

The tables have few values, so that joins meet, groups repeat and conditions are unknown as often as
they are true. What a server may choose freely is left out: texts that are equal and written
otherwise, sums of doubles, LIMIT without a total order, columns beside the groups.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

TABLES = {
    "a": 24,
    "b": 12,
    "c": 5,
    "none": 0,
}
# Of this one the FROM that names it reads no other table.
LARGE, LARGE_ROWS = "large", 3000
# Columns of every table: name, type, and what is in it.
COLUMNS = {
    "i": ("INT", "number"),
    "j": ("INT NOT NULL", "number"),
    "u": ("BIGINT UNSIGNED", "number"),
    "d": ("DECIMAL(8,2)", "number"),
    "s": ("VARCHAR(10)", "text"),
    "t": ("DATE", "date"),
    "m": ("DATETIME", "date"),
}
NUMBERS = ("0", "1", "2", "3", "-1", "5", "1.50", "2.50")
TEXTS = ("'a'", "'b'", "'c'", "'ab'", "''", "'bc'", "'7'")
DATES = ("DATE'2024-01-01'", "DATE'2024-01-31'", "DATE'2024-02-29'", "DATE'2023-12-31'")
MOMENTS = ("TIMESTAMP'2024-01-01 00:00:00'", "TIMESTAMP'2024-01-31 12:30:00'")


def definitions(chance: random.Random, partitioned: bool) -> list[str]:
    """Statements that make the tables, and fill them."""
    statements = []
    for table, count in (*TABLES.items(), (LARGE, LARGE_ROWS)):
        columns = ", ".join(f"{name} {definition}" for name, (definition, _) in COLUMNS.items())
        more = " PARTITION BY HASH(id) PARTITIONS 3" if partitioned and table in ("a", LARGE) else ""
        statements.append(f"CREATE TABLE {table} (id INT PRIMARY KEY, {columns}){more}")
        rows = ", ".join(f"({at}, {_row(chance)})" for at in range(1, count + 1))
        if rows:
            statements.append(f"INSERT INTO {table} VALUES {rows}")
    return statements


def _row(chance: random.Random) -> str:
    values = {
        "i": ("0", "1", "2", "3", "-1", "5"), "j": ("0", "1", "2", "3"), "u": ("0", "1", "2", "7"),
        "d": ("0.00", "1.00", "1.50", "2.50", "-1.00"), "s": TEXTS, "t": DATES, "m": MOMENTS,
    }
    return ", ".join(
        "NULL" if "NOT NULL" not in COLUMNS[name][0] and chance.random() < 0.3
        else chance.choice(values[name]) for name in COLUMNS)


@dataclass
class Source:
    """Something that FROM names: its columns by what is in them."""

    name: str
    columns: dict[str, str]


class Queries:
    """Makes queries of a seed, one after the other."""

    def __init__(self, chance: random.Random):
        self.chance = chance
        self._names = 0
        self._large = False

    def query(self) -> str:
        """A query of one of several shapes."""
        self._names, self._large = 0, False
        shape = self.chance.choices(
            (self._rows, self._groups, self._union, self._windows, self._with),
            (5, 5, 2, 2, 2))[0]
        return shape()

    def _name(self) -> str:
        self._names += 1
        return f"x{self._names}"

    def _one(self, *choices):
        return self.chance.choice(choices)

    def _is(self, share: float) -> bool:
        return self.chance.random() < share

    # Tables.

    def _from(self, depth: int) -> tuple[str, list[Source]]:
        # Once in a query: joined with itself it has millions of rows.
        if depth > 0 and self._is(0.15) and not self._large:
            self._large = True
            name = self._name()
            columns = {column: kind for column, (_, kind) in COLUMNS.items()}
            return f"{LARGE} AS {name}", [Source(name, {"id": "number", **columns})]
        text, source = self._source(depth)
        sources = [source]
        for _ in range(self.chance.choices((0, 1, 2), (5, 4, 1))[0]):
            other, joined = self._source(depth)
            kind = self._one("JOIN", "LEFT JOIN", "RIGHT JOIN", "LEFT JOIN", "CROSS JOIN")
            both = [*sources, joined]
            text += f" {kind} {other}"
            if kind != "CROSS JOIN":
                text += f" ON {self._on(sources, joined, both)}"
            sources = both
        return text, sources

    def _on(self, sources: list[Source], joined: Source, both: list[Source]) -> str:
        kind = self._one("number", "text", "date", "number")
        left, right = self._column(sources, kind), self._column([joined], kind)
        equal = f"{left} {self._one('=', '=', '=', '<=>')} {right}" if left and right else None
        if equal is None or self._is(0.15):
            return self._condition(both, 1, subqueries=False)
        if self._is(0.3):
            return f"{equal} AND {self._condition(both, 1, subqueries=False)}"
        return equal

    def _source(self, depth: int) -> tuple[str, Source]:
        name = self._name()
        if depth > 0 and self._is(0.25):
            text, columns = self._derived(depth - 1)
            return f"({text}) AS {name}", Source(name, columns)
        table = self.chance.choices(list(TABLES), (5, 5, 3, 1))[0]
        columns = {column: kind for column, (_, kind) in COLUMNS.items()}
        return f"{table} AS {name}", Source(name, {"id": "number", **columns})

    def _derived(self, depth: int) -> tuple[str, dict[str, str]]:
        """A query whose columns are named, and of known kinds."""
        text, sources = self._from(depth)
        where = f" WHERE {self._condition(sources, 1)}" if self._is(0.5) else ""
        if self._is(0.4):
            keys = [it for it in (self._column(sources, None) for _ in range(self._one(0, 1, 1, 2))) if it]
            shown = [(key, self._kind(sources, key)) for key in keys]
            shown += [(self._aggregate(sources), "number") for _ in range(self._one(1, 2))]
            if self._is(0.2):
                shown.append(self._one(("1", "number"), ("'a'", "text")))
            group = f" GROUP BY {', '.join(keys)}" if keys else ""
            having = f" HAVING {self._having(sources, keys)}" if self._is(0.2) else ""
            tail = group + having
        else:
            shown = []
            for _ in range(self._one(1, 2, 3)):
                kind = self._one("number", "number", "text", "date")
                # A constant is one to MySQL also where an outer join has no row for it.
                shown.append((self._varying(sources, kind), kind))
            tail = self._first(sources) if self._is(0.15) else ""
        items = ", ".join(f"{text} AS y{at}" for at, (text, _) in enumerate(shown))
        distinct = "DISTINCT " if self._is(0.15) and not tail else ""
        query = f"SELECT {distinct}{items} FROM {text}{where}{tail}"
        return query, {f"y{at}": kind for at, (_, kind) in enumerate(shown)}

    def _first(self, sources: list[Source]) -> str:
        """A total order over the primary keys of all tables, and a LIMIT."""
        keys = [f"{source.name}.id" for source in sources if "id" in source.columns]
        if len(keys) < len(sources):
            return ""
        order = ", ".join(f"{key}{self._one('', ' DESC')}" for key in keys)
        return f" ORDER BY {order} LIMIT {self._one(1, 3, 10, 200)}"

    # Queries.

    def _rows(self) -> str:
        text, sources = self._from(2)
        items = [self._value(sources, self._one("number", "text", "date"), 2)
                 for _ in range(self._one(1, 2, 3))]
        where = f" WHERE {self._condition(sources, 2)}" if self._is(0.75) else ""
        distinct = "DISTINCT " if self._is(0.2) else ""
        named = ", ".join(f"{item} AS y{at}" for at, item in enumerate(items))
        order = "" if distinct or self._is(0.75) else self._first(sources)
        return f"SELECT {distinct}{named} FROM {text}{where}{order or self._limit(len(items))}"

    def _limit(self, columns: int) -> str:
        if self._is(0.6):
            return ""
        order = ", ".join(f"y{at}{self._one('', ' DESC')}" for at in range(columns))
        if self._is(0.3):
            return f" ORDER BY {order}"
        offset = f" OFFSET {self._one(1, 2)}" if self._is(0.3) else ""
        return f" ORDER BY {order} LIMIT {self._one(1, 2, 5)}{offset}"

    def _groups(self) -> str:
        text, sources = self._from(2)
        keys = [it for it in (self._column(sources, None) for _ in range(self._one(0, 1, 1, 2))) if it]
        if keys and self._is(0.2):
            # In totals over no rows MySQL shows the constant for NULL.
            keys[-1] = self._varying(sources, "number")
        where = f" WHERE {self._condition(sources, 2)}" if self._is(0.5) else ""
        items = [*keys, *(self._aggregate(sources) for _ in range(self._one(1, 1, 2)))]
        if not keys and self._is(0.2):
            items.append(self._one("1", "'k'"))
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        rollup = len(keys) == len(set(keys)) > 0 and self._is(0.1)
        group += " WITH ROLLUP" if rollup else ""
        having = f" HAVING {self._having(sources, keys)}" if self._is(0.3) else ""
        named = ", ".join(f"{item} AS y{at}" for at, item in enumerate(items))
        limit = "" if rollup else self._limit(len(items))
        return f"SELECT {named} FROM {text}{where}{group}{having}{limit}"

    def _union(self) -> str:
        arms, kinds = [], [self._one("number", "text", "date") for _ in range(self._one(1, 2))]
        for _ in range(self._one(2, 2, 3)):
            text, sources = self._from(1)
            where = f" WHERE {self._condition(sources, 1)}" if self._is(0.5) else ""
            if self._is(0.25):
                items = [self._aggregate(sources) if kind == "number" else f"MAX({self._value(sources, kind, 0)})"
                         for kind in kinds]
            else:
                items = [self._value(sources, kind, 1) for kind in kinds]
            named = ", ".join(f"{item} AS y{at}" for at, item in enumerate(items))
            arms.append(f"SELECT {named} FROM {text}{where}")
        word = self._one(" UNION ALL ", " UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT ")
        union = word.join(arms)
        if self._is(0.4):
            source = Source("z", {f"y{at}": kind for at, kind in enumerate(kinds)})
            return f"SELECT * FROM ({union}) AS z WHERE {self._condition([source], 1)}"
        return union + self._limit(len(kinds))

    def _windows(self) -> str:
        text, sources = self._from(1)
        order = self._column(sources, None)
        part = self._column(sources, None)
        over = f"PARTITION BY {part} " if self._is(0.5) else ""
        calls = [f"{self._one('RANK', 'DENSE_RANK')}() OVER ({over}ORDER BY {order}{self._one('', ' DESC')})",
                 f"COUNT(*) OVER ({over})",
                 f"SUM({self._column(sources, 'number') or '1'}) OVER ({over}ORDER BY {order})",
                 f"MAX({self._column(sources, None)}) OVER ({over})"]
        keys = [f"{source.name}.id" for source in sources if "id" in source.columns]
        if len(keys) == len(sources):
            rows = f"{over}ORDER BY {order}{self._one('', ' DESC')}, {', '.join(keys)}"
            frame = self._one("", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
                              " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")
            number = self._column(sources, "number") or "1"
            calls += [f"ROW_NUMBER() OVER ({rows})", f"{self._one('LAG', 'LEAD')}({number}) OVER ({rows})",
                      f"{self._one('SUM', 'COUNT', 'MIN', 'MAX', 'AVG')}({number}) OVER ({rows}{frame})",
                      f"{self._one('FIRST_VALUE', 'LAST_VALUE')}({number}) OVER ({rows}{frame})",
                      f"NTILE(3) OVER ({rows})"]
        call = self.chance.choice(calls)
        where = f" WHERE {self._condition(sources, 1)}" if self._is(0.4) else ""
        if self._is(0.3):
            query = f"SELECT {order} AS y0, COUNT(*) OVER () AS y1 FROM {text}{where} GROUP BY {order}"
        else:
            query = f"SELECT {order} AS y0, {call} AS y1 FROM {text}{where}"
        if self._is(0.4):
            kind = self._kind(sources, order)
            source = Source("z", {"y0": kind, "y1": "number"})
            return f"SELECT * FROM ({query}) AS z WHERE {self._condition([source], 1)}"
        return query + self._limit(2)

    def _with(self) -> str:
        query, columns = self._derived(1)
        sources = [Source("p", columns), Source("q", columns)]
        if self._is(0.4) or self._large:
            sources = sources[:1]
            text = "w AS p"
        else:
            text = f"w AS p {self._one('JOIN', 'LEFT JOIN')} w AS q ON {self._on(sources[:1], sources[1], sources)}"
        items = [self._value(sources, self._one("number", "text", "date"), 1)
                 for _ in range(self._one(1, 2))]
        named = ", ".join(f"{item} AS y{at}" for at, item in enumerate(items))
        where = f" WHERE {self._condition(sources, 2)}" if self._is(0.6) else ""
        if self._is(0.3):
            where += (" AND " if where else " WHERE ") + "EXISTS (SELECT 1 FROM w)"
        return f"WITH w AS ({query}) SELECT {named} FROM {text}{where}{self._limit(len(items))}"

    # Expressions.

    def _column(self, sources: list[Source], kind: str | None) -> str | None:
        found = [f"{source.name}.{name}" for source in sources
                 for name, of in source.columns.items() if kind in (None, of)]
        return self.chance.choice(found) if found else None

    @staticmethod
    def _all(sources: list[Source]) -> set[str]:
        return {f"{source.name}.{name}" for source in sources for name in source.columns}

    @staticmethod
    def _kind(sources: list[Source], column: str) -> str:
        table, name = column.split(".")
        return next(source.columns[name] for source in sources if source.name == table)

    def _literal(self, kind: str) -> str:
        if self._is(0.06):
            return {"number": "CAST(NULL AS SIGNED)", "text": "CAST(NULL AS CHAR(3))", "date": "CAST(NULL AS DATE)"}[kind]
        return self._one(*{"number": NUMBERS, "text": TEXTS, "date": (*DATES, *MOMENTS)}[kind])

    def _value(self, sources: list[Source], kind: str, depth: int, subqueries: bool = True) -> str:
        column = self._column(sources, kind)
        if depth <= 0 or self._is(0.4):
            return column if column and self._is(0.8) else self._literal(kind)

        def value(of: str = kind) -> str:
            return self._value(sources, of, depth - 1, subqueries)
        whether = self._condition(sources, depth - 1, subqueries=False)
        common = [lambda: f"IFNULL({value()}, {value()})", lambda: f"IF({whether}, {value()}, {value()})",
                  lambda: f"CASE WHEN {whether} THEN {value()} ELSE {value()} END",
                  lambda: f"COALESCE({value()}, {value()}, {self._literal(kind)})",
                  lambda: f"NULLIF({value()}, {value()})",
                  lambda: f"{self._one('GREATEST', 'LEAST')}({value()}, {value()})"]
        own = {
            "number": [lambda: f"({value()} {self._one('+', '-', '*')} {self._one('1', '2', value())})",
                       lambda: f"-({value()})", lambda: f"ABS({value()})",
                       lambda: f"LENGTH({value('text')})", lambda: f"({value()} DIV {self._one('2', '3', value())})",
                       lambda: f"({value()} % {self._one('2', '3', value())})",
                       lambda: f"YEAR({value('date')})", lambda: f"({whether})",
                       lambda: f"ROUND({value()}, {self._one(0, 1)})", lambda: f"SIGN({value()})"],
            "text": [lambda: f"CONCAT({value()}, {value()})", lambda: f"REPLACE({value()}, 'b', 'y')",
                     lambda: f"LEFT({value()}, 1)", lambda: f"REPLACE({value()}, 'a', 'x')",
                     lambda: f"CAST({self._column(sources, 'number') or '1'} AS CHAR)"],
            "date": [lambda: f"({value()} + INTERVAL {self._one(1, -1, 31)} DAY)",
                     lambda: f"({value()} + INTERVAL {self._one(1, -1)} MONTH)",
                     lambda: f"LAST_DAY({value()})"],
        }[kind]
        if subqueries and kind == "number" and self._is(0.15):
            return self._scalar(sources, depth)
        return self.chance.choice(common + own + own)()

    def _varying(self, sources: list[Source], kind: str) -> str:
        """A value that names a column."""
        for _ in range(5):
            value = self._value(sources, kind, 1)
            if any(f"{source.name}." in value for source in sources):
                return value
        column = self._column(sources, kind) or self._column(sources, None)
        if self._kind(sources, column) == kind:
            return f"IF(1 > 2, NULL, {column})"
        # Two values, none of them NULL: MySQL takes what has one for a constant.
        one, two = self.chance.sample({"number": NUMBERS, "text": TEXTS, "date": DATES}[kind], 2)
        return f"IF({column} IS NULL, {one}, {two})"

    def _scalar(self, sources: list[Source], depth: int) -> str:
        """A subquery of one value; one that names a column outside, now and then."""
        text, own = self._from(0)
        where = f" WHERE {self._condition(own, depth - 1, subqueries=False)}" if self._is(0.6) else ""
        if self._is(0.4) and len(own) == 1:
            equal = self._correlation(sources, own)
            where += (" AND " if where else " WHERE ") + equal
        return f"(SELECT {self._aggregate(own)} FROM {text}{where})"

    def _correlation(self, sources: list[Source], own: list[Source]) -> str:
        kind = self._one("number", "text", "date")
        outer, inner = self._column(sources, kind), self._column(own, kind)
        return f"{inner} = {outer}" if outer and inner else "1 = 1"

    def _aggregate(self, sources: list[Source]) -> str:
        number = self._value(sources, "number", 1, subqueries=False)
        return self._one(
            "COUNT(*)", f"COUNT({self._column(sources, None)})", f"SUM({number})", f"MAX({number})",
            f"MIN({number})", f"COUNT(DISTINCT {self._column(sources, None)})", f"AVG({number})",
            f"SUM(DISTINCT {number})", f"COUNT({number})", f"BIT_OR({self._column(sources, 'number') or '1'})")

    def _having(self, sources: list[Source], keys: list[str]) -> str:
        kind = self._one("aggregate", "aggregate", "key", "exists")
        # A MySQL knows plain columns of GROUP BY there, and no other terms.
        plain = [key for key in keys if key in self._all(sources)]
        if kind == "key" and plain:
            return f"{self._one(*plain)} {self._one('IS NULL', 'IS NOT NULL')}"
        if kind == "exists":
            return self._exists([], 1)
        return f"{self._aggregate(sources)} {self._one('>', '<', '=', '>=', '<>')} {self._one(0, 1, 2)}"

    def _exists(self, sources: list[Source], depth: int) -> str:
        text, own = self._from(0)
        condition = self._condition(own, depth - 1, subqueries=False)
        if sources and self._is(0.6) and len(own) == 1:
            condition = f"{self._correlation(sources, own)} AND {condition}"
        return f"{self._one('', 'NOT ')}EXISTS (SELECT 1 FROM {text} WHERE {condition})"

    def _among(self, sources: list[Source], depth: int) -> str:
        text, own = self._from(0)
        kind = self._one("number", "number", "text", "date")
        where = f" WHERE {self._condition(own, depth - 1, subqueries=False)}" if self._is(0.6) else ""
        left, right = self._value(sources, kind, 1, subqueries=False), self._column(own, kind)
        return f"{left} {self._one('', 'NOT ')}IN (SELECT {right} FROM {text}{where})"

    def _condition(self, sources: list[Source], depth: int, subqueries: bool = True,
                   within: bool = False) -> str:
        """A condition; `within` says that it is a part of another one."""
        if depth > 0 and self._is(0.4):
            one, two = (self._condition(sources, depth - 1, subqueries, within=True) for _ in range(2))
            return self._one(f"({one} AND {two})", f"({one} OR {two})", f"NOT ({one})", f"({one}) IS NULL",
                             f"{one} AND {two}" if subqueries else f"({one} AND {two})", f"({one} XOR {two})")
        if subqueries and depth > 0 and self._is(0.35):
            # Pelorus refuses most IN (subquery) within OR, NOT and expressions.
            shape = self._exists if self._is(0.9 if within else 0.35) else self._among
            return shape(sources, depth)
        kind = self._one("number", "number", "text", "date")
        left = self._value(sources, kind, depth, subqueries)
        right = self._value(sources, kind, depth, subqueries)
        return self._one(
            f"{left} {self._one('=', '<>', '<', '<=', '>', '>=', '<=>')} {right}",
            f"{left} = {self._literal(kind)}",
            f"{left} BETWEEN {self._literal(kind)} AND {self._literal(kind)}",
            f"{left} {self._one('', 'NOT ')}IN ({', '.join(self._literal(kind) for _ in range(self._one(1, 2, 3)))})",
            f"{left} IS {self._one('', 'NOT ')}NULL")
