"""Random faults in jobs of Headrace's mpiexec over the test programs: a rank, an agent, mpiexec or a host is killed, a
link is cut, or cut and restored, the output is not read, or the network loses 1 % of the packets and delays the rest by
20 ms.

Each job must end in time, with the exit code and the single message for the fault, and leave nothing on any host; with
--enable-recovery, the survivors must reach a correct result. Used like test_mpiexec.py;
    random_faults.py [--seed S] [--count N] [--only KIND]
prints a line for each fault, and the seed that repeats it.
"""

import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter

from test_mpiexec import BUILD, END, NAMES, SILENCE, HostsTest, environment_of, hosts, inner_agents, wait_for, words_of

ENDLESS = "1000000000"
ENDED = f"{BUILD}/random_faults.{os.getpid()}"  # a file that ends programs; visible on all hosts
PROGRAMS = {
    "probe": [f"{BUILD}/tests/fault/launch_probe", "init", "shm", "fence", "hang"],
    "exchange": [f"{BUILD}/gpu_tests/mpi_random_exchange", "--seed", "5", "--exchanges", "500", "--until", "/dev/null/never"],
    "windows": [f"{BUILD}/gpu_tests/mpi_rma_random_mix", "create", "--epochs", ENDLESS],
    "halo3d": [f"{BUILD}/bin/halo3d", "--local", "16", "--steps", ENDLESS, "--no-identity-check"],
    "collective": [f"{BUILD}/bin/collective", "--op", "allreduce", "--reps", ENDLESS, "--seconds", "1000"],
}
# Programs that must be unaffected by a fault that only causes delays: they succeed, and do not end before they are told
# to.
ENDING = {
    "sh": ["sh", "-c", f"until [ -e {ENDED} ]; do sleep 0.1; done"],
    "exchange": [f"{BUILD}/gpu_tests/mpi_random_exchange", "--seed", "5", "--exchanges", "60", "--largest", "65536", "--until", ENDED],
}
# This program ends without a signal, perhaps before a link is cut, so it is used only with the lossy network, which
# exists from the start.
BRIEF = {"collectives": [f"{BUILD}/tests/mpi/coll/mpi_coll_movement"]}
RECOVER = f"{BUILD}/tests/fault/recover"
PRINTING = ["yes", 7 * "0123456789"]
DEATHS = ["rank", "agent", "agent hangs", "mpiexec", "host", "heard", "cut"]
KINDS = [*DEATHS, "heal", "lossy", "lossy and", "pipe and", "recover"]
LOSSY = ("--delay", "20ms", "--loss", "1%")
HEALED_WITHIN = 8  # seconds
PATIENT = 16  # time limit in a lossy network
LIMIT = 90


