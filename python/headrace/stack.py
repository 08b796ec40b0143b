"""`headrace stack`: the call stacks of all ranks of a job on this host, identical ones grouped.

gdb reads the stacks of C, C++ and Fortran, py-spy those of Python; without them, or if the host permits no debugger,
the state of the process and the MPI function from its counter page are shown. A rank is stopped while its stack is
read.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field

from headrace import counters
from headrace.command import Parser
from headrace.counters import Page
from headrace.monitor import all_users
from headrace.monitor.model import clean
from headrace.monitor.pages import reading
from headrace.monitor.query import Wrong, ranks_of

_AT_ONCE = 4  # debuggers
_FRAMES_MOST = 64
_OUTPUT_MOST = 1 << 20
_STEP = 0.25  # seconds between two checks of the event that ends a debugger
_THREAD = re.compile(r"Thread (\d+) ")
_FRAME = re.compile(r"#\d+\s+(?:0x[0-9a-f]+ in )?(?P<function>.+?)(?: \(.*?\))?(?: at (?P<at>\S+)| from (?P<lib>\S+))?$")
_MPI = re.compile(r"P?MPI_|p?mpi_\w+_?\b")  # Fortran programs call lower-case names
_PYTHON = re.compile(r"\s+(?P<function>\S.*?) \((?P<at>[^()]+:\d+)\)$")


@dataclass
class Stack:
    rank: int
    pid: int
    frames: list[str] = field(default_factory=list)  # innermost first: "poll (progress.cpp:40)"
    python: list[str] = field(default_factory=list)
    threads: int = 0
    now: str = ""  # activity according to its page: "in MPI_Recv, waits for rank 3"
    why: str = ""  # reason why there are no frames


def _wait(child: subprocess.Popen, seconds: float, stop: threading.Event | None) -> tuple[bytes, bytes]:
    """Raises subprocess.TimeoutExpired, also if `stop` is set before the child ends."""
    end = time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        try:
            return child.communicate(timeout=max(0.0, left if stop is None else min(_STEP, left)))
        except subprocess.TimeoutExpired:
            if left <= _STEP or stop is not None and stop.is_set():
                raise


def _said(command: list[str], seconds: float, examined: str = "", stop: threading.Event | None = None) -> tuple[str, str]:
    """Returns a command's output, and the reason if there is none. The command is ended after that time, or once `stop`
    is set; the examined process must continue."""
    stood = _state(examined).startswith("T") if examined else True
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        return "", f"{command[0]}: {error.strerror}"
    try:
        out, err = _wait(child, seconds, stop)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGTERM)
        try:
            child.communicate(timeout=2)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
        if not stood:
            with contextlib.suppress(OSError, ValueError):
                os.kill(int(examined), signal.SIGCONT)  # the debugger's SIGSTOP may still be pending
        return "", f"{command[0]} took longer than {seconds:g} s"
    text = out[:_OUTPUT_MOST].decode("utf-8", "replace")
    words = err[:_OUTPUT_MOST].decode("utf-8", "replace")
    return text, f"{command[0]} may not read this process (ptrace is not permitted)" if "not permitted" in words else ""


_OUTSIDE = "outside MPI"
_MAIN = ("main", "MAIN__")  # the last frames of a complete stack of the first thread


def of_gdb(text: str) -> tuple[list[str], int]:
    """Returns the frames of the process's first thread, and the number of threads."""
    threads: dict[int, list[str]] = {}
    now: list[str] | None = None
    for line in text.splitlines():
        if found := _THREAD.match(line):
            now = threads.setdefault(int(found[1]), [])
        elif now is not None and len(now) < _FRAMES_MOST and (frame := _FRAME.match(line.rstrip())):
            at = frame["at"] or frame["lib"]
            now.append(clean(f"{frame['function']} ({at.rpartition('/')[2]})" if at else frame["function"], 200))
    return threads.get(1, []), len(threads)


