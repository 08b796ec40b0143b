"""A measured figure with its limit and its goal, and tables of such figures."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from headrace.bench.grid import grid, strong


def size_text(bytes_: int) -> str:
    for unit, shift in (("MiB", 20), ("KiB", 10)):
        if bytes_ >= 1 << shift and bytes_ % (1 << shift) == 0:
            return f"{bytes_ >> shift} {unit}"
    return f"{bytes_} B"


def number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


@dataclass
class Figure:
    """`values`: one per run. A goal bounds `ratio`, Headrace's value over the limit, from above, or from below if more
    is better."""

    section: str
    what: str
    unit: str
    values: list[float]
    limit: float | None = None
    limit_name: str = ""
    goal: float | None = None
    more_is_better: bool = False
    below: float | None = None  # bound on the value itself
    below_text: str = ""  # the bound as a phrase, if it is not a round figure
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def ratio(self) -> float | None:
        return self.median / self.limit if self.limit else None

    @property
    def reached(self) -> bool | None:
        """True if the goal is reached; None if there is no goal or no limit to compare with."""
        met = []
        if self.goal is not None and self.ratio is not None:
            met.append(self.ratio >= self.goal if self.more_is_better else self.ratio <= self.goal)
        if self.below is not None:
            met.append(self.median < self.below)
        return all(met) if met else None

    def goal_text(self) -> str:
        parts = []
        if self.goal is not None:
            parts.append(f"{'at least' if self.more_is_better else 'at most'} {self.goal:g} x")
        if self.below is not None:
            parts.append(self.below_text or f"below {self.below:g} {self.unit}")
        return ", ".join(parts)

    def small(self) -> dict:
        """Returns plain data, in the format of docs/performance/data."""
        return {"section": self.section, "what": self.what, "unit": self.unit, "median": self.median,
                "runs": len(self.values), "low": min(self.values), "high": max(self.values), "limit": self.limit,
                "limit_name": self.limit_name, "ratio": self.ratio, "goal": self.goal_text(), "reached": self.reached,
                "note": self.note}

    def as_json(self) -> dict:
        return self.small() | {"values": self.values}


def figures_table(figures: list[dict], markdown: bool = False) -> str:
    """Returns a table of figures in their small form."""
    rows = []
    for f in figures:
        spread = f"{f['runs']}, {number(f['low'])} to {number(f['high'])}"
        limit = f"{number(f['limit'])} {f['unit']}, {f['limit_name']}" if f["limit"] is not None else f["limit_name"] or "-"
        ratio = f"{f['ratio']:.2f}" if f["ratio"] is not None else "-"
        reached = {True: "yes", False: strong("no", markdown), None: "-"}[f["reached"]]
        what = f["what"] + (f" ({f['note']})" if f["note"] else "")
        rows.append([what, f"{number(f['median'])} {f['unit']}", spread, limit, ratio, f["goal"] or "-", reached])
    return grid(["figure", "median", "runs, spread", "limit", "ratio", "goal", "reached"], rows, markdown)


@dataclass
class Table:
    figures: list[Figure] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)  # reasons why sections lack some or all figures, by section

    def text(self, markdown: bool = False) -> str:
        lines = [figures_table([figure.small() for figure in self.figures], markdown)]
        lines += [f"\n`{section}` is not complete: {why}" for section, why in self.failures.items()]
        return "\n".join(lines) + "\n"
