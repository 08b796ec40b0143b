"""Splits a Markdown document into blocks, and wraps the long lines of its prose.

wrap.py FILE...   wraps every paragraph and list item that has a line longer than WIDTH columns, in place

Headings, tables, code, HTML, front matter and definitions of links stay as they are, and so does a paragraph whose lines all fit.
No line is broken inside short `code`, and none begins with characters that would make a heading, list or quotation of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WIDTH = 120

_FENCE = re.compile(r"\s*(?:>\s*)?(`{3,}|~{3,})")
_ITEM = re.compile(r"(\s*)([-*+]|\d+[.)])(\s+)(?=\S)")
_KEPT = re.compile(r"\s*(?:#{1,6}\s|\||!!!|\?\?\?|={3,}|(?:[-*_]\s*){3,}$|\[[^\]]+\]:)")
_HTML = re.compile(r"\s*<[a-zA-Z!/?]")
_QUOTE = re.compile(r"(\s*>\s?)")
_WORD = re.compile(r"(?:(`+)(?:(?!\1).)*?\1(?!`)|\S)+")
_STARTS_A_BLOCK = re.compile(r"[-*+]$|\d+[.)]$|#{1,6}$|>|\||={2,}|-{2,}|```|~~~|!!!|\[[^\]]+\]:|<[a-zA-Z!/]")


@dataclass
class Block:
    """Lines that belong together; `first` is the number of the first one, from 1."""

    kind: str  # "prose", "table", "code", "kept" or "blank"
    first: int
    lines: list[str]
    lead: str = ""  # for prose: what precedes the text, as the mark of a list item

    @property
    def is_item(self) -> bool:
        """True if the block is an item of a list."""
        return self.kind == "prose" and _ITEM.match(self.lines[0]) is not None

    @property
    def text(self) -> str:
        """Returns the words of prose, with single spaces."""
        lines = [self.lines[0][len(self.lead):], *self.lines[1:]]
        if self.lead.strip().startswith(">"):
            lines[1:] = [_QUOTE.sub("", line, count=1) for line in lines[1:]]
        return " ".join(" ".join(lines).split())


def _end(lines: list[str], at: int, last: str) -> int:
    """Returns the index after the next line that matches `last`."""
    while at < len(lines) and not re.search(last, lines[at]):
        at += 1
    return min(at + 1, len(lines))


def _paragraph_end(lines: list[str], at: int, lead: str) -> int:
    quoted = lead.strip().startswith(">")
    while at < len(lines) and lines[at].strip():
        line = lines[at]
        if _FENCE.match(line) or _ITEM.match(line) or _KEPT.match(line) or (_QUOTE.match(line) and not quoted):
            break
        at += 1
    return at


def blocks(text: str) -> Iterator[Block]:
    lines, at, item = text.splitlines(), 0, None  # item: columns before the text of the current list item
    if lines and lines[0] == "---":
        at = _end(lines, 1, r"^---$")
        yield Block("kept", 1, lines[:at])
    while at < len(lines):
        line, start = lines[at], at
        indent = len(line) - len(line.lstrip())
        lead, kind = "", "prose"
        if not line.strip():
            at, kind = at + 1, "blank"
        elif fence := _FENCE.match(line):
            at, kind = _end(lines, at + 1, rf"^\s*(?:>\s*)?{fence[1][0]}{{{len(fence[1])},}}\s*$"), "code"
        elif indent >= 4 and (item is None or indent >= item + 4):
            at, kind = at + 1, "code"
        elif line.lstrip().startswith("|"):
            at, kind = at + 1, "table"
        elif line.lstrip().startswith("<!--"):
            at, kind = _end(lines, at, "-->"), "kept"
        elif _HTML.match(line):
            at, kind = _end(lines, at, r"^\s*$"), "kept"
        elif _KEPT.match(line):
            at, kind = at + 1, "kept"
        else:
            mark = _ITEM.match(line) or _QUOTE.match(line)
            lead = mark[0] if mark else line[:indent]
            at = _paragraph_end(lines, at + 1, lead)
        if kind != "blank":
            if kind == "prose" and _ITEM.match(line):
                item = len(lead)
            elif indent == 0:
                item = 4 if line.startswith(("!!!", "???")) else None
        yield Block(kind, start + 1, lines[start:at], lead)


def words(text: str, width: int = WIDTH) -> list[str]:
    """Returns the pieces between which a line may break: words, and code shorter than `width` columns.

    A word that would start a block at the beginning of a line stays with the preceding one."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        for word in [match[0]] if len(match[0]) < width else match[0].split():
            if found and _STARTS_A_BLOCK.match(word):
                found[-1] += " " + word
            else:
                found.append(word)
    return found


def wrapped(block: Block, width: int = WIDTH) -> list[str]:
    """Returns the lines of a block, at most `width` columns each where words allow it."""
    if block.kind != "prose" or all(len(line) <= width for line in block.lines):
        return block.lines
    if any(re.search(r"  $|\\$|<br>$", line) for line in block.lines):  # intended line breaks
        return block.lines
    if block.lead.strip().startswith(">"):
        behind = block.lead
    elif len(block.lines) > 1:
        behind = re.match(r"\s*", block.lines[1])[0]
    else:
        behind = " " * len(block.lead)
    lines, line = [], block.lead
    empty = True
    for word in words(block.text, width):
        if not empty and len(line) + 1 + len(word) > width:
            lines.append(line)
            line, empty = behind, True
        line += word if empty else " " + word
        empty = False
    return [*lines, line]


def wrap(text: str, width: int = WIDTH) -> str:
    lines = [line for block in blocks(text) for line in wrapped(block, width)]
    return "\n".join(lines) + "\n" if lines else text


def main(names: list[str]) -> int:
    for name in names:
        file = Path(name)
        before = file.read_text(encoding="utf-8")
        after = wrap(before)
        if after != before:
            file.write_text(after, encoding="utf-8")
            print(f"wrapped {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
