"""Finds the origin of a job: its user, command line, and job of the batch system, from /proc of one of its processes.

Only processes of the page's owner are examined, at most a fixed number of bytes is read, and only batch-system
variables of the environment are used.
"""

from __future__ import annotations

import os
import pwd
from functools import lru_cache

from headrace.counters import Page
from headrace.monitor.model import COMMAND_MOST, Origin, clean

_BYTES_MOST = 1 << 18
# Batch systems; for each, the variables that contain the job's number, its number within an array, and its name.
_BATCHES = (("Slurm", ("SLURM_JOB_ID", "SLURM_JOBID"), "SLURM_ARRAY_TASK_ID", "SLURM_JOB_NAME"),
            ("PBS", ("PBS_JOBID",), "", "PBS_JOBNAME"),
            ("LSF", ("LSB_JOBID",), "LSB_JOBINDEX", "LSB_JOBNAME"))


@lru_cache(maxsize=1024)
def user_name(number: int) -> str:
    try:
        return clean(pwd.getpwuid(number).pw_name)
    except KeyError:
        return str(number)


def _read(process: str, name: str, owner: int) -> bytes:
    """Returns nothing if the process has ended, or belongs to another user."""
    try:
        if os.stat(f"/proc/{process}").st_uid != owner:
            return b""
        with open(f"/proc/{process}/{name}", "rb") as file:
            return file.read(_BYTES_MOST)
    except OSError:
        return b""


def _text(part: bytes) -> str:
    return part.decode("utf-8", "replace")


def command_line(data: bytes) -> str:
    """Formats /proc/PID/cmdline; a word with spaces is quoted."""
    words = [_text(word) for word in data.rstrip(b"\0").split(b"\0")] if data else []
    return clean(" ".join(f"'{word}'" if " " in word or not word else word for word in words), COMMAND_MOST)


def batch(environment: bytes) -> tuple[str, str, str]:
    """Returns the batch system, the job's number there, and the job's name, from /proc/PID/environ; empty strings
    outside a batch job."""
    found = {name: _text(value) for name, _, value in (part.partition(b"=") for part in environment.split(b"\0"))}
    known = {_text(name): value for name, value in found.items()}
    for system, numbers, task, name in _BATCHES:
        number = next((known[each] for each in numbers if known.get(each)), "")
        if number:
            place = known.get(task, "")
            if system == "Slurm" and place:
                number = f"{known.get('SLURM_ARRAY_JOB_ID') or number}_{place}"
            elif system == "LSF" and place not in ("", "0"):
                number = f"{number}[{place}]"
            return system, clean(number), clean(known.get(name, ""))
    return "", "", ""


def origin(page: Page) -> Origin:
    """Returns what the page's process reveals; nothing for a page without an owner, as in a saved file."""
    if page.owner is None:
        return Origin()
    process = page.process()
    if process is None:
        return Origin(user_name(page.owner))
    return Origin(user_name(page.owner), command_line(_read(process, "cmdline", page.owner)), *batch(_read(process, "environ", page.owner)))
