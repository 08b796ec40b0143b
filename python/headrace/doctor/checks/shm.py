"""Checks that /dev/shm (or the directory in HEADRACE_SHM_DIR) has enough space for a job's messages."""

from __future__ import annotations

import os
from collections.abc import Iterator

from headrace.doctor.facts import Facts, size
from headrace.doctor.finding import Finding, error, ok, warning

_PREFIX = "headrace."
_LEFT_FREE = 0.1


def needed(ranks: int, amd: bool) -> int:
    """Returns the maximum bytes for ranks that all communicate with each other: a ring per sender and receiver, exchange buffers
    per pair."""
    ring = 2048 if amd and ranks <= 8 else 512 if ranks <= 16 else 128 if ranks <= 64 else 64
    buffers = 256 if ranks <= 16 else 32
    return (ranks * (ranks - 1) * ring + ranks * (ranks - 1) // 2 * buffers) << 10


def _in_use(facts: Facts) -> set[str]:
    """Returns paths that processes have open or mapped, for processes that this user may examine."""
    used = set()
    for process in filter(str.isdigit, facts.names("/proc")):
        for descriptor in facts.names(f"/proc/{process}/fd"):
            try:
                used.add(os.readlink(facts.path(f"/proc/{process}/fd/{descriptor}")))
            except OSError:
                continue
        for line in (facts.read(f"/proc/{process}/maps") or "").splitlines():
            if _PREFIX in line:
                used.add(line.split(None, 5)[-1])
    return used


def _left_over(facts: Facts, directory: str) -> Iterator[Finding]:
    names = []
    total = 0
    for name in facts.names(directory):
        try:
            state = facts.path(f"{directory}/{name}").stat()
        except OSError:
            continue
        if name.startswith(_PREFIX) and facts.user in (state.st_uid, 0):  # other users' processes cannot be examined
            names.append((f"{directory}/{name}", state.st_blocks * 512))
    if not names:
        return
    used = _in_use(facts)
    dead = [(path, held) for path, held in names if path not in used]
    total = sum(held for _, held in dead)
    if dead:
        shown = ", ".join(path for path, _ in dead[:3]) + (", ..." if len(dead) > 3 else "")
        yield warning("shm.left-over", f"no process here has these files of jobs open: {shown} ({len(dead)}, {size(total)})",
                      "they hold memory until they are removed",
                      f"when no job runs here or in a container that shares it: rm {directory}/{_PREFIX}*")


def look(facts: Facts) -> Iterator[Finding]:
    directory = facts.environment.get("HEADRACE_SHM_DIR") or "/dev/shm"
    elsewhere = "name another memory-backed directory by HEADRACE_SHM_DIR"
    apart = "jobs whose ranks see different process ids (a container for each) do not start; others use memory outside it"
    if not os.path.isdir(facts.path(directory)):
        yield error("shm.missing", f"there is no directory {directory}", apart, f"mount a tmpfs there, or {elsewhere}")
        return
    if not os.access(facts.path(directory), os.W_OK | os.X_OK):
        yield error("shm.not-writable", f"this user may not make files in {directory}", apart,
                    f"chmod 1777 {directory}, or {elsewhere}")
        return
    yield from _left_over(facts, directory)
    space = facts.space(facts.path(directory))
    count = max(len(facts.affinity), 2)
    want = needed(count, "AuthenticAMD" in (facts.read("/proc/cpuinfo") or ""))
    ranks = f"{count} ranks that all talk to one another take up to {size(want)}"
    larger = f"docker run --shm-size=..., mount -o remount,size=... {directory}; or {elsewhere}"
    beside = "jobs use memory outside it; those whose ranks see different process ids may end with \"could not reserve memory\""
    if space.size < want:
        yield warning("shm.small", f"{directory} has {size(space.size)}; {ranks}", beside, larger)
    elif space.free < want:
        yield warning("shm.full", f"{directory} has {size(space.free)} free of {size(space.size)}; {ranks}", beside,
                      f"remove what is in {directory}; or {elsewhere}")
    elif space.free < _LEFT_FREE * space.size:
        yield warning("shm.nearly-full", f"{directory} has {size(space.free)} free of {size(space.size)}",
                      "large windows (MPI_Win_allocate) are elsewhere", f"remove what is in {directory}; or {elsewhere}")
    else:
        yield ok("shm.room", f"{directory}: {size(space.free)} free of {size(space.size)}; {ranks}")
