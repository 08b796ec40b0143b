"""Plots time (or rate) over size as an SVG picture, with one line per library and logarithmic scales."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 78, 150, 40, 52
COLOURS = ("#0b6e4f", "#c84c09", "#2f4b9a", "#8a2be2", "#666666", "#b8860b")


@dataclass
class Line:
    name: str
    points: list[tuple[float, float]]  # size and value, both above 0
    dashed: bool = False


def _decades(low: float, high: float, base: int) -> list[float]:
    """Returns the powers of `base` that cover the range."""
    first, last = math.floor(math.log(low, base) + 1e-9), math.ceil(math.log(high, base) - 1e-9)
    return [float(base) ** power for power in range(first, max(last, first + 1) + 1)]


def _size(value: float) -> str:
    for unit, shift in (("M", 20), ("K", 10)):
        if value >= 1 << shift:
            return f"{value / (1 << shift):g}{unit}"
    return f"{value:g}"


class _Scale:
    def __init__(self, low: float, high: float, start: float, end: float):
        self.low, self.span = math.log(low), math.log(high) - math.log(low) or 1.0
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        return self.start + (math.log(value) - self.low) / self.span * (self.end - self.start)


def svg(title: str, unit: str, lines: list[Line]) -> str:
    """Returns the picture; empty if there are fewer than two sizes."""
    lines = [Line(line.name, sorted(p for p in line.points if p[0] > 0 and p[1] > 0), line.dashed) for line in lines]
    sizes = sorted({x for line in lines for x, _ in line.points})
    if len(sizes) < 2:
        return ""
    values = [y for line in lines for _, y in line.points]
    ticks = _decades(min(values), max(values), 10)
    x = _Scale(sizes[0], sizes[-1], LEFT, WIDTH - RIGHT)
    y = _Scale(ticks[0], ticks[-1], HEIGHT - BOTTOM, TOP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="22" font-size="15">{html.escape(title)}</text>']
    for tick in ticks:
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#dddddd"/>'
                   f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for size in sizes[::max(1, len(sizes) // 10)]:
        out.append(f'<line x1="{x(size):.1f}" x2="{x(size):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#eeeeee"/>'
                   f'<text x="{x(size):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{_size(size)}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">bytes</text>'
               f'<text x="16" y="{(TOP + HEIGHT - BOTTOM) / 2}" text-anchor="middle" '
               f'transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2})">{html.escape(unit)}</text>')
    for index, line in enumerate(line for line in lines if line.points):
        colour = COLOURS[index % len(COLOURS)]
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        path = " ".join(f"{x(px):.1f},{y(py):.1f}" for px, py in line.points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        out += [f'<circle cx="{x(px):.1f}" cy="{y(py):.1f}" r="3" fill="{colour}"/>' for px, py in line.points]
        row = TOP + 10 + 20 * index
        legend = WIDTH - RIGHT + 14
        out.append(f'<line x1="{legend}" x2="{legend + 24}" y1="{row}" y2="{row}" stroke="{colour}" stroke-width="2"{dash}/>'
                   f'<text x="{legend + 30}" y="{row + 4}">{html.escape(line.name)}</text>')
    return "\n".join([*out, "</svg>", ""])
