"""Clients that send rubbish, hang, or come by the thousand: they harm nobody but themselves."""

from __future__ import annotations

import random
import resource
import socket
import struct
import threading

import pymysql
import pytest
from pelorus_tools import pelorus, rows, seeds
from pelorus_tools.processes import wait_for


def packet(payload: bytes, sequence: int = 0) -> bytes:
    """A packet of the protocol."""
    return struct.pack("<I", len(payload))[:3] + bytes([sequence]) + payload


def read_packet(stream: socket.socket) -> tuple[int, bytes]:
    """The sequence number and payload of the next packet."""
    head = read_exactly(stream, 4)
    return head[3], read_exactly(stream, head[0] | head[1] << 8 | head[2] << 16)


def read_exactly(stream: socket.socket, count: int) -> bytes:
    """So many bytes; an end before is an error."""
    data = b""
    while len(data) < count:
        more = stream.recv(count - len(data))
        if not more:
            raise ConnectionError("the server closed the connection")
        data += more
    return data


def raw(server, seconds: float = 120.0) -> socket.socket:
    """A bare TCP connection."""
    return socket.create_connection(("127.0.0.1", server.port), timeout=seconds)


def error_of(payload: bytes) -> tuple[int, str]:
    """Number and text of an error packet."""
    assert payload[:1] == b"\xff", payload
    text = payload[3:]
    return struct.unpack("<H", payload[1:3])[0], text[6:].decode() if text[:1] == b"#" else text


def ends(stream: socket.socket) -> bool:
    """Reads until the server closes the connection."""
    try:
        while stream.recv(65536):
            pass
    except ConnectionError:
        pass
    return True


@pytest.fixture
def server(pelorus_mariadb):
    """A Pelorus that must work before and after each test."""
    assert pelorus_mariadb.run("SELECT 42") == ((42,),)
    yield pelorus_mariadb
    assert pelorus_mariadb.run("SELECT 43") == ((43,),)


class TestRubbish:
    """Bytes that are no protocol."""

    @pytest.mark.parametrize("data", [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", b"\x00" * 64,
        b"\xff" * 64, b"\x01\x00\x00\x01\x00", b"\x00\x00\x00\x01", packet(b"\x85\xa6\xff\x01", 1),
        packet(b"\x85\xa6\xff\x01" + b"\xff" * 40, 1), packet(b"", 7)],
        ids=lambda data: data[:8].hex())
    def test_instead_of_a_login(self, server, data):
        with raw(server) as stream:
            read_packet(stream)
            stream.sendall(data)
            stream.shutdown(socket.SHUT_WR)
            assert ends(stream)

    @pytest.mark.parametrize("seed", seeds.asked("bad_input"))
    def test_random_bytes_many_times(self, server, seed):
        chance = random.Random(seed)
        for _ in range(200):
            with raw(server) as stream:
                read_packet(stream)
                data = chance.randbytes(chance.randrange(1, 400))
                if chance.random() < 0.5:
                    data = packet(data, 1)
                stream.sendall(data)
                stream.shutdown(socket.SHUT_WR)
                assert ends(stream), f"seed {seed}"
        assert server.process.alive(), f"seed {seed}"

    @pytest.mark.parametrize("seed", seeds.asked("bad_input"))
    def test_random_commands_after_a_login(self, server, seed):
        chance = random.Random(seed)
        for _ in range(150):
            connection = server.connect()
            stream = connection._sock
            stream.settimeout(120)
            # COM_QUERY and the like with rubbish behind them; a kill or shutdown is left out.
            command = chance.choice([0x03, 0x02, 0x04, 0x16, 0x17, 0x18, 0x1A, 0x1B, 0x1C, 0x1F, 0x11])
            body = chance.randbytes(chance.randrange(0, 60))
            stream.sendall(packet(bytes([command]) + body))
            stream.shutdown(socket.SHUT_WR)
            assert ends(stream), f"seed {seed}"
            connection._force_close()
        assert server.process.alive(), f"seed {seed}"


class TestCommands:
    """Commands that are wrong in themselves."""

    def command(self, server, payload: bytes, sequence: int = 0):
        connection = server.connect()
        connection._sock.settimeout(120)
        connection._sock.sendall(packet(payload, sequence))
        return connection, read_packet(connection._sock)[1]

    @pytest.mark.parametrize("number", [0x05, 0x06, 0x08, 0x0B, 0x0F, 0x10, 0x13, 0x1D, 0x20, 0x7F, 0xFE])
    def test_unknown_command(self, server, number):
        connection, answer = self.command(server, bytes([number]))
        assert error_of(answer)[0] == 1047
        connection._next_seq_id = 0
        assert rows.ask(connection, "SELECT 1").rows == [(1,)]
        connection.close()

    def test_wrong_sequence_number(self, server):
        connection, answer = self.command(server, b"\x03SELECT 1", sequence=9)
        assert error_of(answer)[0] == 1156
        connection._force_close()

    def test_execute_of_a_statement_that_is_not_there(self, server):
        connection, answer = self.command(server, b"\x17" + struct.pack("<IBI", 99, 0, 1))
        assert error_of(answer)[0] == 1243
        connection.close()

    def test_text_that_is_not_utf8(self, server):
        connection, answer = self.command(server, b"\x03SELECT '\xff\xfe\x80'")
        assert answer[:1] in (b"\xff", b"\x01")
        connection._force_close()

    def test_a_packet_larger_than_allowed(self, server):
        with server.connect() as connection:
            allowed = connection.cursor()
            allowed.execute("SELECT @@max_allowed_packet")
            size = allowed.fetchone()[0]
            with pytest.raises(pymysql.err.MySQLError) as error:
                connection.query("SELECT '" + "x" * (size + 100) + "'")
            assert error.value.args[0] in (1153, 2006, 2013)

    def test_deep_nesting_is_refused(self, server):
        with rows.connect(server) as connection:
            deep = 20_000
            for statement in ("SELECT " + "(" * deep + "1" + ")" * deep,
                              "SELECT " + "-" * 0 + "NOT " * deep + "1",
                              "SELECT 1" + " + 1" * deep,
                              "SELECT " + "(SELECT " * 500 + "1" + ")" * 500):
                answer = rows.ask(connection, statement)
                assert answer.error is None or answer.error[0] in (1064, 1235, 1436, 1473), answer.error
            assert rows.ask(connection, "SELECT 1").rows


