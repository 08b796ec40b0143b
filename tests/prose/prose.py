#!/usr/bin/env python3
"""Checks how comments and documents of the tree begin, and how wide documents are: prose.py [TREE]

A comment says what a function does, verb first ("Returns", "True if"), or names its subject ("Bytes still to come"). One that begins
with a relative clause or a dangling preposition ("What names a request: ...", "Of this process, ...") makes the reader search for
the subject. Prints each such comment of the tracked C, C++, CUDA, Python, shell and CMake files; the exit code is 1 if there are
more than MOST. Only the first line of a block of comment lines counts, and comments behind code do not.

Documents (*.md) fail at a line longer than COLUMNS, at a sentence that begins with a relative clause ("What is new: ...", "Who has
no GPU ..."), and at a list without an empty line before it, which the site shows as text. Headings, tables, code and questions do
not count. scripts/docs/wrap.py wraps lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts/docs"))

import wrap  # noqa: E402 (the path comes first)

MOST = 20
COLUMNS = 160

_SLASHES, _HASH = re.compile(r"\s*(?://+|/\*+)\s*"), re.compile(r"\s*#+\s*")
_MARKS = {**dict.fromkeys((".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"), _SLASHES), **dict.fromkeys((".py", ".sh", ".cmake"), _HASH)}
_BAD = re.compile(r"(?:Who|What|Whoever|Whatever|Whether|That|Of|As|Those|Which|How|Where|Whom|Whose)\b")
_BAD_SENTENCE = re.compile(r"(?:What|Who|Whoever|Whatever|Whom|Whose|Which|That which|Those who|Whether)\b")
_SENTENCES = re.compile(r"(?<=[.!?]) +(?=[A-Z*`\[(])")
_NOT_SOURCES = re.compile(r"build.*|node_modules|__pycache__|\..*")


def tracked(tree: Path) -> list[Path]:
    """Returns the files that git tracks or, without a repository, all files, except build directories and hidden ones."""
    git = subprocess.run(["git", "-C", str(tree), "ls-files", "-z"], capture_output=True, check=False) if (tree / ".git").exists() else None
    if git and git.returncode == 0:
        return [tree / os.fsdecode(name) for name in git.stdout.split(b"\0") if name]
    found = []
    for folder, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if not _NOT_SOURCES.fullmatch(name)]
        found += [Path(folder, name) for name in names]
    return sorted(found)


def mark_of(file: Path) -> re.Pattern | None:
    """Returns a pattern that matches the beginning of a comment in that file; None if it is not a source file."""
    name = file.name.removesuffix(".in")
    if name == "CMakeLists.txt":
        return _HASH
    if "." in name.lstrip("."):
        return _MARKS.get(Path(name).suffix)
    with file.open("rb") as content:
        return _HASH if re.match(rb"#!.*\b(sh|bash|python3?)\b", content.readline(200)) else None


def bad_comments(lines: list[str], mark: re.Pattern) -> Iterator[tuple[int, str]]:
    """Yields the number and text of each line that begins a block of comment lines badly."""
    inside = False
    for number, line in enumerate(lines, 1):
        begin = mark.match(line)
        if begin and not line.startswith("#!") and not inside and _BAD.match(line, begin.end()):
            yield number, line.strip()
        inside = begin is not None


def long_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yields the number and text of each line of a document that is too long, outside tables and code."""
    for block in wrap.blocks(text):
        if block.kind in ("prose", "kept"):
            yield from ((number, line) for number, line in enumerate(block.lines, block.first) if len(line) > COLUMNS)


def bad_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yields the line of each paragraph or list item with a sentence that begins badly, and that sentence. Questions are fine."""
    for block in wrap.blocks(text):
        if block.kind == "prose":
            for sentence in _SENTENCES.split(re.sub(r"`[^`]*`", "`code`", block.text)):
                if _BAD_SENTENCE.match(sentence.lstrip("*_(")) and "?" not in sentence:
                    yield block.first, sentence


def lost_lists(text: str) -> Iterator[tuple[int, str]]:
    """Yields the lists right after a paragraph: forges show them as lists, and the site as more lines of the paragraph."""
    before = None
    for block in wrap.blocks(text):
        if block.kind == "prose" and block.is_item and before and before.kind == "prose" and not before.is_item:
            if not before.lead.strip() and len(before.lead) == len(block.lead) - len(block.lead.lstrip()):
                yield block.first, block.lines[0]
        before = block


def check_document(name: Path, text: str) -> int:
    """Prints a document's faults, and returns their number."""
    found = [*((number, f"longer than {COLUMNS} columns: {line[:60]}...") for number, line in long_lines(text)),
             *((number, f"begins with a relative clause: {sentence[:100]}") for number, sentence in bad_sentences(text)),
             *((number, f"a list needs an empty line before it: {line[:60]}") for number, line in lost_lists(text))]
    for number, fault in sorted(found):
        print(f"{name}:{number}: {fault}")
    return len(found)


def main(tree: Path) -> int:
    comments, documents = 0, 0
    for file in tracked(tree):
        if file.is_symlink() or not file.is_file():
            continue
        name = file.relative_to(tree)
        if name.suffix == ".md":
            documents += check_document(name, file.read_text(encoding="utf-8", errors="replace"))
        elif mark := mark_of(file):
            for number, line in bad_comments(file.read_text(encoding="utf-8", errors="replace").splitlines(), mark):
                comments += 1
                print(f"{name}:{number}: {line}")
    print(f"{comments} comments begin with a relative clause or a dangling preposition, at most {MOST} may")
    print(f"{documents} faults in documents, none may be")
    if comments > MOST:
        print('Rewrite them: a verb first for functions ("Returns", "True if"), a named subject for data ("Bytes still to come").')
    if documents:
        print("Wrap long lines by scripts/docs/wrap.py FILE; begin sentences with their subject or a verb.")
    return 1 if comments > MOST or documents else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()))
