"""A server that speaks the beginning of MySQL's protocol, asks for passwords in every way, and notes
what it gets. It refuses every login."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import struct
import threading
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

NATIVE = "mysql_native_password"
SHA2 = "caching_sha2_password"
CLEAR = "mysql_clear_password"

# Long password, protocol 4.1, transactions, secure connection, plugins with long answers.
_CAPABILITIES = 0x1 | 0x200 | 0x2000 | 0x8000 | 0x80000 | 0x200000
_SSL = 0x800
_SCRAMBLE = b"abcdefghijklmnopqrst"


class FakeMySql:
    """Listens on a free port of 127.0.0.1, or on a local socket. `asks` is the plugin that accounts
    have; `tls` is a certificate and a key, without which it offers no TLS."""

    def __init__(self, asks: str, tls: tuple[Path, Path] | None = None, path: Path | None = None):
        self.asks = asks
        self.connections = 0
        # Everything that clients sent, without encryption.
        self.seen = b""
        # Passwords that were sent as such.
        self.passwords: list[str] = []
        self.answered = threading.Event()
        self._context = None
        if tls:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(*tls)
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        if path is None:
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.port = self._listener.getsockname()[1]
        else:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(path))
            self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def stop(self) -> None:
        """Stops listening."""
        self._listener.close()

    def knows(self, password: str) -> bool:
        """Whether the password was sent, in whatever form that gives it away."""
        return password in self.passwords or password.encode() in self.seen

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._attend, args=(client,), daemon=True).start()

    def _attend(self, client: socket.socket) -> None:
        client.settimeout(20)
        try:
            self._log_in(_Channel(client, self))
        except (OSError, EOFError):
            pass
        finally:
            self.answered.set()
            client.close()

    def _log_in(self, channel: "_Channel") -> None:
        capabilities = _CAPABILITIES | (_SSL if self._context else 0)
        channel.send(b"\x0a9.7.0\0" + struct.pack("<I", 7) + _SCRAMBLE[:8] + b"\0"
                     + struct.pack("<HBHH", capabilities & 0xffff, 45, 2, capabilities >> 16)
                     + bytes([21]) + b"\0" * 10 + _SCRAMBLE[8:] + b"\0" + self.asks.encode() + b"\0")
        response = channel.receive()
        if struct.unpack_from("<I", response)[0] & _SSL:
            channel.encrypt(self._context)
            response = channel.receive()
        encrypted = channel.encrypted
        if self.asks == CLEAR:
            channel.send(b"\xfe" + CLEAR.encode() + b"\0")
            self._note(channel.receive())
        elif self.asks == SHA2:
            channel.send(b"\xfe" + SHA2.encode() + b"\0" + _SCRAMBLE + b"\0")
            channel.receive()
            # It does not remember the account: the password itself is wanted.
            channel.send(b"\x01\x04")
            answer = channel.receive()
            if answer == b"\x02" and not encrypted:
                key = self._key.public_key().public_bytes(
                    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
                channel.send(b"\x01" + key)
                self._note(self._decrypt(channel.receive()))
            else:
                self._note(answer)
        channel.send(b"\xff" + struct.pack("<H", 1045) + b"#28000Access denied by the fake")

    def _decrypt(self, sealed: bytes) -> bytes:
        plain = self._key.decrypt(sealed, padding.OAEP(
            padding.MGF1(hashes.SHA1()), hashes.SHA1(), None))
        return bytes(byte ^ _SCRAMBLE[at % len(_SCRAMBLE)] for at, byte in enumerate(plain))

    def _note(self, password: bytes) -> None:
        self.passwords.append(password.rstrip(b"\0").decode(errors="replace"))


class _Channel:
    """Packets to and from a client."""

    def __init__(self, client: socket.socket, fake: FakeMySql):
        self._client = client
        self._fake = fake
        self._sequence = 0
        self.encrypted = False

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Goes on in TLS."""
        self._client = context.wrap_socket(self._client, server_side=True)
        self.encrypted = True

    def send(self, payload: bytes) -> None:
        """Sends a packet."""
        header = struct.pack("<I", len(payload))[:3] + bytes([self._sequence % 256])
        self._sequence += 1
        self._client.sendall(header + payload)

    def receive(self) -> bytes:
        """The next packet."""
        header = self._exactly(4)
        self._sequence = header[3] + 1
        return self._exactly(int.from_bytes(header[:3], "little"))

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self._client.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        self._fake.seen += data
        return data


def certificate(folder: Path, name: str, address: str) -> tuple[Path, Path, Path]:
    """An authority, and a certificate that it signs for an address: the files of the authority's
    certificate, of the other one and of its key."""
    def make(subject: str, issuer, signer, authority: bool):
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
        now = datetime.datetime.now(datetime.timezone.utc)
        alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        made = (x509.CertificateBuilder().subject_name(subject).issuer_name(issuer or subject)
                .public_key(key.public_key()).serial_number(x509.random_serial_number())
                .not_valid_before(now - datetime.timedelta(days=1))
                .not_valid_after(now + datetime.timedelta(days=2))
                .add_extension(x509.BasicConstraints(authority, None), critical=True))
        if not authority:
            made = made.add_extension(alternative, critical=False)
        return made.sign(signer or key, hashes.SHA256()), key

    authority, authority_key = make(f"{name} authority", None, None, True)
    own, key = make(name, authority.subject, authority_key, False)
    files = [folder / f"{name}-{part}.pem" for part in ("ca", "cert", "key")]
    files[0].write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(own.public_bytes(serialization.Encoding.PEM))
    files[2].write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()))
    return tuple(files)
