"""Random faults in jobs of our mpiexec: a rank, an agent, mpiexec or a host is killed, a link is cut, or cut and healed.

Each job must end in time, with the exit code that belongs to the fault, and leave nothing on any host. As test_mpiexec.py;
    random_faults.py [--seed S] [--count N]
prints a line for each, and the seed that repeats it.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time

from test_mpiexec import (A, BUILD, END, MPIEXEC, NAMES, SILENCE, HostsTest, agents, all_pids, environment_of, hosts,
                          inner_agents, wait_for, words_of)

PROGRAMS = {
    "probe": [f"{BUILD}/tests/fault/launch_probe", "init", "shm", "fence", "hang"],
    "exchange": [f"{BUILD}/gpu_tests/mpi_random_exchange", "--seed", "5", "--exchanges", "1000000"],
}
HEALED = ["sh", "-c", "for n in 1 2 3 4 5 6 7 8; do sleep 0.5; echo $n; done"]


class Job(HostsTest):
    def runTest(self):
        pass

    def ranks(self, program):
        mark = self.mark.encode()
        return [pid for pid in all_pids() if words_of(pid)[:1] == program[:1] and mark in environment_of(pid).split(b"\0")
                and b"PMI_RANK=" in environment_of(pid)]

    def fault(self, kind, choose, program):
        victim = choose.choice(NAMES[1:])
        if kind == "rank":
            os.kill(choose.choice(self.ranks(program)), choose.choice([signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM]))
        elif kind == "agent":
            os.kill(choose.choice(inner_agents(victim)), choose.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP]))
        elif kind == "mpiexec":
            os.kill(self.mpiexec_pid(), signal.SIGTERM)
        elif kind == "host":
            hosts("kill", victim)
        elif kind == "heard":
            hosts("kill", "--heard", victim)
        elif kind == "cut":
            hosts("partition", victim)
        return victim

    def one(self, choose):
        kind = choose.choice(["rank", "agent", "mpiexec", "host", "heard", "cut", "heal"])
        name = choose.choice(sorted(PROGRAMS))
        program = HEALED if kind == "heal" else PROGRAMS[name]
        degree = choose.choice(["1", "2", "32"])
        each = choose.choice([1, 2])
        ranks = each * len(NAMES)
        environment = {"HEADRACE_HOST_TIMEOUT": "8" if kind == "heal" else str(SILENCE), "HEADRACE_LAUNCH_DEGREE": degree}
        child = self.start("-n", str(ranks), "--hosts", ",".join(f"{host}:{each}" for host in NAMES), *program,
                           environment=environment, stdout=subprocess.PIPE)
        what = f"{kind}, {'sh' if kind == 'heal' else name}, {ranks} ranks, degree {degree}"
        wait_for(lambda: len(self.ranks(program)) >= ranks, 60, what)
        time.sleep(choose.random())
        if kind == "heal":
            victim = choose.choice(NAMES[1:])
            hosts("partition", victim)
            time.sleep(2 * choose.random())
            hosts("heal")
        else:
            victim = self.fault(kind, choose, program)
        begin = time.monotonic()
        try:
            _, errors = child.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            return f"{what}, {victim}: no end within 60 s"
        took = time.monotonic() - begin
        said = [line for line in errors.splitlines() if line.startswith("mpiexec: ")]
        print(f"{what}, {victim}: {child.returncode} after {took:.1f} s; {' | '.join(said)[:150]}", flush=True)
        if kind == "heal":
            return "" if (child.returncode, errors) == (0, "") else f"a link that healed: {child.returncode} {errors}"
        if child.returncode == 0 or len(said) != 1:
            return f"{child.returncode} {errors}"
        return "" if took < END else f"it took {took:.1f} s"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    options = parser.parse_args()
    wrong = 0
    for seed in range(options.seed, options.seed + options.count):
        job = Job()
        job.setUp()
        print(f"seed {seed}: ", end="", flush=True)
        try:
            problem = job.one(random.Random(seed))
        except AssertionError as error:
            problem = str(error)
        hosts("heal")
        try:
            job.tearDown()
        except AssertionError as error:
            problem = f"{problem} {error}"
        hosts("up", str(len(NAMES)))
        if problem:
            print(f"seed {seed}: WRONG: {problem}", flush=True)
            wrong += 1
    print(f"{options.count} faults, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
