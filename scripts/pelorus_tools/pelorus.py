"""A Pelorus server of one's own: built once, started on a free port with a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from . import machine, processes
from .processes import Process, wait_for
from .servers import Server
from .show import Step

ROOT_PASSWORD = "root-Passw0rd"
BINARY = machine.TARGET / "release" / "pelorus"


def build() -> Path:
    """Builds the release binary, showing what cargo says when it is slow."""
    if os.environ.get("PELORUS_BINARY"):
        return Path(os.environ["PELORUS_BINARY"])
    command = [machine.find("cargo"), "build", "--release", "--package", "pelorus-server"]
    with Step("build Pelorus (minutes the first time)") as step:
        child = subprocess.Popen(command, cwd=machine.ROOT, stdin=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
        crates, last = 0, []
        for line in child.stderr:
            last = (last + [line])[-60:]
            words = line.split()
            if words[:1] == ["Compiling"]:
                crates += 1
                step.note(f"{crates} crates, now {words[1]}")
        if child.wait() != 0:
            sys.stderr.writelines(last)
            raise SystemExit("the build failed")
    return BINARY


class Pelorus(Server):
    """A running Pelorus. `links` are what `--link` takes; `options` are passed on."""

    kind = "pelorus"

    def __init__(self, links: list[str] = (), options: list[str] = (), port: int = 0,
                 name: str = "pelorus", config: str = "", environment: dict[str, str] | None = None):
        super().__init__(name)
        self.folder = processes.folder("pelorus")
        self.port = port or processes.free_port()
        self.config = config
        self._links = list(links)
        self._options = list(options)
        self._environment = environment or {}
        self.start()

    def command(self) -> list[str]:
        """What is started."""
        command = [str(os.environ.get("PELORUS_BINARY", BINARY)), "serve",
                   "--listen", f"127.0.0.1:{self.port}", "--data", str(self.folder / "data")]
        if self.config:
            path = self.folder / "pelorus.toml"
            path.write_text(self.config)
            command += ["--config", str(path)]
        for link in self._links:
            command += ["--link", link]
        return command + self._options

    def start(self) -> None:
        """Starts it (again) with the same folder and port."""
        environment = {**os.environ, "PELORUS_ROOT_PASSWORD": ROOT_PASSWORD, **self._environment}
        self.process = Process(self.name, self.command(), self.folder / "log", environment)

        def answers() -> bool:
            self.connect(connect_timeout=20).close()
            return True
        wait_for(f"{self.name} to answer", answers, process=self.process)

    def connect(self, user: str = "root", password: str = ROOT_PASSWORD, **more):
        """A new connection; `more` goes to PyMySQL."""
        return super().connect(user, password, **more)

    def log(self) -> str:
        """Everything it has logged."""
        return self.process.log.read_text(errors="replace")
