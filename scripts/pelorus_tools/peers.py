"""Peers that read a server's tables or copy them: Spark and DuckDB, in this process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from . import machine, servers
from .show import Step

CONNECTOR = "com.mysql:mysql-connector-j:9.3.0"
SPARK_PARTITIONS = 16


def spark_session():
    """A session of Spark on two cores that can speak to MySQL. ImportError without pyspark."""
    from pyspark.sql import SparkSession
    jar = _connector()
    with Step("start Spark"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        return (SparkSession.builder.master("local[2]").appName("bench")
                .config("spark.jars", jar).config("spark.driver.memory", "6g")
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.sql.shuffle.partitions", "2")
                .config("spark.ui.enabled", "false")
                .config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR")
                .getOrCreate())


def spark_table(session, server: servers.Server, database: str, table: str) -> None:
    """Shows a table of the server in Spark, read by ranges of its column `id`."""
    highest = server.run(f"SELECT max(id) FROM {table}", database=database)[0][0]
    (session.read.format("jdbc")
     .option("url", f"jdbc:mysql://127.0.0.1:{server.port}/{database}")
     .option("user", servers.USER).option("password", servers.PASSWORD)
     .option("driver", "com.mysql.cj.jdbc.Driver").option("dbtable", table)
     .option("partitionColumn", "id").option("lowerBound", 1).option("upperBound", highest)
     .option("numPartitions", SPARK_PARTITIONS).load().createOrReplaceTempView(table))


def duckdb_attached(server: servers.Server, database: str):
    """DuckDB on two cores with the server's database as `my`, through its MySQL extension."""
    # Of the version that the extension is made for.
    sys.path.insert(0, str(machine.ATTACHED))
    import duckdb
    import duckdb_extension_mysql_scanner as package
    found = sorted(Path(package.__file__).parent.rglob("mysql_scanner.duckdb_extension"))
    connection = duckdb.connect(config={"threads": 2})
    connection.execute(f"LOAD '{found[0]}'")
    connection.execute(
        f"ATTACH 'host=127.0.0.1 port={server.port} user={servers.USER} "
        f"password={servers.PASSWORD} database={database}' AS my (TYPE mysql, READ_ONLY)")
    return connection


def duckdb_text(statement: str) -> str:
    """A reference query as DuckDB takes it: it compares numbers with strings of digits only when
    both are of one type."""
    return statement.replace("max_year > '1990'", "max_year > 1990")


def _connector() -> str:
    """The file of Connector/J, fetched by Maven."""
    group, name, version = CONNECTOR.split(":")
    folder = machine.TARGET / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}.jar"
    if not path.exists():
        with Step("fetch Connector/J"):
            done = subprocess.run(
                [machine.find("mvn"), "-q", "-B", "dependency:copy", f"-Dartifact={CONNECTOR}",
                 f"-DoutputDirectory={folder}"], cwd=folder, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"Maven could not fetch Connector/J:\n{done.stdout[-2000:]}")
    return str(path)
