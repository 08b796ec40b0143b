"""`headrace tune` on three hosts that are namespaces, one of them at a distance of 200 us: pairs with that host have
different limits, and ranks use them.

Run by namespace_test.py (tests/hosts/bed/README.md)."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOSTS = os.environ["HR_HOSTS"]
NAMES = os.environ["HR_HOST_NAMES"].split()
BUILD = Path(os.environ["HR_BUILD"])
DELAY = "400us"  # packet delay of the distant host: 200 us in each direction
TRIES = 3  # a single measurement on a busy machine may be inconclusive


def hosts(*words):
    return subprocess.run([HOSTS, *words], capture_output=True, text=True, check=True)


def inside(*words, **variables):
    return subprocess.run([HOSTS, "exec", NAMES[0], *map(str, words)], capture_output=True, text=True, check=False, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "HEADRACE_OVERSUBSCRIBE": "quiet", **variables})


class LimitsByHost(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=BUILD)  # the hosts have a different /tmp
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "tuned.messages")
        hosts("shape", NAMES[2], "--delay", DELAY)
        self.addCleanup(hosts, "shape", NAMES[2])

    def limit(self, other):
        """Returns the limit between ranks on the first host and on this one."""
        done = inside(BUILD / "bin/mpiexec", "--hosts", f"{NAMES[0]}:1,{other}:1", "-n", "2", BUILD / "bin/latency", "--sizes", "8", "--iters", "2",
                      "--reps", "2", HEADRACE_VERBOSE="2", HEADRACE_TUNING_FILE=str(self.file.with_suffix(".json")))
        self.assertEqual(done.returncode, 0, done.stderr)
        return {int(number) for number in re.findall(r"sent unasked: up to (\d+) bytes", done.stderr)}

    def tuned(self):
        """Returns the limits by pairs of hosts, and the file."""
        done = inside(sys.executable, "-B", "-m", "headrace", "tune", "--build", BUILD, "--messages", "--quick", "--rounds", "3", "--no-plot",
                      "--hosts", ",".join(NAMES), "--output", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        print(done.stdout, done.stderr)
        text = self.file.read_text()
        return {frozenset(pair.split(",")): int(value) for pair, value in re.findall(r"network_eager_bytes @ (\S+) = (\d+)", text)}, text

    def test_a_far_host_gets_other_limits(self):
        near, far = frozenset(NAMES[:2]), frozenset((NAMES[0], NAMES[2]))
        for _ in range(TRIES):
            limits, text = self.tuned()
            if limits.get(far, 0) > 65536:
                break
        self.assertGreater(limits.get(far, 0), 65536, text)
        self.assertNotEqual(limits.get(near), limits[far], text)
        self.assertRegex(text, rf"@ {NAMES[0]},{NAMES[2]} = \d+  # host messages of .*, \d+ us: 0\.\d+ of the time")
        self.assertEqual(self.limit(NAMES[2]), {limits[far]})
        self.assertNotEqual(self.limit(NAMES[1]), {limits[far]})

    def test_an_allocation(self):
        """Two hosts of a PBS job: measurements are made on one of them, then between them, with one rank on each and with one per core."""
        nodes = self.file.with_suffix(".nodes")
        nodes.write_text(f"{NAMES[0]}\n{NAMES[0]}\n{NAMES[1]}\n{NAMES[1]}\n")
        rows = self.file.with_suffix(".json")
        done = inside(sys.executable, "-B", "-m", "headrace", "tune", "--build", BUILD, "--quick", "--rounds", "1", "--no-plot", "--operations",
                      "barrier", "--output", rows, PBS_NODEFILE=str(nodes), PBS_JOBID="1.test")
        print(done.stdout, done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("left out", done.stderr)
        self.assertIn("written to", done.stdout)
        self.assertTrue(rows.is_file())


if __name__ == "__main__":
    unittest.main()
