#!/usr/bin/env python3
"""Creates the tables in docs/performance/ from the runs stored in docs/performance/data/.

    bench/page.py write           rewrites every table; tests/bench/test_page.py fails if that changes a page
    bench/page.py keep RUN DATA   keeps a summary of the output of `headrace bench --json RUN` or `bench/gpu.py --json RUN` as
                                  docs/performance/data/DATA.json; also that of bench/nccl.py and bench/halo3d.py

A page marks the position of a table and names its contents; the text between the two lines is replaced:

    <!-- table VIEW DATA [NAME,NAME] -->
    <!-- end -->

VIEW: `run` (when, where, which commit, by which command), `goals` (each benchmark with its goal in data/goals.json),
`full` (a benchmark with all peers), `sizes` (several benchmarks, one column per size), `figures` (of bench/gpu.py),
`plain` (columns and rows as kept), `nccl` (of bench/nccl.py: the ratios of all operations, or the times of those named).
NAMEs: of benchmarks, all if none is given.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from headrace.bench import nccl, summary  # noqa: E402 (the path comes first)
from headrace.bench.figure import figures_table, size_text  # noqa: E402
from headrace.bench.grid import grid  # noqa: E402

PAGES = ROOT / "docs"
DATA = ROOT / "docs/performance/data"
MARK = re.compile(r"^<!-- table (\S+) (\S+)(?: (\S+))? -->\n(.*?)^<!-- end -->$", re.M | re.S)


class Wrong(Exception):
    """A page or a stored run cannot be shown; the message names it and the reason."""


def pages() -> list[Path]:
    folders = (("performance", "*.md"), ("history", "performance*.md"))
    return [PAGES / "performance.md", *(page for folder, names in folders for page in sorted((PAGES / folder).glob(names)))]


def load(name: str) -> dict:
    try:
        return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Wrong(f"docs/performance/data/{name}.json is not there") from None


def chosen(run: dict, names: str | None) -> list[dict]:
    """Returns the run's tables with the given names, in that order."""
    tables = run.get("tables", [])
    if names is None:
        return tables
    if missing := [name for name in names.split(",") if name not in {t["benchmark"] for t in tables}]:
        raise Wrong(f"no benchmark {', '.join(missing)} is kept there")
    return [t for name in names.split(",") for t in tables if t["benchmark"] == name]


def view_run(run: dict, _: str | None) -> str:
    parts = [run["date"], run["machine"], f"commit {run['commit']}", run.get("peers", ""),
             f"medians of {run['runs']} runs" if "runs" in run else "", run.get("note", "")]
    return "; ".join(filter(None, parts)) + f".\n\n    {run['command']}"


def view_full(run: dict, names: str | None) -> str:
    return "\n".join(summary.table(one, markdown=True).strip().replace("### ", "**", 1).replace(")\n", ")**\n", 1) + "\n"
                     for one in chosen(run, names)).rstrip()


def view_sizes(run: dict, names: str | None) -> str:
    tables = chosen(run, names)
    units = ", ".join(dict.fromkeys(one["unit"] for one in tables))
    return (f"{units}; in parentheses the ratio to the best peer, in bold where that is better than ours.\n\n"
            + summary.by_size(tables, markdown=True))


def view_goals(run: dict, names: str | None) -> str:
    """Shows each benchmark with its goal: how many sizes reach it, and how far they are from the bare limit."""
    goals = json.loads((DATA / "goals.json").read_text(encoding="utf-8"))["goals"]
    rows = []
    for one in chosen(run, names):
        ranks, less = one.get("ranks", run.get("ranks", 2)), one["less_is_better"]
        for goal in goals:
            if one["benchmark"] not in goal["benchmarks"] or (goal.get("ranks", ranks) != ranks):
                continue
            found = [row for row in one["rows"] if "ratio" in row and row["label"] == goal.get("label", row["label"])
                     and goal.get("from", 0) <= row["bytes"] <= goal.get("to", 1 << 60)]
            if not found:
                continue
            ratios = [row["ratio"] for row in found]
            met = [row for row in found if (row["ratio"] <= goal["ratio"] if less else row["ratio"] >= goal["ratio"])]
            bare = summary.over_bare(found)
            rows.append([one["benchmark"] + goal.get("said", ""), str(ranks),
                         f"at {'most' if less else 'least'} {goal['ratio']:g}", f"{statistics.median(ratios):.2f}",
                         f"{min(ratios):.2f} to {max(ratios):.2f}", f"{len(met)} of {len(found)}", missed(found, met, less),
                         f"{bare:.2f}" if bare else "-"])
    if not rows:
        raise Wrong("none of its benchmarks has a goal in data/goals.json")
    return grid(["ours / best peer", "ranks", "goal", "median", "range", "reach it", "which do not", "x bare, median"],
                rows, markdown=True)


