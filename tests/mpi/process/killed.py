#!/usr/bin/env python3
"""killed.py MPIEXEC PROGRAM [ROUNDS]: kills parents or children of spawning programs at random moments, under mpiexec and without it. Each
time, all processes must end soon, or spawn again, and at the end no process or file in shared memory may remain."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

MPIEXEC, PROGRAM = sys.argv[1:3]
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 9
SEED = int(os.environ.get("HR_SEED", random.randrange(1 << 30)))
LIMIT = 50


def ours(marker: str) -> list[int]:
    """Returns the processes with the marker in their environment, except zombies."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if marker.encode() in (entry / "environ").read_bytes() and state(int(entry.name)) not in "ZX":
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def is_program(pid: int) -> bool:
    try:
        return os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(PROGRAM)
    except OSError:
        return False


def state(pid: int) -> str:
    """Returns the state letter from /proc: T for a stopped process, Z and X for an ended one."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def killed_while_running(pid: int) -> bool:
    """True if the signal killed the process. A process that is about to exit ends as if there had been no signal; it is
    recognised because it can no longer be stopped."""
    try:
        os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: state(pid) in "TZX", LIMIT)
        stopped = state(pid) == "T"
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return stopped


def kill_all(marker: str) -> None:
    for pid in ours(marker):
        with contextlib.suppress(ProcessLookupError):  # one exit may end others
            os.kill(pid, signal.SIGKILL)


def wait_for(condition, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.002)
    return condition()


def main() -> int:
    random.seed(SEED)
    print(f"seed {SEED} (HR_SEED)")
    for number in range(ROUNDS):
        marker = f"HR_KILLED={os.getpid()}.{number}"
        shm = Path(f"/dev/shm/hr_killed.{os.getpid()}.{number}")
        shm.mkdir()
        alone = number % 3 == 2
        command = [PROGRAM, "loop", "2"] if alone else [MPIEXEC, "-n", "2", PROGRAM, "loop", "2"]
        environment = {**os.environ, "HR_KILLED": marker.split("=")[1], "HEADRACE_SHM_DIR": str(shm)}
        job = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        parents = 1 if alone else 2
        started = wait_for(lambda: sum(map(is_program, ours(marker))) > parents, LIMIT)
        time.sleep(random.random() * 0.2)
        victims = [pid for pid in ours(marker) if is_program(pid)]
        random.shuffle(victims)
        victim = next(filter(killed_while_running, victims), None)
        if victim is None:
            kill_all(marker)
        ended = True
        if alone and victim not in (None, job.pid):
            # A process without mpiexec goes on if it had disconnected from the child.
            ended = wait_for(lambda: job.poll() is not None or set(filter(is_program, ours(marker))) - set(victims), LIMIT)
            job.kill()
        try:
            said = job.communicate(timeout=LIMIT)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            ended, said = False, ""
        gone = wait_for(lambda: not ours(marker), LIMIT)
        left = sorted(path.name for path in shm.iterdir())
        good = started and ended and gone and (not left or victim is None)
        print(f"round {number}: {'alone' if alone else 'mpiexec'}, killed {victim}, exit code {job.returncode}"
              f"{'' if good else f'; started {started}, ended {ended}, processes gone {gone}, files {left}'}")
        if not good:
            print(said)
            for pid in ours(marker):
                with contextlib.suppress(OSError):  # the process has ended
                    print(pid, Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
            kill_all(marker)
        shutil.rmtree(shm)
        if not good:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
