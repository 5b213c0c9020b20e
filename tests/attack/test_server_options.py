"""Options of CREATE SERVER and ALTER SERVER that name files and variables, and those that say where a
password goes, against a server that records what it is sent."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pymysql
import pytest
from pelorus_tools import servers
from pelorus_tools.fake_mysql import CLEAR, NATIVE, SHA2, FakeMySql, certificate

SECRET = "s3cret-Of-The-File"
STORED = "st0red-Passw0rd"
# A name of this machine that is no address of the loopback interface, as far as a client knows.
ELSEWHERE = "0.0.0.0"


def refused(through, sql: str) -> tuple[int, str]:
    """The number and the text of the error of a statement, which must fail soon and alone."""
    begun = time.monotonic()
    with pytest.raises(pymysql.MySQLError) as error:
        through.run(sql)
    assert time.monotonic() - begun < 8, sql
    assert through.run("SELECT 1") == ((1,),)
    return error.value.args


def create(name: str, options: str) -> str:
    return f"CREATE SERVER {name} FOREIGN DATA WRAPPER mysql OPTIONS ({options})"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder that statements may refer to, with files of every kind, and its neighbours."""
    top = tmp_path_factory.mktemp("options")
    folder = top / "secrets"
    (folder / "inner").mkdir(parents=True)
    (top / "secrets-of-others").mkdir()
    for path in ("secrets/good", "secrets/inner/deep", "outside", "secrets-of-others/x"):
        (top / path).write_text(SECRET + "\n")
    (folder / "binary").write_bytes(b"\xff\xfe\x00")
    (folder / "within").symlink_to("good")
    (folder / "away").symlink_to(top / "outside")
    (folder / "up").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    (folder / "device").symlink_to("/dev/zero")
    (folder / "dangling").symlink_to("nothing")
    os.mkfifo(folder / "fifo")
    with open(folder / "sparse", "wb") as sparse:
        sparse.truncate(3 << 30)
    (folder / "large").write_bytes(b"x" * 65537)
    (folder / "unreadable").write_text(SECRET)
    (folder / "unreadable").chmod(0)
    local = socket.socket(socket.AF_UNIX)
    local.bind(str(folder / "socket"))
    yield top
    local.close()
    (folder / "sparse").unlink()


@pytest.fixture(scope="module")
def allowed(linked_maker, files):
    """A Pelorus whose statements may refer to the folder and to one variable."""
    return linked_maker(name="pelorus-secrets", options=[
        "--secrets-folder", str(files / "secrets"), "--secret-variable", "LISTED",
        "--secret-variable", "PELORUS_ROOT_PASSWORD", "--secret-variable", "NOT_SET"],
        environment={"LISTED": SECRET, "UNLISTED": SECRET})