def missed(found: list[dict], met: list[dict], less_is_better: bool) -> str:
    """Returns the three results that are furthest from the goal."""
    left = sorted((row for row in found if row not in met), key=lambda row: row["ratio"], reverse=less_is_better)
    labels = len({row["label"] for row in found}) > 1
    words = [[row["label"] if labels else "", size_text(row["bytes"]) if row["bytes"] else "", f"{row['ratio']:.2f}"]
             for row in left[:3]]
    return ", ".join(" ".join(filter(None, said)) for said in words) + (", ..." if len(left) > 3 else "")


def view_figures(run: dict, names: str | None) -> str:
    figures = [f for f in run.get("figures", []) if names is None or f["section"] in names.split(",")]
    if not figures:
        raise Wrong("no such figures are kept there")
    text = figures_table(figures, markdown=True)
    return "\n".join([text, *(f"\n`{section}` is not complete: {why}" for section, why in run.get("failures", {}).items())])


def view_plain(run: dict, _: str | None) -> str:
    return grid(run["columns"], run["rows"], markdown=True)


def view_nccl(run: dict, names: str | None) -> str:
    return nccl.tables(run, names.split(",") if names else None, markdown=True)


VIEWS: dict[str, Callable[[dict, str | None], str]] = {
    "run": view_run, "goals": view_goals, "full": view_full, "sizes": view_sizes, "figures": view_figures,
    "plain": view_plain, "nccl": view_nccl}


def rendered(page: str) -> str:
    """Returns the page with regenerated tables. Raises Wrong."""
    sys.path.append(str(ROOT / "scripts/docs"))
    from wrap import wrap

    def fill(match: re.Match) -> str:
        view, data, names, _ = match.groups()
        where = f"table {view} {data}"
        if view not in VIEWS:
            raise Wrong(f"{where}: no such view; there are {', '.join(VIEWS)}")
        try:
            text = VIEWS[view](load(data), names)
        except Wrong as wrong:
            raise Wrong(f"{where}: {wrong}") from None
        except KeyError as missing:
            raise Wrong(f"{where}: docs/performance/data/{data}.json has no {missing}") from None
        return f"{match[0].splitlines()[0]}\n\n{wrap(text).rstrip()}\n\n<!-- end -->"

    if page.count("<!-- table ") != len(MARK.findall(page)):
        raise Wrong("a '<!-- table VIEW DATA -->' has no '<!-- end -->' after it, or is not alone in its line")
    return MARK.sub(fill, page)


def used(page: str) -> set[str]:
    return {match[1] for match in MARK.findall(page)}


def small(run: dict, commit: str) -> dict:
    """Returns the part of a run that is stored: everything but the reports of single runs."""
    run = {key: value for key, value in run.items() if key not in ("benchmarks", "reports")} | {"commit": commit}
    for figure in run.get("figures", []):
        figure.pop("values", None)
    return run


def written(run: dict) -> str:
    """Returns JSON with one line per row, so that changes show up in diffs."""
    marks: dict[str, str] = {}

    def flat(value):
        if isinstance(value, dict) and ("bytes" in value or "what" in value) or isinstance(value, list) and all(
                isinstance(one, str) for one in value):
            return marks.setdefault(f"@{len(marks)}@", json.dumps(rounded(value), ensure_ascii=False)) and f"@{len(marks) - 1}@"
        if isinstance(value, dict):
            return {key: flat(one) for key, one in value.items()}
        return [flat(one) for one in value] if isinstance(value, list) else value

    text = json.dumps(flat(run), indent=1, ensure_ascii=False)
    return re.sub(r'"(@\d+@)"', lambda match: marks[match[1]], text) + "\n"


def rounded(value):
    """Rounds to six digits, as the measurement is no more precise."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value


def keep(source: Path, name: str, commit: str) -> int:
    run = json.loads(source.read_text(encoding="utf-8"))
    if not ({"tables", "figures", "operations", "columns"} & run.keys()) or "command" not in run:
        raise Wrong(f"{source} is not what `headrace bench --json`, bench/gpu.py, bench/nccl.py or bench/halo3d.py writes")
    target = DATA / f"{name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(written(small(run, commit)), encoding="utf-8")
    print(f"{target.relative_to(ROOT)} is written; a page shows it after bench/page.py write")
    return 0


def write() -> int:
    for page in pages():
        before = page.read_text(encoding="utf-8")
        try:
            after = rendered(before)
        except Wrong as wrong:
            raise Wrong(f"{page.relative_to(ROOT)}: {wrong}") from None
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"{page.relative_to(ROOT)} is written anew")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("write", help="every table anew")
    keeping = commands.add_parser("keep", help="a run in small")
    keeping.add_argument("run", type=Path, metavar="RUN")
    keeping.add_argument("data", metavar="DATA", help="like amd-zen4/one-complex")
    keeping.add_argument("--commit", help="of the library that was measured (that of this checkout)")
    args = parser.parse_args()
    try:
        if args.command == "write":
            return write()
        commit = args.commit or subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True,
                                               text=True, check=True).stdout.strip()
        return keep(args.run, args.data, commit)
    except (Wrong, OSError, ValueError) as wrong:
        print(f"page.py: {wrong}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
