#!/usr/bin/env python3
"""Writes the manual pages of section 1 from the commands' own help: man.py MPIEXEC DIRECTORY

mpiexec(1) comes from `MPIEXEC --help`, headrace(1) and its subcommands from their parsers, mpicc(1) and mpifort(1) from the text below.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "api"), str(ROOT / "python")]
# Defaults are derived from the reader's home, not from the builder's.
HOME = "/home-of-the-reader"
os.environ["HOME"] = HOME
os.environ["COLUMNS"] = "100"
for name in [name for name in os.environ if name.startswith("XDG_")]:
    del os.environ[name]

from gen import man, mdoc  # noqa: E402
from gen.files import put  # noqa: E402
from headrace import cli  # noqa: E402

VERSION = man.version_of(ROOT / "api")


# --- mpiexec ---

def described(text: str) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """Returns the options of `mpiexec --help` with their help, and its lists of names by title."""
    options, lists, title = [], {}, None
    for line in text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            title = line.rstrip(":")
            lists[title] = ""
        elif title:
            lists[title] += (" " if lists[title] else "") + line.strip() if not line.startswith("  mpiexec") else "\n" + line.strip()
        elif line.startswith("  -"):
            names, _, help_text = line[2:].partition("  ")
            options.append((names.strip(), help_text.strip()))
        elif line.startswith("   ") and options:
            names, help_text = options[-1]
            options[-1] = (names, f"{help_text} {line.strip()}".strip())
    return options, lists


def option_item(names: str) -> str:
    """Formats `-n,--np N` as an item of a list."""
    words, _, value = names.partition(" ")
    flags = " , ".join(f"Fl {mdoc.argument(word[1:])}" for word in words.split(","))
    return f".It {flags}" + (f" Ar {mdoc.argument(value)}" if value else "")


def mpiexec_page(mpiexec: str) -> str:
    options, lists = described(subprocess.run([mpiexec, "--help"], check=True, capture_output=True, text=True, timeout=30).stdout)
    lines = mdoc.head(["mpiexec", "mpirun"], 1, "start MPI programs on this host and on others", VERSION)
    lines += [".Sh SYNOPSIS", ".Nm", ".Op Fl n Ar ranks", ".Op Ar options", ".Ar program", ".Op Ar arguments",
              ".Op Cm \\&: Oo Fl n Ar ranks Oc Oo Ar options Oc Ar program Oo Ar arguments Oc ..."]
    lines += [".Sh DESCRIPTION", "The command starts ranks of one or more programs as one job,", "and ends when all of them have ended.",
              "Programs after a colon belong to the same job.",
              "Every option may be written with one dash or two.",
              "An unknown option is an error, and nothing is started.", ".Pp",
              "Standard input is passed to rank 0.", "Output is forwarded in whole lines.", "Signals are passed on.",
              ".Sh OPTIONS", ".Bl -tag -width Ds"]
    for names, help_text in options:
        lines += [option_item(names), *mdoc.lines(help_text.rstrip(".") + ".")]
    lines += [".El"]
    for title, text in lists.items():
        if title == "Examples":
            continue
        lines += [f".Ss {mdoc.escaped(title.split(' (')[0])}", *mdoc.lines(text)]
    lines += [".Sh ENVIRONMENT", "Every setting of the library is a variable; headrace config lists all of them.", "These affect the launcher:",
              ".Bl -tag -width Ds"]
    launcher = ("launcher", "launch_degree", "host_timeout", "as_hosts", "oversubscribe", "verbose", "check", "network_devices")
    from gen.model import load
    knobs = {knob["name"]: knob for knob in load(ROOT / "api/knobs.yaml")}
    lines += [".It Ev MPIEXEC_TIMEOUT", "Seconds after which a job is ended, as with --timeout."]
    for name in launcher:
        if name in knobs:
            lines += [f".It Ev HEADRACE_{name.upper()}", *mdoc.lines(knobs[name]["sentence"])]
    lines += [".El", ".Sh EXIT STATUS", "The exit status is that of the first rank that failed, and 0 if none did.", ".Bl -tag -width Ds",
              ".It 2", "The command line is invalid.", ".It 124", "The job was ended by a timeout.", ".It 127",
              "A program could not be started.", ".It 128 + N", "Signal N killed a rank.", ".El", ".Sh EXAMPLES",
              *mdoc.literal(["mpiexec -n 4 ./program --its-option value", "mpiexec -n 1 ./server : -n 3 ./client", "mpiexec -n 8 --hosts a,b:4 ./program",
                             "mpiexec -n 4 -l --timeout 60 ./program"])]
    return mdoc.page([*lines, *mdoc.see_also([("headrace", 1), ("headrace-map", 1), ("headrace-doctor", 1), ("mpicc", 1), ("MPI_Init", 3)])])


# --- the wrappers of compilers ---

QUERIES = [("show", "Print the command instead of running it."),
           ("showme:compile", "Print the flags to compile with."), ("showme:link", "Print the flags to link with."),
           ("showme:incdirs", "Print the header directories."), ("showme:libdirs", "Print the library directories."),
           ("showme:libs", "Print the library names."), ("showme:command", "Print the compiler."), ("showme:version", "Print the version of Headrace."),
           ("compile-info", "Print the compiler with the flags to compile with."), ("link-info", "Print the compiler with the flags to link with.")]


def wrapper_page(names: list[str], language: str, variables: list[tuple[str, str]], more: list[str]) -> str:
    lines = mdoc.head(names, 1, f"compile MPI programs in {language}", VERSION)
    lines += [".Sh SYNOPSIS", ".Nm", ".Op Ar query", ".Ar words of the compiler", ".Sh DESCRIPTION",
              "The command calls the system's compiler,", "and adds the headers and the library of MPI.",
              "All arguments are passed on to it.", "A RUNPATH is added, so that the program finds the library when it is started alone.", *more,
              ".Pp", "These arguments are queries:", ".Bl -tag -width Ds"]
    for query, text in QUERIES:
        lines += [f".It Fl {query}", text]
    lines += [".El", ".Sh ENVIRONMENT", ".Bl -tag -width Ds"]
    for name, text in variables:
        lines += [f".It Ev {name}", text]
    lines += [".El", ".Sh EXIT STATUS", "The exit status is the compiler's.", ".Sh EXAMPLES",
              *mdoc.literal([f"{names[0]} hello.{'f90' if language == 'Fortran' else 'c'} -o hello", "mpiexec -n 4 ./hello"])]
    other = "mpicc" if names[0] != "mpicc" else "mpifort"
    return mdoc.page([*lines, *mdoc.see_also([("mpiexec", 1), (other, 1), ("headrace", 1), ("MPI_Init", 3)])])


# --- headrace ---

def commands_of(parser: argparse.ArgumentParser) -> dict[str, tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            return {name: (helps.get(name, ""), sub) for name, sub in action.choices.items()}
    return {}


def value_of(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    name = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper() if action.option_strings else action.dest)
    return f"[{name}]" if action.nargs == "?" and action.option_strings else name


def synopsis(parser: argparse.ArgumentParser, words: list[str]) -> list[str]:
    lines = [".Nm headrace"] + [f".Cm {word}" for word in words]
    for action in parser._actions:
        if isinstance(action, (argparse._HelpAction, argparse._SubParsersAction)) or action.help == argparse.SUPPRESS:
            continue
        value = value_of(action)
        if action.option_strings:
            item = f"Fl {mdoc.argument(action.option_strings[-1][1:])}" + (f" Ar {mdoc.argument(value)}" if value else "")
            lines.append(f".Op {item}" if not action.required else f".{item}")
        else:
            optional = action.nargs in ("?", "*", "...")
            lines.append((".Op Ar " if optional else ".Ar ") + mdoc.argument(value) + (" ..." if action.nargs in ("*", "+", "...") else ""))
    return lines


def option_list(parser: argparse.ArgumentParser) -> list[str]:
    formatter = parser._get_formatter()
    lines = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
            continue
        value = value_of(action)
        names = " , ".join(f"Fl {mdoc.argument(option[1:])}" for option in action.option_strings)
        help_text = formatter._expand_help(action) if action.help else f"One of {', '.join(map(str, action.choices))}" if action.choices else ""
        lines += [f".It {names}" + (f" Ar {mdoc.argument(value)}" if value else "") if names else f".It Ar {mdoc.argument(value)}", *mdoc.sentence(help_text or "No more is said about it")]
    return [".Sh OPTIONS", ".Bl -tag -width Ds", *lines, ".El"] if lines else []


def map_page(text: str) -> str:
    """Returns the page of a command that accepts mpiexec's command line."""
    lines = mdoc.head(["headrace-map"], 1, text, VERSION)
    lines += [".Sh SYNOPSIS", ".Nm headrace", ".Cm map", ".Op Ar options of mpiexec", ".Op Fl \\-machine Ar what", ".Op Fl \\-json", ".Op Fl \\-save Ar file",
              ".Sh DESCRIPTION", "The command prints the placement of ranks, with a picture of each host.", "It starts nothing.",
              "It takes the options of", ".Xr mpiexec 1", "that place ranks.", ".Sh OPTIONS", ".Bl -tag -width Ds",
              ".It Fl \\-machine Ar what", "A machine to plan for: an hwloc XML file, or hwloc's synthetic notation.", "Once for all hosts, or once for each.",
              ".It Fl \\-json", "Print JSON.", ".It Fl \\-save Ar file", "Write a description of this machine as an hwloc XML file.", ".El", ".Sh EXAMPLES",
              *mdoc.literal(["headrace map -n 2 --map-by core", "headrace map --machine node.xml -n 6 --map-by scatter"])]
    return mdoc.page([*lines, *mdoc.see_also([("headrace", 1), ("mpiexec", 1)])])


