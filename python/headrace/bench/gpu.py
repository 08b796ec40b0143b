"""The GPU set: every figure with its limit, measured in the same run.

Runs gpu_limits (bare copies and kernels), NCCL from C++ if its library is present, and Headrace's programs, round after
round; each figure is the median over the rounds. With one GPU both ranks use it, and the table says so. A section that
fails reports the reason; the other sections still run.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import shlex
import sys
import time
from pathlib import Path

from headrace import command
from headrace.bench import nccl
from headrace.bench import sections as all_sections
from headrace.bench.child import Failed, run_json
from headrace.bench.figure import Table
from headrace.bench.limits import Limits
from headrace.bench.programs import Programs, locate
from headrace.bench.progress import Progress
from headrace.command import Parser


class Session:
    """One run of the set. `deadline`: no further round begins after it."""

    def __init__(self, programs: Programs, args: argparse.Namespace):
        self.programs, self.args = programs, args
        self.scale = all_sections.QUICK if args.quick else all_sections.FULL
        self.sections = [s for s in all_sections.SECTIONS if not args.only or s.name in args.only]
        self.bare, self.nccl = Limits(), Limits()
        self.reports: dict[str, list[list[dict]]] = {}
        self.failures: dict[str, str] = {}
        self.devices, self.nccl_version = "", ""
        self.raw: list[dict] = []
        self.began = f"{datetime.datetime.now():%Y-%m-%d %H:%M}"
        self.deadline = time.monotonic() + args.limit

    def measure(self) -> None:
        rounds = [section.name for section in self.sections] + ["limits"]
        progress = Progress(["NCCL"] + rounds * self.args.runs, self.args.limit)
        self._nccl(progress)
        for round_ in range(self.args.runs):
            self._limits(progress)
            # Uses another order each time, so that a change in the machine affects all sections alike.
            shift = round_ % max(len(self.sections), 1)
            for section in self.sections[shift:] + self.sections[:shift]:
                progress.step(section.name)
                self._section(section, round_)
        progress.finish()

    def _late(self, what: str, round_: int) -> bool:
        if time.monotonic() < self.deadline or round_ == 0:
            return False
        self.failures.setdefault(what, f"{round_} of {self.args.runs} runs: the time for all was over")
        return True

    def _limits(self, progress: Progress) -> None:
        progress.step("limits")
        if "limits" in self.failures and not self.bare:
            return
        command = [self.programs.find("gpu_limits"), "--sizes", self.scale.sizes(all_sections.COLLECTIVE_SIZES),
                   *self.scale.faces(), "--milliseconds", "15"]
        try:
            report = run_json(command + (["--samples", "3"] if self.args.quick else []), self.args.timeout)
        except Failed as failed:
            self.failures["limits"] = str(failed)
            return
        self.devices = report["library"]
        self.bare.add(report)
        self.raw.append(report)

    def _nccl(self, progress: Progress) -> None:
        progress.step("NCCL")
        wanted = {"allreduce", "collectives"} & {section.name for section in self.sections}
        if not wanted:
            return
        try:
            report = run_json(nccl.command(self.programs, 2, nccl.required(), "--ways", "nccl_sync,nccl_graph", "--operations",
                                           ",".join(all_sections.NCCL_OPERATIONS), "--sizes",
                                           self.scale.sizes(all_sections.COLLECTIVE_SIZES), "--limit", self.args.timeout),
                              self.args.timeout + 20, self.programs.environment())
        except Failed as failed:
            self.failures["NCCL"] = str(failed).replace(f"exit code {nccl.NOT_HERE}: nccl: ", "")
            return
        self.nccl_version = f"NCCL {report['nccl']} from C++"
        self.nccl.add(report)
        self.raw.append(report)

    def _section(self, section: all_sections.Section, round_: int) -> None:
        if (section.name in self.failures and not self.reports.get(section.name)) or self._late(section.name, round_):
            return
        try:
            # The first round checks every byte, outside the times (halo3d always does that).
            check = ["--validate"] if round_ == 0 and section.name != "halo3d" else []
            found = [run_json([*command, *check], self.args.timeout, self.programs.environment())
                     for command in section.commands(self.programs, self.scale)]
        except Failed as failed:
            self.failures[section.name] = f"run {round_ + 1}: {failed}"
            return
        self.raw.extend(found)
        kept = self.reports.setdefault(section.name, [[] for _ in found])
        for reports, report in zip(kept, found):
            reports.append(report)

    def table(self) -> Table:
        table = Table(failures=self.failures)
        for section in self.sections:
            if reports := self.reports.get(section.name):
                table.figures += section.figures(all_sections.Measured(reports, self.bare, self.nccl))
        return table


def heading(session: Session) -> str:
    parts = [str(datetime.date.today()), session.devices or "devices unknown", session.nccl_version,
             f"Linux {platform.release()}; {session.args.runs} runs"]
    return ", ".join(filter(None, parts)) + f"\n\n    bench/gpu.py {' '.join(session.args.words)}\n"


def define(parser: Parser) -> None:
    known = "; ".join(f"{section.name}: {section.sentence}" for section in all_sections.SECTIONS)
    parser.set_defaults(execute=run)
    parser.check = _check
    parser.description = __doc__
    parser.epilog = f"Sections: {known}"
    parser.add_argument("--build", type=Path, metavar="DIR",
                        help="build directory or prefix of Headrace (this installation)")
    parser.add_argument("--mpiexec", type=Path, help="mpiexec to use instead of the one there")
    parser.add_argument("--only", type=lambda text: text.split(","), metavar="LIST",
                        help="comma-separated list of sections")
    parser.add_argument("--runs", type=int, default=5, help="number of rounds (5)")
    parser.add_argument("--timeout", type=int, default=90, help="time limit of a program, in seconds (90)")
    parser.add_argument("--limit", type=int, default=280, help="seconds after which no further round begins (280)")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write figures and all reports to this file")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs, measures nothing")


def _check(parser: Parser, args: argparse.Namespace) -> None:
    names = [section.name for section in all_sections.SECTIONS]
    if unknown := set(args.only or ()) - set(names):
        parser.error(f"no such section: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    if args.runs < 1:
        parser.error("--runs is at least 1")


def main(argv: list[str] | None = None, default_build: Path | None = None) -> int:
    return run(command.parse("headrace bench --gpu", define, argv), default_build)


def run(args: argparse.Namespace, default_build: Path | None = None) -> int:
    try:
        programs = locate(args.build or default_build or Path(sys.prefix), args.mpiexec)
    except Failed as failed:
        print(f"headrace bench: {failed}", file=sys.stderr)
        return 2
    session = Session(programs, args)
    session.measure()
    table = session.table()
    print(heading(session) + "\n" + table.text(args.markdown))
    if args.json:
        args.json.write_text(json.dumps({"date": session.began, "machine": session.devices,
                                         "command": f"bench/gpu.py {shlex.join(args.words)}", "nccl": session.nccl_version, "runs": args.runs,
                                         "figures": [figure.as_json() for figure in table.figures],
                                         "failures": table.failures, "reports": session.raw}, indent=1))
    failed = [name for name in table.failures if name != "NCCL"]
    return 1 if failed or not table.figures else 0
