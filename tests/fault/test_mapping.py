"""Placement of ranks: the options of the command line on described machines, compared with other launchers' results for the same options;
and ranks actually run where reported.

Other launchers' tables were recorded with `prterun --display map --do-not-launch` of Open MPI 5.0.11 (PRRTE 3.0.14) on hwloc's XML
of MACHINE (hosts by its simulator), and with HYDRA_TOPO_DEBUG=1 under MPICH 5.0.2 with HWLOC_XMLFILE.
"""

import json
import os
import re
import subprocess
import unittest

from launching import LaunchTest, run

# Two sockets, two NUMA domains each, two cores each, two hardware threads each: CPUs 2c and 2c + 1 are core c.
MACHINE = "synthetic:pack:2 numa:2 core:2 pu:2"
DEFAULT = dict(os.environ, HEADRACE_OVERSUBSCRIBE="note")

# words, CPUs of each rank
OURS = [
    ("-n 2", "0-7 8-15"), ("-n 8", "0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15"), ("-n 9", " ".join(["-"] * 9)),
    ("-n 3 --bind-to hwthread", "0 1 2"), ("-n 2 --bind-to none", "- -"), ("-n 2 --bind-to machine", "- -"),
    ("-n 3 --map-by slot --bind-to socket", "0-7 0-7 0-7"), ("-n 5 --map-by core --bind-to numa", "0-3 0-3 4-7 4-7 8-11"),
    ("-n 3 --map-by socket", "0-7 8-15 0-7"), ("-n 3 --map-by socket --bind-to core", "0-1 8-9 2-3"),
    ("-n 5 --map-by numa --bind-to core", "0-1 4-5 8-9 12-13 2-3"), ("-n 2 --map-by hwthread", "0 1"),
    ("-n 3 --map-by core --bind-to hwthread", "0 2 4"), ("-n 4 --map-by ppr:2:socket --bind-to core", "0-1 2-3 8-9 10-11"),
    ("-n 4 --map-by ppr:1:numa", "0-3 4-7 8-11 12-15"), ("-n 4 --map-by ppr:2:socket", "0-7 0-7 8-15 8-15"),
    ("--map-by ppr:1:socket", "0-7 8-15"), ("--npersocket 2 --bind-to core", "0-1 2-3 8-9 10-11"),
    ("-n 3 --map-by socket --bind-to none", "- - -"), ("-n 16 --use-hwthread-cpus", " ".join(map(str, range(16)))),
    # Policies and their levels
    ("-n 3 --map-by bunch", "0-1 2-3 4-5"), ("-n 3 --map-by bunch:numa", "0-3 0-3 4-7"), ("-n 2 --map-by bunch:hwthread", "0 1"), ("-n 3 --map-by scatter:hwthread", "0 8 4"),
    ("-n 5 --map-by scatter", "0-1 8-9 4-5 12-13 2-3"), ("-n 3 --map-by scatter:socket", "0-7 8-15 0-7"),
    ("-n 3 --map-by scatter:numa", "0-3 8-11 4-7"), ("-n 3 --map-by scatter --bind-to socket", "0-7 8-15 0-7"),
    ("-n 3 --map-by hybrid:2", "0-3 4-7 8-11"), ("-n 3 --map-by hybrid:2:linear", "0-3 4-7 8-11"),
    ("-n 3 --map-by hybrid:2:compact", "0-1 2-3 4-5"), ("-n 2 --map-by hybrid:2:spread", "0-1,4-5 8-9,12-13"),
    ("-n 2 --map-by hybrid:3:compact", "0-2 4-6"), ("-n 2 --map-by hybrid", "0-7 8-15"),
    ("-n 3 --map-by scatter:PE=2", "0-3 8-11 4-7"),
    # Lists
    ("-n 3 --bind-to user:0+2,1,4-6", "0,2 1 4-6"), ("-n 3 --map-by pe-list=0,2,8:ordered", "0 2 8"),
    ("-n 2 --map-by pe-list=0,2,8", "0,2,8 0,2,8"), ("-n 3 --bind-to user:5,6", "5 6 5"),
    ("-n 2 --cpu-set 0-3,12", "0-1 2-3,12"), ("-n 3 --cpu-set 0,1,9 --map-by socket --bind-to core", "0-1 9 0-1"),
    # Cores for each rank
    ("-n 2 --map-by slot:PE=3", "0-5 8-13"), ("-n 2 --cpus-per-rank 2", "0-3 4-7"), ("-n 3 --map-by numa:PE=1", "0-1 4-5 8-9"),
    ("-n 2 --map-by core:PE=2", "0-3 4-7"), ("-n 2 --map-by socket:PE=2:HWTCPUS", "0-1 8-9"),
    ("-n 2 --map-by ppr:1:socket:PE=2", "0-3 8-11"), ("-n 2 --bind-to numa --cpus-per-rank 2", "0-3 4-7"),
    ("-n 4 --map-by MACHINE --bind-to Core", "0-1 2-3 4-5 6-7"), ("-n 3 --map-by numa:2 --bind-to core", "0-1 8-9 2-3"),
    # Numbering
    ("-n 4 --map-by core --rank-by socket", "0-1 2-3 4-5 6-7"), ("-n 6 --map-by core --rank-by socket", "0-1 8-9 2-3 10-11 4-5 6-7"),
    ("-n 4 --map-by core --rank-by numa", "0-1 4-5 2-3 6-7"),
]

