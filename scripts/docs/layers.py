#!/usr/bin/env python3
"""Draws the layers of the library: layers.py [--check] [TREE]

Reads which layer uses which from src/*/CMakeLists.txt, and the purpose of each one from the table of layers in docs/architecture.md; writes
docs/architecture.svg. With --check it writes nothing, and fails if the committed picture differs.

Each layer is drawn as low as the layers that use it permit. A line leads from it to each layer that it uses, unless another layer that it
uses leads there anyway.
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
import textwrap
from html import escape
from pathlib import Path

TABLE, PICTURE = "docs/architecture.md", "docs/architecture.svg"
# The layer `bind` is a shared library, whose target has another name.
TARGETS = {"mpi_abi": "bind"}

WIDTH, MARGIN, GAP, BETWEEN = 760, 24, 16, 20
LINE, LETTER = 16, 6.1  # height of a line of text, mean width of a letter
STYLE = """
    .page { fill: #ffffff } .box { fill: #eef3f8; stroke: #5b7a99; stroke-width: 1.2 } .use { stroke: #5b7a99; stroke-width: 1.2 }
    .tip { fill: #5b7a99 } text { fill: #1b2733 } .soft { fill: #52616f; font-size: 11.5px } .name { font-weight: 600 }
    @media (prefers-color-scheme: dark) {
      .page { fill: #12181f } .box { fill: #1d2833; stroke: #7fa0c0 } .use { stroke: #7fa0c0 } .tip { fill: #7fa0c0 }
      text { fill: #e4ebf2 } .soft { fill: #a4b2bf }
    }
"""


def calls(text: str, command: str) -> list[list[str]]:
    """Yields the arguments of each call of a CMake command, without comments."""
    text = re.sub(r"#.*", "", text)
    return [match[1].split() for match in re.finditer(rf"\b{command}\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", text)]


def used_by(text: str) -> set[str]:
    """Returns the layers that a CMakeLists.txt names as used."""
    for arguments in calls(text, "hr_layer"):
        after = arguments[arguments.index("DEPS") + 1 :] if "DEPS" in arguments else []
        ends = [place for place, word in enumerate(after) if word.isupper()]
        return set(after[: ends[0]] if ends else after)
    words = [word for command in ("target_link_libraries", "add_dependencies") for call in calls(text, command) for word in call[1:]]
    return {TARGETS.get(word, word.removeprefix("hr_")) for word in words if word.startswith("hr_") or word in TARGETS}


def read_layers(tree: Path) -> dict[str, set[str]]:
    """Returns the layers, lowest first, each with the layers that it uses, except those that it also reaches through
    another layer."""
    names = calls((tree / "src/CMakeLists.txt").read_text(encoding="utf-8"), "foreach")[0][3:]
    texts = {name: file.read_text(encoding="utf-8") for name in names if (file := tree / "src" / name / "CMakeLists.txt").exists()}
    uses = {name: used_by(text) & texts.keys() - {name} for name, text in texts.items()}

    @functools.cache
    def below(name: str) -> frozenset[str]:
        return frozenset(uses[name]).union(*map(below, uses[name]))

    return {name: {low for low in lows if not any(low in below(other) for other in lows)} for name, lows in uses.items()}


def read_table(tree: Path) -> dict[str, str]:
    """Returns the purpose of each layer: the second column of the table of layers."""
    text = (tree / TABLE).read_text(encoding="utf-8")
    return {match[1]: re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", match[2]).strip() for match in re.finditer(r"^\| `src/(\w+)` \| ([^|]*)\|", text, re.M)}


def place(layers: dict[str, set[str]]) -> list[list[str | None]]:
    """Returns rows of layers, the lowest first. None is an empty place, through which a line may lead."""
    users = {name: [user for user, lows in layers.items() if name in lows] for name in layers}

    @functools.cache
    def height(name: str) -> int:
        return 1 + max(map(height, layers[name]), default=-1)

    @functools.cache
    def level(name: str) -> int:
        return min((level(user) - 1 for user in users[name]), default=height(name))

    lowest = [[name for name in layers if level(name) == at] for at in range(1 + max(map(level, layers)))]
    rows: list[list[str | None]] = []
    for names in lowest:
        below = rows[-1] if rows and len(rows[-1]) > 1 and len(names) > 1 else []
        row: list[str | None] = [None] * max(len(names), len(below))
        for name in sorted(names, key=lambda name: not layers[name] & set(below)):  # layers that use one of the layers below are first
            over = [column for column, low in enumerate(below) if low in layers[name] and row[column] is None]
            row[over[0] if over else row.index(None)] = name
        below.extend([None] * (len(row) - len(below)))
        rows.append(row)
    return rows


def draw(layers: dict[str, set[str]], table: dict[str, str]) -> str:
    """Returns the picture as SVG."""
    boxes: dict[str, tuple[float, float, float, float]] = {}
    shapes, y = [], float(MARGIN)
    for row in reversed(place(layers)):
        width = (WIDTH - 2 * MARGIN - GAP * (len(row) - 1)) / len(row)
        wide = len(row) == 1
        height = 2 * LINE + 2 if wide else 4 * LINE
        for column, name in enumerate(row):
            if name is None:
                continue
            x = MARGIN + column * (width + GAP)
            boxes[name] = (x, y, width, height)
            lines = textwrap.wrap(table[name], int((width - (126 if wide else 32)) / LETTER))
            if len(lines) > (limit := 1 if wide else 2):
                sys.exit(f"{TABLE}: the text of src/{name} is too long for its box in the picture, which holds {limit} lines")
            shapes.append(f'<rect class="box" x="{x:g}" y="{y:g}" width="{width:g}" height="{height}" rx="5"/>')
            shapes.append(f'<text class="name" x="{x + 16:g}" y="{y + 21:g}">{name}</text>')
            left, top = (x + 110, y + 21) if wide else (x + 16, y + 21 + LINE + 2)
            shapes += [f'<text class="soft" x="{left:g}" y="{top + number * LINE:g}">{escape(line)}</text>' for number, line in enumerate(lines)]
        y += height + BETWEEN
    for name, lows in layers.items():
        for low in sorted(lows, key=list(layers).index):
            (x, top, width, height), (x_low, y_low, width_low, _) = boxes[name], boxes[low]
            narrow = (x + width / 2) if width <= width_low else (x_low + width_low / 2)
            shapes.append(f'<path class="use" marker-end="url(#tip)" d="M{narrow:g} {top + height:g}V{y_low - 1:g}"/>')
    size = f"{WIDTH} {y + MARGIN - BETWEEN:g}"
    tip = '<path class="tip" d="M0 0L8 4L0 8Z"/>'
    body = "\n".join(f"  {shape}" for shape in shapes)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="system-ui, sans-serif" font-size="13" role="img">
  <!-- Written by scripts/docs/layers.py -->
  <title>The layers of Headrace: each uses those below it</title>
  <style>{STYLE}  </style>
  <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">{tip}</marker></defs>
  <rect class="page" width="{WIDTH}" height="{size.split()[1]}" rx="8"/>
{body}
</svg>
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="compare with the committed picture, and write nothing")
    parser.add_argument("tree", nargs="?", type=Path, default=Path(__file__).resolve().parents[2])
    options = parser.parse_args(arguments)
    layers, table = read_layers(options.tree), read_table(options.tree)
    if missing := layers.keys() ^ table.keys():
        print(f"{TABLE}: the table of layers and src/CMakeLists.txt differ in {', '.join(sorted(missing))}", file=sys.stderr)
        return 1
    picture, text = options.tree / PICTURE, draw(layers, table)
    if not options.check:
        picture.write_text(text, encoding="utf-8")
    elif not picture.exists() or picture.read_text(encoding="utf-8") != text:
        print(f"{PICTURE} does not show the layers as they are: run scripts/docs/layers.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
