"""The demo: slow reports of a MariaDB server, run in parallel through Pelorus."""

from __future__ import annotations

import os
import signal
import sys

from . import flights, ontime, pelorus, processes, rows, servers
from .show import Step, bold, dim, fail, say, table

RUNS = 3
DATABASE = "flights"


def main() -> None:
    """Runs the demo; `DEMO_ROWS` sets the size and `DEMO_ONCE=1` ends after the table."""
    try:
        wanted = int(os.environ.get("DEMO_ROWS") or 5_000_000)
    except ValueError:
        fail("DEMO_ROWS must be a number")
    once = os.environ.get("DEMO_ONCE", "") not in ("", "0")
    identical = False
    try:
        identical = _run(wanted, once)
    except KeyboardInterrupt:
        say()
    finally:
        # A second Ctrl-C must not cut the clean-up short.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with Step("stop both servers and remove their data"):
            processes.stop_all()
    if not identical:
        sys.exit(1)


def _run(wanted: int, once: bool) -> bool:
    say()
    say(bold("Pelorus demo") + ": reports over a MariaDB server, alone and through Pelorus")
    say()
    pelorus.build()
    with Step("start a private MariaDB"):
        primary = servers.MariaDb(buffer_pool_mb=256 + wanted * 200 // 2**20,
                                  options=("--innodb-log-file-size=512M",))
    count = flights.load(primary, wanted, DATABASE)
    with Step("start Pelorus, linked to it"):
        server = pelorus.Pelorus(links=[primary.url(DATABASE)])
    lines, identical = _compare(primary, server)
    say()
    say(f"  {count:,} flights, medians of {RUNS} runs, {os.cpu_count()} cores")
    say()
    table(["query", "", "MariaDB", "Pelorus", "ratio", "identical"], lines, right={2, 3, 4})
    say()
    if identical:
        say("  Every result is the same as MariaDB's, value by value.")
    else:
        say("  Some results DIFFER from MariaDB's.")
    say()
    if not once:
        try:
            _serve(primary, server)
        except KeyboardInterrupt:
            # How it is meant to end.
            say()
    return identical


def _compare(primary: servers.Server, server: pelorus.Pelorus) -> tuple[list[list[str]], bool]:
    alone = rows.connect(primary, database=DATABASE)
    through = rows.connect(server, database=DATABASE)
    lines, identical, notes = [], True, []
    with Step("run the reference queries on both") as step:
        for at, (name, statement) in enumerate(ontime.QUERIES.items()):
            times: tuple[list[float], list[float]] = ([], [])
            differ: list[str] = []
            for _ in range(RUNS):
                step.part(at, len(ontime.QUERIES), f"queries, now {name}")
                # Turn by turn, so that a busy moment of the machine hits both.
                spent, expected = rows.measure(alone, statement)
                times[0].append(spent)
                spent, given = rows.measure(through, statement)
                times[1].append(spent)
                differ = differ or rows.differences(expected, given, name in ontime.ORDERED)
            one, two = rows.median(times[0]), rows.median(times[1])
            identical = identical and not differ
            notes += [f"query {name}: {text}" for text in differ]
            lines.append([name, ontime.ABOUT[name], _ms(one), _ms(two), f"{two / one:.2f}",
                          "no" if differ else "yes"])
        step.part(len(ontime.QUERIES), len(ontime.QUERIES), "queries")
    for note in notes:
        say(f"  {note}")
    alone.close()
    through.close()
    return lines, identical


def _ms(value: float) -> str:
    return f"{value:,.1f} ms" if value < 100 else f"{value:,.0f} ms"


def _serve(primary: servers.Server, server: pelorus.Pelorus) -> None:
    line = "mariadb -h 127.0.0.1 -P {} -u {} -p'{}' {}"
    say("  Pelorus goes on serving. In another terminal type:")
    say()
    say("    " + bold(line.format(server.port, "root", pelorus.ROOT_PASSWORD, DATABASE)))
    say()
    say(dim("  The MariaDB beneath, to compare: "
            + line.format(primary.port, servers.USER, servers.PASSWORD, DATABASE)))
    say("  Ctrl-C here stops both and removes their data.")
    say()
    while server.process.alive() and primary.process.alive():
        try:
            server.process.child.wait(1)
        except Exception:  # noqa: BLE001 - still running
            continue
    say(f"  A server ended by itself:\n{server.process.tail()}")


if __name__ == "__main__":
    main()
