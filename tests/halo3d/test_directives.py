"""halo3d's directive steps in Fortran compared with the C++ program: the same profiles from every step, box and rank
count, in both directions; errors for wrong usage.

HR_BUILD comes from CMake. HR_SEED repeats a run.
"""

import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SEED = int(os.environ.get("HR_SEED", random.randrange(1 << 32)))
BUILD = Path(os.environ["HR_BUILD"])
STEPS = {3: "staged", 4: "packed", 5: "isend-recv-x", 6: "isend-recv", 7: "isend-irecv", 8: "overlap", 9: "overlap-async"}


def start(ranks, program, *flags, cwd=None):
    words = [BUILD / "bin/mpiexec", "--timeout", "60", "-n", ranks, BUILD / "bin" / program, *flags]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, cwd=cwd)


def job(ranks, program, *flags, cwd=None):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = start(ranks, program, "--device", "host", "--json", out.name, *flags, cwd=cwd)
        if done.returncode != 0:
            raise AssertionError(f"{ranks} ranks, {program} {flags}: exit code {done.returncode}\n{done.stdout[-2000:]}\n"
                                 f"{done.stderr[-2000:]}")
        return json.loads(Path(out.name).read_text(encoding="utf-8"))


class Directives(unittest.TestCase):
    def setUp(self):
        print(f"seed {SEED}", file=sys.stderr)
        self.chance = random.Random(f"{SEED} {self.id()}")

    def box(self):
        return ",".join(str(self.chance.choice((2, 3, self.chance.randint(4, 31)))) for _ in range(3))

    def assert_same_as_cpp(self, ranks, *flags):
        cpp = job(ranks, "halo3d", "--pattern", "isend-irecv", *flags)
        fortran = job(ranks, "halo3d-openacc", *flags)
        for key in ("ranks", "procs", "local", "size", "steps", "reverse", "device"):
            self.assertEqual(fortran[key], cpp[key])
        wanted = cpp["results"][0]
        self.assertEqual({r["step"]: r["pattern"] for r in fortran["results"]}, STEPS)
        for result in fortran["results"]:
            for key in ("md5", "messages_a_step", "bytes_a_step"):
                self.assertEqual(result[key], wanted[key], result)
            self.assertTrue(result["valid"])
            self.assertGreater(result["seconds"], 0)

    def test_same_md5(self):
        """Odd and even numbers of steps, as the fields swap places; more steps than the box has points."""
        for ranks in (1, 2, 4, 8):
            for way in ((), ("--reverse",)):
                for parity in (0, 1):
                    local, steps = self.box(), 2 * self.chance.randint(1, 20) + parity
                    with self.subTest(ranks=ranks, local=local, steps=steps, way=way):
                        self.assert_same_as_cpp(ranks, "--local", local, "--steps", steps, *way)

    def test_any_decomposition(self):
        for procs in ("1,1,4", "1,4,1", "4,1,1", "2,1,2", "3,1,1", "1,3,1"):
            ranks = math.prod(map(int, procs.split(",")))
            way = self.chance.choice(((), ("--reverse",)))
            local = self.box()
            with self.subTest(procs=procs, local=local, way=way):
                self.assert_same_as_cpp(ranks, "--procs", procs, "--local", local, "--steps", 5, *way)

    def test_whole_box(self):
        self.assert_same_as_cpp(4, "--size", "24,18,6", "--procs", "2,2,1", "--steps", 7)

    def test_profiles(self):
        """The text itself, compared byte by byte, for every rank and axis."""
        with tempfile.TemporaryDirectory() as work:
            flags = ("--local", "13,8,5", "--steps", 3, "--profiles", work)
            job(2, "halo3d", "--pattern", "isend-irecv", *flags)
            written = {path: path.read_bytes() for path in Path(work).iterdir()}
            self.assertEqual(len(written), 6)
            for path in written:
                path.unlink()
            job(2, "halo3d-openacc", "--pattern", "isend-irecv", *flags)
            self.assertEqual({path: path.read_bytes() for path in Path(work).iterdir()}, written)

    def test_steps_by_name_and_number(self):
        for asked in ("4,6", "step4,step6", "packed,isend-recv", "isend-recv,4"):
            found = job(1, "halo3d-openacc", "--step", asked, "--local", 4, "--steps", 2)["results"]
            self.assertEqual([r["step"] for r in found], [4, 6], asked)

    def assert_refused(self, code, sentence, ranks, *flags):
        done = start(ranks, "halo3d-openacc", *flags)
        with self.subTest(flags=flags):
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            said = [line for line in done.stderr.splitlines() if not line.startswith("mpiexec")]
            self.assertEqual(said, [f"halo3d-openacc: {sentence}"], done.stderr)

    def test_wrong_usage(self):
        three = "X,Y,Z or N, each an integer of at least 1"
        self.assert_refused(2, "--size: 50 points along x do not divide into 4 equal blocks; 48 or 52 would", 4,
                            "--size", "50", "--procs", "4,1,1")
        self.assert_refused(2, "--size: 3 points along y do not divide into 2 equal blocks; 4 or 6 would", 2,
                            "--size", "8,3,8", "--procs", "1,2,1")
        self.assert_refused(2, "--procs 2,2,3 is not the number of ranks, 2", 2, "--procs", "2,2,3")
        self.assert_refused(2, "each rank needs at least two points along every axis", 2, "--local", "1")
        self.assert_refused(2, "a message of three planes would have more than 2147483647 elements; smaller blocks would do",
                            1, "--local", "2,100000,100000")
        self.assert_refused(2, "there is no step '2' here; 3 to 9, their names (--list), or all would do", 2, "--step",
                            "4,2")
        self.assert_refused(2, f"--local requires {three}, not '4,x,4'", 1, "--local=4,x,4")
        self.assert_refused(2, f"--size requires {three}, not '4,4'", 1, "--size", "4,4")
        self.assert_refused(2, "--procs requires PX,PY,PZ, each an integer of at least 1, not '2'", 2, "--procs", "2")
        self.assert_refused(2, "--steps requires an integer of at least 1, not '0'", 1, "--steps", "0")
        self.assert_refused(2, "--steps requires an integer of at least 1", 1, "--steps")
        self.assert_refused(2, "--device requires host, gpu, gpu:N or auto, not 'tpu'", 1, "--device", "tpu")
        self.assert_refused(2, "unknown option '--wat'; --help lists those there are", 2, "--wat", "1")
        self.assert_refused(3, "--device: the directives find no GPU on every rank; --device host does without", 2,
                            "--device", "gpu")

    def test_what_cannot_be_written(self):
        small = ("--local", "4", "--steps", "1", "--step", "3", "--device", "host")
        for flag, sentence in (("--json", "cannot write /nowhere/x"),
                               ("--profiles", "cannot write /nowhere/x/profile_x.staged.0.txt")):
            done = start(2, "halo3d-openacc", *small, flag, "/nowhere/x")
            self.assertEqual((done.returncode, f"halo3d-openacc: {sentence}\n" in done.stderr), (3, True), done.stderr)

    def test_help_and_list(self):
        done = start(2, "halo3d-openacc", "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--reverse", done.stdout)
        self.assertEqual([line.split()[:2] for line in start(1, "halo3d-openacc", "--list").stdout.splitlines()],
                         [[str(step), name] for step, name in STEPS.items()])

    def test_limit_of_gcc_12(self):
        """The reason why the steps' arrays are explicit-shape dummies still exists, as the chapter states."""
        asked = subprocess.run([BUILD / "bin/mpifort", "--version"], capture_output=True, text=True, timeout=60)
        if not re.match(r"GNU Fortran .* 12\.", asked.stdout):
            self.skipTest(asked.stdout.partition("\n")[0])
        with tempfile.TemporaryDirectory() as work:
            done = subprocess.run([BUILD / "bin/mpifort", "-fopenacc", "-foffload=disable", "-c",
                                   Path(__file__).parent / "limits/allocatable.f90", "-o", f"{work}/x.o"],
                                  capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, "ALLOCATABLE object .a. in USE_DEVICE clause")


if __name__ == "__main__":
    unittest.main()