# Open MPI's results for the same words, Headrace's printed as cores. Options that it refuses are omitted (-n 9 without
# :OVERSUBSCRIBE).
OPEN_MPI = [
    ("-n 4 --map-by core", "0 1 2 3"), ("-n 2 --map-by package:PE=2", "0-1 4-5"), ("-n 3 --map-by slot --bind-to package", "0-3 0-3 0-3"),
    ("-n 4 --map-by slot:PE=2", "0-1 2-3 4-5 6-7"), ("-n 2 --map-by slot:PE=3", "0-2 4-6"), ("-n 4 --map-by ppr:2:package", "0-3 0-3 4-7 4-7"),
    ("-n 6 --map-by numa --rank-by span", "0-1 2-3 4-5 6-7 0-1 2-3"), ("-n 6 --map-by package --rank-by slot --bind-to core", "0 4 1 5 2 6"),
    ("-n 4 --map-by package --bind-to core --rank-by fill", "0 1 4 5"), ("-n 5 --map-by numa --bind-to core --rank-by fill", "0 1 2 4 6"),
    ("-n 5 --map-by numa --bind-to core --rank-by slot", "0 2 4 6 1"), ("-n 6 --map-by package --bind-to numa --rank-by slot", "0-1 4-5 0-1 4-5 2-3 6-7"),
    ("-n 4 --map-by slot --bind-to numa", "0-1 0-1 2-3 2-3"), ("-n 4 --map-by ppr:2:package:PE=2", "0-1 2-3 4-5 6-7"),
    ("-n 4 --map-by ppr:2:package --bind-to core", "0 1 4 5"), ("-n 4 --map-by numa:PE=2", "0-1 2-3 4-5 6-7"),
    ("-n 3 --map-by slot --bind-to none", "- - -"),
]

