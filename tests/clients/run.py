"""Runs the drivers of other languages against a Pelorus that is linked to a private MariaDB."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from pelorus_tools import machine, pelorus, processes, servers  # noqa: E402
from pelorus_tools.processes import wait_for  # noqa: E402
from pelorus_tools.show import say  # noqa: E402

HERE = Path(__file__).resolve().parent
ROWS = 20_000

# Name, folder, commands that fetch and run it. They also build the programs of test_frameworks.py.
DRIVERS = [
    ("MySQL Connector/J (Java)", "java", [["mvn", "-q", "-B", "test-compile", "dependency:build-classpath",
                                           "-Dmdep.includeScope=runtime",
                                           f"-Dmdep.outputFile={machine.TARGET}/clients-java/classpath"],
                                          ["mvn", "-B", "-ntp", "test"]]),
    ("go-sql-driver (Go)", "go", [["go", "build", "-o", f"{machine.TARGET}/tools/gorm", "./gorm"],
                                  ["go", "test", "-v", "."]]),
    ("mysql2 (Node)", "node", [["npm", "ci", "--no-audit", "--no-fund"],
                               ["node", "--test"]]),
]


def prepare(server: servers.Server) -> None:
    """The database that all drivers look at."""
    server.run(
        "CREATE DATABASE drivers CHARACTER SET utf8mb4",
        "USE drivers",
        "CREATE TABLE item (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, name varchar(40) NOT NULL, "
        "price decimal(10,2), weight double, born date, seen datetime(6), span time, "
        "big bigint unsigned, raw varbinary(20), flag tinyint(1), note text)",
        "INSERT INTO item VALUES (1, 'Grüße 😀', 12.50, 0.25, '2024-02-29', "
        "'2024-02-29 12:34:56.789012', '12:30:01', 18446744073709551615, x'00FF', 1, 'long'), "
        "(2, 'plain', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        f"CREATE TABLE many (n int PRIMARY KEY, grp int NOT NULL, pad varchar(100) NOT NULL)",
        f"INSERT INTO many SELECT seq, seq % 10, REPEAT('x', seq % 100) FROM seq_1_to_{ROWS}",
        "CREATE TABLE scratch (id int PRIMARY KEY, word varchar(20))",
        "ANALYZE TABLE item, many")


def main() -> int:
    """Runs all drivers, or those whose folder is named on the command line."""
    wanted = sys.argv[1:] or [folder for _, folder, _ in DRIVERS]
    mariadb = servers.MariaDb()
    prepare(mariadb)
    through = pelorus.Pelorus(links=[mariadb.url("drivers")])
    wait_for("the database", lambda: through.run("SELECT count(*) FROM drivers.item") == ((2,),))
    path = os.pathsep.join([os.environ.get("PATH", ""), *machine.PATH_MORE])
    environment = {**os.environ, "PATH": path, "PELORUS_HOST": "127.0.0.1",
                   "PELORUS_PORT": str(through.port), "PELORUS_USER": "root",
                   "PELORUS_PASSWORD": pelorus.ROOT_PASSWORD, "PELORUS_DATABASE": "drivers",
                   "PELORUS_ROWS": str(ROWS)}
    failed = []
    for name, folder, commands in DRIVERS:
        if folder not in wanted:
            continue
        say(f"\n== {name}")
        for command in commands:
            command = [machine.find(command[0]) or command[0], *command[1:]]
            done = subprocess.run(command, cwd=HERE / folder, env=environment,
                                  stdin=subprocess.DEVNULL, timeout=3600)
            if done.returncode != 0:
                failed.append(name)
                break
    alive = through.process.alive()
    if not alive or "panicked at" in through.log():
        failed.append("Pelorus itself")
        say(through.process.tail(60))
    processes.stop_all()
    say()
    say(f"failed: {', '.join(failed)}" if failed else "all drivers passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
