"""The differential test: every statement of `tests/sql` gives the same on the real server and
through Pelorus: values, column names and types, order, error numbers. The recorded results of a MySQL are
compared with native tables, which takes no server."""

import pytest
from pelorus_tools import machine, recorded, rows, sqldiff

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


# What native tables answer otherwise than a MySQL, and why. The list is exact.
NATIVE_DIFFERS = {
    "linked/aggregates.sql:96": "LIMIT without ORDER BY: either may return any two groups",
    "linked/errors.sql:33": "a window function without OVER is a syntax error (1064) to MySQL, an unknown function (1305) here",
    "linked/ordering.sql:86": "GROUP BY @n WITH ROLLUP is refused over linked tables alone",
    "linked/text.sql:74": "STRCMP is an INT to MySQL where it stores it in a temporary table, a BIGINT here",
}


@pytest.fixture(scope="module")
def native(linked_maker):
    """The files on a Pelorus with native tables alone, and the counts of all."""
    return sqldiff.OnNativeTables(linked_maker(name="pelorus-recorded")), sqldiff.Report()


@pytest.mark.skipif(recorded.mode() == "record", reason="the answers are being recorded")
@pytest.mark.parametrize(
    "path", sqldiff.files(), ids=lambda path: path.relative_to(sqldiff.SQL).as_posix())
def test_recorded_answers(path, native):
    files, total = native
    report = files.run(path)
    total.counts.update(report.counts)
    name = path.relative_to(sqldiff.SQL).as_posix()
    found = {text.split(" (mysql")[0].removeprefix("tests/sql/"): text for text in report.failures}
    known = {where for where in NATIVE_DIFFERS if where.startswith(f"{name}:")}
    assert found.keys() == known, "\n".join(text for where, text in found.items() if where not in known) or known


def test_most_recorded_answers_are_given(native):
    """Of those files that have run in this process."""
    counts = native[1].counts
    if not counts:
        pytest.skip("no file has run")
    assert not counts["differ"] > len(NATIVE_DIFFERS)
    assert counts["refused without a directive"] < 0.05 * counts["same"], counts


def test_every_recording_has_its_file():
    found = {path.relative_to(recorded.FOLDER).with_suffix("").as_posix() for path in recorded.files()}
    native_files = {f"native/{path.stem}" for path in (machine.ROOT / "tests/native").glob("*.sql")}
    files = {f"sql/{path.relative_to(sqldiff.SQL).with_suffix('').as_posix()}" for path in sqldiff.files()}
    assert found == native_files | files


def test_a_recording_that_is_not_true_fails(tmp_path, monkeypatch):
    """Answers that differ from the recorded ones are reported, and another statement is not answered."""
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    answers = [rows.Answer([recorded.RecordedColumn("a", "LONG")], [(b"1",), (None,), (b"\xff",)]),
               rows.Answer([], [], affected=2), rows.Answer([], [], error=(1064, "text"))]
    statements = ("SELECT a FROM t", "UPDATE t SET a = 1", "SELEC")

    def pass_through(how: str, given: list[rows.Answer]) -> list[str]:
        recording = recorded.Recording("x", how)
        for statement, answer in zip(statements, given):
            result = recording.result(statement, True, lambda: recorded.Result(answer))
            assert not rows.differences(result.answer, answers[statements.index(statement)], True) or how == "live"
        return recording.close()
    assert not pass_through("record", answers)
    assert not pass_through("recorded", answers)
    assert not pass_through("live", answers)
    for at, other in enumerate((rows.Answer(answers[0].columns, [(b"1",), (b"",), (b"\xff",)]),
                                rows.Answer([], [], affected=1), rows.Answer([], [], error=(1146, "text")))):
        stale = pass_through("live", [*answers[:at], other, *answers[at + 1:]])
        assert len(stale) == 2 and f"line {at + 1}: {statements[at]}" in stale[1]
    with pytest.raises(ValueError, match="another statement"):
        recorded.Recording("x", "recorded").result("SELECT 2", True, None)


def test_the_runner_sees_differences(mariadb, tmp_path):
    """A canary: with two different servers the runner must complain about each statement."""
    path = tmp_path / "canary.sql"
    path.write_text("SELECT @@port * 0 + 1, 'x';\n"
                    "-- refused: 1235\nSELECT 1;\n"
                    "SELECT CONNECTION_ID();\n"
                    "-- values only: a reason\nSELECT 2;\n")
    report = sqldiff.Pair(mariadb, mariadb).run(path, "usual")
    assert report.counts["same"] == 1
    # The types are the same, which the directive denies.
    assert report.counts["differ"] == 3, report.failures