def resident(process) -> int:
    """The memory of a process in KiB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


BAD = ["fifo", "sparse", "large", "socket", "inner", ".", "", "missing", "binary", "away", "up/outside",
       "loop", "device", "dangling", "../outside", "inner/../../outside", "../secrets-of-others/x",
       "/dev/zero", "/dev/stdin", "/etc/passwd", "/proc/self/environ", "/proc/self/fd/0",
       "{top}/outside", "{top}/secrets-of-others/x", "{top}/secrets/../outside", "{data}/key.json",
       "{data}/accounts.json", "good\x00", "good/", "x" * 5000]


@pytest.mark.parametrize("option", ["PASSWORD_FILE", "TLS_CA"])
def test_files_of_every_kind(option, allowed, files):
    fake = FakeMySql(NATIVE)
    before = resident(allowed.process)
    names = [*BAD, *([] if os.geteuid() == 0 else ["unreadable"])]
    for name in names:
        name = name.format(top=files, data=allowed.folder / "data")
        if option == "TLS_CA" and name == "":
            continue  # It takes the option away.
        shown = name.replace("\\", "\\\\").replace("\x00", "\\0")
        sql = create("lab", f"HOST '127.0.0.1', PORT {fake.port}, USER 'u', {option} '{shown}'")
        number, text = refused(allowed, sql)
        assert number in (1210, 1429), (name, number, text)
        assert SECRET not in text and "root:" not in text
        assert "os error" not in text, text
    assert fake.connections == 0, "no server hears of a file that may not be read"
    assert resident(allowed.process) < before + (100 << 10), "no file is read whole"
    fake.stop()


def test_what_is_there_outside_does_not_show(allowed, files):
    """The answer is the same for files outside of the folder, whether they are there or not."""
    for there, missing in [("../outside", "../nothing"), ("/etc/passwd", "/etc/no-such-file")]:
        texts = [refused(allowed, create("lab", f"HOST 'h', USER 'u', PASSWORD_FILE '{name}'"))[1]
                 .replace(name, "X") for name in (there, missing)]
        assert texts[0] == texts[1]


@pytest.mark.parametrize("name", ["good", "within", "inner/deep", "{top}/secrets/good"])
def test_good_files(name, allowed, files, tmp_path):
    """And that the recording server would have seen what the others hold."""
    fake = FakeMySql(CLEAR, path=tmp_path / "s")
    name = name.format(top=files)
    number, text = refused(allowed, create(
        "lab", f"SOCKET '{tmp_path}/s', USER 'u', PASSWORD_FILE '{name}'"))
    assert number == 1429 and "Access denied by the fake" in text, text
    assert set(fake.passwords) == {SECRET}
    fake.stop()


def test_sockets_of_every_kind(allowed, files):
    for name in ("fifo", "sparse", "inner", "good", "missing", "loop", "device", "x" * 300):
        number, _ = refused(allowed, create("lab", f"SOCKET '{files}/secrets/{name}', USER 'u'"))
        assert number == 1429, name


def test_variables(allowed, tmp_path):
    fake = FakeMySql(CLEAR, path=tmp_path / "s")
    of = lambda name: create("lab", f"SOCKET '{tmp_path}/s', USER 'u', PASSWORD_ENV '{name}'")  # noqa: E731
    for name in ("UNLISTED", "PATH", "NO_SUCH_VARIABLE", "LISTED=", "listed", "LIS%", "%"):
        number, text = refused(allowed, of(name))
        assert number == 1290 and "--secret-variable" in text, text
    # It is listed, and has been taken out of the environment.
    for name in ("PELORUS_ROOT_PASSWORD", "NOT_SET"):
        number, text = refused(allowed, of(name))
        assert number == 1429 and "is not set" in text, text
    assert fake.connections == 0
    assert "Access denied by the fake" in refused(allowed, of("LISTED"))[1]
    assert set(fake.passwords) == {SECRET}
    fake.stop()


def test_nothing_may_be_referred_to_unless_the_configuration_says_so(pelorus_mariadb, files):
    for options, setting in [(f"PASSWORD_FILE '{files}/secrets/good'", "--secrets-folder"),
                             ("PASSWORD_FILE 'good'", "--secrets-folder"),
                             (f"TLS_CA '{files}/secrets/good'", "--secrets-folder"),
                             ("PASSWORD_ENV 'PATH'", "--secret-variable")]:
        number, text = refused(pelorus_mariadb, create("lab", f"HOST 'h', USER 'u', {options}"))
        assert number == 1290 and setting in text, text


def test_a_stored_reference_that_is_allowed_no_longer(mariadb, linked_maker, tmp_path):
    (tmp_path / "pw").write_text(servers.PASSWORD)
    through = linked_maker(name="pelorus-forbidden", options=["--secrets-folder", str(tmp_path)])
    mariadb.run("CREATE DATABASE IF NOT EXISTS kept_lab")
    through.run(create("lab", f"HOST '127.0.0.1', PORT {mariadb.port}, USER '{servers.USER}', "
                              "PASSWORD_FILE 'pw', DATABASE 'kept_lab'"))
    through.stop()
    through._options = []
    through.start()
    assert through.run("SELECT 1") == ((1,),)
    said = through.log().split("--secrets-folder")
    assert len(said) >= 2, "the start says what to set"
    state = through.run("SELECT * FROM pelorus.links")
    assert "secrets_folder" in str(state), state
    through.stop()
    # The author of the configuration may name every file, and any variable.
    through._links = [f"mysql://{servers.USER}@127.0.0.1:{mariadb.port}/kept_lab?name=lab&"
                      f"password_file={tmp_path}/pw"]
    through.start()
    assert ("kept_lab",) in through.run("SHOW DATABASES")
    through.stop()


@pytest.fixture(scope="module")
def stored(mariadb, linked_maker):
    """A Pelorus with a linked server whose password is stored."""
    mariadb.run("CREATE DATABASE IF NOT EXISTS alter_lab",
                f"CREATE OR REPLACE USER linker@'%' IDENTIFIED BY '{STORED}'",
                "GRANT ALL ON alter_lab.* TO linker@'%'")
    through = linked_maker(name="pelorus-stored")
    through.run(create("lab", f"HOST '127.0.0.1', PORT {mariadb.port}, USER 'linker', "
                              f"PASSWORD '{STORED}', DATABASE 'alter_lab'"))
    yield through
    through.stop()


def test_a_stored_password_goes_nowhere_else(stored, tmp_path):
    fakes = [FakeMySql(CLEAR), FakeMySql(SHA2), FakeMySql(CLEAR, path=tmp_path / "s")]
    for change in [f"PORT {fakes[0].port}", f"PORT {fakes[1].port}", "HOST 'localhost'",
                   f"HOST '{ELSEWHERE}', PORT {fakes[1].port}", f"SOCKET '{tmp_path}/s'",
                   f"REPLICAS '127.0.0.1:{fakes[0].port}'",
                   f"REPLICAS '127.0.0.1:{fakes[1].port}, db2'", "TLS 'disabled'",
                   "TLS 'preferred'", "TLS 'required'", "TLS 'verify'", "TLS_CA 'ca.pem'",
                   "CLEARTEXT_PASSWORD 'ON'", "CLEARTEXT_PASSWORD 'OFF'", f"USER 'other', SOCKET '{tmp_path}/s'"]:
        for sql in (f"ALTER SERVER lab OPTIONS ({change})",):
            number, text = refused(stored, sql)
            assert number == 1210 and "password again" in text, (sql, text)
            assert STORED not in text
    # Without a password there is none to send, and with another one it is that.
    refused(stored, "CREATE OR REPLACE SERVER lab FOREIGN DATA WRAPPER mysql OPTIONS "
                    f"(SOCKET '{tmp_path}/s', USER 'linker')")
    given = f"ALTER SERVER lab OPTIONS (SOCKET '{tmp_path}/s', PASSWORD 'given-again')"
    assert refused(stored, given)[0] == 1429
    assert set(fakes[2].passwords) == {"", "given-again"}
    for fake in fakes:
        assert not fake.knows(STORED)
        fake.stop()
    # What the statement would have changed has stayed, and what leads nowhere else is free.
    stored.run("ALTER SERVER lab OPTIONS (CONNECTIONS 3)")
    stored.run(f"ALTER SERVER lab OPTIONS (HOST '127.0.0.1', USER 'linker')")
    assert stored.run("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'alter_lab'")
    shown = str(stored.run("SHOW CREATE SERVER lab"))
    assert STORED not in shown and "***" in shown


class TestTls:
    """Passwords of links, and servers that are none."""

    PASSWORD = "link-Passw0rd"

    @pytest.fixture(scope="class")
    def signed(self, tmp_path_factory):
        """A folder with certificates for two addresses: `here`, `there` and one of another server."""
        folder = tmp_path_factory.mktemp("certificates")
        return {name: certificate(folder, name, address) for name, address in [
            ("here", "127.0.0.1"), ("there", ELSEWHERE), ("other", "192.0.2.1")]}

    @pytest.fixture(scope="class")
    def through(self, linked_maker, signed):
        folder = signed["here"][0].parent
        return linked_maker(name="pelorus-links", options=["--secrets-folder", str(folder)])

    def ask(self, through, fake, host, more="") -> str:
        number, text = refused(through, create(
            "lab", f"HOST '{host}', PORT {fake.port}, USER 'u', PASSWORD '{self.PASSWORD}'{more}"))
        assert number == 1429 and self.PASSWORD not in text, text
        fake.answered.wait(20)
        fake.stop()
        return text

    @pytest.mark.parametrize("tls", ["disabled", "preferred", "required"])
    @pytest.mark.parametrize("offers", [False, True])
    @pytest.mark.parametrize("asks", [CLEAR, SHA2])
    def test_a_server_that_is_not_verified(self, asks, offers, tls, through, signed):
        fake = FakeMySql(asks, tls=signed["there"][1:] if offers else None)
        text = self.ask(through, fake, ELSEWHERE, f", TLS '{tls}'")
        assert fake.connections >= 1 and not fake.knows(self.PASSWORD)
        if tls == "required" and not offers:
            assert "offers no TLS" in text
        else:
            assert "is not verified" in text and "CLEARTEXT_PASSWORD" in text, text

    def test_the_clear_password_stays_here_even_on_this_machine(self, through, signed):
        for tls in ("disabled", "preferred", "required"):
            fake = FakeMySql(CLEAR, tls=signed["here"][1:])
            assert "is not verified" in self.ask(through, fake, "127.0.0.1", f", TLS '{tls}'")
            assert not fake.knows(self.PASSWORD)

    @pytest.mark.parametrize("asks, offers", [(CLEAR, True), (SHA2, True), (SHA2, False)])
    def test_it_is_sent_where_that_was_said(self, asks, offers, through, signed):
        fake = FakeMySql(asks, tls=signed["there"][1:] if offers else None)
        text = self.ask(through, fake, ELSEWHERE, ", CLEARTEXT_PASSWORD 'ON'")
        assert "Access denied by the fake" in text and set(fake.passwords) == {self.PASSWORD}

    @pytest.mark.parametrize("tls", ["disabled", "preferred", "required"])
    @pytest.mark.parametrize("more, is_sent", [
        ("", True), (", CLEARTEXT_PASSWORD 'LOCAL'", True), (", CLEARTEXT_PASSWORD 'OFF'", False)])
    def test_a_server_of_this_machine_that_is_not_verified(self, more, is_sent, tls, through, signed):
        fake = FakeMySql(SHA2, tls=signed["there"][1:] if tls == "required" else None)
        text = self.ask(through, fake, "127.0.0.1", f", TLS '{tls}'{more}")
        assert fake.knows(self.PASSWORD) == is_sent
        assert ("Access denied by the fake" if is_sent else "is not verified") in text, text

    @pytest.mark.parametrize("asks", [CLEAR, SHA2])
    def test_off_does_not_keep_it_from_a_server_that_is_verified(self, asks, through, signed):
        authority, *own = signed["here"]
        fake = FakeMySql(asks, tls=own)
        text = self.ask(through, fake, "127.0.0.1",
                        f", TLS_CA '{authority.name}', CLEARTEXT_PASSWORD 'OFF'")
        assert "Access denied by the fake" in text and fake.knows(self.PASSWORD), text

    def test_never_without_encryption(self, through):
        fake = FakeMySql(CLEAR)
        self.ask(through, fake, ELSEWHERE, ", CLEARTEXT_PASSWORD 'ON'")
        assert fake.connections == 1 and not fake.knows(self.PASSWORD)

    @pytest.mark.parametrize("asks", [CLEAR, SHA2])
    @pytest.mark.parametrize("name, host", [("here", "127.0.0.1"), ("there", ELSEWHERE)])
    def test_a_server_that_is_verified(self, name, host, asks, through, signed):
        authority, *own = signed[name]
        # `verify` is the default then.
        fake = FakeMySql(asks, tls=own)
        text = self.ask(through, fake, host, f", TLS_CA '{authority.name}'")
        assert "Access denied by the fake" in text, text
        assert set(fake.passwords) == {self.PASSWORD}

    @pytest.mark.parametrize("own, authority, says", [
        ("here", "other", "signed by none of the authorities"),
        ("other", "other", "another host name"), (None, "here", "offers no TLS")])
    def test_a_server_that_fails_to_be_verified(self, own, authority, says, through, signed):
        fake = FakeMySql(CLEAR, tls=signed[own][1:] if own else None)
        text = self.ask(through, fake, "127.0.0.1", f", TLS_CA '{signed[authority][0].name}'")
        assert says in text, text
        assert not fake.knows(self.PASSWORD)

    def test_the_authority_must_be_one(self, through, signed):
        fake = FakeMySql(CLEAR, tls=signed["here"][1:])
        (signed["here"][0].parent / "empty.pem").write_text("nothing\n")
        text = self.ask_in_vain(through, fake, ", TLS_CA 'empty.pem'")
        assert "none found" in text
        text = self.ask_in_vain(through, fake, f", TLS_CA '{signed['here'][2].name}'")
        assert "none found" in text
        assert fake.connections == 0
        fake.stop()

    def ask_in_vain(self, through, fake, more) -> str:
        return refused(through, create("lab", f"HOST '127.0.0.1', PORT {fake.port}, USER 'u', "
                                              f"PASSWORD '{self.PASSWORD}'{more}"))[1]


def test_the_fake_would_let_the_real_login_pass(mysql, linked_maker):
    """On this machine an account of MySQL's default plugin is linked as it is."""
    mysql.run("DROP USER IF EXISTS cold@'%'", "CREATE DATABASE IF NOT EXISTS cold_lab",
              "CREATE USER cold@'%' IDENTIFIED WITH caching_sha2_password BY 'C0ld-Passw0rd'",
              "GRANT ALL ON cold_lab.* TO cold@'%'", "FLUSH PRIVILEGES")
    through = linked_maker(f"mysql://cold:C0ld-Passw0rd@127.0.0.1:{mysql.port}/cold_lab",
                           name="pelorus-cold")
    assert ("cold_lab",) in through.run("SHOW DATABASES")
    through.stop()
