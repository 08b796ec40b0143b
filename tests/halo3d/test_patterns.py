"""halo3d's patterns in random boxes: each validates every element bitwise, and all patterns of a job have the same
result.

HR_MPIEXEC and HR_HALO3D are set by CMake; HR_DEVICE is `host` or `cuda`; HR_MAKER is `hip` if the devices are AMD's.
HR_SEED repeats a run. HR_RANKS are the numbers of ranks of the random boxes.
"""

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SEED = int(os.environ.get("HR_SEED", random.randrange(1 << 32)))
RANKS = tuple(map(int, os.environ.get("HR_RANKS", "1 2 3 4 8").split()))
# For each kernel, the fake HIP runtime copies all memory that the kernel uses.
LONGEST = 40 if os.environ.get("HR_MAKER") == "hip" else 75
OVERLAPPING = [name for name in ("isend-irecv", "overlap", "overlap-async", "overlap-fused", "streams", "graph")
               if (name not in ("overlap-async", "streams", "graph") or os.environ["HR_DEVICE"] == "cuda")
               and (name != "graph" or os.environ.get("HR_MAKER") != "hip")]


def box(chance):
    """Returns points per rank: odd and even lengths, the minimum length of two, and more than a kernel's tile."""
    return [chance.choice((2, 3, chance.randint(4, 31), chance.randint(33, LONGEST))) for _ in range(3)]


def run(ranks, local, *flags):
    words = [os.environ["HR_MPIEXEC"], "--timeout", "60", "-n", str(ranks), os.environ["HR_HALO3D"], "--device", os.environ["HR_DEVICE"],
             "--local", ",".join(map(str, local)), *flags]
    return words, subprocess.run(words, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)


def job(ranks, local, *flags):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        words, done = run(ranks, local, "--json", out.name, *flags)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout[-2000:]}\n"
                                 f"{done.stderr[-2000:]}")
        return json.loads(Path(out.name).read_text(encoding="utf-8"))


class Patterns(unittest.TestCase):
    def setUp(self):
        print(f"seed {SEED}", file=sys.stderr)
        self.chance = random.Random(f"{SEED} {self.id()}")

    def assert_alike(self, report):
        results = report["results"]
        self.assertTrue(all(result["valid"] for result in results), results)
        self.assertEqual(len({result["md5"] for result in results}), 1, results)
        self.assertEqual(report["device"], os.environ["HR_DEVICE"])

    def test_random_boxes(self):
        for ranks in RANKS:
            for flags in ((), ("--reverse",), ("--double",), ("--reverse", "--double")):
                steps = self.chance.randint(1, 12)
                local = box(self.chance)
                flags = (*flags, "--steps", str(steps), "--check-every", str(self.chance.randint(0, 4)))
                with self.subTest(ranks=ranks, local=local, flags=flags):
                    self.assert_alike(job(ranks, local, *flags))

    def test_any_decomposition(self):
        for procs in ((1, 1, 4), (1, 4, 1), (4, 1, 1), (1, 2, 2), (3, 1, 1), (1, 3, 1), (1, 1, 3), (1, 1, 2)):
            local = box(self.chance)
            way = self.chance.choice(((), ("--reverse",)))
            with self.subTest(procs=procs, local=local, way=way):
                self.assert_alike(job(math.prod(procs), local, "--procs", ",".join(map(str, procs)), "--steps", "5",
                                      "--pattern", ",".join(OVERLAPPING), *way))

    def test_all_send_the_same(self):
        """Their times are comparable: each sends six messages per step, with one plane of each field."""
        local = box(self.chance)
        x, y, z = local
        report = job(2, local, "--steps", "3", "--baseline", "--pattern", ",".join(OVERLAPPING))
        self.assert_alike(report)
        self.assertEqual([result["pattern"] for result in report["results"]], OVERLAPPING)
        for result in report["results"]:
            self.assertEqual(result["messages_a_step"], 6, result)
            self.assertEqual(result["bytes_a_step"], 2 * 3 * 4 * (x * y + y * z + x * z), result)


@unittest.skipUnless(os.environ.get("HR_MAKER") == "hip", "graphs of NVIDIA GPUs hold messages")
class Graphs(unittest.TestCase):
    def test_refused_by_name(self):
        for patterns in ("graph", "streams,graph"):
            with self.subTest(patterns=patterns):
                _, done = run(2, (6, 6, 6), "--steps", "2", "--pattern", patterns)
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertIn("halo3d: pattern 'graph': graphs of AMD GPUs cannot hold messages; use pattern 'streams'\n", done.stderr)

    def test_left_out_of_all(self):
        names = [result["pattern"] for result in job(2, (6, 6, 6), "--steps", "2")["results"]]
        self.assertIn("streams", names)
        self.assertNotIn("graph", names)


if __name__ == "__main__":
    unittest.main()
