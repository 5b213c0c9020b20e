"""phpMyAdmin and Adminer as a browser sees them, with PHP's own web server: their pages over a linked, a
mirrored and a native database show no error. `make test-clients` installs them."""

from __future__ import annotations

import html
import http.cookiejar
import os
import re
import shutil
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from pelorus_tools import machine, pelorus, processes
from pelorus_tools.mirrored import Mirrored
from pelorus_tools.processes import Process, wait_for

ADMINER = Path("/usr/share/adminer/adminer")
PHPMYADMIN = Path("/usr/share/phpmyadmin")
TABLES = (
    "CREATE TABLE maker (id INT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL)",
    "INSERT INTO maker VALUES (1, 'Zuse'), (2, 'Grüße')",
    "CREATE TABLE item (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL, "
    "price DECIMAL(10,2), made DATETIME, kind ENUM('a', 'b') NOT NULL DEFAULT 'a', maker INT{}) COMMENT 'things'",
    "INSERT INTO item (name, price, made, maker) VALUES ('one', 1.50, '2026-01-02 03:04:05', 1), "
    "('two <b>', NULL, NULL, NULL), ('three', 3.25, '2026-01-02 03:04:05', 2)")
KEYS = ", KEY by_name (name), CONSTRAINT of_maker FOREIGN KEY (maker) REFERENCES maker (id)"
# What is said without a browser's scripts, and what a MySQL warns of itself.
USUAL = ("Javascript must be enabled", "SQL_CALC_FOUND_ROWS is deprecated", "qsl('a').onclick")


class Browser:
    """Gets pages, and keeps cookies."""

    def __init__(self, port: int):
        self.base = f"http://127.0.0.1:{port}/"
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(jar)

    def get(self, path: str, fields: dict[str, str] | None = None) -> str:
        """The text of a page; with fields, a form is sent."""
        body = urllib.parse.urlencode(fields).encode() if fields else None
        with self.opener.open(self.base + path, body, timeout=600) as answer:
            return answer.read().decode()