# Two hosts of four slots: host:cores.
OPEN_MPI_HOSTS = [
    ("-n 6 --map-by slot --bind-to core", "0:0 0:1 0:2 0:3 1:0 1:1"), ("-n 6 --map-by node --bind-to core", "0:0 1:0 0:1 1:1 0:2 1:2"),
    ("-n 6 --map-by core", "0:0 0:1 0:2 0:3 1:0 1:1"), ("-n 6 --map-by package:SPAN", "0:0-3 0:4-7 1:0-3 1:4-7 0:0-3 0:4-7"),
    ("-n 6 --map-by package --bind-to core --rank-by fill", "0:0 0:1 0:4 0:5 1:0 1:4"),
    ("-n 6 --map-by package --rank-by slot --bind-to core", "0:0 0:4 0:1 0:5 1:0 1:4"),
    ("-n 6 --map-by package --rank-by span --bind-to core", "0:0 0:4 1:0 1:4 0:1 0:5"),
    ("-n 6 --map-by package --rank-by node --bind-to core", "0:0 1:0 0:4 1:4 0:1 0:5"),
    ("-n 4 --map-by ppr:1:package", "0:0-3 0:4-7 1:0-3 1:4-7"), ("--map-by ppr:1:package", "0:0-3 0:4-7 1:0-3 1:4-7"),
    ("-n 4 --map-by ppr:2:node --bind-to core", "0:0 0:1 1:0 1:1"), ("-n 6 --map-by node --rank-by slot --bind-to core", "0:0 0:1 0:2 1:0 1:1 1:2"),
    ("-n 9 --map-by slot:OVERSUBSCRIBE --bind-to core", "0:0 0:1 0:2 0:3 0:4 1:0 1:1 1:2 1:3"),
]

HYDRA = [
    ("-n 5 -bind-to core", "0-1 2-3 4-5 6-7 8-9"), ("-n 5 -bind-to socket", "0-7 8-15 0-7 8-15 0-7"),
    ("-n 5 -bind-to core:2", "0-3 4-7 8-11 12-15 0-3"), ("-n 5 -bind-to core -map-by socket", "0-1 8-9 2-3 10-11 4-5"),
    ("-n 5 -bind-to core -map-by core:2", "0-1 4-5 8-9 12-13 2-3"), ("-n 3 -bind-to user:0+2,1,3", "0,2 1 3"),
    ("-n 5 -bind-to hwthread", "0 1 2 3 4"), ("-n 5 -bind-to numa:2", "0-7 8-15 0-7 8-15 0-7"),
    ("-n 5 -bind-to hwthread -map-by core", "0 2 4 6 8"), ("-n 5 -bind-to socket -map-by core", "0-7 0-7 0-7 0-7 8-15"),
    ("-n 4 -bind-to numa", "0-3 4-7 8-11 12-15"),
]

# words after the hosts a and b, host of each rank
HOSTS = [
    ("--hosts a,b -n 4", "aabb"), ("--hosts a,b -n 5", "aaabb"), ("--hosts a:1,b:4 -n 3", "abb"), ("--hosts a,b:4 -n 8", "aaaabbbb"),
    ("--hosts a,b -ppn 1 -n 5", "ababa"), ("--hosts a,b -ppn 2", "aabb"), ("--hosts a:2,b:3", "aabbb"), ("--hosts a,b", "ab"),
    ("--hosts a:4,b:4 -n 4 --bynode", "abab"), ("--hosts a:4,b:4 -n 4 --rank-by node", "aaaa"), ("--hosts a:1,b:1 -n 4", "aabb"),
    ("-n 1 --hosts a:2,b:2 x : -n 3 x", "aabb"),
]


def ranges(numbers):
    """"0-3,7" of [0, 1, 2, 3, 7]."""
    parts = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts) or "-"


class MapTest(LaunchTest):
    def plan(self, words, *more):
        result = run("--do-not-launch", "--json", *more, *words.split())
        self.assert_ended(result, 0)
        self.assertEqual(result.stderr, "")
        return json.loads(result.stdout)["ranks"]

    def described(self, words):
        return " ".join(ranges(rank["cpus"]) for rank in self.plan(words, "--machine", MACHINE))


