"""The page of benchmarks: it is what the script makes of the kept runs, and takes new reports."""

from __future__ import annotations

from pelorus_tools import benchmarks_layout, benchmarks_page


def test_the_page_is_what_the_script_makes_of_the_kept_runs():
    assert benchmarks_page.PAGE.read_text() == benchmarks_page.page(), \
        "run `PYTHONPATH=scripts python -m pelorus_tools.benchmarks_page`"


def test_a_kept_file_is_what_the_script_writes(tmp_path):
    for kept in benchmarks_page.RESULTS.glob("*.json"):
        workload = benchmarks_layout.Workload(kept.stem, (), ())
        all_runs = [run.about for run in benchmarks_page.runs(workload)]
        benchmarks_page.keep(kept.stem, all_runs, tmp_path)
        assert (tmp_path / kept.name).read_text() == kept.read_text(), kept.name


def _report(cases: list[dict]) -> dict:
    return {"name": "x", "commit": "0123456789abcdef", "rows": 7, "cases": cases,
            "machine": {"cpu": "a CPU", "cores": 2, "memory_bytes": 8 << 30, "system": "Linux"},
            "facts": {"duckdb_version": "2.0.1"}, "targets": [{"met": True}, {"met": False}]}


def test_a_report_becomes_the_newest_run(tmp_path):
    cases = [{"case": "TPC-H query 6", "system": system, "unit": "ms", "median": value, "max": 9.0}
             for system, value in (("pelorus", 4.0), ("duckdb", 8.0))]
    cases.append({"case": "load", "system": "pelorus", "unit": "rows/s", "median": 1.0, "max": 1.0})
    scan = benchmarks_layout.SCAN_1
    run = benchmarks_page.taken(_report(cases), [scan], "2026-12-01", "a trial")
    assert run["commit"] == "0123456" and run["targets"] == {"met": 1, "missed": 1}
    assert [it["case"] for it in run["cases"]] == ["TPC-H query 6", "TPC-H query 6"]
    benchmarks_page.keep(scan.name, [run], tmp_path)
    (kept,) = benchmarks_page.runs(scan, tmp_path)
    assert kept.ratio(scan, scan.rows[0]) == 0.5
    text = benchmarks_page.by_case(scan, [kept])
    assert "| TPC-H query 6 | ms | 4 | 8 | 0.50 | 1.0 |" in text
    assert "with duckdb 2.0.1; a trial. Targets: 1 met, 1 missed." in \
        benchmarks_page.provenance(scan, [kept])


def test_figures_that_a_report_does_not_have_itself_are_computed():
    def case(name: str, values: list[float]) -> dict:
        middle = sorted(values)[len(values) // 2]
        return {"case": name, "system": "pelorus in process", "unit": "ns/row", "median": middle,
                "max": max(values), "values": values}
    report = _report([case("scan after the upserts", [12.0]), case("scan before the upserts", [10.0]),
                      case("file beside the upserts, by its live data", [1.1, 1.4, 1.2])])
    run = benchmarks_page.taken(report, [benchmarks_layout.UPDATE], "2026-12-01")
    assert {it["case"]: it["median"] for it in run["cases"]} == {
        "scan after the upserts, of before": 1.2, "largest file, by its live data": 1.4}
    report = _report([case("load", [90.0, 100.0, 115.0])])
    run = benchmarks_page.taken(report, [benchmarks_layout.WINDOWS], "2026-12-01")
    assert run["cases"][1]["median"] == 15.0


def test_the_newest_of_the_fullest_runs_is_shown():
    scan = benchmarks_layout.SCAN_1
    def run(date: str, systems: dict[str, float]) -> benchmarks_page.Run:
        cases = [{"case": "TPC-H query 6", "system": system, "median": value}
                 for system, value in systems.items()]
        return benchmarks_page.Run({"date": date, "machine": "m", "cases": cases})
    both = {"pelorus": 1.0, "duckdb": 2.0}
    all_runs = [run("2026-01-01", both), run("2026-01-02", both), run("2026-01-03", {"pelorus": 3.0})]
    assert benchmarks_page.shown(scan, all_runs).about["date"] == "2026-01-02"
    assert benchmarks_page.spread([1.0, None, 3.0], benchmarks_page.figure) == "1 to 3 (2 runs)"