def of_py_spy(text: str) -> list[str]:
    """Returns the frames of the first thread of a dump."""
    found: list[str] = []
    for line in text.splitlines():
        frame = _PYTHON.match(line)
        if frame and len(found) < _FRAMES_MOST:
            found.append(clean(f"{frame['function']} ({frame['at'].rpartition('/')[2]})", 200))
        elif found and not frame:
            break
    return found


def _now(page: Page) -> str:
    try:
        found = reading(page, False, False, {})
    except (counters.Problem, KeyError, ValueError, TypeError, IndexError, OverflowError):
        return ""
    if found.ended:
        return "has called MPI_Finalize"
    if not found.function:
        return _OUTSIDE
    return f"in {found.function}" + (f", waits for rank {found.waits_for}" if found.waits_for is not None else "")


def _as_seen(now: str, frames: Sequence[str]) -> str:
    """Returns what the frames show if they are inside another MPI function than the page says, or in none: it was read a moment earlier."""
    inside = [frame.partition(" ")[0] for frame in frames if _MPI.match(frame)]
    if not inside:
        whole = any(frame.partition(" ")[0] in _MAIN for frame in frames) and not any("libmpi" in frame or "libheadrace" in frame for frame in frames)
        return _OUTSIDE if whole and now.startswith("in ") else now
    function = inside[-1].removeprefix("P") if inside[-1].startswith("PMPI_") else inside[-1]
    return now if now.partition(",")[0].lower() == f"in {function.lower().rstrip('_')}" else f"in {function}"


def _state(process: str) -> str:
    """Returns the system's word for the state of a process."""
    try:
        with open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as file:
            return next((line.split(None, 1)[1].strip() for line in file if line.startswith("State:")), "")
    except OSError:
        return "it has ended"


def look(page: Page, seconds: float, stop: threading.Event | None = None) -> Stack:
    process = page.process()
    found = Stack(page.rank, int(page.about.get("pid", 0)), now=_now(page))
    if process is None:
        found.why = "its process has ended"
        return found
    if shutil.which("gdb"):
        text, found.why = _said(["gdb", "-nx", "-batch", "-p", process, "-ex", "set width 0", "-ex", "set print frame-arguments none",
                                       "-ex", f"thread apply all bt {_FRAMES_MOST}"], seconds, process, stop)
        found.frames, found.threads = of_gdb(text)
        found.why = "" if found.frames else found.why or "gdb found no stack"
        found.now = _as_seen(found.now, found.frames)
    else:
        found.why = "gdb is not installed"
    if (not found.frames or any(frame.startswith(("PyEval_", "_PyEval_")) for frame in found.frames)) and shutil.which("py-spy"):
        found.python = of_py_spy(_said(["py-spy", "dump", "--nonblocking", "--pid", process], seconds, process, stop)[0])
    if found.why:
        found.why += f"; the system says: {_state(process)}"
    return found


def look_at_all(pages: Sequence[Page], seconds: float, together: float = float("inf"), stop: threading.Event | None = None) -> list[Stack]:
    """Returns the stacks of all ranks, by rank. `together`: seconds for all of them; ranks that are not reached in that time are marked as
    such. `stop`: ends debuggers early."""
    end = time.monotonic() + together

    def one(page: Page) -> Stack:
        left = min(seconds, end - time.monotonic())
        if left <= 0 or stop is not None and stop.is_set():
            return Stack(page.rank, int(page.about.get("pid", 0)), now=_now(page), why=f"all ranks together took longer than {together:g} s")
        return look(page, left, stop)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return sorted(pool.map(one, pages), key=lambda stack: stack.rank)


def outside(frames: list[str]) -> list[str]:
    """Drops the frames inside an MPI function: ranks that wait in it differ in these from moment to moment."""
    entries = [place for place, frame in enumerate(frames) if _MPI.match(frame)]
    return frames[entries[-1]:] if entries else frames


def groups(stacks: list[Stack]) -> list[list[Stack]]:
    """Groups ranks with identical stacks. The largest group comes last, so that outliers are shown first."""
    made: dict[tuple, list[Stack]] = {}
    for stack in stacks:
        made.setdefault((tuple(stack.python), tuple(outside(stack.frames)), stack.why, stack.now.partition(", waits")[0] if not stack.frames else ""), []).append(stack)
    return sorted(made.values(), key=lambda group: (len(group), group[0].rank))


