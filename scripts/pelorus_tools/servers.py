"""Private MariaDB and MySQL servers on free ports of the loopback address, in temporary folders."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pymysql

from . import machine, processes
from .processes import Process, wait_for

# Data folders that have been initialised, by the server's kind and folder tree. To initialise one takes
# seconds, so servers start with a copy.
_initialised: dict[tuple[str, Path | None], Path] = {}
USER = "dev"
PASSWORD = "dev-Passw0rd"


class Server:
    """What all servers have in common; `process` is there while the server runs."""

    kind = "server"

    def __init__(self, name: str):
        self.name = name
        self.port = 0
        self.process: Process | None = None
        # What the server is started with.
        self._environment: dict[str, str] | None = None

    def set_time_zone(self, zone: str) -> None:
        """The zone of the server's machine from its next start on."""
        self._environment = {**os.environ, "TZ": zone}

    def connect(self, user: str = USER, password: str = PASSWORD, **more) -> pymysql.Connection:
        """A new connection; `more` goes to PyMySQL."""
        more.setdefault("charset", "utf8mb4")
        more.setdefault("autocommit", True)
        more.setdefault("connect_timeout", 60)
        # Nothing waits for ever, so a hang is a failure with a trace.
        more.setdefault("read_timeout", 600)
        return pymysql.connect(host="127.0.0.1", port=self.port, user=user, password=password,
                               **more)

    def run(self, *statements: str, database: str | None = None) -> tuple:
        """Runs statements on a connection of their own; returns the rows of the last one."""
        connection = self.connect(database=database)
        try:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                return cursor.fetchall()
        finally:
            connection.close()

    def url(self, database: str = "") -> str:
        """The address in the form that `pelorus serve --link` takes."""
        return f"mysql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def stop(self) -> None:
        """Stops the server if it runs."""
        if self.process is not None:
            self.process.stop()

    def kill(self) -> None:
        """Ends the server as a crash would."""
        if self.process is not None:
            self.process.kill()

    def freeze(self) -> None:
        """Makes the server hang."""
        self.process.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Lets a frozen server go on."""
        self.process.signal(signal.SIGCONT)


class MariaDb(Server):
    """A MariaDB server with a binlog: the machine's own, or that of `machine.mariadb_root`."""

    kind = "mariadb"

    def __init__(self, name: str = "mariadb", server_id: int = 1, base: Path | None = None,
                 buffer_pool_mb: int = 256, options: tuple[str, ...] = (),
                 copy_of: Path | None = None, time_zone: str | None = None):
        super().__init__(name)
        self._environment = time_zone and {**os.environ, "TZ": time_zone}
        self.root, reason = machine.mariadb_root()
        if reason:
            raise FileNotFoundError(reason)
        self.folder = processes.folder(f"pelorus-{name}", self.root / "tmp" if self.root else base)
        self.data = self.folder / "data"
        # As the server sees it.
        self._inside = Path("/", self.folder.relative_to(self.root)) if self.root else self.folder
        self._server_id = server_id
        self._options = options
        self._buffer_pool_mb = buffer_pool_mb
        if copy_of is None and (self.kind, self.root) not in _initialised:
            self._install()
        shutil.copytree(copy_of or _initialised[self.kind, self.root], self.data)
        self.start()
        if copy_of is None:
            self._accounts()

    def _program(self, name: str, data: str = "data") -> list[str]:
        """The beginning of a command of the server."""
        found = [machine.find(name)]
        if self.root:
            found = [machine.find("chroot") or "chroot", str(self.root), name]
        # mariadbd refuses to run as root unless told to; other users run it as themselves.
        as_user = ["--user=root"] if os.geteuid() == 0 else []
        return [*found, "--no-defaults", *as_user, f"--datadir={self._inside}/{data}"]

    def _install(self) -> None:
        folder = processes.folder("pelorus-initialised", self.root / "tmp" if self.root else None)
        done = subprocess.run(
            # A folder tree need not know the machine's name.
            [*self._program("mariadb-install-db", "initialised"), "--auth-root-authentication-method=normal",
             "--skip-test-db", "--skip-name-resolve", "--force"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            # Servers that start remove the temporary tables of others from a folder they share.
            env={**os.environ, "TMPDIR": self._inside})
        if done.returncode != 0:
            raise RuntimeError(f"mariadb-install-db failed:\n{done.stdout[-3000:]}")
        shutil.move(self.folder / "initialised", folder / "data")
        _initialised[self.kind, self.root] = folder / "data"

    def start(self) -> None:
        """Starts the server, on the port it had before when there was one."""
        self.port = self.port or processes.free_port()
        self.process = Process(self.name, [
            *self._program("mariadbd"), f"--socket={self._inside}/s", f"--port={self.port}",
            f"--tmpdir={self._inside}",
            "--bind-address=127.0.0.1", "--skip-name-resolve", f"--server-id={self._server_id}",
            "--log-bin=bin", "--binlog-format=ROW", "--log-slave-updates",
            "--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0",
            f"--innodb-buffer-pool-size={self._buffer_pool_mb}M", "--max-connections=400",
            "--local-infile=ON", *self._options], self.folder / "log", self._environment)
        self._wait()

    def _wait(self) -> None:
        def answers() -> bool:
            pymysql.connect(unix_socket=f"{self.folder}/s", user="root").close()
            return True
        wait_for(f"{self.name} to answer", answers, 300, self.process)

    def _accounts(self) -> None:
        connection = pymysql.connect(unix_socket=f"{self.folder}/s", user="root", autocommit=True)
        with connection.cursor() as cursor:
            # Not in the binlog: replicas have accounts of their own.
            cursor.execute("SET sql_log_bin = 0")
            cursor.execute(f"CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'")
            cursor.execute(f"GRANT ALL ON *.* TO {USER}@'%' WITH GRANT OPTION")
        connection.close()

    def follow(self, primary: "MariaDb") -> None:
        """Makes this server a replica of another, by GTID."""
        self.run(
            f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={primary.port}, "
            f"MASTER_USER='{USER}', MASTER_PASSWORD='{PASSWORD}', MASTER_USE_GTID=slave_pos, "
            "MASTER_CONNECT_RETRY=1",
            "START SLAVE")

    def catch_up(self, primary: "MariaDb", seconds: float = 300.0) -> None:
        """Waits until this replica has all that the primary has now."""
        position = primary.run("SELECT @@gtid_binlog_pos")[0][0]
        if not position:
            return
        done = self.run(f"SELECT MASTER_GTID_WAIT('{position}', {seconds})")[0][0]
        if done != 0:
            raise TimeoutError(f"{self.name} did not reach {position}: "
                               f"{self.run('SHOW SLAVE STATUS')}")


class MySql(Server):
    """A MySQL 9 server with GTIDs, in the folder tree of `machine.mysql_root`."""

    kind = "mysql"

    def __init__(self, name: str = "mysql", server_id: int = 11, buffer_pool_mb: int = 256,
                 options: tuple[str, ...] = (), time_zone: str | None = None):
        super().__init__(name)
        self._environment = time_zone and {**os.environ, "TZ": time_zone}
        self.root, reason = machine.mysql_root()
        if self.root is None:
            raise FileNotFoundError(reason)
        (self.root / "tmp").mkdir(exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="pelorus-", dir=self.root / "tmp"))
        processes._folders.append(self.folder)
        self._inside = f"/tmp/{self.folder.name}"
        self._server_id = server_id
        self._buffer_pool_mb = buffer_pool_mb
        self._options = options
        if (self.kind, self.root) not in _initialised:
            self._install()
        shutil.copytree(_initialised[self.kind, self.root], self.folder / "data")
        self.start()
        connection = pymysql.connect(unix_socket=f"{self.folder}/s", user="root", autocommit=True)
        with connection.cursor() as cursor:
            cursor.execute("SET sql_log_bin = 0")
            cursor.execute(f"CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'")
            cursor.execute(f"GRANT ALL ON *.* TO {USER}@'%' WITH GRANT OPTION")
        connection.close()

    def _mysqld(self, data: str = "data") -> list[str]:
        return [machine.find("chroot") or "chroot", str(self.root), "mysqld", "--no-defaults",
                "--user=root", f"--datadir={self._inside}/{data}"]

    def _install(self) -> None:
        folder = processes.folder("pelorus-initialised", self.root / "tmp")
        done = subprocess.run(
            [*self._mysqld("initialised"), "--initialize-insecure"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"mysqld --initialize failed:\n{done.stdout[-3000:]}")
        # Each server has a UUID of its own.
        (self.folder / "initialised" / "auto.cnf").unlink(missing_ok=True)
        shutil.move(self.folder / "initialised", folder / "data")
        _initialised[self.kind, self.root] = folder / "data"

    def follow(self, primary: "MySql") -> None:
        """Makes this server a replica of another, by GTID."""
        self.run(
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={primary.port}, "
            f"SOURCE_USER='{USER}', SOURCE_PASSWORD='{PASSWORD}', SOURCE_AUTO_POSITION=1, "
            "GET_SOURCE_PUBLIC_KEY=1, SOURCE_CONNECT_RETRY=1",
            "START REPLICA")

    def load_time_zones(self) -> None:
        """Fills the server's tables of time zones, without which it knows none by name."""
        zones = subprocess.run([*self.client()[:-2], "mysql_tzinfo_to_sql", "/usr/share/zoneinfo"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, check=True)
        subprocess.run([*self.client(), f"--socket={self._inside}/s", "-uroot", "mysql"],
                       input=zones.stdout, check=True)

    def client(self) -> list[str]:
        """The command of MySQL's own command line client."""
        return [machine.find("chroot") or "chroot", str(self.root), "mysql", "--no-defaults"]

    def dump(self, of: Server, database: str) -> bytes:
        """What `mysqldump` says of a database of a server, this one or another."""
        command = [machine.find("chroot") or "chroot", str(self.root), "mysqldump", "--no-defaults",
                   "-h127.0.0.1", f"-P{of.port}", f"-u{USER}", f"-p{PASSWORD}", "--no-tablespaces",
                   "--skip-triggers", "--column-statistics=0", database]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise RuntimeError(f"mysqldump failed:\n{done.stderr.decode(errors='replace')[-3000:]}")
        return done.stdout

    def start(self) -> None:
        """Starts the server, on the port it had before when there was one."""
        self.port = self.port or processes.free_port()
        self.process = Process(self.name, [
            *self._mysqld(), f"--socket={self._inside}/s", f"--port={self.port}",
            "--bind-address=127.0.0.1", "--mysqlx=OFF", "--secure-file-priv=NULL",
            "--skip-name-resolve", "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
            f"--server-id={self._server_id}", "--log-bin=bin", "--sync-binlog=0",
            "--innodb-flush-log-at-trx-commit=2", "--max-connections=400",
            f"--innodb-buffer-pool-size={self._buffer_pool_mb}M", "--local-infile=ON",
            *self._options], self.folder / "log", self._environment)

        def answers() -> bool:
            pymysql.connect(unix_socket=f"{self.folder}/s", user="root").close()
            return True
        wait_for(f"{self.name} to answer", answers, 300, self.process)
