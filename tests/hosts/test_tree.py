"""Runs the library's tests once more on hosts under a launcher: test_tree.py <launcher> [-R REGEX] [--part PART ...].

Run by namespace_test.py with the hosts up. Parts:
  halo3d  every pattern in random boxes, in both directions: its profiles must be bitwise those of the job on one host
  tree    the tests of tests/mpi that ctest runs as `mpiexec -n N <program>` with several ranks, including the random
          exchanges; on more than two hosts, only those with ranks for more than two
  mpi4py  its suite except the modules about one process, one rank per host
Ranks are in blocks over the hosts. The last lines are the totals, which are also kept in <build>/hosts-totals.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import launchers

BUILD = os.environ["HR_BUILD"]
NAMES = os.environ["HR_HOST_NAMES"].split()
TESTS = os.path.join(os.environ["HR_SOURCE"], "tests")
SEED = int(os.environ.get("HR_SEED", random.randrange(1 << 32)))
# Tests that only some launchers can run.
NEEDS = ((re.compile("/mpi_process_(spawn|device)\\b"), launchers.SPAWN),
         (re.compile("/mpi_process_spawn self"), launchers.SPAWN_AT_ONCE),
         (re.compile("/mpi_process_spawn errors|/mpi_conformance root_only"), launchers.REFUSE),
         (re.compile("/mpi_process_connect errors"), launchers.REFUSE_NAMES),
         (re.compile("/mpi_process_connect within"), launchers.KEEP_NAMES),
         (re.compile("/mpi_comm_sessions_after$"), launchers.TAKE_BACK))
SHARING = re.compile("/mpi_yielding$")  # needs ranks that know that they share a core, which hosts cannot communicate to each other
# Not run here: short jobs of up to 33 ranks show what a launcher and its hosts change; `make test-as-hosts` runs these, too.
LONG = re.compile("_48$|^mpi_channels_(long|driver_1000)|^mpi_rma_direct_mix_many$")
SHOWN = 3000  # characters of a failed test's output
MPI4PY_LIMIT = 1500

sys.path.insert(0, f"{TESTS}/mpi4py")
import run as mpi4py  # noqa: E402  (needs the path above)


class Totals:
    def __init__(self, part):
        self.part, self.passed, self.failed, self.left_out = part, 0, [], 0
        self.begin = time.monotonic()

    def add(self, name, problem, seconds):
        print(f"{'FAILED' if problem else 'ok    '} {name} ({seconds:.1f} s)", flush=True)
        if problem:
            self.failed.append(name)
            print(problem, flush=True)
        else:
            self.passed += 1

    def line(self, launcher):
        return (f"{launcher} on {len(NAMES)} hosts, {self.part}: {self.passed} passed, {len(self.failed)} failed, "
                f"{self.left_out} left out, {time.monotonic() - self.begin:.0f} s {' '.join(self.failed)}").rstrip()


def declared_below(graph, at, directory):
    """True if a test is defined in a CMakeLists.txt below that directory."""
    while at is not None:
        node = graph["nodes"][at]
        if graph["files"][node["file"]].startswith(directory + "/"):
            return True
        at = node.get("parent")
    return False


def tests_of_the_tree():
    """Returns (name, limit, ranks, words, environment) of each test."""
    listed = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    listed = json.loads(listed.stdout)
    for test in listed["tests"]:
        words = test.get("command", [])
        properties = {each["name"]: each["value"] for each in test["properties"]}
        environment = properties.get("ENVIRONMENT", [])
        ours = len(words) > 5 and words[0] == os.environ["HR_MPIEXEC"] and words[1] == "--timeout" and words[3] == "-n" \
            and not words[5].startswith("-")
        odd = {"WILL_FAIL", "PASS_REGULAR_EXPRESSION", "SKIP_RETURN_CODE"} & properties.keys()
        # Excludes tests that set the number of hosts themselves, or are for one host.
        fixed = any(each.startswith("HEADRACE_AS_HOSTS=") for each in environment) or "one_host" in properties.get("LABELS", [])
        if ours and not odd and not fixed and declared_below(listed["backtraceGraph"], test.get("backtrace"), f"{TESTS}/mpi"):
            yield test["name"], int(words[2]), int(words[4]), words[5:], environment


def words_for(launcher, ranks, variables):
    if len(NAMES) > os.cpu_count():  # the hosts share the cores without knowing it: a waiting rank must yield
        variables = {"HEADRACE_SPIN_ROUNDS": "50", **variables}
    start, own = launchers.command(launcher, NAMES, ranks, variables)
    everything = {**os.environ, **own}
    everything.pop("HEADRACE_AS_HOSTS", None)
    return [os.environ["HR_HOSTS"], "exec", NAMES[0], *start], everything


def run(launcher, limit, ranks, words, environment):
    """Returns the failures; empty if there are none."""
    start, environment = words_for(launcher, ranks, environment)
    child = subprocess.Popen([*start, *words], env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    said = ""
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        try:
            said, _ = child.communicate(timeout=limit)
            break
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, number)
            words, limit = [f"no end within {limit} s:", *words], 10
    return f"status {child.returncode}: {' '.join(words)}\n{said[-SHOWN:]}" if child.returncode != 0 else ""


def tree(launcher, wanted, directory):
    totals = Totals("tree")
    for name, limit, ranks, words, environment in tests_of_the_tree():
        if ranks < min(len(NAMES), 3) or not re.search(wanted, name):
            continue
        alone = launchers.a_host(NAMES, ranks) <= os.cpu_count() and SHARING.search(words[0])
        if alone or LONG.search(name) or any(pattern.search(" ".join(words)) and launcher not in able for pattern, able in NEEDS):
            totals.left_out += 1
            continue
        begin = time.monotonic()
        # Processes of two jobs on a host, which the launcher's agents start, use the same devices.
        variables = {"TMPDIR": directory, "FAKE_CUDA_SHARED": f"{name}-{os.getpid()}", **dict(each.split("=", 1) for each in environment)}
        totals.add(name, run(launcher, limit, ranks, words, variables), time.monotonic() - begin)
    return totals


def profiles(path):
    with open(path, encoding="utf-8") as file:
        results = json.load(file)["results"]
    return {each["pattern"]: (each["md5"], each["valid"]) for each in results}


def halo3d(launcher, pattern, directory):
    totals, chance = Totals("halo3d"), random.Random(SEED)
    print(f"halo3d: seed {SEED}", flush=True)
    for ranks in (2 * len(NAMES), 6):
        for way in ([], ["--reverse"]):
            box = ",".join(str(chance.randint(3, 24)) for _ in range(3))
            words = [f"{BUILD}/bin/halo3d", "--device", "host", "--local", box, "--steps", str(chance.randint(2, 15)), *way]
            here, there = f"{directory}/here.json", f"{directory}/there.json"
            begin = time.monotonic()
            subprocess.run([os.environ["HR_MPIEXEC"], "--bind-to", "none", "-n", str(ranks), *words, "--json", here], check=True,
                           stdout=subprocess.DEVNULL, env={**os.environ, "HEADRACE_AS_HOSTS": "1"})
            problem = run(launcher, 120, ranks, [*words, "--json", there], {})
            if not problem and profiles(here) != profiles(there):
                problem = f"on one host {profiles(here)}, here {profiles(there)}"
            totals.add(f"halo3d {' '.join(words[1:])}, {ranks} ranks", problem, time.monotonic() - begin)
    return totals


def suite(launcher, pattern, directory):
    totals, ranks = Totals("mpi4py"), len(NAMES)
    variables = {"TMPDIR": directory, "MPI4PY_TEST_SPAWN": "1" if launcher in launchers.SPAWN else "0"}
    start, environment = words_for(launcher, ranks, variables)
    result = mpi4py.suite(mpi4py.Path(BUILD) / "mpi4py", start, ranks, environment, f"{launcher}-{ranks}-hosts", MPI4PY_LIMIT,
                          without=mpi4py.OF_ONE_PROCESS,
                          without_tests=[] if launcher in launchers.KEEP_NAMES else ["testNamePublishing"])
    if result is None:
        totals.failed.append("no end")
        return totals
    totals.passed, totals.failed, totals.left_out = result
    return totals


def main() -> int:
    parts = {"halo3d": halo3d, "tree": tree, "mpi4py": suite}
    parser = argparse.ArgumentParser()
    parser.add_argument("launcher", choices=launchers.LAUNCHERS)
    parser.add_argument("-R", dest="pattern", default="")
    parser.add_argument("--part", action="append", choices=parts)
    options = parser.parse_args()
    missing = launchers.missing(options.launcher)
    if missing:
        print(f"skipped: {missing}")
        return 77
    # All hosts have this directory, but not each other's /tmp.
    directory = tempfile.mkdtemp(dir=BUILD, prefix="hosts-")
    os.chmod(directory, 0o1777)  # tests of permissions run as another user for a while
    lines, good = [], True
    try:
        for part in options.part or parts:
            totals = parts[part](options.launcher, options.pattern, directory)
            lines.append(totals.line(options.launcher))
            good = good and not totals.failed and totals.passed > 0
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(f"{BUILD}/hosts-totals", exist_ok=True)
    with open(f"{BUILD}/hosts-totals/{options.launcher}-{len(NAMES)}.txt", "w", encoding="utf-8") as file:
        print(*lines, sep="\n", file=file)
    print(*lines, sep="\n", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