def short(ranks: list[int]) -> str:
    """`0-3, 7`"""
    parts: list[list[int]] = []
    for rank in sorted(ranks):
        if parts and rank == parts[-1][1] + 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def now_of(group: list[Stack]) -> dict[str, list[int]]:
    """Returns the current activities of a group's ranks, with the ranks in each."""
    said: dict[str, list[int]] = {}
    for stack in group:
        said.setdefault(stack.now, []).append(stack.rank)
    return said


def text(job: str, size: int, stacks: list[Stack], full: bool = False) -> str:
    lines = [f"job {clean(job)}: {len(stacks)} of {size} ranks are on this host"]
    for group in groups(stacks):
        lines.append("")
        lines.append(f"{'rank' if len(group) == 1 else 'ranks'} {short([stack.rank for stack in group])}")
        said = now_of(group)
        lines += [f"  {now}" + (f" (ranks {short(ranks)})" if len(said) > 1 else "") for now, ranks in said.items() if now]
        first = group[0]
        for title, frames in (("Python", first.python), ("", first.frames if full else outside(first.frames))):
            lines += ([f"  {title}:"] if title and frames else []) + [f"    #{number} {frame}" for number, frame in enumerate(frames)]
        if first.threads > 1:
            lines.append(f"    (and {first.threads - 1} other threads)")
        if first.why:
            lines.append(f"  no stack: {first.why}")
    return "\n".join(lines)


def pages_of(name: str, pages: list[Page]) -> list[Page]:
    """Returns the pages of a job, given by its name, a prefix of that, or the number of its mpiexec. Raises Wrong."""
    jobs: dict[str, list[Page]] = {}
    for page in pages:
        if page.alive():
            jobs.setdefault(page.job_of_owner, []).append(page)
    found = [job for job in jobs if job == name] or [job for job in jobs if job.startswith(name) or job.startswith(f"headrace_{name}_")]
    if len(found) == 1:
        return jobs[found[0]]
    here = ", ".join(sorted(jobs)[:8]) or "none"
    raise Wrong(f"no job {name!r} runs on this host; running: {here}" if not found and name else "no job of this user runs on this host" if not jobs
                else f"choose one of the jobs: {here}")


def define(parser: Parser) -> None:
    parser.set_defaults(execute=run)
    parser.check = _check
    parser.description = "Shows the call stacks of all ranks of a job on this host; identical stacks are grouped."
    parser.add_argument("job", nargs="?", default="", help="name of the job, as headrace top shows it, or the pid of its mpiexec; not needed if only one job runs")
    parser.add_argument("--ranks", default="", metavar="LIST", help="only these ranks, such as 0-3,8")
    parser.add_argument("--seconds", type=float, default=20.0, metavar="S", help="time limit for each rank (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument("--full", action="store_true", help="also print the frames inside MPI functions, for one rank of each group")
    all_users.add(parser)


def _check(parser: Parser, args: argparse.Namespace) -> None:
    all_users.check(parser, args)
    if not 0.1 <= args.seconds <= 600:
        parser.error("--seconds is from 0.1 to 600")


def run(args: argparse.Namespace) -> int:
    try:
        chosen = ranks_of(args.ranks)
        pages = pages_of(args.job, counters.look(everyone=args.all_users).pages)
        wanted = [page for page in pages if chosen is None or page.rank in chosen]
        if not wanted:
            raise Wrong(f"none of ranks {args.ranks} is on this host; ranks {short([page.rank for page in pages])} are")
    except Wrong as wrong:
        print(f"headrace stack: {wrong}", file=sys.stderr)
        return 2
    try:
        stacks = look_at_all(wanted, args.seconds)
    except KeyboardInterrupt:
        return 130
    job, size = pages[0].job_of_owner, pages[0].size
    print(json.dumps({"job": job, "size": size, "ranks": [asdict(stack) for stack in stacks]}) if args.json else text(job, size, stacks, args.full))
    return 0 if any(stack.frames or stack.python for stack in stacks) else 1
