"""`headrace doctor`: the command line."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from importlib import metadata
from pathlib import Path

from headrace import command, counters, installation
from headrace.bench.child import Failed
from headrace.command import Parser
from headrace.doctor import job, run, show
from headrace.doctor.check import run_all
from headrace.doctor.checks import CHECKS
from headrace.doctor.facts import Facts
from headrace.doctor.finding import exit_code
from headrace.doctor.job import facts as job_facts
from headrace.doctor.run import links
from headrace.problem import sentence

_EPILOG = "Exit code: 0 no trouble found, 1 warnings, 2 errors (or a wrong option). It changes nothing and ends within 10 s."


def define(parser: Parser) -> None:
    parser.set_defaults(execute=run_checks)
    parser.check = _check
    parser.epilog = _EPILOG
    parser.description = ("Shows what this machine offers to a job and what causes problems: each finding with its evidence, its cost and "
                          "its remedy.")
    parser.add_argument("--all", action="store_true", help="also print what is in order")
    parser.add_argument("--json", action="store_true", help="print all findings as JSON, with stable ids")
    parser.add_argument("--job", metavar="JOB|FILE", nargs="?", const="", help="find problems of a job from its counters: one that "
                        "runs here (without a name: all), or a file written by mpiexec --save-counters")
    parser.add_argument("--run", action="store_true", help="measure the links between hosts (of --hosts, or of the allocation), or else "
                        "between this host's GPUs and cores; takes seconds to minutes")
    parser.add_argument("--hosts", metavar="LIST", default="", help="with --run: comma-separated list of at least two hosts, reached by ssh")
    parser.add_argument("--list", action="store_true", help="list the checks, and run none")
    parser.add_argument("--only", metavar="CHECK", action="append", choices=[check.name for check in (*CHECKS, *job.CHECKS, *run.CHECKS)],
                        help="run only this check; may be given several times")
    parser.add_argument("--build", type=Path, metavar="DIR", help="build directory or prefix of Headrace (this installation)")


def _check(parser: Parser, args: argparse.Namespace) -> None:
    if args.run and args.job is not None:
        parser.error("--run and --job are two things: ask for one at a time")
    if args.hosts and not args.run:
        parser.error("--hosts says where --run measures")
    if args.run and args.hosts.count(",") < bool(args.hosts):
        parser.error("--hosts requires at least two, separated by commas")


def _version() -> str:
    try:
        return installation.version()
    except metadata.PackageNotFoundError:  # run from the source tree
        return "not installed"


def _facts(args: argparse.Namespace) -> Facts | job_facts.JobFacts | links.RunFacts:
    if args.job is not None:
        return job_facts.of(args.job)
    facts = Facts(prefix=(args.build or installation.prefix()).resolve())
    if not args.run:
        return facts
    gpus = facts.try_gpus().get("driver", {}).get("devices", ()) or facts.try_amd().get("devices", ())
    return links.measure(facts.prefix, args.hosts, facts.environment, len(gpus), len(facts.affinity), builds_alone=args.only == ["builds"])


def main(argv: list[str], facts: Facts | job_facts.JobFacts | links.RunFacts | None = None) -> int:
    return run_checks(command.parse("headrace doctor", define, argv), facts)


def run_checks(args: argparse.Namespace, facts: Facts | job_facts.JobFacts | links.RunFacts | None = None) -> int:
    checks = job.CHECKS if args.job is not None else run.CHECKS if args.run else CHECKS
    if args.list:
        for check in checks:
            print(f"{check.name:<12} {check.sentence}")
        return 0
    try:
        facts = facts or _facts(args)
        results = run_all([check for check in checks if not args.only or check.name in args.only], facts)
    except (counters.Problem, Failed, OSError) as problem:
        print(f"headrace doctor: {sentence(problem)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # variables may contain any bytes
    try:
        if args.json:
            json.dump(show.as_json(results, _version(), platform.node()), sys.stdout, indent=1)
            print()
        else:
            print(show.text(results, args.all))
        sys.stdout.flush()
    except BrokenPipeError:  # `headrace doctor | head`
        sys.stdout = None
    return exit_code([finding for _, found in results for finding in found])
