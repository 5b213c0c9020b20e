"""Writes `docs/benchmarks.md` from the runs that `bench/results/*.json` keep.

`python -m pelorus_tools.benchmarks_page` writes the page. `... take target/bench/scan.json scan-10`
adds a report of `bench` to the runs of a workload, then writes the page. A file holds all runs of
a workload; the page shows the newest run that has the most figures, and the spread over all runs.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
from dataclasses import dataclass
from pathlib import Path

from .benchmarks_layout import HEAD, SECTIONS, Row, Workload
from .machine import ROOT

RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"


@dataclass(frozen=True)
class Run:
    """A run of a workload, as its file has it."""

    about: dict

    def entry(self, case: str, system: str) -> dict:
        """What is known of a case on a system; empty when it was not measured."""
        for it in self.about["cases"]:
            if (it["case"], it["system"]) == (case, system):
                return it
        return {}

    def value(self, row: Row, system: str) -> float | None:
        """The figure that the page shows, in the unit of the row."""
        found = self.entry(row.case, system).get("median")
        return None if found is None else found * row.factor

    def ratio(self, workload: Workload, row: Row) -> float | None:
        """Pelorus's figure by that of the peer, or the other way round."""
        ours = self.entry(row.case, workload.ours)
        if workload.ratio in ours:
            return ours[workload.ratio]
        pair = self.value(row, workload.ours), self.value(row, workload.peer)
        if None in pair:
            return None
        upside_down = workload.ratio == "times" and row.unit == "ms"
        return pair[1] / pair[0] if upside_down else pair[0] / pair[1]


def runs(workload: Workload, results: Path = RESULTS) -> list[Run]:
    """All runs of a workload, the oldest first."""
    kept = json.loads((results / f"{workload.name}.json").read_text())
    return [Run(it) for it in kept["runs"]]


def shown(workload: Workload, all_runs: list[Run]) -> Run:
    """The newest of the runs that have the most figures of the table."""
    def figures(run: Run) -> int:
        return sum(run.value(row, system) is not None
                   for row in workload.rows for system, _ in workload.systems)
    most = max(figures(run) for run in all_runs)
    return [run for run in all_runs if figures(run) == most][-1]


def figure(value: float | None) -> str:
    """A figure with as many digits as say something."""
    if value is None:
        return ""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{3 if abs(value) < 0.1 else 2}f}".rstrip("0").rstrip(".")


def ratio(value: float | None, digits: int) -> str:
    """A ratio with a fixed number of digits after the point."""
    if value is None:
        return ""
    return "< 0.001" if 0 < value < 0.001 else f"{value:.{digits}f}"


