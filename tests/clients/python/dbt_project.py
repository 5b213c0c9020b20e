"""dbt: debug, seed, run, test and docs, the second run with tables that are there. (Snapshots of dbt-mysql
fail on a MySQL 9 itself, with error 1046.)"""

from __future__ import annotations

import json
import os
from pathlib import Path

import mysql.connector
from dbt.cli.main import dbtRunner
from show import show

HERE = Path(__file__).resolve().parent / "dbt"
TARGET = Path(os.environ["PELORUS_FOLDER"]) / "dbt-target"
os.environ.update(DBT_TARGET_PATH=str(TARGET), DBT_LOG_PATH=str(TARGET / "logs"), DBT_SEND_ANONYMOUS_USAGE_STATS="0",
                  DBT_PROJECT_DIR=str(HERE), DBT_PROFILES_DIR=str(HERE), DO_NOT_TRACK="1")
# What dbt makes, in an order that rows have.
TABLES = {"months": "month", "spent": "customer_id", "staged_purchases": "id"}


def run(*command: str) -> None:
    """Runs a command of dbt and shows how each of its nodes ended."""
    done = dbtRunner().invoke(["--quiet", "--no-use-colors", *command])
    nodes = [] if isinstance(done.result, bool) else getattr(done.result, "results", None) or []
    show(" ".join(command), [done.success, sorted((str(one.node.unique_id).split(".", 2)[2], str(one.status), one.message)
                                                  for one in nodes if hasattr(one, "node"))])
    if done.exception:
        show("error", str(done.exception))


def rows() -> None:
    """What there is now."""
    environment = os.environ
    connection = mysql.connector.connect(
        host=environment["PELORUS_HOST"], port=int(environment["PELORUS_PORT"]), user=environment["PELORUS_USER"],
        password=environment["PELORUS_PASSWORD"], database=environment["PELORUS_DATABASE"])
    with connection, connection.cursor() as cursor:
        for table, order in TABLES.items():
            cursor.execute(f"SELECT * FROM {table} ORDER BY {order}")
            show(table, cursor.fetchall())


for step in (("debug",), ("seed",), ("run",), ("run",), ("test",), ("docs", "generate")):
    run(*step)
catalog = json.loads((TARGET / "catalog.json").read_text())
for name, node in sorted(catalog["nodes"].items()):
    show(name, [node["metadata"]["type"], {key: one["type"] for key, one in node["columns"].items()}])
rows()
