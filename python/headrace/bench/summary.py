"""A summary of a run of the host benchmarks, with one row per size, and tables of summaries.

A summary is plain data, so that it can be stored as JSON (docs/performance/data) and shown again later:

    {"benchmark": "latency", "unit": "us", "less_is_better": true, "libraries": ["headrace", "openmpi"],
     "rows": [{"label": "", "bytes": 8, "medians": {"headrace": 0.27, "openmpi": 0.43}, "bare": 0.28,
               "best": "openmpi", "ratio": 0.62, "low": 0.47, "high": 0.71}],
     "failures": {"mpich": "exit code 1: ..."}}

`medians`: over the runs. `ratio`: Headrace over the best peer, the median of the runs' own ratios; `low` and `high` are
their range. `bare`: the same without MPI. A row lacks figures that were not measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

from headrace.bench.figure import number, size_text
from headrace.bench.grid import grid, heading, strong


def summarise(result, libraries: list[str], limits: Callable[[str, int], float | None] | None = None) -> dict:
    """Summarises a compare.Result. `limits` returns the bare limit of a size, or None."""
    name, sample = result.benchmark.name, result.sample()
    rows = []
    for key in result.keys():
        label, bytes_ = key
        row: dict = {"label": label, "bytes": bytes_,
                     "medians": {library: statistics.median(values) for library in libraries
                                 if (values := result.medians(library, key))}}
        if limit := limits(name, bytes_) if limits else result.bare(key):
            row["bare"] = limit
        if ratios := result.ratios(key):
            row |= {"best": result.best_peer(key), "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios)}
        rows.append(row)
    return {"benchmark": name, "unit": sample["unit"] if sample else "", "less_is_better": result.less_is_better(),
            "libraries": libraries, "rows": rows, "failures": dict(result.failures)}


def table(summary: dict, markdown: bool = False) -> str:
    """Returns the table of one benchmark, with every library's figure."""
    name, rows, libraries = summary["benchmark"], summary["rows"], summary["libraries"]
    if not rows:
        return f"\n{heading(name, markdown)}\n\n" + _failures(summary)
    labels = any(row["label"] for row in rows)
    compared = "headrace" in libraries and len(libraries) > 1
    limited = any("bare" in row for row in rows)
    columns = (["what"] if labels else []) + ["bytes", *libraries]
    columns += (["bare limit"] if limited else []) + (["headrace / best peer (spread)"] if compared else [])
    cells = []
    for row in rows:
        line = ([row["label"]] if labels else []) + [size_text(row["bytes"]) if row["bytes"] else "-"]
        line += [_median(summary, row, library) for library in libraries]
        if limited:
            line.append(number(row["bare"]) if "bare" in row else "-")
        if compared:
            line.append(f"{strong(_two(row['ratio']), markdown)} ({_two(row['low'])} to {_two(row['high'])}) {row['best']}"
                        if "ratio" in row else "-")
        cells.append(line)
    title = f"{name}, {summary['unit']} ({'less' if summary['less_is_better'] else 'more'} is better)"
    lines = [f"\n{heading(title, markdown)}\n", grid(columns, cells, markdown)]
    if compared and (ratios := [row["ratio"] for row in rows if "ratio" in row]):
        worst = max(ratios) if summary["less_is_better"] else min(ratios)
        lines.append(f"\nheadrace / best peer: median over the rows {statistics.median(ratios):.2f}, worst {worst:.2f}")
    return "\n".join(lines) + "\n" + _failures(summary)


def by_size(summaries: list[dict], markdown: bool = False) -> str:
    """Returns a table of several benchmarks, with a row for each and a column per size: Headrace's figure and its ratio to the best
    peer.

    A ratio worse than 1 is set in bold. If summaries differ in `ranks`, there is a column for it. A size a little
    below a power of two (of a structure, of a block of three ranks) is in the column of that power.
    """
    sizes = sorted({_column(row["bytes"]) for summary in summaries for row in summary["rows"]})
    ranked = len({summary.get("ranks") for summary in summaries}) > 1
    limited = any("bare" in row for summary in summaries for row in summary["rows"])
    columns = ["what", *(["ranks"] if ranked else []), *(size_text(size) if size else "-" for size in sizes), "median"]
    columns += ["x bare, median"] if limited else []
    lines = []
    for summary in summaries:
        for label in dict.fromkeys(row["label"] for row in summary["rows"]):
            rows = {_column(row["bytes"]): row for row in summary["rows"] if row["label"] == label}
            ratios = [row["ratio"] for row in rows.values() if "ratio" in row]
            line = [label or summary["benchmark"], *([str(summary.get("ranks", ""))] if ranked else [])]
            line += [_cell(rows[size], summary["less_is_better"], markdown) if size in rows else "" for size in sizes]
            line.append(_two(statistics.median(ratios)) if ratios else "")
            lines.append(line + ([_two(bare) if (bare := over_bare(rows.values())) else ""] if limited else []))
    return grid(columns, lines, markdown)


def _column(bytes_: int) -> int:
    power = 1 << max(bytes_ - 1, 0).bit_length()
    return power if 0.8 * power < bytes_ else bytes_


def over_bare(rows) -> float | None:
    """Returns the ratio to the time without MPI, as the median over the rows that have it."""
    found = [row["medians"]["headrace"] / row["bare"] for row in rows if "bare" in row and "headrace" in row["medians"]]
    return statistics.median(found) if found else None


def _cell(row: dict, less_is_better: bool, markdown: bool) -> str:
    if "headrace" not in row["medians"]:
        return "-"
    text = number(row["medians"]["headrace"])
    if "ratio" not in row:
        return text
    worse = round(row["ratio"], 2) > 1 if less_is_better else round(row["ratio"], 2) < 1
    return f"{text} ({strong(_two(row['ratio']), markdown) if worse else _two(row['ratio'])})"


def _median(summary: dict, row: dict, library: str) -> str:
    if library in row["medians"]:
        return number(row["medians"][library])
    return "failed" if library in summary["failures"] else "-"


def _two(value: float) -> str:
    return f"{value:.2f}"


def _failures(summary: dict) -> str:
    return "".join(f"\n{name} failed: {why}\n" for name, why in summary["failures"].items())