class Words(MapTest):
    def test_ours(self):
        for words, places in OURS:
            with self.subTest(words):
                self.assertEqual(self.described(words), places)

    def test_open_mpis(self):
        for words, places in OPEN_MPI:
            with self.subTest(words):
                cores = [ranges(sorted({cpu // 2 for cpu in rank["cpus"]})) for rank in self.plan(words, "--machine", MACHINE)]
                self.assertEqual(" ".join(cores), places)

    def test_open_mpis_on_two_hosts(self):
        for words, places in OPEN_MPI_HOSTS:
            with self.subTest(words):
                plan = self.plan(words, "--machine", MACHINE, "--hosts", "0:4,1:4")
                said = [rank["host"] + ":" + ranges(sorted({cpu // 2 for cpu in rank["cpus"]})) for rank in plan]
                self.assertEqual(" ".join(said), places)

    def test_hydras(self):
        for words, places in HYDRA:
            with self.subTest(words):
                self.assertEqual(self.described(words), places)

    def test_hosts(self):
        for words, hosts in HOSTS:
            with self.subTest(words):
                self.assertEqual("".join(rank["host"] for rank in self.plan(words, "--machine", MACHINE)), hosts)

    def test_hosts_that_differ(self):
        plan = self.plan("-n 4 --map-by scatter", "--machine", MACHINE, "--machine", "synthetic:core:2 pu:1")
        self.assertEqual([(rank["host"], rank["cpus"]) for rank in plan],
                         [("host0", [0, 1]), ("host0", [8, 9]), ("host1", [0]), ("host1", [1])])


class Said(MapTest):
    def test_table_and_picture(self):
        result = run("--do-not-launch", "--machine", MACHINE, "-n", "2", "--map-by", "numa")
        self.assert_ended(result, 0)
        self.assertEqual(result.stdout.splitlines(), [
            "rank  host   cores  CPUs  GPU  NIC",
            "   0  host0  0-1    0-3   -    -",
            "   1  host0  2-3    4-7   -    -",
            "",
            "host0: 2 sockets, 4 NUMA domains, 8 cores, 16 hardware threads",
            "  socket 0 NUMA 0  0 0",
            "  socket 0 NUMA 1  1 1",
            "  socket 1 NUMA 2  . .",
            "  socket 1 NUMA 3  . .",
            "  numbers are ranks on cores; . no rank",
        ])

    def test_report_bindings(self):
        # A machine described with hwloc's own variable: the report shows its CPUs.
        result = run("-n", "2", "--map-by", "numa", "--report-bindings", "true", env={**os.environ, "HWLOC_SYNTHETIC": MACHINE[10:]})
        self.assert_ended(result, 0, "is bound to CPU 0-3", "is bound to CPU 4-7", "  socket 0 NUMA 1  1 1\n")

    def test_oversubscription_is_said(self):
        many = ("--do-not-launch", "--machine", MACHINE, "-n", "9")
        said = "mpiexec: oversubscribed: 9 ranks on host0, which has 8 cores\n"
        self.assertEqual(run(*many, env=DEFAULT).stderr, said)
        for quiet in (("-q",), ("--oversubscribe",), ("--map-by", ":OVERSUBSCRIBE"), ("--map-by", "core:oversubscribe"), ("--use-hwthread-cpus",)):
            with self.subTest(quiet):
                self.assertEqual(run(*quiet, *many, env=DEFAULT).stderr, "")
        for refuse in (("--nooversubscribe",), ("--map-by", ":NOOVERSUBSCRIBE")):
            with self.subTest(refuse):
                self.assert_ended(run(*refuse, *many, env=DEFAULT), 2, "room for 8", "oversubscription was forbidden")
        self.assert_ended(run(*many, env=dict(os.environ, HEADRACE_OVERSUBSCRIBE="refuse")), 2, "room for 8")
        # The same for a real job, which also runs.
        cores = len(os.sched_getaffinity(0))
        result = run("-n", str(cores + 1), "echo", "ran", env=DEFAULT)
        self.assert_ended(result, 0, f"oversubscribed: {cores + 1} ranks on ")
        self.assertEqual(result.stdout, "ran\n" * (cores + 1))

    def test_this_machine_written_down(self):
        path = f"{os.environ.get('TMPDIR', '/tmp')}/machine-{os.getpid()}.xml"
        self.addCleanup(lambda: os.path.exists(path) and os.remove(path))
        self.assert_ended(run("--save-machine", path), 0)
        if len(os.sched_getaffinity(0)) < os.cpu_count():
            self.skipTest("the file holds all CPUs of the machine, and this test may not use all")
        words = "-n 2 --map-by core"
        self.assertEqual([rank["cpus"] for rank in self.plan(words, "--machine", path)], [rank["cpus"] for rank in self.plan(words)])
        self.assert_ended(run("--save-machine", "/no/such/place/x.xml"), 2, "/no/such/place/x.xml")


class Ranks(MapTest):
    MASK = "import os; print(os.environ['PMI_RANK'], sorted(os.sched_getaffinity(0)))"

    def test_run_where_the_map_says(self):
        allowed = sorted(os.sched_getaffinity(0))
        first = allowed[0]
        for words in ("-n 2", "-n 2 --map-by bunch", "-n 3 --map-by scatter", "-n 2 --map-by hybrid:1:compact", "-n 4 --bind-to core",
                      "-n 2 --bind-to hwthread --rank-by fill", "-n 2 --bind-to none", "-n 3 --map-by socket", "-n 2 --map-by ppr:2:numa",
                      f"-n 2 --bind-to user:{first},{allowed[-1]}", f"-n 2 --cpu-set {first} --bind-to core", f"-n {len(allowed) + 1}",
                      "-n 2 --map-by slot:PE=1", f"-n 1 --map-by slot:PE={len(allowed)}"):
            with self.subTest(words):
                planned = [rank["cpus"] or allowed for rank in self.plan(words)]
                result = run(*words.split(), "python3", "-c", self.MASK)
                self.assert_ended(result, 0)
                seen = dict(line.split(" ", 1) for line in result.stdout.splitlines())
                self.assertEqual([seen[str(rank)] for rank in range(len(planned))], [str(cpus) for cpus in planned])

    def test_within_what_mpiexec_may_use(self):
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < 2:
            self.skipTest("one CPU")
        one = {allowed[1]}
        result = subprocess.run(["taskset", "-c", str(allowed[1]), os.environ["HR_MPIEXEC"], "-n", "2", "--bind-to", "core", "python3", "-c", self.MASK],
                                capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(sorted(result.stdout.splitlines()), [f"0 {sorted(one)}", f"1 {sorted(one)}"], result.stderr)


class Command(MapTest):
    """`headrace map` gives mpiexec's answer."""

    def command(self, *words):
        code = ("import os, sys; from pathlib import Path; from headrace import installation, cli; "
                "installation.find_mpiexec = lambda: Path(os.environ['HR_MPIEXEC']); sys.exit(cli.main(sys.argv[1:]))")
        return subprocess.run(["python3", "-c", code, "map", *words], capture_output=True, text=True, timeout=60, check=False)

    def test_answers(self):
        for words in (("--machine", MACHINE, "-n", "2"), ("--machine", MACHINE, "--", "-n", "2")):
            self.assertEqual(self.command(*words).stdout, run("--do-not-launch", "--machine", MACHINE, "-n", "2").stdout)
        self.assertEqual(len(json.loads(self.command("--json", "-n", "3").stdout)["ranks"]), 3)
        self.assertIn("usage: headrace map", self.command("--help").stdout)

    def test_mistakes(self):
        self.assert_ended(self.command("-n", "2", "--map-by", "sockt"), 2, "did you mean socket?")
        self.assert_ended(self.command("--machine", MACHINE, "-n", "2", "--map-by", "l2cache"), 2, "no L2 cache")
        self.assert_ended(self.command("--save"), 2, "requires a value")


class Help(MapTest):
    def test_every_level_is_in_the_help(self):
        text = re.sub(r"\s+", " ", run("--help").stdout)
        for word in ("bunch", "scatter", "hybrid", "ppr:N:", ":SPAN", ":NOOVERSUBSCRIBE", "l3cache", "pe-list", "user:", "--rank-by", "--cpu-set"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