class TestHalf:
    """Clients that stop half-way."""

    def test_a_client_that_stops_in_a_packet_is_cut_off(self, linked_maker, mariadb):
        server = linked_maker(mariadb.url(), name="pelorus-impatient")
        server.run("SET GLOBAL net_read_timeout = 1", "SET GLOBAL connect_timeout = 5")
        silent = raw(server)
        read_packet(silent)
        half = server.connect()
        half._sock.settimeout(120)
        half._sock.sendall(b"\x50\x00\x00\x00\x03SELECT")
        # Both are closed by the server; everybody else is served meanwhile.
        assert server.run("SELECT 5") == ((5,),)
        assert ends(silent)
        assert ends(half._sock)
        half._force_close()
        server.stop()

    def test_many_half_packets_block_nobody(self, server):
        held = []
        for at in range(100):
            stream = raw(server)
            read_packet(stream)
            stream.sendall(b"\xff\xff\xff\x01" + b"x" * at)
            held.append(stream)
        assert server.run("SELECT 6") == ((6,),)
        for stream in held:
            stream.close()

    def test_a_client_that_does_not_read(self, server):
        """A result that nobody takes is not gathered in memory."""
        connection = server.connect()
        before = server.process.peak_memory_bytes()
        connection._sock.sendall(packet(
            b"\x03SELECT REPEAT('x', 10000) FROM information_schema.collations a, "
            b"information_schema.collations b"))
        connection._sock.recv(1000)
        assert server.run("SELECT 7") == ((7,),)
        connection._force_close()
        wait_for("the session to end", lambda: server.run(
            "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%REPEAT%' "
            "AND id <> CONNECTION_ID()") == ((0,),))
        assert server.process.peak_memory_bytes() - before < 300 * 2**20


class TestCrowds:
    """More connections than there is room for."""

    def test_ten_thousand_connections(self, linked_maker, mariadb):
        server = linked_maker(mariadb.url(), name="pelorus-crowd")
        # Silent clients keep their places, unless they give way to others.
        server.run("SET GLOBAL connect_timeout = 3600")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < 12_000:
            pytest.skip(f"this machine allows only {hard} open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 12_000), hard))
        held: list[socket.socket] = []

        def is_closed(stream: socket.socket) -> bool:
            """What was sent, a greeting and perhaps why it has to go, is read first."""
            stream.setblocking(False)
            try:
                while stream.recv(1000):
                    pass
            except BlockingIOError:
                return False
            except ConnectionError:
                pass
            return True
        try:
            for _ in range(10_000):
                held.append(raw(server))
            # As many may be on their way to a login as connections are allowed, 1000; who comes
            # later is let in all the same.
            assert server.run("SELECT 7") == ((7,),)
            wait_for("the others to be sent away", lambda: sum(map(is_closed, held)) >= 8_900)
            assert server.process.alive()
            for stream in held:
                stream.close()
            held = []
            wait_for("room again", lambda: server.run("SELECT 8") == ((8,),))
        finally:
            for stream in held:
                stream.close()
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        server.stop()

    def test_one_too_many_is_told_so(self, linked_maker, mariadb):
        server = linked_maker(mariadb.url(), name="pelorus-full")
        server.run("SET GLOBAL max_connections = 5")
        held = []

        def fill() -> None:
            for _ in range(20):
                held.append(server.connect())
        with pytest.raises(pymysql.err.OperationalError) as error:
            fill()
        assert error.value.args[0] == 1040
        for connection in held:
            connection.close()
        wait_for("room again", lambda: server.run("SELECT 9") == ((9,),))
        server.stop()

    def test_many_at_work_at_once(self, server):
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for at in range(20):
                    assert server.run(f"SELECT {number} + {at}") == ((number + at,),)
            except BaseException as error:  # noqa: BLE001 - shown below
                failures.append(error)
        threads = [threading.Thread(target=work, args=(at,)) for at in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures[:3]


class TestLogin:
    """Who may come in."""

    def test_unknown_host_of_a_client(self, server):
        with pytest.raises(pymysql.err.OperationalError) as error:
            pymysql.connect(host="127.0.0.1", port=server.port, user="root", password="wrong")
        assert error.value.args[0] == 1045
        assert pelorus.ROOT_PASSWORD not in str(error.value)

    def test_it_listens_on_loopback_only(self, server):
        import pathlib
        inode_lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
        wanted = f":{server.port:04X}"
        listening = [line.split()[1] for line in inode_lines
                     if line.split()[1].endswith(wanted) and line.split()[3] == "0A"]
        assert listening == [f"0100007F{wanted}"]

    def test_secure_transport_can_be_required(self, linked_maker, mariadb):
        server = linked_maker(mariadb.url(), name="pelorus-secure")
        server.run("SET GLOBAL require_secure_transport = ON")
        with pytest.raises(pymysql.err.OperationalError) as error:
            server.connect(ssl_disabled=True)
        assert error.value.args[0] == 3159
        tls = {"check_hostname": False, "verify_mode": "none"}
        with server.connect(ssl=tls) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        server.stop()
