"""The `headrace` command: looks at an installation, and runs the benchmarks."""

from __future__ import annotations

import argparse
import os
import sys

from headrace import installation
from headrace.bench import cli as bench


def info(_: argparse.Namespace) -> int:
    for name, value in installation.describe():
        print(f"{name:<12} {value}")
    return 0


def config(_: argparse.Namespace) -> int:
    mpiexec = installation.find_mpiexec()
    if mpiexec is None:
        print("headrace: mpiexec is not installed beside this command", file=sys.stderr)
        return 1
    # The library's own code reads the settings, so that what is shown is what a program gets.
    os.execv(mpiexec, [str(mpiexec), "--config"])


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["bench"]:  # has options of its own
        return bench.main(arguments[1:])
    parser = argparse.ArgumentParser(prog="headrace", description="Looks at an installation of Headrace, and measures it.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    commands.add_parser("info", help="version, paths, CUDA driver").set_defaults(run=info)
    commands.add_parser("config", help="every setting: value, origin, default").set_defaults(run=config)
    commands.add_parser("bench", help="benchmarks, alone or beside other libraries; headrace bench --help")
    chosen = parser.parse_args(arguments)
    return chosen.run(chosen)
