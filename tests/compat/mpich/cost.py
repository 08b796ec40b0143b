#!/usr/bin/env python3
"""Cost of MPICH's ABI for a call: runs the two builds of cost.cpp alternately.

  cost.py STANDARD MPICH [--turns N] [--threads]     the program linked to libmpi_abi.so.1, the one linked to libmpi.so.12
"""

import argparse
import statistics
import subprocess


def run(program, *words):
    """name -> (calls a round, ns a round)"""
    lines = subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout.splitlines()
    return {name: (int(calls), float(ns)) for name, calls, ns in (line.split() for line in lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("standard")
    parser.add_argument("mpich")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--threads", action="store_true", help="with MPI_THREAD_MULTIPLE")
    arguments = parser.parse_args()
    words = ["threads"] if arguments.threads else []
    found = {"standard": {}, "mpich": {}}
    calls = {}
    for _ in range(arguments.turns):
        for kind in found:
            for name, (number, ns) in run(getattr(arguments, kind), *words).items():
                calls[name] = number
                found[kind].setdefault(name, []).append(ns)
    for name, number in calls.items():
        ours, theirs = (statistics.median(found[kind][name]) for kind in ("standard", "mpich"))
        print(f"{name:36} {ours:7.1f} ns -> {theirs:7.1f} ns: {(theirs - ours) / number:5.1f} ns a call")


if __name__ == "__main__":
    main()
