"""The `headrace` command: examines an installation and its machine, shows the placement of ranks, runs the benchmarks and the course,
tunes."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from headrace import half_removed

try:
    from headrace import completion, everything, installation, modulefile, stack
    from headrace import map as where
    from headrace.bench import cli as bench
    from headrace.bench.child import Failed
    from headrace.bench.programs import locate
    from headrace.command import Parser
    from headrace.course import cli as course
    from headrace.doctor import cli as doctor
    from headrace.monitor import cli as monitor
    from headrace.monitor import top
    from headrace.tune import cli as tune
    from headrace.tune import collectives
except ImportError as problem:
    half_removed.stop(problem)


def info(args: argparse.Namespace) -> int:
    prefix = args.prefix.resolve() if args.prefix else installation.prefix()
    if args.prefix and not (prefix / "bin" / "mpiexec").is_file():
        print(f"headrace info: --prefix {args.prefix}: there is no bin/mpiexec", file=sys.stderr)
        return 2
    if args.modulefile:
        print(modulefile.text(args.modulefile, prefix, installation.version_of(prefix)), end="")
        return 0
    if args.all or args.json or args.prefix:
        facts = everything.describe(prefix)
        print(json.dumps(facts, indent=1) if args.json else "\n".join(everything.lines(facts)))
        return 0
    for name, value in installation.describe():
        print(f"{name:<12} {value}")
    return 0


def config(_: argparse.Namespace) -> int:
    mpiexec = installation.find_mpiexec()
    if mpiexec is None:
        print("headrace: mpiexec is not installed beside this command", file=sys.stderr)
        return 1
    # The library's own code reads the settings, so that the output shows what a program gets.
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


# Commands that modules of their own define.
COMMANDS = {"map": (where.define, "show where a command line would place its ranks, here or elsewhere"),
            "doctor": (doctor.define, "show what this machine offers to jobs, and what causes problems"),
            "top": (top.define, "show what the jobs on this host do, in the terminal"),
            "monitor": (monitor.define, "show the same on a web page, with history"),
            "stack": (stack.define, "print the call stacks of a running job's ranks, identical ones grouped"),
            "bench": (bench.define, "run benchmarks, alone or compared with other libraries"),
            "tune": (tune.define, "measure messages and collectives on this machine, and tune them"),
            "course": (course.define, "run teaching programs, and compare them with published figures")}


def main(arguments: list[str] | None = None) -> int:
    """Runs the command. Ends quietly, like other programs, when the reader of the output is gone (headrace info | head
    -1)."""
    try:
        code = run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes again at exit
        return 128 + signal.SIGPIPE


class _Version(argparse.Action):
    """Asks for the version only when it is printed: mpiexec knows it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"headrace {installation.version()}")
        parser.exit()


def parser() -> tuple[argparse.ArgumentParser, dict[str, tuple[str, Parser]]]:
    """Returns the parser of all commands, and for each command its help and its own parser."""
    whole = argparse.ArgumentParser(prog="headrace", description="Inspects, measures and monitors an installation of Headrace.",
                                    epilog="headrace COMMAND --help shows the options of a command.")
    whole.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = whole.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=Parser)
    known: dict[str, tuple[str, Parser]] = {}

    def add(name: str, text: str) -> Parser:
        known[name] = (text, commands.add_parser(name, help=text))
        return known[name][1]

    about = add("info", "show version, paths, compilers, networks, GPUs; print module files")
    about.add_argument("--all", action="store_true", help="also show compilers, ABIs, options, networks, GPUs")
    about.add_argument("--json", action="store_true", help="print everything as JSON, for programs")
    about.add_argument("--modulefile", choices=modulefile.KINDS, help="print a module file: lua for Lmod, tcl for Environment Modules")
    about.add_argument("--prefix", type=Path, metavar="DIR", help="use another installation, or a build directory")
    about.set_defaults(execute=info)
    shell = add("completion", "print the completion script of mpiexec and headrace for a shell")
    shell.add_argument("shell", choices=completion.SHELLS)
    shell.add_argument("--mpiexec", type=Path, metavar="FILE", help="mpiexec whose options to complete (that of this installation)")
    shell.set_defaults(execute=completion.run)
    add("config", "list every setting with its value, origin and default").set_defaults(execute=config)
    for name, (define, text) in COMMANDS.items():
        define(add(name, text))
    return whole, known


def run(arguments: list[str]) -> int:
    whole, _ = parser()
    if not arguments:
        whole.print_help()
        return 0
    chosen = whole.parse_args(arguments)
    return chosen.execute(chosen)