def spread(values: list[float | None], text) -> str:
    """The least and the greatest of several runs; nothing for a single one."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return ""
    return f"{text(min(known))} to {text(max(known))} ({len(known)} runs)"


def provenance(workload: Workload, all_runs: list[Run]) -> str:
    """When, where and with what the table was measured."""
    about = shown(workload, all_runs).about
    parts = [f"Measured on {about['date']}"]
    parts.append(f"at commit {about['commit']}" if about.get("commit") else "(commit not recorded)")
    text = " ".join(parts) + f", on {about['machine']}"
    versions = [f"{name} {number}" for name, number in about.get("versions", {}).items()]
    if versions:
        text += ", with " + ", ".join(versions)
    if about.get("settings"):
        text += f"; {about['settings']}"
    text += "."
    if about.get("targets"):
        met, missed = about["targets"]["met"], about["targets"]["missed"]
        text += f" Targets: {met} met, {missed} missed."
    if len(all_runs) > 1:
        text += f" {len(all_runs)} runs are kept, the newest of {all_runs[-1].about['date']}."
    return text


def table(header: list[str], lines: list[list[str]]) -> str:
    """A table of Markdown, without columns that are empty throughout."""
    used = [at for at in range(len(header)) if any(line[at] for line in lines)]
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row[at] for at in used) + " |" for row in rows) + "\n"


def by_case(workload: Workload, all_runs: list[Run]) -> str:
    """The table with a line for each case and a column for each system."""
    run, digits = shown(workload, all_runs), workload.digits
    header = ["", "unit", *(label for _, label in workload.systems), workload.ratio_label, "target",
              "Pelorus, all runs" if workload.spread == "ours" else f"{workload.ratio_label}, all runs"]
    lines = []
    for row in workload.rows:
        if workload.spread == "ours":
            over = spread([it.value(row, workload.ours) for it in all_runs], figure)
        else:
            over = spread([it.ratio(workload, row) for it in all_runs], lambda it: ratio(it, digits))
        lines.append([row.label, row.unit,
                      *(figure(run.value(row, system)) for system, _ in workload.systems),
                      ratio(run.ratio(workload, row), digits), row.target, over])
    return table(header, lines)


def by_system(workload: Workload, all_runs: list[Run]) -> str:
    """The table with a line for each system and a column for each case."""
    run, first = shown(workload, all_runs), workload.rows[0]
    header = ["", *(f"{row.label}, {row.unit}" for row in workload.rows), workload.ratio_label,
              f"{first.label}, all runs"]
    ours = run.value(first, workload.ours)
    lines = []
    for system, label in workload.systems:
        theirs = run.value(first, system)
        part = None if system == workload.ours or None in (ours, theirs) else ours / theirs
        lines.append([label, *(figure(run.value(row, system)) for row in workload.rows),
                      ratio(part, workload.digits),
                      spread([it.value(first, system) for it in all_runs], figure)])
    return table(header, lines)


def page(results: Path = RESULTS) -> str:
    """The whole page."""
    text = HEAD
    for title, intro, workloads in SECTIONS:
        text += f"\n## {title}\n\n{intro}"
        for workload in workloads:
            all_runs = runs(workload, results)
            if workload.title:
                text += f"\n### {workload.title}\n"
            make = by_system if workload.by_system else by_case
            text += f"\n{provenance(workload, all_runs)}\n\n{make(workload, all_runs)}"
            if workload.notes:
                text += f"\n{workload.notes}"
    return text


def taken(report: dict, workloads: list[Workload], date: str, settings: str = "") -> dict:
    """A run from a report of `bench`: the figures of the workload's tables and their origin."""
    machine = report["machine"]
    run = {"date": date, "commit": report["commit"][:7],
           "machine": f"{machine['cores']} cores of {machine['cpu']}, "
                      f"{machine['memory_bytes'] / 2**30:.0f} GiB of memory",
           "rows": report["rows"]}
    if settings:
        run["settings"] = settings
    versions = {name.removesuffix("_version"): value for name, value in report["facts"].items()
                if name.endswith("_version") and value}
    if versions:
        run["versions"] = versions
    met = sum(target["met"] for target in report["targets"])
    run["targets"] = {"met": met, "missed": len(report["targets"]) - met}
    measured = {}
    for it in report["cases"]:
        # Peers load fewer rows, under a name that says so.
        case = "load" if it["case"].startswith("load the first") else it["case"]
        entry = {"case": case, "system": it["system"], "unit": it.get("unit", "ms"),
                 "median": it.get("median", it.get("median_ms")), "max": it.get("max"),
                 "values": it.get("values", [])}
        measured.setdefault((case, it["system"]), entry)
    run["cases"] = []
    for workload in workloads:
        for row in workload.rows:
            run["cases"] += [it for it in _entries(row, workload, measured) if it not in run["cases"]]
    return run


def _entries(row: Row, workload: Workload, measured: dict) -> list[dict]:
    found = []
    for system, _ in workload.systems:
        if row.of:
            pair = [measured.get((case, system), {}).get("median") for case in row.of]
            value = None if None in pair else pair[0] / pair[1]
        elif row.furthest:
            values = measured.get((row.furthest, system), {}).get("values") or [0]
            middle = statistics.median(values)
            value = max(abs(it - middle) for it in values) / middle * 100 if middle else None
        elif row.largest:
            value = measured.get((row.largest, system), {}).get("max")
        else:
            value = measured.get((row.case, system), {}).get("median")
        if value is not None:
            unit = measured.get((row.case, system), {}).get("unit", row.unit)
            found.append({"case": row.case, "system": system, "unit": unit, "median": value})
    return found


def keep(name: str, all_runs: list[dict], results: Path = RESULTS) -> None:
    """Writes the file of a workload: a line for each figure."""
    def text(run: dict) -> str:
        about = json.dumps({key: run[key] for key in run if key != "cases"}, ensure_ascii=False)
        cases = ",\n".join("    " + json.dumps(it, ensure_ascii=False) for it in run["cases"])
        return f'  {about[:-1]}, "cases": [\n{cases}\n  ]}}'
    body = ",\n".join(text(run) for run in sorted(all_runs, key=lambda run: run["date"]))
    (results / f"{name}.json").write_text(f'{{"name": {json.dumps(name)}, "runs": [\n{body}\n]}}\n')


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Writes docs/benchmarks.md.")
    commands = parser.add_subparsers(dest="command")
    take = commands.add_parser("take", help="adds a report of bench to the runs of a workload")
    take.add_argument("report", type=Path)
    known: dict[str, list[Workload]] = {}
    for workload in (it for _, _, workloads in SECTIONS for it in workloads):
        known.setdefault(workload.name, []).append(workload)
    take.add_argument("workload", choices=sorted(known))
    take.add_argument("--date", default=datetime.date.today().isoformat())
    take.add_argument("--settings", default="")
    given = parser.parse_args()
    if given.command == "take":
        workloads = known[given.workload]
        report = json.loads(given.report.read_text())
        new = taken(report, workloads, given.date, given.settings)
        keep(given.workload, [*(run.about for run in runs(workloads[0])), new])
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
