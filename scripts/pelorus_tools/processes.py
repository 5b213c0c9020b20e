"""Starts private processes and makes sure that each is stopped: at exit, on signals, on a crash.

Only processes started here are ever signalled, by their own id.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

_running: list["Process"] = []
_folders: list[Path] = []
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _die_with_parent() -> None:
    """In the child: be told to stop when the starting process dies, however it dies."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


class Process:
    """A child with its own process group and a log file."""

    def __init__(self, name: str, command: list[str], log: Path,
                 environment: dict[str, str] | None = None):
        self.name = name
        self.command = command
        self.log = log
        with open(log, "ab") as out:
            self.child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env=environment, preexec_fn=_die_with_parent, start_new_session=True)
        _running.append(self)

    @property
    def pid(self) -> int:
        """The process id."""
        return self.child.pid

    def alive(self) -> bool:
        """Whether it still runs."""
        return self.child.poll() is None

    def signal(self, number: int) -> None:
        """Sends a signal when it still runs."""
        if self.alive():
            os.kill(self.pid, number)

    def stop(self, patience: float = 120.0) -> int | None:
        """Asks it to end, waits, and kills it when it does not. Returns the exit code."""
        if self.alive():
            # A stopped process (SIGSTOP) must go on to hear SIGTERM.
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            try:
                self.child.wait(patience)
            except subprocess.TimeoutExpired:
                self.kill()
        if self in _running:
            _running.remove(self)
        return self.child.returncode

    def kill(self) -> None:
        """Ends it at once, as a crash would."""
        self.signal(signal.SIGKILL)
        self.child.wait()
        if self in _running:
            _running.remove(self)

    def tail(self, lines: int = 30) -> str:
        """The end of its log."""
        try:
            text = self.log.read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def peak_memory_bytes(self) -> int:
        """The most memory it ever held (VmHWM)."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError(f"no VmHWM of {self.name}")

    def cpu_seconds(self) -> float:
        """The time that its threads have run so far, in the kernel too."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def folder(prefix: str, base: Path | None = None) -> Path:
    """A temporary folder that is removed at exit."""
    made = Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=base))
    _folders.append(made)
    return made


# Below those that Linux gives to outgoing connections, so that a server that is started again finds
# its port as it left it; and processes that run side by side do not begin at the same one.
_PORTS = range(10_000, 32_000)
_ports = itertools.count(os.getpid() * 7919)
# A file whose byte N stands for port N. A process locks the bytes of the ports that it has given, until it
# ends: no other process gives the port of a server that is stopped for a while.
_port_locks: int | None = None


def _is_ours(port: int) -> bool:
    """Reserves a port for this process; whether no other process has it."""
    global _port_locks
    if _port_locks is None:
        path = Path(tempfile.gettempdir()) / f"pelorus-ports-{os.getuid()}"
        _port_locks = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.lockf(_port_locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


def free_port() -> int:
    """A port of the loopback address that nobody uses now, and that neither this process nor another
    one that runs gave before."""
    for _ in _PORTS:
        port = _PORTS[next(_ports) % len(_PORTS)]
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if _is_ours(port):
            return port
    raise RuntimeError("no port of the loopback address is free")


def wait_for(what: str, check: Callable[[], object], seconds: float = 180.0,
             process: Process | None = None, pause: float = 0.05) -> object:
    """Waits until `check` gives something true, and returns it. Fails after the deadline, or at
    once when the process it depends on has ended. The deadline is for what never comes: a busy machine
    takes ten times as long as an idle one."""
    deadline = time.monotonic() + seconds
    last: Exception | None = None
    while True:
        try:
            value = check()
            if value:
                return value
        except Exception as error:  # noqa: BLE001 - the condition is tried again
            last = error
        if process is not None and not process.alive():
            raise RuntimeError(f"{process.name} ended (code {process.child.returncode}) while "
                               f"waiting for {what}:\n{process.tail()}")
        if time.monotonic() > deadline:
            log = f"\n{process.tail()}" if process is not None else ""
            raise TimeoutError(f"waited {seconds:.0f} s for {what}; last: {last!r}{log}")
        time.sleep(pause)


def stop_all() -> None:
    """Stops everything, the youngest first, and removes the temporary folders."""
    for process in reversed(list(_running)):
        process.stop()
    while _folders:
        shutil.rmtree(_folders.pop(), ignore_errors=True)


def _on_signal(number, frame) -> None:
    # Turns the signal into a normal end, so that `finally` and `atexit` do their work.
    raise SystemExit(128 + number)


atexit.register(stop_all)
if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
    signal.signal(signal.SIGTERM, _on_signal)
    signal.signal(signal.SIGHUP, _on_signal)
