#!/usr/bin/env python3
"""Runs one command on a cluster of hosts made of namespaces (bed/README.md), for hr_namespace_test() in cmake/HrTest.cmake.

Brings the cluster up under a unique name, runs the command, and takes the cluster down in any case. The command has the environment that
bed/README.md lists. Exit status: the command's; 77, with the reason, if this machine cannot create such hosts (1 if
HR_NAMESPACES=required); 1 if the command left something behind.
"""

import argparse
import glob
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
HOSTS = os.path.join(HERE, "bed", "hosts")
SKIPPED = 77
NEEDED_FOR_SLURM = ("munged", "slurmctld", "slurmd", "srun")
LOG_LINES = 40
SETTLE_SECONDS = 10  # time from the end of the command to the end of the processes that it terminated

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "bed"))
from hostslib import cluster as clusters  # noqa: E402  (needs the path above)
from hostslib import system  # noqa: E402


def why_not(options) -> str:
    """Returns the reason why this machine cannot run the test; empty if it can."""
    if os.geteuid() != 0:
        return "hosts made of namespaces need root"
    programs = ["ip", "unshare", "nsenter", *options.needs, *(NEEDED_FOR_SLURM if options.slurm else ())]
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    missing = [path for path in options.needs_file if not os.path.exists(path)]
    if missing:
        return f"not there: {', '.join(missing)}"
    tried = subprocess.run(["unshare", "-mnpiu", "--fork", "true"], capture_output=True, text=True, check=False)
    return f"no namespaces: {tried.stderr.strip()}" if tried.returncode != 0 else ""


def hosts(*arguments):
    return subprocess.run([HOSTS, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def must(*arguments) -> str:
    done = hosts(*arguments)
    if done.returncode != 0:
        raise system.Failure(f"hosts {' '.join(arguments)}: {done.stdout.strip()}")
    return done.stdout


def run(command, limit) -> int:
    """The command's exit status; 124 if it took too long."""
    child = subprocess.Popen(command, start_new_session=True)
    try:
        status = child.wait(timeout=limit)
        return status if status >= 0 else 128 - status
    except subprocess.TimeoutExpired:
        print(f"namespace test: no end within {limit} s", flush=True)
        return 124
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if child.poll() is None:
                os.killpg(child.pid, number)
                system.wait_until(lambda: child.poll() is not None, 5)


def left_behind(cluster, build) -> list[str]:
    """Returns shared memory, and processes of the build's programs, that remain in a host."""
    found = []
    for host in cluster.hosts.values():
        if not host.up():
            continue
        memory = glob.glob(f"/proc/{host.process.pid}/root/dev/shm/headrace*")
        found += [f"{host.name}: /dev/shm/{os.path.basename(path)}" for path in memory]
        for pid, _ in clusters._processes_in(host):
            try:
                program = os.readlink(f"/proc/{pid}/exe")
            except OSError:
                continue
            if build and program.startswith(build + "/"):
                found.append(f"{host.name}: process {pid} ({program})")
    return found


def show_logs(cluster):
    for path in sorted(glob.glob(f"{cluster.directory}/*/*log") + glob.glob(f"{cluster.directory}/*log")):
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        if lines:
            print(f"--- {path}, its end:", *lines[-LOG_LINES:], sep="\n", flush=True)


def test(options, name) -> int:
    words = ["up", str(options.hosts), "--rails", str(options.rails)]
    build = os.environ.get("HR_BUILD", "")
    share = options.share + (["tmp"] if os.path.realpath(build or HERE).startswith("/tmp/") else [])
    for what in share:
        words += ["--share", what]
    must(*words)
    if options.slurm:
        must("slurm", "up")
    cluster = clusters.find(name)
    os.environ["HR_HOST_NAMES"] = " ".join(cluster.hosts)
    before = set(left_behind(cluster, build))  # a host that shares the machine's /dev/shm also sees other leftovers
    status = run([HOSTS, "exec", options.inside, *options.command] if options.inside else options.command, options.limit)
    if options.expect is not None:
        if status != options.expect:
            print(f"namespace test: exit status {status}, not {options.expect}", flush=True)
        status = 0 if status == options.expect else status or 1
    end = time.monotonic() + SETTLE_SECONDS
    while (left := set(left_behind(clusters.find(name), build)) - before) and time.monotonic() < end:
        time.sleep(0.1)
    if left:
        print("namespace test: left behind:", *sorted(left), sep="\n  ", flush=True)
        status = status or 1
    if status != 0:
        show_logs(cluster)
    return status


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True, help="of the test")
    parser.add_argument("--hosts", type=int, required=True)
    parser.add_argument("--rails", type=int, default=1)
    parser.add_argument("--share", action="append", default=[])
    parser.add_argument("--slurm", action="store_true", help="with Slurm on the hosts")
    parser.add_argument("--in", dest="inside", help="the host the command runs in (default: outside of all)")
    parser.add_argument("--needs", action="append", default=[], help="a program; skipped without")
    parser.add_argument("--needs-file", action="append", default=[], help="a path; skipped without")
    parser.add_argument("--expect", type=int, help="the exit status that is right (default 0)")
    parser.add_argument("--limit", type=int, default=60, help="seconds that the command may take")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()

    reason = why_not(options)
    if reason:
        print(f"skipped: {reason}")
        return 1 if os.environ.get("HR_NAMESPACES") == "required" else SKIPPED
    name = f"t{secrets.token_hex(3)}-{options.name}"[:31]  # process ids repeat in containers that share /run
    os.environ.update(HR_HOSTS=HOSTS, HR_HOSTS_CLUSTER=name)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, _: sys.exit(128 + got))
    try:
        return test(options, name)
    except system.Failure as failure:
        print(f"namespace test: {failure}")
        return 1
    finally:
        down = hosts("down")
        if down.returncode != 0:
            print(f"namespace test: {down.stdout.strip()}")


if __name__ == "__main__":
    sys.exit(main())
