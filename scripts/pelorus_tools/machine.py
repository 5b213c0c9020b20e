"""Makes a machine ready: Debian packages, the Python environment, a MySQL server in a folder.

Run as `python3 scripts/setup.py demo|test|recorded|clients|bench|power`. As root on Debian or Ubuntu it installs
what is missing; otherwise it says exactly what to install. Installing never starts a service.
Uses the standard library alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from .show import Step, fail, say

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
VENV = TARGET / "venv"
PYTHON = VENV / "bin" / "python"
# Packages in folders of their own, since they want other versions than the environment has; a process
# that uses them puts the folder in front of the others.
ATTACHED, DJANGO, DBT = VENV / "attached", VENV / "django", VENV / "dbt"
APART = {"requirements-attached.txt": ATTACHED, "requirements-django.txt": DJANGO, "requirements-dbt.txt": DBT}

# A program that must be on the path, or a file that must be there; the Debian package that brings it.
MARIADB = [("mariadbd", "mariadb-server-core"), ("mariadb", "mariadb-client-core"),
           ("mariadb-install-db", "mariadb-server-core")]
BUILD = [("cc", "gcc"), ("make", "make")]
MYSQLCLIENT = [("pkg-config", "pkg-config"), ("mariadb_config", "libmariadb-dev"),
               ("mysql_config", "libmariadb-dev-compat")]
CLIENTS = [("java", "default-jdk-headless"), ("mvn", "maven"), ("go", "golang-go"),
           ("node", "nodejs"), ("npm", "npm"), ("pt-online-schema-change", "percona-toolkit"),
           ("mydumper", "mydumper"), ("haproxy", "haproxy"),
           ("php", "php-cli"), ("/usr/share/doc/php-mysql", "php-mysql"),
           ("/usr/share/adminer/adminer", "adminer"),
           # In front of phpmyadmin, so that it does not set up a database.
           ("/usr/share/doc/dbconfig-no-thanks", "dbconfig-no-thanks"),
           ("/usr/share/phpmyadmin", "phpmyadmin"),
           *((f"/usr/share/php/Illuminate/{part}", f"php-illuminate-{part.lower()}")
             for part in ("Database", "Events", "Filesystem", "Pagination")),
           ("ruby", "ruby"), ("/usr/share/doc/ruby-activerecord", "ruby-activerecord"),
           ("/usr/share/doc/ruby-mysql2", "ruby-mysql2")]
BENCH = [("java", "default-jre-headless"), ("mvn", "maven"), ("sysbench", "sysbench")]
POWER = [("fusermount3", "fuse3"), ("mkfs.ext4", "e2fsprogs"), ("mkfs.xfs", "xfsprogs"),
         ("mkfs.btrfs", "btrfs-progs"), ("losetup", "util-linux"), ("mount", "mount")]
PURPOSES = {
    "demo": BUILD + MARIADB,
    "test": BUILD + MARIADB + MYSQLCLIENT,
    "clients": BUILD + MARIADB + MYSQLCLIENT + CLIENTS,
    "bench": BUILD + MARIADB + BENCH,
    "power": BUILD + POWER,
    "recorded": BUILD,
}
PATH_MORE = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/go/bin"]


def find(program: str) -> str | None:
    """The path of a program, also looking where Debian puts servers."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *PATH_MORE])
    return shutil.which(program, path=path)


def requires_servers() -> bool:
    """Whether tests without their server fail: unless `PELORUS_WITHOUT_SERVERS=1`."""
    return os.environ.get("PELORUS_WITHOUT_SERVERS") != "1"


def prepare(purpose: str) -> None:
    """Makes the machine ready for `demo`, `test`, `recorded`, `clients`, `bench` or `power`."""
    if find("cargo") is None:
        fail("Rust is missing. Install it with your package manager or rustup, then try again.")
    _packages(PURPOSES[purpose], headers=purpose in ("test", "clients"))
    files = ["requirements.txt"]
    if purpose in ("test", "clients", "recorded"):
        files.append("requirements-pytest.txt")
    if purpose in ("test", "clients"):
        files.append("requirements-test.txt")
    if purpose in ("bench", "power"):
        files.append(f"requirements-{purpose}.txt")
    if purpose in ("bench", "clients"):
        files.append("requirements-attached.txt")
    if purpose == "clients":
        files += ["requirements-django.txt", "requirements-dbt.txt"]
    _environment(files)
    if purpose in ("test", "clients", "bench"):
        reason = mysql_root(install=True)[1]
        if reason:
            say(f"  ! What needs MySQL will be left out: {reason}")
        reason = mariadb_root(install=True)[1]
        if reason:
            fail(f"There is no MariaDB as asked for: {reason}")
    if purpose == "clients":
        gh_ost(install=True)


def _packages(wanted: list[tuple[str, str]], headers: bool) -> None:
    missing = sorted({package for program, package in wanted if not _is_there(program)})
    # mysqlclient is compiled, which takes Python's header files.
    if headers and not Path(sysconfig.get_path("include"), "Python.h").exists():
        missing.append("python3-dev")
    if _no_venv():
        missing.append("python3-venv")
    if not missing:
        return
    if os.geteuid() != 0 or find("apt-get") is None:
        fail("These Debian packages are missing; install them and try again:\n"
             f"  sudo apt-get install --no-install-recommends {' '.join(missing)}\n"
             "(They do not start a server.)")
    with Step(f"install {len(missing)} Debian packages") as step:
        step.note(" ".join(missing))
        apt_install(missing)


def _is_there(program: str) -> bool:
    return Path(program).exists() if program.startswith("/") else find(program) is not None


def _no_venv() -> bool:
    if PYTHON.exists():
        return False
    probe = subprocess.run([sys.executable, "-c", "import ensurepip, venv"], capture_output=True)
    return probe.returncode != 0


def apt_install(packages: list[str]) -> None:
    """Installs Debian packages without letting any of them start a service."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    policy = Path("/usr/sbin/policy-rc.d")
    ours = not policy.exists()
    if ours:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        _run(["apt-get", "update", "-qq"], environment)
        _run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], environment)
    finally:
        if ours:
            policy.unlink()


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}")


def _environment(files: list[str]) -> None:
    """Makes or completes the virtual environment; does nothing when all is there."""
    if not PYTHON.exists():
        with Step("make a Python environment"):
            VENV.parent.mkdir(parents=True, exist_ok=True)
            _run([sys.executable, "-m", "venv", str(VENV)])
    for name in files:
        wanted = ROOT / "scripts" / name
        stamp = VENV / f"{name}.{hashlib.sha256(wanted.read_bytes()).hexdigest()[:16]}"
        if stamp.exists():
            continue
        with Step(f"install Python packages of {name}"):
            pip = [str(PYTHON), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            if name in APART:
                shutil.rmtree(APART[name], ignore_errors=True)
                pip += ["--target", str(APART[name])]
            # The flights are read as a plain file, so the data frames they depend on stay out.
            flights = [line for line in wanted.read_text().split() if line.startswith("nycflights")]
            others = [line for line in wanted.read_text().splitlines()
                      if line and not line.startswith(("#", "nycflights"))]
            if others:
                _run(pip + others)
            if flights:
                _run(pip + ["setuptools", "wheel"])
                _run(pip + ["--no-deps", "--no-build-isolation", *flights])
            stamp.touch()


def gh_ost(install: bool = False) -> Path | None:
    """The program of gh-ost, which no release of Debian has, so that it is built here."""
    program = TARGET / "tools" / "gh-ost"
    if not program.exists() and install:
        command = [find("go") or "go", "build", "-o", str(program), "github.com/github/gh-ost/go/cmd/gh-ost"]
        with Step("build gh-ost") as step:
            done = subprocess.run(command, cwd=ROOT / "tests/clients/gh-ost", stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                step.note("failed")
                last = done.stdout.strip().splitlines()[-1:] or ["no output"]
                say(f"  ! What needs gh-ost will be left out: {last[0]}")
    return program if program.exists() else None


def mysql_root(install: bool = False) -> tuple[Path | None, str]:
    """The folder tree that holds MySQL's server, or `None` and the reason.

    Debian's stable releases have no MySQL, so it comes from unstable into a folder of its own and
    runs under chroot; the machine's own packages stay as they are.
    """
    given = os.environ.get("PELORUS_MYSQL_ROOT")
    root = Path(given) if given else TARGET / "mysql"
    return _tree(root, "MySQL", ("sid", "mysql-server-core,mysql-client-core", "mysqld"),
                 install and not given)


# MariaDB's versions beside the machine's own: which release of Debian has them.
MARIADBS = {"11.8": "trixie"}


def mariadb_root(install: bool = False) -> tuple[Path | None, str]:
    """The folder tree that holds the MariaDB of `PELORUS_MARIADB` (`11.8`), or `None` and the reason.

    Without that variable there is no tree and no reason: the machine's own MariaDB is meant.
    """
    version = os.environ.get("PELORUS_MARIADB")
    if not version:
        return None, ""
    if version not in MARIADBS:
        return None, f"PELORUS_MARIADB is one of {', '.join(MARIADBS)}, not {version}"
    what = (MARIADBS[version], "mariadb-server-core,mariadb-client-core", "mariadbd")
    return _tree(TARGET / f"mariadb-{version}", f"MariaDB {version}", what, install)


def _tree(root: Path, name: str, what: tuple[str, str, str],
          install: bool) -> tuple[Path | None, str]:
    """A folder tree with a server of a release of Debian: `what` is the release, the packages and the
    server's program."""
    release, packages, program = what
    if os.geteuid() != 0:
        return None, "only root can run it in its own folder tree (run as root to include it)"
    if (root / "usr/sbin" / program).exists():
        return root, ""
    if not install:
        return None, f"there is no {name} in {root}"
    if find("debootstrap") is None:
        if find("apt-get") is None:
            return None, "debootstrap is not installed"
        apt_install(["debootstrap", "debian-archive-keyring"])
    with Step(f"fetch {name} from Debian {release}") as step:
        root.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root.parent, prefix="tree-") as draft:
            tree = Path(draft) / "tree"
            command = ["debootstrap", "--variant=minbase", f"--include={packages}", release,
                       str(tree)]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0 or not (tree / "usr/sbin" / program).exists():
                step.note("failed")
                last = done.stdout.strip().splitlines()[-1:] or ["no output"]
                return None, f"debootstrap of Debian {release} failed: {last[0]}"
            shutil.rmtree(tree / "var/cache/apt/archives", ignore_errors=True)
            tree.rename(root)
    return root, ""


def main() -> None:
    """The command line of `scripts/setup.py`."""
    if len(sys.argv) != 2 or sys.argv[1] not in PURPOSES:
        fail(f"usage: python3 scripts/setup.py {'|'.join(PURPOSES)}")
    prepare(sys.argv[1])