def headrace_pages() -> dict[str, str]:
    top, commands = cli.parser()
    pages = {}
    lines = mdoc.head(["headrace"], 1, "look at an installation of Headrace, at its machine and its jobs", VERSION)
    lines += [".Sh SYNOPSIS", ".Nm", ".Ar command", ".Op Ar options", ".Sh DESCRIPTION", *mdoc.sentence(top.description or ""), ".Pp", "The commands are:",
              ".Bl -tag -width Ds"]
    for name, (text, _) in commands.items():
        lines += [f".It Cm {name}", *mdoc.sentence(text)]
    lines += [".El", *option_list(top)]
    pages["headrace"] = mdoc.page([*lines, *mdoc.see_also([("mpiexec", 1), *((f"headrace-{name}", 1) for name in commands)])])
    for name, (text, parser) in commands.items():
        if parser.verbatim:
            pages["headrace-map"] = map_page(text)
            continue
        lines = mdoc.head([f"headrace-{name}"], 1, text, VERSION) + [".Sh SYNOPSIS", *synopsis(parser, [name]), ".Sh DESCRIPTION"]
        lines += mdoc.sentence(parser.description or text)
        if parser.epilog:
            lines += [".Pp", *mdoc.lines(parser.epilog)]
        lines += option_list(parser)
        for sub_name, (sub_text, sub_parser) in commands_of(parser).items():
            lines += [f".Ss {sub_name}", *mdoc.sentence(sub_parser.description or sub_text or sub_name), *option_list(sub_parser)[1:]]
        pages[f"headrace-{name}"] = mdoc.page([*lines, *mdoc.see_also([("headrace", 1), ("mpiexec", 1)])])
    return pages


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    mpiexec, folder = arguments[0], Path(arguments[1]) / "man1"
    pages = headrace_pages()
    pages["mpiexec"] = mpiexec_page(mpiexec)
    cc = [("HEADRACE_CC", "The compiler of mpicc."), ("HEADRACE_CXX", "The compiler of mpicxx.")]
    fc = [("HEADRACE_FC", "The compiler (default: gfortran, flang, ifx, nvfortran or nagfor)."),
          ("HEADRACE_FORTRAN_CACHE", "Directory of the modules; default: ~/.cache/headrace/fortran.")]
    pages["mpicc"] = wrapper_page(["mpicc", "mpicxx", "mpic++"], "C and C++", cc, [])
    pages["mpifort"] = wrapper_page(["mpifort", "mpif90", "mpif77"], "Fortran", fc,
                                    [".Pp", "Modules belong to one compiler:", "the first time with a compiler, the command builds the modules mpi and", "mpi_f08 for it, and keeps them."])
    for name, text in pages.items():
        put(folder / f"{name}.1", text.replace(HOME, "~"))
    for name, page in (("mpirun", "mpiexec"), ("mpicxx", "mpicc"), ("mpic++", "mpicc"), ("mpif90", "mpifort"), ("mpif77", "mpifort")):
        put(folder / f"{name}.1", f".so man1/{page}.1\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
