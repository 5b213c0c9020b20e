"""Runs a command that finds private servers in its environment: what the Rust tests of links need.

`python -m pelorus_tools.with_servers cargo test ...`. A MySQL that cannot be installed is a failure,
unless `PELORUS_WITHOUT_SERVERS=1` leaves its tests out.
"""

from __future__ import annotations

import os
import subprocess
import sys

from . import machine, processes, servers
from .show import Step, fail, say


def address(server: servers.Server) -> str:
    """A server in the form that the tests read."""
    return f"127.0.0.1:{server.port}:{servers.USER}:{servers.PASSWORD}"


def start() -> dict[str, str]:
    """Starts the servers; returns what the environment says of them."""
    found = {}
    kinds = {"MARIADB": servers.MariaDb, "MYSQL": servers.MySql}
    root, reason = machine.mysql_root()
    if root is None:
        if machine.requires_servers():
            fail(f"no MySQL: {reason}. PELORUS_WITHOUT_SERVERS=1 leaves its tests out.")
        say(f"without MySQL: {reason}")
        del kinds["MYSQL"]
    for number, (name, kind) in enumerate(kinds.items()):
        with Step(f"start {kind.kind} and a replica of it"):
            primary = kind(kind.kind, 21 + 2 * number)
            replica = kind(f"{kind.kind}-replica", 22 + 2 * number)
            replica.follow(primary)
        found[f"PELORUS_TEST_{name}"] = address(primary)
        found[f"PELORUS_TEST_REPLICATED_{name}"] = f"{address(primary)},{address(replica)}"
    if root is not None:
        with Step("start mysql without GTIDs"):
            plain = servers.MySql("mysql-plain", 29, options=(
                "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"))
        found["PELORUS_TEST_PLAIN_MYSQL"] = address(plain)
    return found


def main() -> int:
    """The command line."""
    try:
        found = start()
        return subprocess.run(sys.argv[1:], env={**os.environ, **found}, check=False).returncode
    finally:
        processes.stop_all()


if __name__ == "__main__":
    sys.exit(main())