class Job(HostsTest):
    def runTest(self):
        pass

    def ranks(self, program):
        return [pid for pid in self.running(*program) if b"PMI_RANK=" in environment_of(pid)]

    def begin(self, choose, program, *words, each=None, silence=SILENCE, variables=None, **options):
        """Starts a job on all hosts; returns once all of its ranks are running."""
        self.degree = choose.choice(["1", "2", "32"])
        each = each or choose.choice([1, 2])
        self.ranks_of = {name: range(each * at, each * (at + 1)) for at, name in enumerate(NAMES)}
        self.count = each * len(NAMES)
        child = self.start("-n", str(self.count), "--hosts", ",".join(f"{host}:{each}" for host in NAMES), *words, *program,
                           limit=LIMIT + 60, environment={"HEADRACE_HOST_TIMEOUT": str(silence),
                                                          "HEADRACE_LAUNCH_DEGREE": self.degree, **(variables or {})}, **options)
        try:
            wait_for(lambda: child.poll() is not None or len(self.ranks(program)) >= self.count, LIMIT, "all ranks run")
        except AssertionError as error:
            seen = [" ".join(words_of(pid)[:4]) for pid in self.marked()]
            raise AssertionError(f"{error}; {len(self.ranks(program))} of {self.count} do: {seen}") from None
        return child

    def fault(self, kind, choose, program):
        """Causes the fault, and returns the expected exit code and words."""
        victim = choose.choice(NAMES[1:])
        lost = f"lost host h\\d.* \\(rank .*{self.ranks_of[victim][-1]}"
        if kind == "rank":
            number = choose.choice([signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
            os.kill(choose.choice(self.ranks(program)), number)
            return 128 + number, rf"rank \d+ on host h\d \(pid \d+\) .*signal {int(number)}\b"
        if kind == "mpiexec":
            os.kill(self.mpiexec_pid(), signal.SIGTERM)
            return 143, "interrupted by signal 15"
        if kind == "agent":
            agent = choose.choice(wait_for(lambda: inner_agents(victim), 20, "an agent"))
            os.kill(agent, choose.choice([signal.SIGKILL, signal.SIGTERM]))
            return 1, f"lost host {victim} .*signal (9|15)"
        if kind == "agent hangs":
            os.kill(choose.choice(wait_for(lambda: inner_agents(victim), 20, "an agent")), signal.SIGSTOP)
            return 1, lost
        if kind in ("host", "heard"):
            hosts("kill", *(["--heard"] if kind == "heard" else []), victim)
            return 1, lost
        hosts("partition", victim)
        return 1, lost + f".*no sign of life for {SILENCE} s"

    def dies(self, choose, kind, end=END, program=None, **options):
        name = choose.choice(sorted(PROGRAMS))
        program = program or PROGRAMS[name]
        child = self.begin(choose, program, **options)
        time.sleep(choose.random())
        code, words = self.fault(kind, choose, program)
        begin = time.monotonic()
        if program is PRINTING:  # the output is not read before the ranks have ended
            wait_for(lambda: not self.ranks(program), end, "the ranks end")
        _, errors = child.communicate(timeout=LIMIT)
        took = time.monotonic() - begin
        said = [line for line in errors.splitlines() if line.startswith("mpiexec: ")]
        self.about = f"{'yes' if program is PRINTING else name}, {self.count} ranks, degree {self.degree}: {child.returncode} " \
                     f"after {took:.1f} s; {' | '.join(said)[:160]}"
        if child.returncode != code or len(said) != 1 or not re.search(words, said[0]):
            return f"not {code} with '{words}' alone: {errors[-1500:]}"
        return "" if took < end else f"it took {took:.1f} s"

    def goes_on(self, choose, kind):
        """Faults that only delay."""
        lossy = kind == "lossy"
        programs = {**ENDING, **BRIEF} if lossy else ENDING
        name = choose.choice(sorted(programs))
        if lossy:
            hosts("shape", *LOSSY)
        child = self.begin(choose, programs[name], each=1, silence=PATIENT if lossy else HEALED_WITHIN,
                           variables={} if lossy else {"HEADRACE_NETWORK_TIMEOUT": str(HEALED_WITHIN)})
        victim = choose.choice(NAMES[1:])
        if not lossy:
            time.sleep(choose.random())
            hosts("partition", victim)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(0.9 * HEALED_WITHIN * choose.random())
        if not lossy:
            hosts("heal")
        early = name in ENDING and child.poll() is not None
        with open(ENDED, "w", encoding="utf-8"):
            pass
        begin = time.monotonic()
        out, errors = child.communicate(timeout=LIMIT)
        self.about = f"{name}, {self.count} ranks, degree {self.degree}: {child.returncode} after {time.monotonic() - begin:.1f} s"
        good = (child.returncode, errors, early) == (0, "", False)
        return "" if good else f"{'too early, ' if early else ''}not 0 and no message: {out[-500:]} {errors[-1500:]}"

    def recovers(self, choose):
        """Ranks kill themselves, or a host is killed, and the others continue."""
        what = choose.choice(["random", "solver", "host"])
        deaths = 1 if what == "host" else choose.randint(1, 3)
        words = ["wait"] if what == "host" else [what, str(choose.randrange(1 << 31)), str(deaths)]
        child = self.begin(choose, [RECOVER, *words], "--enable-recovery", each=1)
        if what == "host":
            hosts("kill", *choose.choice([[], ["--heard"]]), NAMES[-1])
        begin = time.monotonic()
        out, errors = child.communicate(timeout=LIMIT)
        self.about = f"{what}, {deaths} of {self.count} die: {child.returncode} after {time.monotonic() - begin:.1f} s"
        left = self.count - deaths
        good = out.count(f"recovered, {left} are left\n") == left
        return "" if good else f"not {left} that recovered: {out[-500:]} {errors[-1500:]}"

    def one(self, choose, kind):
        if kind in ("heal", "lossy"):
            return self.goes_on(choose, kind)
        if kind == "recover":
            return self.recovers(choose)
        if kind == "lossy and":
            hosts("shape", *LOSSY)
            return self.dies(choose, choose.choice(DEATHS), END + 5)
        if kind == "pipe and":
            return self.dies(choose, choose.choice(DEATHS), END, PRINTING)
        return self.dies(choose, kind)


def run(seed, only):
    """Returns what went wrong, and the kind of fault."""
    choose = random.Random(seed)
    kind = only or choose.choice(KINDS)
    job = Job()
    job.setUp()
    job.about = "?"
    problem = ""
    try:
        problem = job.one(choose, kind)
    except (AssertionError, subprocess.TimeoutExpired, OSError, IndexError) as error:
        problem = f"{type(error).__name__}: {error}"
    hosts("shape", check=False)
    hosts("heal", check=False)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(ENDED)
    try:
        job.tearDown()
    except AssertionError as error:
        problem = f"{problem} {error}".strip()
    hosts("up", str(len(NAMES)))
    print(f"seed {seed}: {kind}, {job.about}{f' WRONG: {problem}' if problem else ''}", flush=True)
    return kind, problem


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--only", choices=KINDS)
    options = parser.parse_args()
    done, wrong = Counter(), Counter()
    begin = time.monotonic()
    for seed in range(options.seed, options.seed + options.count):
        kind, problem = run(seed, options.only)
        done[kind] += 1
        wrong[kind] += bool(problem)
    for kind in sorted(done):
        print(f"{kind}: {done[kind]} faults, {wrong[kind]} wrong")
    print(f"{options.count} faults, {wrong.total()} wrong, {time.monotonic() - begin:.0f} s")
    return 1 if wrong.total() else 0


if __name__ == "__main__":
    sys.exit(main())
