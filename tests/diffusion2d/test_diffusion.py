"""diffusion2d compared with steps computed here, with bitwise equal results from every variant and rank count; errors
for wrong usage.

HR_MPIEXEC and HR_DIFFUSION2D come from CMake; HR_DEVICE is `host` or `cuda` (two devices). HR_SEED repeats a run.
"""

import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SEED = int(os.environ.get("HR_SEED", random.randrange(1 << 32)))
DEVICE = os.environ["HR_DEVICE"]
VARIANTS = ["staged", "device", "overlap"]
MASK = (1 << 64) - 1


def start(ranks, *flags):
    words = [os.environ["HR_MPIEXEC"], "--timeout", "60", "-n", str(ranks), os.environ["HR_DIFFUSION2D"], *flags]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)


def job(ranks, *flags, device=DEVICE):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = start(ranks, "--device", device, "--json", out.name, *flags)
        if done.returncode != 0:
            raise AssertionError(f"{ranks} ranks, {flags}: exit code {done.returncode}\n{done.stdout[-2000:]}\n"
                                 f"{done.stderr[-2000:]}")
        return json.loads(Path(out.name).read_text(encoding="utf-8"))


def mixed(value, place):
    bits = struct.unpack("<Q", struct.pack("<d", value))[0] ^ (place * 0x9E3779B97F4A7C15 & MASK)
    bits = (bits ^ bits >> 33) * 0xFF51AFD7ED558CCD & MASK
    bits = (bits ^ bits >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return bits ^ bits >> 33


def computed(nx, ny, steps):
    """Returns the checksum after this number of steps, computed point by point."""
    waves = [(1.0 / k, [math.sin(k * math.pi * (x + 1) / (nx + 1)) for x in range(nx)],
              [math.sin(k * math.pi * (y + 1) / (ny + 1)) for y in range(ny)]) for k in (1, 2)]
    field = [[0.0] * (nx + 2) for _ in range(ny + 2)]
    for y in range(ny):
        for x in range(nx):
            field[y + 1][x + 1] = sum(amplitude * along_x[x] * along_y[y] for amplitude, along_x, along_y in waves)
    for _ in range(steps):
        after = [[0.0] * (nx + 2) for _ in range(ny + 2)]
        for y in range(1, ny + 1):
            for x in range(1, nx + 1):
                around = (field[y][x - 1] + field[y][x + 1]) + (field[y - 1][x] + field[y + 1][x])
                after[y][x] = field[y][x] + 0.125 * (around - 4.0 * field[y][x])
        field = after
    total = sum(mixed(field[y + 1][x + 1], y * nx + x) for y in range(ny) for x in range(nx))
    return f"{total & MASK:016x}"


class Diffusion(unittest.TestCase):
    def setUp(self):
        print(f"seed {SEED}", file=sys.stderr)
        self.chance = random.Random(f"{SEED} {self.id()}")

    def test_every_bit(self):
        """Widths and heights around a kernel's tile (64 columns, 32 rows), strips of one row and of many."""
        for ranks in (1, 2, 3, 4):
            nx = self.chance.choice((1, self.chance.randint(2, 63), self.chance.randint(64, 140)))
            ny = ranks * self.chance.choice((1, 2, 8, self.chance.randint(3, 31), self.chance.randint(32, 45)))
            steps = self.chance.randint(1, 12)
            with self.subTest(ranks=ranks, nx=nx, ny=ny, steps=steps):
                report = job(ranks, "--grid", f"{nx},{ny}", "--steps", str(steps))
                self.assertEqual(report["device"], DEVICE)
                self.assertEqual([result["variant"] for result in report["results"]], VARIANTS)
                for result in report["results"]:
                    self.assertTrue(result["valid"], result)
                    self.assertLessEqual(result["error"], result["tolerance"])
                    self.assertEqual(result["checksum"], computed(nx, ny, steps), result)

    def test_rank_counts_agree(self):
        grid = f"{self.chance.randint(60, 200)},{4 * self.chance.randint(30, 90)}"
        results = [result for ranks in (1, 2, 4)
                   for result in job(ranks, "--grid", grid, "--steps", "40")["results"]]
        results += job(2, "--grid", grid, "--steps", "40", device="host")["results"]
        self.assertEqual(len({result["checksum"] for result in results}), 1, results)

    def test_scaling_tables(self):
        report = job(4, "--grid", "40,24", "--steps", "5", "--variant", "device,staged", "--scaling", "both")
        self.assertEqual([(r["scaling"], r["variant"], r["ranks"], r["grid"]) for r in report["results"]],
                         [("strong", variant, ranks, [40, 24]) for ranks in (1, 2, 4) for variant in ("device", "staged")]
                         + [("weak", variant, ranks, [40, 24 * ranks]) for ranks in (1, 2, 4)
                            for variant in ("device", "staged")])
        for result in report["results"]:
            self.assertTrue(result["valid"], result)
            self.assertGreater(result["speedup"], 0)
            self.assertEqual(result["messages_a_step"], {1: 0, 2: 1, 4: 2}[result["ranks"]])
            self.assertEqual(result["bytes_a_step"], 8 * 40 * result["messages_a_step"])
            if result["ranks"] == 1:
                self.assertEqual(result["speedup"], 1)
        self.assertEqual([r["ranks"] for r in job(3, "--grid", "40,24", "--variant", "staged", "--steps", "2", "--scaling",
                                                  "weak")["results"]], [1, 2, 3])

    def test_most_ranks(self):
        """As many ranks as rows."""
        result = job(4, "--grid", "9,4", "--steps", "7")["results"][0]
        self.assertEqual(result["checksum"], computed(9, 4, 7))

    def assert_refused(self, code, sentence, ranks, *flags):
        done = start(ranks, *flags)
        with self.subTest(flags=flags):
            self.assertEqual(done.returncode, code, done.stderr)
            said = [line for line in done.stderr.splitlines() if line.startswith("diffusion2d: ")]
            self.assertEqual(said, [f"diffusion2d: {sentence}"], done.stderr)

    def test_wrong_usage(self):
        self.assert_refused(2, "--grid: 46 rows do not divide into 3 equal strips; 45 or 48 rows would", 3,
                            "--grid", "8,46")
        self.assert_refused(2, "--grid: 24 rows do not divide into 5 equal strips; 20 or 25 rows would", 5,
                            "--grid", "8,24", "--scaling", "strong")
        self.assert_refused(2, "--grid: 4 ranks want a row each, but there are 3 rows; at most 3 ranks, or 4 rows, would "
                            "do", 4, "--grid", "8,3")
        self.assert_refused(2, "there is no variant 'stage'; staged, device, overlap, or all would do", 2,
                            "--variant", "device,stage")
        self.assert_refused(2, "--device requires host, cuda, cuda:N or auto, not 'gpu'", 2, "--device", "gpu")
        self.assert_refused(2, "--grid requires NX,NY, each at least 1, like 128,8192, not '128'", 1, "--grid=128")
        self.assert_refused(2, "--steps requires an integer of at least 1", 1, "--steps")
        self.assert_refused(2, "unknown option '--stepps'; --help lists those there are", 1, "--stepps", "4")
        self.assert_refused(2, "--steps: after 100000 steps a grid of 4 x 4 points has no heat left to compare; at most "
                            "5978 would do, or a larger --grid", 1, "--grid", "4,4", "--steps", "100000")
        self.assert_refused(3, "cannot write /nowhere/x", 1, "--grid", "4,4", "--device", "host", "--json", "/nowhere/x")
        if DEVICE == "cuda":
            self.assert_refused(3, "--device: there is no device 2 here; cuda:0 to cuda:1 or --device host would do", 2,
                                "--device", "cuda:2")
        else:
            self.assert_refused(3, "--device: no CUDA driver (libcuda.so.1) with a device is here; --device host does "
                                "without", 2, "--device", "cuda")

    def test_help_and_list(self):
        done = start(2, "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--scaling KIND", done.stdout)
        self.assertEqual([line.split()[0] for line in start(1, "--list").stdout.splitlines()], VARIANTS)


if __name__ == "__main__":
    unittest.main()
