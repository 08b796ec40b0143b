#!/usr/bin/env python3
"""Runs a program with HEADRACE_CHECK=full and compares its diagnostics with the expectations in the source.

  run.py SOURCE RANKS -- COMMAND ...

In the source a comment `HERE word` marks its line, and `EXPECT text` is a regular expression for a diagnostic, where
{word} stands for "file.c:line" of that mark and {ranks} for the number of ranks. Every EXPECT must be found, and every
diagnostic expected. `EXIT n` is the exit status, `EXIT any` any except 0; the default is 0. SOURCE "-": nothing may be
found.
"""

import re
import subprocess
import sys
from pathlib import Path

DIAGNOSTIC = re.compile(r"check full: |^error: |deadlock")


def expectations(source: str, ranks: str):
    if source == "-":
        return [], "0"
    path = Path(source)
    lines = path.read_text().splitlines()
    marks = {"ranks": ranks}
    for number, line in enumerate(lines, 1):
        for word in re.findall(r"HERE (\w+)", line):
            marks[word] = re.escape(f"{path.name}:{number} ")
    # A comment may span several lines.
    said = re.findall(r"EXPECT (.*?) \*/", re.sub(r"\n \* ?", " ", path.read_text()))
    expected = [re.sub(r"\{([a-z]\w*)\}", lambda match: marks[match[1]], text) for text in said]
    status = next((m[1] for line in lines if (m := re.search(r"EXIT (\w+)", line))), "0")
    return expected, status


def main() -> int:
    split = sys.argv.index("--")
    source, ranks = sys.argv[1:split]
    expected, status = expectations(source, ranks)
    ran = subprocess.run(sys.argv[split + 1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    diagnostics = [line for line in ran.stdout.splitlines() if DIAGNOSTIC.search(line)]
    wrong = [f"not found: {text}" for text in expected if not any(re.search(text, line) for line in diagnostics)]
    wrong += [f"not expected: {line}" for line in diagnostics if not any(re.search(text, line) for text in expected)]
    if (ran.returncode == 0) if status == "any" else ran.returncode != int(status):
        wrong.append(f"exit status {ran.returncode}, expected {status}")
    if wrong:
        print(ran.stdout, "\n".join(wrong), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
