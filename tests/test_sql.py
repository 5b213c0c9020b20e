"""The differential test: every statement of `tests/sql` gives the same on the real server and
through Pelorus: values, column names and types, order, error numbers."""

import pytest
from pelorus_tools import sqldiff

_pairs = {}


def _pair(linked) -> sqldiff.Pair:
    server, through = linked
    if server.kind not in _pairs:
        _pairs[server.kind] = sqldiff.Pair(server, through)
    return _pairs[server.kind]


@pytest.mark.parametrize(
    "path", sqldiff.files(), ids=lambda path: path.relative_to(sqldiff.SQL).as_posix())
def test_same_answers(path, linked, sql_report):
    pair = _pair(linked)
    report = pair.run(path)
    sql_report.add(report)
    if not any(count for key, count in report.counts.items() if key != "other server only"):
        pytest.skip(f"nothing of it is for {linked[0].kind}")
    assert not report.failures, f"{report.line()}\n" + "\n".join(report.failures)


def test_the_runner_sees_differences(mariadb, tmp_path):
    """A canary: with two different servers the runner must complain about each statement."""
    path = tmp_path / "canary.sql"
    path.write_text("SELECT @@port * 0 + 1, 'x';\n"
                    "-- refused: 1235\nSELECT 1;\n"
                    "SELECT CONNECTION_ID();\n"
                    "-- values only: a reason\nSELECT 2;\n")
    report = sqldiff.Pair(mariadb, mariadb).run(path, "usual")
    assert report.counts["same"] == 1
    assert report.counts["same values only"] == 1
    assert report.counts["differ"] == 2, report.failures
