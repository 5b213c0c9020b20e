"""The `ontime` table and its reference queries, shared by the demo, the tests and the benchmark."""

from __future__ import annotations

COLUMNS = """
    id int NOT NULL AUTO_INCREMENT,
    YearD int NOT NULL,
    Quarter tinyint,
    MonthD tinyint,
    DayofMonth tinyint,
    DayOfWeek tinyint,
    FlightDate date,
    UniqueCarrier char(7),
    AirlineID int,
    Carrier char(2),
    TailNum varchar(50),
    Origin char(5),
    Dest char(5),
    OriginState char(2),
    DestState char(2),
    DepDelayMinutes int,
    ArrDelayMinutes int,
    Cancelled tinyint,
    Diverted tinyint,
    Distance int"""

TABLE = f"CREATE TABLE ontime ({COLUMNS},\n    PRIMARY KEY (id)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1"

COVERING_INDEX = ("ALTER TABLE ontime ADD INDEX covered "
                  "(DayOfWeek, OriginState, DestState, Carrier, YearD, ArrDelayMinutes)")


def partitioned(name: str = "ontime_part") -> str:
    """The statement that creates the table partitioned by year."""
    years = ",\n".join(f"    PARTITION p{year} VALUES LESS THAN ({year + 1})"
                       for year in range(1987, 2016))
    return (f"CREATE TABLE {name} ({COLUMNS},\n    PRIMARY KEY (id, YearD)\n) ENGINE=InnoDB "
            f"DEFAULT CHARSET=latin1\nPARTITION BY RANGE (YearD) (\n{years},\n"
            "    PARTITION rest VALUES LESS THAN MAXVALUE)")


def query_1(more: str = "") -> str:
    """Query 1, with more conditions."""
    return f"""SELECT min(YearD), max(YearD) AS max_year, Carrier, count(*) AS cnt,
       sum(if(ArrDelayMinutes > 30, 1, 0)) AS flights_delayed,
       round(sum(if(ArrDelayMinutes > 30, 1, 0)) / count(*), 2) AS rate
FROM ontime
WHERE DayOfWeek NOT IN (6, 7)
  AND OriginState NOT IN ('AK', 'HI', 'PR', 'VI')
  AND DestState NOT IN ('AK', 'HI', 'PR', 'VI'){more}
GROUP BY Carrier
HAVING cnt > 1000 AND max_year > '1990'
ORDER BY rate DESC, cnt DESC
LIMIT 10"""


QUERIES = {
    "1": query_1(),
    "1a": query_1("\n  AND (Origin = 'RDU' OR Dest = 'RDU')"),
    "2": "SELECT DayOfWeek, count(*) FROM ontime GROUP BY DayOfWeek",
    "3": "SELECT Carrier, count(*) AS cnt FROM ontime GROUP BY Carrier ORDER BY cnt DESC LIMIT 10",
    "4": "SELECT count(*) FROM ontime WHERE YearD = 2013 AND DayOfWeek = 7 "
         "AND OriginState = 'NC' AND DestState = 'NC'",
    "5": "SELECT max(id) FROM ontime",
    "6": "SELECT count(*) AS years, max(flights) AS busiest, sum(flights) AS flights "
         "FROM (SELECT YearD, count(*) AS flights FROM ontime GROUP BY YearD) AS per_year",
}

ABOUT = {
    "1": "delays by carrier, filtered",
    "1a": "the same, one airport",
    "2": "flights per weekday",
    "3": "top carriers, whole table",
    "4": "one year, day and state",
    "5": "highest id",
    "6": "per year, as a derived table",
}

# Queries whose rows come in the order that the query asks for.
ORDERED = {"1", "1a", "3"}
