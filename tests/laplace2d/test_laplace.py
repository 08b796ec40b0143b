"""laplace2d compared with iterations computed here: bitwise the same result from every variant and rank count; errors
for wrong usage.

HR_BUILD and HR_LANGUAGE (`openacc` or `openmp`) come from CMake. HR_SEED repeats a run.
"""

import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SEED = int(os.environ.get("HR_SEED", random.randrange(1 << 32)))
BUILD = Path(os.environ["HR_BUILD"])
LANGUAGE = os.environ["HR_LANGUAGE"]
OTHER = {"openacc": "openmp", "openmp": "openacc"}[LANGUAGE]
VARIANTS = ["mpi", f"{LANGUAGE}-staged", LANGUAGE]
MODULUS = 2147483647


def start(ranks, *flags):
    words = [BUILD / "bin/mpiexec", "--timeout", "60", "-n", ranks, BUILD / f"bin/laplace2d-{LANGUAGE}", *flags]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL)


def job(ranks, *flags):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = start(ranks, "--device", "host", "--json", out.name, *flags)
        if done.returncode != 0:
            raise AssertionError(f"{ranks} ranks, {flags}: exit code {done.returncode}\n{done.stdout[-2000:]}\n"
                                 f"{done.stderr[-2000:]}")
        return json.loads(Path(out.name).read_text(encoding="utf-8"))


def initial(x, y):
    state = (x * 7919 + y * 15485863 + 1) % MODULUS
    for _ in range(3):
        state = ((state ^ state >> 15) * 48271 + 11) % MODULUS
    return state / MODULUS


def computed(nx, ny, most, tolerance=0.0):
    """Iterations, largest change, sum, checksum."""
    field = [[initial(x, y) for x in range(nx + 2)] for y in range(ny + 2)]
    iterations, change = 0, float("inf")
    while iterations < most and change > tolerance:
        after, change = [row[:] for row in field], 0.0
        for y in range(1, ny + 1):
            for x in range(1, nx + 1):
                after[y][x] = 0.25 * ((field[y][x - 1] + field[y][x + 1]) + (field[y - 1][x] + field[y + 1][x]))
                change = max(change, abs(after[y][x] - field[y][x]))
        field, iterations = after, iterations + 1
    bits, total = 0, 0
    for y in range(1, ny + 1):
        for x in range(1, nx + 1):
            word = struct.unpack("<Q", struct.pack("<d", field[y][x]))[0]
            turn = (y * nx + x) * 29 % 61
            bits ^= (word << turn | word >> 64 - turn) & (1 << 64) - 1
            total += round(field[y][x] * 1e9)
    return iterations, change, total * 1e-9, f"{bits:016X}"


class Laplace(unittest.TestCase):
    def setUp(self):
        print(f"seed {SEED}", file=sys.stderr)
        self.chance = random.Random(f"{SEED} {self.id()}")

    def assert_is(self, report, wanted):
        iterations, change, total, bits = wanted
        self.assertEqual([result["variant"] for result in report["results"]], VARIANTS)
        for result in report["results"]:
            self.assertEqual((result["iterations"], result["change"], result["checksum"]), (iterations, change, bits),
                             result)
            self.assertAlmostEqual(result["sum"], total, delta=2e-9)

    def test_every_bit(self):
        """Strips of one row and of many, odd and even numbers of iterations."""
        for ranks in (1, 2, 3, 4):
            nx, ny = self.chance.randint(1, 40), ranks * self.chance.choice((1, 2, self.chance.randint(3, 12)))
            iterations = self.chance.randint(1, 9)
            with self.subTest(ranks=ranks, nx=nx, ny=ny, iterations=iterations):
                self.assert_is(job(ranks, "--grid", f"{nx},{ny}", "--iterations", iterations),
                               computed(nx, ny, iterations))

    def test_tolerance(self):
        wanted = computed(12, 16, 1000, 1e-3)
        self.assertTrue(20 < wanted[0] < 1000)
        for ranks in (1, 4):
            self.assert_is(job(ranks, "--grid", "12,16", "--iterations", 1000, "--tolerance", "1e-3"), wanted)

    def test_rank_counts_agree(self):
        grid = f"{self.chance.randint(100, 300)},{4 * self.chance.randint(20, 60)}"
        found = {(r["checksum"], r["change"], r["sum"]) for ranks in (1, 2, 4)
                 for r in job(ranks, "--grid", grid, "--iterations", 21)["results"]}
        self.assertEqual(len(found), 1, found)

    def assert_refused(self, code, sentence, ranks, *flags):
        done = start(ranks, *flags)
        with self.subTest(flags=flags):
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            said = [line for line in done.stderr.splitlines() if not line.startswith("mpiexec")]
            self.assertEqual(said, [f"laplace2d: {sentence}"], done.stderr)

    def test_wrong_usage(self):
        self.assert_refused(2, "--grid: 46 rows do not divide into 3 equal strips; 45 or 48 rows would", 3, "--grid", "8,46")
        self.assert_refused(2, "--grid: 4 ranks want a row each, but there are 3 rows; at most 3 ranks, or 4 rows, would do",
                            4, "--grid", "8,3")
        self.assert_refused(2, "there is no variant 'acc'; mpi, openacc-staged, openacc, openmp-staged, openmp, or all "
                            "would do", 2, "--variant", "mpi,acc")
        names = {"openacc": "OpenACC", "openmp": "OpenMP"}
        self.assert_refused(2, f"variant '{OTHER}' is not in this program, which was built for {names[LANGUAGE]}; "
                            f"laplace2d-{OTHER} has it", 1, "--variant", OTHER)
        self.assert_refused(2, "--grid requires NX,NY, each at least 1, like 512,512, not '8x8'", 1, "--grid=8x8")
        self.assert_refused(2, "--iterations requires an integer of at least 1, not '0'", 1, "--iterations", "0")
        self.assert_refused(2, "--tolerance requires a number of at least 0, like 1e-4", 1, "--tolerance")
        self.assert_refused(2, "--device requires host, gpu, gpu:N or auto, not 'gpu:x'", 1, "--device", "gpu:x")
        self.assert_refused(2, "unknown option '--wat'; --help lists those there are", 2, "--wat", "1")
        self.assert_refused(3, "--device: the directives find no GPU on every rank; --device host does without", 2,
                            "--device", "gpu")

    def test_json_that_cannot_be_written(self):
        done = start(2, "--grid", "4,4", "--json", "/nowhere/x")
        self.assertEqual((done.returncode, "laplace2d: cannot write /nowhere/x" in done.stderr), (3, True), done.stderr)

    def test_help_and_list(self):
        done = start(2, "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--tolerance T", done.stdout)
        self.assertEqual([line.split()[0] for line in start(1, "--list").stdout.splitlines()], VARIANTS)


if __name__ == "__main__":
    unittest.main()
