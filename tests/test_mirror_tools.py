"""The programs that people change large tables with, run on a server as they run them, while rows
change: gh-ost and pt-online-schema-change. `make test-clients` installs them."""

from __future__ import annotations

import random
import subprocess
import threading
import time
from contextlib import contextmanager

import pymysql
import pytest
from pelorus_tools import machine, servers
from pelorus_tools.mirrored import Mirrored

ROWS = 20_000
DEADLOCK = 1213
ORDERS = (
    "CREATE TABLE digits (d INT PRIMARY KEY)",
    "INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
    "CREATE TABLE orders (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, customer INT NOT NULL, "
    "state ENUM('new', 'paid', 'sent') NOT NULL DEFAULT 'new', amount DECIMAL(10,2), note VARCHAR(40), "
    "made DATETIME(3) NOT NULL, KEY (customer))",
    "INSERT INTO orders (customer, amount, note, made) SELECT a.d + 10 * b.d, 1.5 * c.d, "
    "CONCAT('note ', e.d, ' é'), '2026-01-02 03:04:05.678' + INTERVAL (a.d * 1000 + b.d) SECOND "
    "FROM digits a, digits b, digits c, digits e, (SELECT 1 UNION ALL SELECT 2) f",
)


@contextmanager
def an_application(server: servers.Server, database: str):
    """Sessions that insert, change and delete orders, as an application does that knows nothing of
    what is done to its table. Yields how many changes were made so far."""
    stop, made, failed = threading.Event(), [0], []

    def work(seed: int) -> None:
        chance = random.Random(seed)
        with server.connect(database=database) as connection, connection.cursor() as cursor:
            while not stop.is_set():
                key = chance.randrange(1, ROWS + 2000)
                try:
                    cursor.execute(chance.choice((
                        f"INSERT INTO orders (customer, amount, made) VALUES ({key % 97}, {key}, NOW(3))",
                        f"UPDATE orders SET amount = amount + 1, state = 'paid' WHERE id = {key}",
                        f"UPDATE orders SET note = 'changed {key}' WHERE customer = {key % 97} LIMIT 3",
                        f"DELETE FROM orders WHERE id = {key}")))
                    made[0] += 1
                except pymysql.OperationalError as error:
                    # Triggers lock more rows; applications try again.
                    if error.args[0] != DEADLOCK:
                        raise
                time.sleep(0.002)

    def guarded(seed: int) -> None:
        try:
            work(seed)
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failed, failed


def gh_ost(server: servers.Server, database: str, alter: str) -> list[str]:
    """The command that changes orders by gh-ost."""
    program = machine.gh_ost()
    if program is None:
        pytest.skip("gh-ost is not installed (make test-clients)")
    if not server.run("SHOW VARIABLES LIKE 'transaction_isolation'"):
        pytest.skip("gh-ost asks for a variable that this server has not (MariaDB has it from 11.1 on)")
    return [str(program), "--host=127.0.0.1", f"--port={server.port}", f"--user={servers.USER}",
            f"--password={servers.PASSWORD}", f"--database={database}", "--table=orders", f"--alter={alter}",
            "--allow-on-master", "--assume-rbr", "--ok-to-drop-table", "--chunk-size=500",
            "--heartbeat-interval-millis=200", "--approve-renamed-columns",
            f"--serve-socket-file={server.folder}/gh-ost.sock", "--execute"]


def pt_online_schema_change(server: servers.Server, database: str, alter: str) -> list[str]:
    """The command that changes orders by pt-online-schema-change."""
    program = machine.find("pt-online-schema-change")
    if program is None:
        pytest.skip("pt-online-schema-change is not installed (make test-clients)")
    return [program, "--alter", alter, "--execute", "--recursion-method=none", "--chunk-size=500",
            "--nocheck-replication-filters", "--no-version-check", "--alter-foreign-keys-method=auto",
            f"h=127.0.0.1,P={server.port},u={servers.USER},p={servers.PASSWORD},D={database},t=orders"]


# Each is one run of the program.
ALTERS = ("ADD COLUMN channel VARCHAR(10) NOT NULL DEFAULT 'web' AFTER customer, MODIFY note VARCHAR(200)",
          "DROP COLUMN channel, MODIFY amount DECIMAL(14,4), ADD KEY (state)")


@pytest.mark.parametrize("program", [gh_ost, pt_online_schema_change])
def test_a_table_is_changed_under_an_application(pair: Mirrored, program):
    database = f"by_{program.__name__}"
    pair.begin(database, *ORDERS)
    pair.through.run(f"MIRROR DATABASE {database}")
    pair.wait_live(database, "orders")
    with an_application(pair.server, database) as made:
        for alter in ALTERS:
            before = made[0]
            done = subprocess.run(program(pair.server, database, alter), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
            assert done.returncode == 0, done.stdout[-4000:]
            assert made[0] > before, "nothing was changed meanwhile"
            pair.wait_live(database, "orders")
    pair.same_tables(database, "orders")
    said = pair.through.run(f"CHECK MIRROR {database}.orders")
    assert said[-1][-2:] == ("status", "OK"), said
    pair.through.run(f"UNMIRROR DATABASE {database}")
