"""A TCP proxy on the loopback address whose target can be changed: the address that stays when one
server takes the place of another."""

from __future__ import annotations

import socket
import threading

from . import processes


# The commands by which a replica asks for the binlog: COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID.
DUMPS = (0x12, 0x1E)


class Proxy:
    """Passes connections on to a port; `switch` ends those that there are. While `flows` is cleared,
    binlogs stand still (of connections without TLS, whose commands can be seen)."""

    def __init__(self, target: int):
        self.target = target
        self.port = processes.free_port()
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self.flows = threading.Event()
        self.flows.set()
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def switch(self, target: int) -> None:
        """New connections go to another port; those that there are end."""
        with self._lock:
            self.target = target
            ending, self._open = self._open, []
        for one in ending:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def stop(self) -> None:
        """Ends everything."""
        self._listener.close()
        self.switch(0)

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self._listener.accept()
            except OSError:
                return
            try:
                there = socket.create_connection(("127.0.0.1", self.target), timeout=5)
                there.settimeout(None)
            except OSError:
                here.close()
                continue
            with self._lock:
                self._open += [here, there]
            is_dump = threading.Event()
            for source, target, answers in ((here, there, False), (there, here, True)):
                threading.Thread(target=self._pass, args=(source, target, answers, is_dump),
                                 daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, answers: bool,
              is_dump: threading.Event) -> None:
        try:
            while data := source.recv(1 << 16):
                if answers:
                    if is_dump.is_set():
                        self.flows.wait()
                elif len(data) > 4 and data[3] == 0 and data[4] in DUMPS:
                    is_dump.set()
                target.sendall(data)
        except OSError:
            pass
        _end(source, target)


def _end(*both: socket.socket) -> None:
    for one in both:
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
