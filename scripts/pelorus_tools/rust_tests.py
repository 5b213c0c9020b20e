"""Runs the Rust tests of the workspace; with `PELORUS_TEST_RERUNS=1` what fails is run once more.

`python -m pelorus_tools.rust_tests`. All targets are run, also after one that failed. A few tests
drive real servers, real time and real threads, so CI runs a target that fails a second time, alone,
and says so with a line `RERUN`: such a test is to be mended, and does not hold up a change that has
nothing to do with it. More than `MOST` failing targets are not run again.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

COMMAND = ("cargo", "test", "--release")
MOST = 2
# What cargo prints at its end for each target with a test that failed.
FAILED = re.compile(r"^    `(-p .*)`$|^error: test failed, to rerun pass `(-p .*)`$")


def run(arguments: list[str]) -> tuple[int, list[str]]:
    """Runs cargo; returns its exit code and the targets that failed."""
    with subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True) as cargo:
        found = dict.fromkeys(failed(_shown(cargo.stderr)))
    return cargo.returncode, list(found)


def _shown(lines):
    for line in lines:
        sys.stderr.write(line)
        sys.stderr.flush()
        yield line


def failed(lines) -> list[str]:
    """The targets that cargo names as failed: `-p pelorus-link --test it`."""
    found = (FAILED.match(line.rstrip("\n")) for line in lines)
    return [match.group(1) or match.group(2) for match in found if match]


def main() -> int:
    """The command line."""
    code, targets = run(["--workspace", "--no-fail-fast"])
    again = os.environ.get("PELORUS_TEST_RERUNS") == "1"
    if code == 0 or not again or not 0 < len(targets) <= MOST:
        return code
    for target in targets:
        code, _ = run(target.split())
        result = "failed again" if code else "passed"
        print(f"RERUN cargo test {target}: {result}", flush=True)
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
