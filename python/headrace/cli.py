"""The `headrace` command: looks at an installation and its machine, shows where ranks go, runs the benchmarks and the course, tunes."""

from __future__ import annotations

import argparse
import subprocess
import sys

from headrace import installation
from headrace import map as where
from headrace.bench import cli as bench
from headrace.bench.child import Failed
from headrace.bench.programs import locate
from headrace.course import cli as course
from headrace.doctor import cli as doctor
from headrace.monitor import cli as monitor
from headrace.monitor import top
from headrace.tune import cli as tune
from headrace.tune import collectives


def info(_: argparse.Namespace) -> int:
    for name, value in installation.describe():
        print(f"{name:<12} {value}")
    return 0


def config(_: argparse.Namespace) -> int:
    mpiexec = installation.find_mpiexec()
    if mpiexec is None:
        print("headrace: mpiexec is not installed beside this command", file=sys.stderr)
        return 1
    # The library's own code reads the settings, so that the output is what a program gets.
    code = subprocess.run([str(mpiexec), "--config"], check=False).returncode
    try:
        file = collectives.selection(locate(installation.prefix(), mpiexec))["tuning_file"]
    except Failed as failed:
        print(f"headrace: {failed}", file=sys.stderr)
        return 1
    if not file["found"]:
        state = f"none ({file['path'] + ' is not there; headrace tune writes it' if file['path'] else 'not looked for'})"
    else:
        state = file["path"] + (f", ignored: {file['problem']}" if file["problem"] else f", {file['rows']} rows in use")
    print(f"\nTuning file: {state}")
    return code


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["bench"]:  # parses its own options
        return bench.main(arguments[1:])
    if arguments[:1] == ["map"]:
        return where.main(arguments[1:])
    if arguments[:1] == ["tune"]:
        return tune.main(arguments[1:])
    if arguments[:1] == ["course"]:
        return course.main(arguments[1:])
    if arguments[:1] == ["doctor"]:
        return doctor.main(arguments[1:])
    if arguments[:1] == ["monitor"]:
        return monitor.main(arguments[1:])
    if arguments[:1] == ["top"]:
        return top.main(arguments[1:])
    parser = argparse.ArgumentParser(prog="headrace", description="Looks at an installation of Headrace, and measures it.")
    parser.add_argument("--version", action="version", version=f"headrace {installation.version()}",
                        help="print the version and exit")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    commands.add_parser("info", help="version, paths, CUDA driver").set_defaults(run=info)
    commands.add_parser("config", help="every setting: value, origin, default").set_defaults(run=config)
    commands.add_parser("map", help="where a command line would put its ranks, here or elsewhere; headrace map --help")
    commands.add_parser("doctor", help="what this machine can do for a job, and what will bite; headrace doctor --help")
    commands.add_parser("top", help="what the jobs of this host do, in the terminal; headrace top --help")
    commands.add_parser("monitor", help="the same as a web page, with history; headrace monitor --help")
    commands.add_parser("bench", help="benchmarks, alone or beside other libraries; headrace bench --help")
    commands.add_parser("tune", help="measures messages and collectives here, for programs to use; headrace tune --help")
    commands.add_parser("course", help="programs to learn from, beside published figures; headrace course --help")
    if not arguments:
        parser.print_help()
        return 0
    chosen = parser.parse_args(arguments)
    return chosen.run(chosen)
