#!/usr/bin/env python3
"""Builds and runs the parts of `make test-all` that need no package index, on a machine with many cores.

Runs as root in the source tree (in_root.sh). Tests count and kill what they find on a host, so each batch of them runs
in its own namespaces (apart.sh) with two CPUs, as in CI. A queue keeps all CPUs busy: the parts in their given order, the
longest tests of each first.

Resumable: results are kept in LOGS/<part>.tsv, and a test that has passed there is not run again. LOGS/<part>.txt has all
output, <part>-failed.txt that of batches with a failed test. LOGS/commits.txt names the commit and the changes that the
results are of; those of another tree are refused unless --carry-over is given. Prints what it leaves out.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent
# Each of these is left out of some part; REASONS says why.
LEFT_OUT = r"^(monitor_(browser|assets|export|otlp_receiver)|gpu_code_objects|offload_amd)"
LABELS_LEFT_OUT = "^(mpi4py|install|namespaces|mpich)$"
NAMESPACES_LEFT_OUT = "^namespaces_random_faults$"
OUTSIDE = [".venv/bin/python", "-B", "tests/outside/run.py", "--prefix", "build/pip", "--work", ".cache/outside"]
OUTSIDE_LEFT_OUT = "mpi4py-fft:"
REASONS = (
    (f"tests {LEFT_OUT}", "they need a browser, npm, pyarrow, clang, or Go's packages from the network"),
    (f"labels {LABELS_LEFT_OUT}", "they need a package index; those of namespaces are a part of their own"),
    (f"test {NAMESPACES_LEFT_OUT}", "it takes a quarter of an hour, whatever the number of cores"),
    (f"programs {OUTSIDE_LEFT_OUT}*", "they are built with a package index"),
    ("make test-wheel", "it needs a package index and other systems' roots"),
    ("make test-without-precompiled", "it is no test: `build plain` does it"),
)
TIERS = {"release": {"change", "night"}, "release2": {"change2", "night2"}}  # parts that are together another part
UNKNOWN = "unknown"
RESULT = re.compile(r"^ *\d+/\d+ Test +#\d+: (\S+) \.*(?:[A-Z][\w ]*)?(?:\*\*\*| +)(\w+(?: \w+)?).*?([\d.]+) sec", re.M)
GOOD = ("Passed", "Skipped")


def assigned(file, name):
    """Returns the value that a shell script or a Makefile assigns to a variable."""
    text = (TREE / file).read_text()
    return re.search(rf"^{name}(?:=| := )'?([^'\n]*)'?$", text, re.M).group(1)


class Tests:
    """Tests of a build directory, run by ctest."""

    handful, seconds = 12, 1.0  # the most tests of a handful, and the expected seconds of one that has not run yet

    def __init__(self, build, options, **environment):
        self.environment = {**os.environ, **environment, "HR_BUILT": "1"}
        if build == "pip":
            self.ctest = ["ctest", "--test-dir", "build/pip", *options]
        else:
            self.ctest = ["scripts/sanitize.sh", build, *options]

    def listed(self):
        """Returns {name: word by which command() chooses it}."""
        text = subprocess.run([*self.ctest, "-N"], cwd=TREE, text=True, capture_output=True, env=self.environment).stdout
        # ctest's -I counts the tests that its other options choose.
        return {name: str(place) for place, name in enumerate(re.findall(r"Test +#\d+: (\S+)", text), 1)}

    def command(self, words):
        return [*self.ctest, "--output-on-failure", "-j", "3", "-I", f"0,0,0,{','.join(words)}"]

    @staticmethod
    def results(output):
        """Returns (name, result, seconds) of each test that ended."""
        return RESULT.findall(output)


class Functions:
    """The functions that do nothing for once, of which tests/noop finds a test that misses them."""

    handful, seconds = 12, 3.0
    environment = dict(os.environ)

    @staticmethod
    def listed():
        functions = [line.split("\t")[0] for line in (TREE / "tests/noop/found.tsv").read_text().splitlines()]
        return dict(zip(functions, functions))

    @staticmethod
    def command(words):
        return [".venv/bin/python", "-B", "tests/noop/find.py", "build/pip", *words]

    @staticmethod
    def results(output):
        found = re.findall(r"^(MPI_\w+): (.*)$", output, re.M)
        return [(name, "Failed" if said.startswith("no test") else "Passed", "0") for name, said in found]


class Programs:
    """Programs of others and their checks (tests/outside), which `build outside` has built."""

    handful, seconds = 1, 120.0

    def __init__(self, hosts):
        self.hosts = hosts
        self.environment = dict(os.environ)

    @staticmethod
    def listed():
        text = subprocess.run([*OUTSIDE, "--list"], cwd=TREE, text=True, capture_output=True).stdout
        return {name: name for name in text.split() if not name.startswith(OUTSIDE_LEFT_OUT)}

    def command(self, words):
        return [*OUTSIDE, *words, "--hosts", self.hosts]

    @staticmethod
    def results(output):
        found = re.findall(r"^(\S+) (\S+), \d host\(s\): .*, (\d+) s: (ok|FAILED)", output, re.M)
        return [(f"{package}:{test}", "Passed" if said == "ok" else "Failed", seconds) for package, test, seconds, said in found]


def parts():
    two = {"HEADRACE_AS_HOSTS": "2"}
    not_as_hosts = assigned("scripts/run-tier.sh", "not_as_hosts")
    without = assigned("Makefile", "SANITIZE_WITHOUT")
    threads = assigned("Makefile", "SANITIZE_TSAN")
    peers = {"HEADRACE_PEERS": str(TREE / ".cache/peers")}
    here = ["-LE", LABELS_LEFT_OUT, "-E", LEFT_OUT]
    hosts = ["-LE", f"{not_as_hosts}|{LABELS_LEFT_OUT}"]
    return {
        "release": Tests("pip", here, **peers),
        "release2": Tests("pip", hosts, **peers, **two),
        "ucx2": Tests("pip", hosts, **peers, **two, HEADRACE_NETWORK="ucx"),
        "ofi2": Tests("pip", hosts, **peers, **two, HEADRACE_NETWORK="ofi"),
        "asan": Tests("asan", ["-LE", without]),
        "asan2": Tests("asan", ["-LE", f"{not_as_hosts}|{without}"], **two),
        "tsan": Tests("tsan", ["-LE", without, "-R", threads]),
        "namespaces": Tests("pip", ["-C", "hosts", "-L", "namespaces", "-E", NAMESPACES_LEFT_OUT], **peers, HR_NAMESPACES="required"),
        "noop": Functions(),
        "outside": Programs("1"),
        "outside2": Programs("2"),
        "change": Tests("pip", ["-LE", f"{LABELS_LEFT_OUT}|^night$", "-E", LEFT_OUT], **peers),
        "change2": Tests("pip", ["-L", "^as_hosts$", "-LE", "^night$"], **peers, **two),
        "night": Tests("pip", ["-L", "^night$", *here], **peers),
        "night2": Tests("pip", ["-L", "^night$", *hosts], **peers, **two),
    }


def build(names, logs):
    """Builds the directories of the parts, all at once. Returns the names of those that failed.

    "outside" needs the sources in .cache/outside and a finished build/pip."""
    configure = ["cmake", "-G", "Ninja", "-S", ".", "-DHEADRACE_TESTS=ON", "-DHEADRACE_WERROR=ON", "-DCMAKE_BUILD_TYPE=Release"]

    def commands(name):
        if name == "outside":
            packages = sorted({each.partition(":")[0] for each in Programs.listed()})
            return [[*OUTSIDE, "--build", *packages]]
        configured = {"pip": configure + ["-B", "build/pip"],
                      "plain": configure + ["-B", "build/plain", "-DHEADRACE_PRECOMPILED_HEADERS=OFF"]}
        return [configured.get(name, ["cmake", "--preset", name]), ["ninja", "-C", f"build/{name}", "-j", str(os.cpu_count())]]

    def one(name):
        begun = time.monotonic()
        status = 0
        with open(logs / f"build-{name}.txt", "w") as log:
            for each in commands(name):
                status = status or subprocess.run(each, cwd=TREE, stdout=log, stderr=log).returncode
        print(f"built {name}: exit code {status}, {time.monotonic() - begun:.0f} s", flush=True)
        return status

    with concurrent.futures.ThreadPoolExecutor() as pool:
        return [name for name, status in zip(names, pool.map(one, names)) if status]


def tree_state(logs):
    """Returns the commit of the tree and a checksum of its changes, or UNKNOWN if git does not know the tree."""
    # The tree may have another owner here.
    environment = {**os.environ, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": str(TREE)}
    left_out = [str(logs)] if logs.is_relative_to(TREE) else []
    ran = subprocess.run([TREE / "scripts/tree-state.sh", *left_out], text=True, capture_output=True, env=environment)
    return ran.stdout.strip() if ran.returncode == 0 else UNKNOWN


def claim(logs, carry_over):
    """Notes which tree the results in LOGS are of. Returns the trees of all results there, or why they cannot be continued."""
    file = logs / "commits.txt"
    now = tree_state(logs)
    before = []
    if any(logs.glob("*.tsv")):
        before = file.read_text().splitlines() if file.exists() else [UNKNOWN]
    if before and not carry_over and (before[-1] != now or now == UNKNOWN):
        return [], (f"{logs} has results of another tree, or of one that git does not know (commit, checksum and size of its changes):\n"
                    f"  there: {before[-1]}\n  here:  {now}\n"
                    "Give an empty directory, or --carry-over to count those results and run only what has not passed.")
    if before[-1:] != [now]:
        before.append(now)
    file.write_text("".join(f"{each}\n" for each in before))
    return before, ""


def not_chosen(names, table):
    """Returns the parts of which no test is chosen, or only those of one tier."""
    tiers = set().union(*TIERS.values())
    chosen = set(names) | {tier for name in names for tier in TIERS.get(name, ())}
    return [name for name in table if name not in tiers and name not in chosen and not TIERS.get(name, {name}) <= chosen]


def kept(file):
    """Returns the newest result of each test: {test: (result, seconds, whether an earlier run failed)}."""
    found = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        test, result, seconds = line.split("\t")
        found[test] = result, seconds, test in found and (found[test][2] or found[test][0] not in GOOD)
    return found


def costs():
    """Seconds that each test took in the release build, as far as ctest has kept them there; else a guess from its limit."""
    listed = subprocess.run(["ctest", "--test-dir", "build/pip", "-C", "hosts", "--show-only=json-v1"], cwd=TREE, capture_output=True)
    found = {}
    for test in json.loads(listed.stdout)["tests"]:
        limit = [each["value"] for each in test["properties"] if each["name"] == "TIMEOUT"]
        found[test["name"]] = limit[0] / 60 if limit else 1.0
    file = TREE / "build/pip/Testing/Temporary/CTestCostData.txt"
    for line in file.read_text().splitlines() if file.exists() else []:
        if known := re.fullmatch(r"(\S+) \d+ ([\d.]+)", line):
            found[known[1]] = float(known[2])
    return found


class Queue:
    """Batches of tests, part by part, the longest first; workers take batches until none is left or the time is over."""

    def __init__(self, logs, deadline):
        self.logs, self.deadline = logs, deadline
        self.lock = threading.Lock()
        self.handfuls = []  # (part's name, places of tests)
        self.cut = 0

    def add(self, name, part, seconds_of):
        """Returns the names of the tests that have passed already or are in the queue now."""
        done = {test for test, (result, *_) in kept(self.logs / f"{name}.tsv").items() if result in GOOD}
        listed = part.listed()
        tests = [(seconds_of.get(test, part.seconds), word) for test, word in listed.items() if test not in done]
        tests.sort(reverse=True)
        handfuls = []  # (expected seconds, places of tests)
        while tests:
            handful = [tests.pop(0)]
            while tests and sum(s for s, _ in handful) < 15 and len(handful) < part.handful:
                handful.append(tests.pop(0))
            handfuls.append((sum(s for s, _ in handful), [word for _, word in handful]))
        handfuls.sort(reverse=True)
        self.handfuls += [(name, words) for _, words in handfuls]
        return set(listed)

    def take(self):
        with self.lock:
            return self.handfuls.pop(0) if self.handfuls and time.monotonic() < self.deadline else None

    def keep(self, name, results, output, code):
        ended_by_limit = code in (124, 137, -9)  # by timeout's first signal, or by its second
        with self.lock:
            with open(self.logs / f"{name}.tsv", "a") as file:
                for test, result, seconds in results:
                    if ended_by_limit and result not in GOOD:
                        continue  # ended by the limit
                    file.write(f"{test}\t{result}\t{seconds}\n")
            bad = any(result not in GOOD for _, result, _ in results)
            for kind in ("", "-failed") if bad else ("",):
                with open(self.logs / f"{name}{kind}.txt", "a") as file:
                    file.write(output)
            self.cut += ended_by_limit


def work(queue, table, worker, cpus):
    while taken := queue.take():
        name, words = taken
        part = table[name]
        command = [HERE / "apart.sh", TREE, f"/parts/{worker}", cpus, *part.command(words)]
        left = max(5, queue.deadline - time.monotonic())
        ran = subprocess.run(["timeout", "-k", "5", f"{left:.0f}", *map(str, command)], text=True, errors="replace",
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=part.environment)
        queue.keep(name, part.results(ran.stdout), ran.stdout, ran.returncode)


def report(names, logs, wanted):
    """Prints the totals of each part, and the tests that failed. Returns whether all have passed."""
    right = True
    for name in names:
        results = {test: result for test, result in kept(logs / f"{name}.tsv").items() if test in wanted[name]}
        bad = sorted(test for test, (result, *_) in results.items() if result not in GOOD)
        skipped = sum(result == "Skipped" for result, *_ in results.values())
        missing = len(wanted[name]) - len(results)
        right = right and wanted[name] and not bad and not missing
        print(f"== {name}: {len(results) - len(bad) - skipped} passed, {len(bad)} failed, {skipped} skipped, {missing} not run")
        if not wanted[name]:
            print("   no test found: is its build finished?")
        for test in bad:
            print(f"   {test}: {results[test][0]} after {results[test][1]} s")
        for test, (result, _, failed) in results.items():
            if failed and result in GOOD:
                print(f"   {test}: failed in an earlier run")
    return bool(right)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=pathlib.Path, help="directory of results")
    parser.add_argument("what", choices=("build", "test"))
    parser.add_argument("names", nargs="*", metavar="part", help="build: pip, asan, tsan, plain (no precompiled headers), outside; "
                        "test: release, release2 (as two hosts), ofi2 (over libfabric), asan, asan2, tsan; and, if they are named, ucx2 (over "
                        "UCX), namespaces, noop, outside, outside2; the tiers of release and release2 alone: change, change2, night, night2")
    parser.add_argument("--limit", type=float, default=3600, help="seconds after which nothing runs")
    parser.add_argument("--times", type=int, default=1, help="runs each part so often")
    parser.add_argument("--share", type=int, default=1, metavar="N", help="N batches of tests share each pair of CPUs, as a load")
    parser.add_argument("--carry-over", action="store_true", help="counts results of another commit in LOGS, too")
    arguments = parser.parse_intermixed_args()
    begun = time.monotonic()
    logs = arguments.logs.absolute()
    logs.mkdir(parents=True, exist_ok=True)
    os.environ["PATH"] = f"{TREE}/.venv/bin:{os.environ['PATH']}"
    if arguments.what == "build":
        return 1 if build(arguments.names or ["pip", "asan", "tsan", "plain"], logs) else 0

    table = parts()
    names = arguments.names or ["release", "release2", "ofi2", "asan", "asan2", "tsan"]
    if unknown := [name for name in names if name not in table]:
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(table)}")
    trees, refused = claim(logs, arguments.carry_over)
    if refused:
        print(f"parts.py: {refused}", file=sys.stderr)
        return 2
    left_out = [*REASONS, *((f"part {name}", "not chosen in this call") for name in not_chosen(names, table))]
    if arguments.times > 1:
        table |= {f"{name}.{run}": table[name] for name in names for run in range(arguments.times)}
        names = [f"{name}.{run}" for name in names for run in range(arguments.times)]
    queue = Queue(logs, begun + arguments.limit)
    seconds_of = costs()
    wanted = {name: queue.add(name, table[name], seconds_of) for name in names}
    cores = sorted(os.sched_getaffinity(0))
    pairs = [f"{a},{b}" for a, b in zip(cores[::2], cores[1::2])]
    workers = enumerate(pairs * arguments.share)
    threads = [threading.Thread(target=work, args=(queue, table, worker, cpus)) for worker, cpus in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    right = report(names, logs, wanted)
    for what, why in left_out:
        print(f"left out: {what}: {why}")
    print("\n  ".join(["results of:", *trees]))
    print(f"{time.monotonic() - begun:.0f} s on {len(pairs)} pairs of CPUs; {len(queue.handfuls)} handfuls left, {queue.cut} cut")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
