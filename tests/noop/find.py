"""Finds for every function of the standard a test that fails if the function does nothing.

    python3 tests/noop/find.py BUILD [FUNCTION ...]     only these functions

A library that is loaded before Headrace's makes one function return 0 and do nothing else. The tests whose programs call that function run
with it until one fails, or enough have passed. The name of the failed test is written to tests/noop/found.tsv, which docs/conformance.md
shows (`python3 api/generate.py repo` writes that). Functions for which no test fails are listed at the end, and the exit code is 1. `make
noop` checks all functions, in about half an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOUND = Path(__file__).with_name("found.tsv")
SECONDS = 20  # tests that take longer without the replacement are not used
PATIENCE = 4  # time limit: this factor times the duration without the replacement, plus some seconds
MOST_TRIED = 12

sys.path.insert(0, str(ROOT / "api"))
from gen.model import read  # noqa: E402


@dataclass
class Test:
    name: str
    command: list[str]
    environment: dict[str, str]
    program: int  # index of the program in the command
    seconds: float = 1.0


def costs(build: Path) -> dict[str, float]:
    """Returns the duration of each test in its last run here."""
    file = build / "Testing/Temporary/CTestCostData.txt"
    lines = file.read_text().split("---")[0].splitlines() if file.exists() else []
    return {name: float(cost) for name, _, cost in (line.split() for line in lines)}


def is_program(word: str, build: Path) -> bool:
    path = Path(word)
    return word.startswith(str(build)) and path.name != "mpiexec" and path.is_file() and os.access(word, os.X_OK)


def tests(build: Path) -> list[Test]:
    """Returns the tests that run one program of the build, under mpiexec or alone."""
    listed = json.loads(subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout)
    cost, found = costs(build), []
    for each in listed["tests"]:
        command = each.get("command", [])
        programs = [at for at, word in enumerate(command) if is_program(word, build)]
        if len(programs) != 1 or programs[0] > 0 and Path(command[0]).name != "mpiexec":
            continue
        properties = {p["name"]: p["value"] for p in each["properties"]}
        if properties.keys() & {"WILL_FAIL", "PASS_REGULAR_EXPRESSION", "DISABLED"} or {"bench", "mpich"} & set(properties.get("LABELS", [])):
            continue
        environment = properties.get("ENVIRONMENT", [])
        found.append(Test(each["name"], command, dict(word.split("=", 1) for word in environment), programs[0], cost.get(each["name"], 1.0)))
    return sorted(found, key=lambda test: test.seconds)


def functions_of(file: str, known: dict[str, set[str]]) -> set[str]:
    """Returns the MPI functions that a program or an object calls."""
    if file not in known:
        text = subprocess.run(["nm", "--undefined-only", file], capture_output=True, text=True, check=False).stdout
        known[file] = set(re.findall(r"\b(MPI_\w+)", text))
    return known[file]


def source_of(program: Path, function: str, build: Path, known: dict[str, set[str]]) -> str:
    """Returns the source position of the program's call of the function, if its objects contain that."""
    for folder in build.glob(f"tests/**/CMakeFiles/{program.name}.dir"):
        for thing in sorted(folder.rglob("*.o")):
            if function in functions_of(str(thing), known):
                place = folder.parent.parent.relative_to(build) / str(thing.relative_to(folder)).removesuffix(".o").replace("__", "..")
                return os.path.normpath(place)
    return ""


def make_shim(function: str, returns: str, folder: Path) -> Path:
    """Builds a library that contains only that function."""
    source, library = folder / f"{function}.c", folder / f"{function}.so"
    source.write_text(f"{returns} {function}(void) {{ return 0; }}\n")
    subprocess.run(["cc", "-w", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def fails(test: Test, shim: Path) -> bool:
    """Runs the test with that library loaded before Headrace's; a test that does not end counts as failed."""
    command = [*test.command[:test.program], "env", f"LD_PRELOAD={shim}", *test.command[test.program:]]
    limit = PATIENCE * test.seconds + 10
    for at, word in enumerate(command):
        if word == "--timeout":
            command[at + 1] = str(int(limit))
    try:
        done = subprocess.run(command, env={**os.environ, **test.environment}, capture_output=True, timeout=limit + 20, check=False,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def read_found() -> dict[str, tuple[str, str]]:
    rows = (line.split("\t") for line in FOUND.read_text().splitlines() if line) if FOUND.exists() else ()
    return {function: (test, source) for function, test, source in rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("functions", nargs="*", help="these alone (all)")
    args = parser.parse_args()
    build = args.build.resolve()
    every = read(ROOT / "api").functions
    wanted = [f for f in every if not args.functions or f.name in args.functions]
    known: dict[str, set[str]] = {}
    callers = defaultdict(list)
    for test in tests(build):
        for name in functions_of(test.command[test.program], known) if test.seconds <= SECONDS else ():
            callers[name].append(test)
    found, missing, sound = read_found(), [], {}
    with tempfile.TemporaryDirectory(prefix="hr-noop-") as folder:
        harmless = make_shim("hr_nothing", "int", Path(folder))

        def tells(test: Test, shim: Path) -> bool:
            if not fails(test, shim):
                return False
            if test.name not in sound:
                sound[test.name] = not fails(test, harmless)
            return sound[test.name]

        for function in wanted:
            name, old = function.name, found.pop(function.name, ("", ""))[0]
            shim = make_shim(name, "double" if name in ("MPI_Wtime", "MPI_Wtick") else "long", Path(folder))
            # Tests that were found earlier come first, then programs that call few other functions, with one test of
            # each program before a second test of any.
            by_program = defaultdict(list)
            for test in sorted(callers[name], key=lambda test: (test.name != old, len(known[test.command[test.program]]))):
                by_program[test.command[test.program]].append(test)
            rest = [test for turn in range(MOST_TRIED) for listed in by_program.values() for test in listed[turn:turn + 1]]
            guilty = next((test for test in rest[:MOST_TRIED] if tells(test, shim)), None)
            if guilty is None:
                missing.append(name)
                print(f"{name}: no test misses it ({len(rest)} call it)", flush=True)
            else:
                found[name] = (guilty.name, source_of(Path(guilty.command[guilty.program]), name, build, known))
                print(f"{name}: {guilty.name}", flush=True)
            FOUND.write_text("".join(f"{key}\t{test}\t{source}\n" for key, (test, source) in sorted(found.items())))
    print(f"{len(wanted) - len(missing)} of {len(wanted)} functions are missed by a test" + "".join(f"\n  not: {name}" for name in missing))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
