"""`headrace tune --explain`: rows and limits that a run would use."""

import os
import subprocess
import sys
import unittest

from headrace.tune import explain
from headrace.tune.explain import Query
from tuning import BIN, BUILD, TuningTest, described

ROWS = [{"operation": "bcast", "max_bytes": 1024, "max_ranks": 2, "max_hosts": 1, "memory": "host", "oversubscribed": False, "algorithm": "linear"},
        {"operation": "bcast", "max_hosts": 4, "max_ranks_per_host": 1, "algorithm": "binomial"},
        {"operation": "allreduce", "memory": "device", "algorithm": "ring"}]


class Rows(unittest.TestCase):
    def place(self, operation="bcast", bytes_=8, ranks=2, hosts=1, each=2, oversubscribed=False):
        return explain.row_for(ROWS, Query(operation, bytes_, bytes_, ranks, hosts, each, oversubscribed), bytes_)

    def test_the_first_that_covers(self):
        self.assertEqual(self.place(), 1)
        self.assertEqual(self.place(bytes_=1024), 1)
        self.assertEqual(self.place(bytes_=1025), None)  # two ranks on the host; row 2 is for one per host
        self.assertEqual(self.place(oversubscribed=True), None)
        self.assertEqual(self.place(ranks=4, hosts=4, each=1), 2)
        self.assertEqual(self.place(ranks=5, hosts=5, each=1), None)
        self.assertEqual(self.place(operation="allreduce"), None)  # of devices


class Runs(TuningTest):
    def explain(self, *words):
        return subprocess.run([sys.executable, "-m", "headrace", "tune", "--build", str(BUILD), "--explain", *map(str, words)], capture_output=True,
                              text=True, timeout=120, check=False, env={**os.environ, "HEADRACE_OVERSUBSCRIBE": "quiet"})

    def setUp(self):
        super().setUp()
        known = described()
        self.put(self.content([{"operation": "allreduce", "max_bytes": 1500, "max_ranks": 2, "max_hosts": 1, "memory": "host", "oversubscribed": False,
                                "algorithm": "linear", "why": "it was faster"}]))
        self.put(f"machine = {known['messages']['machine']}\nversion = {known['version']}\neager_bytes = 4096  # of the time\n",
                 self.default.with_suffix(".messages"))
        self.saved = self.folder / "run.hrc"
        subprocess.run([BIN / "mpiexec", "--save-counters", self.saved, "-n", "2", BIN / "collective", "--op", "allreduce,barrier", "--sizes",
                        "1024,65536", "--iters", "10", "--warmup", "1", "--reps", "2"], check=True, capture_output=True, timeout=60,
                       env={**os.environ, "HEADRACE_TUNING_FILE": "off"})

    def line(self, text, *words):
        return next(line for line in text.splitlines() if all(word in line for word in words))

    def test_a_saved_run(self):
        done = self.explain(self.saved)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("run.hrc: 2 ranks of collective on ", done.stdout)
        self.assertRegex(self.line(done.stdout, "allreduce", "1 KiB to 2047, up to 1500 B"), r" 1 +linear +it was faster")
        self.assertIn("no row covers it", self.line(done.stdout, "allreduce", "64 KiB"))
        self.assertIn("no row covers it", self.line(done.stdout, "barrier"))
        self.assertIn("The run itself took: ", done.stdout)
        self.assertIn("of the time", self.line(done.stdout, "eager_bytes", "4096"))

    def test_a_program(self):
        done = self.explain("-n", 2, BIN / "collective", "--op", "allreduce", "--sizes", "64", "--iters", "5", "--reps", "2")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(self.line(done.stdout, "allreduce", "64 B"), r" 1 +linear +it was faster")
        self.assertIn("allreduce_linear", self.line(done.stdout, "The run itself took"))

    def test_what_is_no_run(self):
        other = self.folder / "other.hrc"
        other.write_text("no counters")
        for words, says in (((other,), "not a file of counters"), ((self.folder / "none.hrc",), "No such file"),
                            (("-n", "1", self.folder / "no-program"), "no-program"), ((), "--explain")):
            done = self.explain(*words)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main()
