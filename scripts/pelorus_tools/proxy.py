"""A TCP proxy on the loopback address whose target can be changed: the address that stays when one
server takes the place of another."""

from __future__ import annotations

import socket
import threading

from . import processes


class Proxy:
    """Passes connections on to a port; `switch` ends those that there are."""

    def __init__(self, target: int):
        self.target = target
        self.port = processes.free_port()
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
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
            for source, target in ((here, there), (there, here)):
                threading.Thread(target=_pass, args=(source, target), daemon=True).start()


def _pass(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
    except OSError:
        pass
    for one in (source, target):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
