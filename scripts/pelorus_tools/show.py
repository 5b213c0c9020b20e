"""Plain, calm output on a terminal: steps with progress, and tables."""

from __future__ import annotations

import os
import sys
import threading
import time

_TTY = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def bold(text: str) -> str:
    """The text in bold when the output is a terminal."""
    return f"\033[1m{text}\033[0m" if _TTY else text


def dim(text: str) -> str:
    """The text in grey when the output is a terminal."""
    return f"\033[2m{text}\033[0m" if _TTY else text


def say(text: str = "") -> None:
    """Prints a line at once."""
    print(text, flush=True)


def fail(text: str) -> "NoReturn":  # noqa: F821
    """Prints what is wrong and ends the program."""
    print(text, file=sys.stderr, flush=True)
    raise SystemExit(1)


class Step:
    """One long step: its name, how far it is, and how long it took.

    On a terminal the line is redrawn in place; otherwise a line is printed now and then, so that a
    log shows life as well.
    """

    def __init__(self, name: str, quiet_seconds: float = 10.0):
        self.name = name
        self._started = time.monotonic()
        self._note = ""
        self._drawn = 0.0
        self._quiet_seconds = quiet_seconds
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> "Step":
        if not _TTY:
            say(f"  {self.name} ...")
        self._drawn = time.monotonic()
        self._ticker.start()
        return self

    def __exit__(self, kind, value, trace) -> None:
        self._stop.set()
        self._ticker.join()
        mark = "✓" if kind is None else "✗"
        seconds = time.monotonic() - self._started
        note = f"  {self._note}" if self._note else ""
        head = "\r\033[K" if _TTY else ""
        say(f"{head}  {mark} {self.name:<44} {seconds:7.1f} s{dim(note)}")

    def note(self, text: str) -> None:
        """Says how far the step is."""
        with self._lock:
            self._note = text

    def part(self, done: float, whole: float, unit: str = "") -> None:
        """Says how far the step is, as a part of the whole."""
        share = 0.0 if whole <= 0 else min(1.0, done / whole)
        bar = "█" * round(share * 20)
        self.note(f"{bar:<20} {share * 100:3.0f} %  {done:,.0f} of {whole:,.0f} {unit}".rstrip())

    def _tick(self) -> None:
        while not self._stop.wait(0.2):
            now = time.monotonic()
            with self._lock:
                note = self._note
            if _TTY:
                line = f"\r\033[K  · {self.name:<44} {now - self._started:7.1f} s  {dim(note)}"
                sys.stdout.write(line)
                sys.stdout.flush()
            elif now - self._drawn >= self._quiet_seconds:
                self._drawn = now
                say(f"  · {self.name}: {now - self._started:.0f} s  {note}")


def table(head: list[str], rows: list[list[str]], right: set[int] = frozenset()) -> None:
    """Prints rows under a head; the columns in `right` are aligned to the right."""
    widths = [max(len(str(line[at])) for line in [head, *rows]) for at in range(len(head))]

    def line(cells: list[str]) -> str:
        made = [
            str(cell).rjust(width) if at in right else str(cell).ljust(width)
            for at, (cell, width) in enumerate(zip(cells, widths))
        ]
        return "  " + "   ".join(made).rstrip()

    say(bold(line(head)))
    say("  " + "─" * (sum(widths) + 3 * (len(widths) - 1)))
    for row in rows:
        say(line(row))
