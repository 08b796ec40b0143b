#!/usr/bin/env python3
"""Runs a program with HEADRACE_CHECK=full and compares its diagnostics with the expectations in the source.

  run.py SOURCE RANKS -- COMMAND ...

In the source a comment `HERE word` marks its line, and `EXPECT text` is a regular expression for a diagnostic, where
{word} stands for "file.c:line" of that mark and {ranks} for the number of ranks. Every EXPECT must be found, and every
diagnostic expected. `EXIT n` is the status, `EXIT any` any but 0; 0 without it. SOURCE "-": nothing may be found.

The ranks' pages of counters must hold the same reports, for the monitor (docs/counters.md). They also hold errors that a
program handles.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
from headrace import counters  # noqa: E402

ROOM = 16  # reports in a page
NOT_OURS = "a deadlock|MPI_ERR_RMA_SYNC"  # written by the launcher, and found without the checker
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


def of_pages(lines: list[str], expected: list[str], saved: str) -> list[str]:
    """What is wrong with the reports in the pages of counters."""
    kept = [(page.rank, report.text) for page in counters.load(saved) for report in page.reports()[1]]
    if any(len(page.reports()[1]) == ROOM for page in counters.load(saved)):
        return []
    written = [(int(found[1]), found[2]) for line in lines if (found := re.match(r"\[headrace (\d+)/\d+\] check full: (.*)", line))]
    ours = [re.sub(r"^(check full: |(MPIX?_\w+: )?MPI_ERR_\w+: )", "", text) for text in expected if not re.search(NOT_OURS, text)]
    wrong = [f"not in the page of rank {rank}: {line}" for rank, line in written
             if not re.search(NOT_OURS, line) and not any(rank == other and line.startswith(text) for other, text in kept)]
    return wrong + [f"in no page: {text}" for text in ours if not any(re.search(text, found) for _, found in kept)]


def main() -> int:
    split = sys.argv.index("--")
    source, ranks = sys.argv[1:split]
    mpiexec, *words = sys.argv[split + 1:]
    expected, status = expectations(source, ranks)
    with tempfile.TemporaryDirectory() as directory:
        saved = f"{directory}/run.hrc"
        ran = subprocess.run([mpiexec, "--save-counters", saved, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        missing = of_pages(ran.stdout.splitlines(), expected, saved)
    diagnostics = [line for line in ran.stdout.splitlines() if DIAGNOSTIC.search(line)]
    wrong = missing + [f"not found: {text}" for text in expected if not any(re.search(text, line) for line in diagnostics)]
    wrong += [f"not expected: {line}" for line in diagnostics if not any(re.search(text, line) for text in expected)]
    if (ran.returncode == 0) if status == "any" else ran.returncode != int(status):
        wrong.append(f"exit status {ran.returncode}, expected {status}")
    if wrong:
        print(ran.stdout, "\n".join(wrong), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
