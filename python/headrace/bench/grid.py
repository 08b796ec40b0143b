"""Tables as text for a terminal, or as Markdown."""

from __future__ import annotations

import re

# A figure with its unit, or the mark used instead of one.
_FIGURE = re.compile(r"-|failed|[-+0-9.e]+( [A-Za-z/%]+)?")


def grid(columns: list[str], rows: list[list[str]], markdown: bool) -> str:
    """Returns lines without a newline at the end. Columns of figures are right-aligned."""
    if markdown:
        lines = [columns, *rows]
        text = ["| " + " | ".join(cells) + " |" for cells in lines]
        return "\n".join([text[0], "|---" * len(columns) + "|", *text[1:]])
    right = [all(_FIGURE.fullmatch(row[i]) for row in rows) for i in range(len(columns))]
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]

    def line(cells: list[str]) -> str:
        return "  ".join(cell.rjust(width) if to_right else cell.ljust(width)
                         for cell, width, to_right in zip(cells, widths, right)).rstrip()

    return "\n".join([line(columns), "  ".join("-" * width for width in widths), *map(line, rows)])


def heading(text: str, markdown: bool) -> str:
    return f"### {text}" if markdown else text


def strong(text: str, markdown: bool) -> str:
    return f"**{text}**" if markdown else text