def errors(page: str) -> list[str]:
    """What a page complains of."""
    found = re.findall(r"<(?:p|div) class=['\"](?:error|alert alert-danger)[^>]*>(.*?)</(?:p|div)>", page, re.DOTALL)
    found += re.findall(r"(?:Fatal error|Uncaught|Warning|mysqli_sql_exception).{0,300}", page)
    texts = [" ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split()) for text in found]
    return [text for text in texts if not any(usual in text for usual in USUAL)]


@pytest.fixture(scope="module")
def web(request, tmp_path_factory):
    """Starts PHP's web server for a folder."""
    running = []

    def serve(folder: Path, *options: str) -> Browser:
        php = machine.find("php")
        if php is None or not folder.exists():
            pytest.skip(f"{folder.name} is not installed (make test-clients)")
        port = processes.free_port()
        log = tmp_path_factory.mktemp("php") / "log"
        process = Process("php", [php, *options, "-S", f"127.0.0.1:{port}", "-t", str(folder)], log, dict(os.environ))
        running.append(process)
        browser = Browser(port)
        wait_for("PHP's web server to answer", lambda: browser.get("") or True, process=process)
        return browser
    yield serve
    for process in running:
        process.stop()


@pytest.fixture
def databases(pair: Mirrored):
    """A linked, a mirrored and a native database with the same tables."""
    linked = tuple(sql.format(KEYS) for sql in TABLES)
    pair.begin("web_linked", *linked)
    pair.begin("web_mirrored", *linked)
    pair.through.run("MIRROR DATABASE web_mirrored", "DROP DATABASE IF EXISTS web_native",
                     "CREATE DATABASE web_native", "USE web_native", *(sql.format("") for sql in TABLES))
    pair.wait_live("web_mirrored")
    yield "web_linked", "web_mirrored", "web_native"
    pair.through.run("UNMIRROR DATABASE web_mirrored", "DROP DATABASE web_native")
    pair.server.run("DROP DATABASE web_linked", "DROP DATABASE web_mirrored")


def visit(browser: Browser, pages: dict[str, tuple[str, ...]]) -> list[str]:
    """Visits pages that are to have some texts; what is wrong with them."""
    wrong = []
    for path, texts in pages.items():
        page = browser.get(path)
        wrong += [f"{path}: {error}" for error in errors(page)]
        wrong += [f"{path}: lacks {text!r}" for text in texts if text not in page]
    return wrong


def test_adminer(pair, databases, web):
    browser = web(ADMINER)
    server = f"127.0.0.1:{pair.through.port}"
    login = {"auth[driver]": "server", "auth[server]": server, "auth[username]": "root",
             "auth[password]": pelorus.ROOT_PASSWORD, "auth[db]": ""}
    assert "Logout" in browser.get("", login)
    start = f"?server={urllib.parse.quote(server)}&username=root"
    pages = {f"{start}{page}": texts for page, texts in {
        "": databases, "&variables=": ("max_allowed_packet",), "&status=": ("Bytes_sent",),
        "&processlist=": ("root",), "&database=": (), "&dump=": databases}.items()}
    for database in databases:
        here = f"{start}&db={database}"
        pages |= {f"{here}{page}": texts for page, texts in {
            "": ("item", "maker"),
            "&table=item": ("price", "decimal(10,2)", "enum"),
            "&select=item": ("three", "two &lt;b&gt;", "3.25"),
            "&select=item&columns[0][fun]=avg&columns[0][col]=price&columns[1][fun]=&columns[1][col]=name": ("3.25",),
            "&select=item&where[0][col]=name&where[0][op]=LIKE+%25%25&where[0][val]=ne&order[0]=id": ("one",),
            "&create=item": ("price",), "&indexes=item": ("PRIMARY",), "&schema=": ("item",),
            "&dump=": ("item",), "&sql=SELECT+1": ("SELECT 1",)}.items()}
    for database in ("web_linked", "web_mirrored"):
        here = f"{start}&db={database}"
        # It shows an ENUM as 1 * kind, which native tables refuse.
        pages |= {f"{here}&edit=item&where%5Bid%5D=1": ("2026-01-02 03:04:05",),
                  f"{here}&indexes=item#": ("by_name",), f"{here}&foreign=item": ("maker",),
                  f"{here}&trigger=item": (), f"{here}&view=": (), f"{here}&procedure=": ()}
    wrong = visit(browser, pages)
    assert not wrong, "\n".join(wrong)


def _phpmyadmin(folder: Path, port: int) -> Path:
    """A copy of phpMyAdmin's entry, since it looks for its settings in a fixed place: the rest are links."""
    site = folder / "phpmyadmin"
    site.mkdir()
    for path in PHPMYADMIN.iterdir():
        if path.name in ("index.php", "libraries"):
            copy = shutil.copytree if path.is_dir() else shutil.copy
            copy(path, site / path.name)
        elif path.name != "config.inc.php":
            (site / path.name).symlink_to(path)
    (site / "config.inc.php").write_text(
        "<?php\n$cfg['blowfish_secret'] = str_repeat('s', 32);\n$cfg['SendErrorReports'] = 'never';\n"
        f"$cfg['Servers'][1] = ['auth_type' => 'config', 'host' => '127.0.0.1', 'port' => '{port}', "
        f"'user' => 'root', 'password' => '{pelorus.ROOT_PASSWORD}'];\n")
    (site / "tmp").mkdir()
    vendor = site / "libraries/vendor_config.php"
    text = vendor.read_text().replace("/etc/phpmyadmin/config.inc.php", f"{site}/config.inc.php")
    vendor.write_text(text.replace("'/var/lib/phpmyadmin/tmp/'", f"'{site}/tmp/'"))
    return site


def test_phpmyadmin(pair, databases, web, tmp_path):
    if not PHPMYADMIN.exists():
        pytest.skip("phpmyadmin is not installed (make test-clients)")
    browser = web(_phpmyadmin(tmp_path, pair.through.port))
    pages = {
        "index.php?route=/": ("127.0.0.1",), "index.php?route=/server/databases": databases,
        "index.php?route=/server/status": ("Received",), "index.php?route=/server/status/processes": ("root",),
        "index.php?route=/server/status/variables": ("Bytes sent",), "index.php?route=/server/status/queries": (),
        # Not the advisor, which wants counters of MySQL's own plans.
        "index.php?route=/server/variables": ("max_allowed_packet",),
        "index.php?route=/server/collations": ("utf8mb4_bin",), "index.php?route=/server/engines": (),
        "index.php?route=/server/plugins": (), "index.php?route=/server/export": databases,
        "index.php?route=/server/sql": ()}
    for database in databases:
        there = f"&db={database}"
        pages |= {f"index.php?route={page}{there}": texts for page, texts in {
            "/database/structure": ("item", "maker"), "/database/sql": (), "/database/search": ("item",),
            "/database/export": ("item",), "/database/designer": ("item",), "/database/routines": (),
            "/database/events": (), "/database/triggers": (), "/database/operations": (),
            "/database/data-dictionary": ("decimal(10,2)",)}.items()}
        pages |= {f"index.php?route={page}{there}&table=item": texts for page, texts in {
            "/table/structure": ("decimal(10,2)", "PRIMARY"), "/sql": ("three", "3.25"),
            "/table/search": ("price",), "/table/change": ("price",), "/table/export": (), "/table/operations": (),
            "/table/relation": (), "/table/tracking": (), "/table/triggers": ()}.items()}
    wrong = visit(browser, pages)
    assert not wrong, "\n".join(wrong)
