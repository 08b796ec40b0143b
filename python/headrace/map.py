"""`headrace map`: shows where a command line of mpiexec would place its ranks, here or on described machines. Starts nothing.

mpiexec itself computes the placement (`mpiexec --do-not-launch`), so that the options mean the same as when a job starts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from headrace import installation
from headrace.command import Parser

USAGE = """usage: headrace map [--machine WHAT]... [--hosts LIST] [--json] [--] OPTIONS OF MPIEXEC
       headrace map --save FILE

Shows where ranks would go: a table of ranks with their host, cores, CPUs, nearest GPU and NIC, and a picture of each
host. Nothing is started. Exit code 2 says that the command line is not understood, or asks for what is not possible there.

  --machine WHAT  hosts are like this: an hwloc XML file (lstopo x.xml, or --save), or hwloc's notation for one,
                  "synthetic:pack:2 numa:4 core:8 pu:2"; once for all hosts, or once for each; default: this machine
  --hosts LIST    names and slots of hosts: a:4,b:4; --hostfile FILE works as well
  --json          for programs
  --save FILE     write a description of this machine as an hwloc XML file, GPUs and NICs included

examples:
  headrace map -n 4 --map-by scatter
  headrace map --machine node.xml --hosts a,b -n 16 --map-by ppr:4:numa --bind-to core
"""


def define(parser: Parser) -> None:
    """Leaves all words to mpiexec, which knows its options and their order."""
    parser.set_defaults(execute=run)
    parser.verbatim = True


def run(args: argparse.Namespace) -> int:
    arguments = args.words
    if arguments in (["-h"], ["--help"]):
        print(USAGE, end="")
        return 0
    mpiexec = installation.find_mpiexec()
    if mpiexec is None:
        print("headrace: mpiexec is not installed beside this command", file=sys.stderr)
        return 1
    return subprocess.run([str(mpiexec), *translated(arguments)], check=False).returncode


def translated(arguments: list[str]) -> list[str]:
    """Translates the arguments for mpiexec, which would treat "--" as the end of its options."""
    if arguments[:1] == ["--save"]:
        return ["--save-machine", *arguments[1:]]
    words = list(arguments)
    if "--" in words:
        words.remove("--")
    return ["--do-not-launch", *words]
