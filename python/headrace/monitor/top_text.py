"""The text of `headrace top`. To fit the terminal, columns are left out in a fixed order; shares of time and the slowest rank
stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.monitor.top import Row

_INDENT = 12
_LEAST = 40  # columns assumed for any terminal


def short(value: float, unit: str = "") -> str:
    for letter in ("", "k", "M", "G", "T"):
        if abs(value) < 999.5:
            break
        value /= 1000
    digits = 0 if not letter or value >= 99.95 else 1
    return f"{value:.{digits}f} {letter}{unit}".rstrip()


def percents(shares: Sequence[float]) -> list[str]:
    """Returns whole percents whose sum is no larger than that of the shares: if one is rounded up, another is rounded down."""
    exact = [100 * share for share in shares]
    whole = [int(value) for value in exact]
    order = sorted(range(len(exact)), key=lambda place: whole[place] - exact[place])
    for place in order[:round(sum(exact)) - sum(whole)]:
        whole[place] += 1
    return [f"{value}%" for value in whole]


def _slowest(row: Row) -> str:
    return "-" if row.slowest is None else f"rank {row.slowest}"


@dataclass(frozen=True)
class _Column:
    title: str
    cell: Callable[[Row], str]
    least: int  # minimum width; names are truncated, figures are not
    most: int
    gives_way: int = 0  # the order in which columns are left out to save space; 0: never
    name: bool = False  # true if the column is left-aligned


_COLUMNS = (
    _Column("job", lambda row: row.job.removeprefix("headrace_"), 10, 24, name=True),
    _Column("program", lambda row: row.program, 8, 14, name=True),
    _Column("ranks", lambda row: f"{row.running}/{row.ranks}", 5, 9, 4),
    _Column("calls/s", lambda row: short(row.calls_per_second), 7, 9, 1),
    _Column("msg/s", lambda row: short(row.messages_per_second), 7, 9, 3),
    _Column("B/s", lambda row: short(row.bytes_per_second), 7, 9, 2),
    _Column("MPI", lambda row: f"{row.mpi_share:.0%}", 4, 5),
    _Column("wait", lambda row: f"{row.wait_share:.0%}", 4, 5),
    _Column("slowest", _slowest, 7, 8),
)


def _fit(found: Sequence[Row], columns: int | None) -> list[tuple[_Column, int]]:
    """Returns columns and their widths: as wide as necessary, or as the terminal allows."""
    def least(column: _Column) -> int:
        return column.least if column.name and columns is not None else max(column.least, *(len(column.cell(row)) for row in found))

    shown = list(_COLUMNS)
    if columns is not None:
        room = max(columns, _LEAST)
        while sum(map(least, shown)) + len(shown) - 1 > room and any(column.gives_way for column in shown):
            shown.remove(min((column for column in shown if column.gives_way), key=lambda column: column.gives_way))
    widths = {column.title: least(column) for column in shown}
    spare = None if columns is None else max(0, max(columns, _LEAST) - sum(widths.values()) - len(shown) + 1)
    for column in sorted(shown, key=lambda column: not column.name):  # names first
        more = max(0, column.most - widths[column.title])
        if spare is not None:
            more = min(more, spare)
            spare -= more
        widths[column.title] += more
    return [(column, widths[column.title]) for column in shown]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[:max(1, width - 1)] + "~"


def _line(cells: Sequence[tuple[_Column, int, str]]) -> str:
    return " ".join(f"{_cut(text, width):<{width}}" if column.name else f"{text:>{width}}" for column, width, text in cells).rstrip()


def _list(title: str, items: Sequence[str], columns: int | None, between: str = "  ") -> list[str]:
    """Returns a title and items, in as many lines as needed."""
    lines = [f"  {title:<{_INDENT - 2}}"]
    for item in items:
        if columns is not None and len(lines[-1]) > _INDENT and len(lines[-1]) + len(between) + len(item) > columns:
            lines.append(" " * _INDENT)
        lines[-1] += (between if len(lines[-1]) > _INDENT else "") + item
    return lines


def _totals(row: Row, columns: int | None) -> list[str]:
    parts = [f"{short(row.total_messages)} messages,", f"{short(row.total_bytes, 'B')};", "queues:", f"{row.posted} posted,", f"{row.unexpected} unexpected"]
    return _list("in all", parts, columns, " ")


def _job(row: Row, shown: list[tuple[_Column, int]], columns: int | None) -> list[str]:
    lines = [_line([(column, width, column.cell(row)) for column, width in shown])]
    if row.functions:
        shares = percents(list(row.functions.values()))
        lines += _list("time in", [f"{name} {share}" for name, share in zip(row.functions, shares)], columns)
    if row.now:
        lines += _list("now", [f"{name}: {count}" for name, count in row.now.items()], columns)
    return lines + _totals(row, columns)


def text(found: Sequence[Row], remarks: Sequence[str], columns: int | None = None) -> str:
    """Returns lines of at most `columns` characters (None: no limit)."""
    lines: list[str] = []
    if found:
        shown = _fit(found, columns)
        lines.append(_line([(column, width, column.title) for column, width in shown]))
        for row in found:
            lines += _job(row, shown, columns)
    else:
        lines += _words("", "No job of yours runs on this host (or its library keeps no counters).", columns)
    for remark in remarks:
        lines += _words("note: ", remark, columns)
    return "\n".join(line if columns is None else line[:columns] for line in lines)


def _words(title: str, sentence: str, columns: int | None) -> list[str]:
    lines = [title.rstrip()]
    for word in sentence.split(" "):
        if columns is not None and len(lines[-1]) + 1 + len(word) > columns and lines[-1].strip():
            lines.append(" " * len(title) + word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines
