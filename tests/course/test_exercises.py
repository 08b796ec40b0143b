"""The solutions of the course's exercises. HR_BUILD comes from CMake; HR_DEVICE is `host` or `cuda`."""

import itertools
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["HR_BUILD"])
DEVICE = os.environ["HR_DEVICE"]


def results(ranks, program, *flags, device=None):
    device = device or ("host" if program.endswith(("openacc", "openmp")) else DEVICE)  # directives cannot use the fake driver
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        words = [BUILD / "bin/mpiexec", "--timeout", "60", "-n", ranks, BUILD / "bin" / program, "--device", device,
                 "--json", out.name, *flags]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}")
        return json.loads(Path(out.name).read_text(encoding="utf-8"))["results"]


class Diffusion2d(unittest.TestCase):
    def test_mesh(self):
        """Half the distance between points and a quarter of the time step give a quarter of the error."""
        coarse, fine = (results(1, "diffusion2d", "--variant", "device", "--grid", f"{n},{n}", "--steps", steps)[0]
                        for n, steps in ((31, 100), (63, 400)))
        self.assertGreater(coarse["equation_error"], 1000 * coarse["tolerance"])
        self.assertAlmostEqual(coarse["equation_error"] / fine["equation_error"], 4, delta=0.1)

    def test_overlap(self):
        """The results are bitwise those of the variants that wait, even for strips of one row."""
        for rows in (4, 8, 40):
            checksums = {result["checksum"] for ranks in (1, 2, 4)
                         for result in results(ranks, "diffusion2d", "--grid", f"50,{rows}", "--steps", 30,
                                               "--variant", "staged,device,overlap")}
            self.assertEqual(len(checksums), 1, rows)

    def test_bytes(self):
        for rows in (12, 120):
            for ranks, messages in ((1, 0), (2, 1), (4, 2)):
                for result in results(ranks, "diffusion2d", "--grid", f"30,{rows}", "--steps", 2):
                    self.assertEqual((result["messages_a_step"], result["bytes_a_step"]), (messages, messages * 8 * 30))


@unittest.skipUnless((BUILD / "bin/laplace2d-openacc").is_file(), "no Fortran compiler")
class Laplace2d(unittest.TestCase):
    def test_reductions(self):
        """A maximum does not depend on the order, nor does a sum of integers."""
        found = {(r["change"], r["sum"]) for ranks in (1, 2, 4)
                 for r in results(ranks, "laplace2d-openmp", "--variant", "openmp", "--grid", "60,60", "--iterations", 30)}
        self.assertEqual(len(found), 1, found)

    def test_same_bits(self):
        """Both languages, staged and with device addresses: equal on the host, where a missing update does not show."""
        found = {r["checksum"] for program in ("laplace2d-openacc", "laplace2d-openmp")
                 for r in results(2, program, "--grid", "60,60", "--iterations", 30)}
        self.assertEqual(len(found), 1, found)

    def test_tolerance(self):
        """Each decade costs about the same number of additional iterations: the slowest wave loses the same share in
        each."""
        counts = [results(1, "laplace2d-openmp", "--variant", "mpi", "--grid", "40,40", "--iterations", 100000,
                          "--tolerance", tolerance)[0]["iterations"] for tolerance in ("1e-5", "1e-6", "1e-7")]
        self.assertAlmostEqual((counts[2] - counts[1]) / (counts[1] - counts[0]), 1, delta=0.1)


class Halo3d(unittest.TestCase):
    def test_decomposition(self):
        bytes_ = {}
        for procs in itertools.product((1, 2, 4, 8), repeat=3):
            if procs[0] * procs[1] * procs[2] == 8:
                bytes_[procs] = results(8, "halo3d", "--pattern", "packed", "--size", "192,96,48", "--procs",
                                        ",".join(map(str, procs)), "--steps", 1, "--no-identity-check",
                                        device="host")[0]["bytes_a_step"]
        self.assertEqual(min(bytes_, key=bytes_.get), (4, 2, 1))
        self.assertEqual(bytes_[4, 2, 1], 6 * 48 * 48 * 3 * 4)

    def test_messages(self):
        many, few = results(2, "halo3d", "--pattern", "datatype,packed", "--local", 8, "--steps", 2)
        self.assertEqual((many["messages_a_step"], few["messages_a_step"]), (18, 6))
        self.assertEqual(many["bytes_a_step"], few["bytes_a_step"])

    def test_profiles(self):
        md5 = {results(8, "halo3d", "--pattern", "isend-irecv", "--local", 12, "--steps", 5, "--procs", procs)[0]["md5"]
               for procs in ("1,1,8", "2,2,2", "8,1,1", "4,2,1")}
        self.assertEqual(len(md5), 1)

    @unittest.skipUnless((BUILD / "bin/halo3d-openacc").is_file(), "no Fortran compiler")
    def test_languages(self):
        for way in ((), ("--reverse",)):
            md5 = {result["md5"] for program, flag in (("halo3d", "packed,overlap"), ("halo3d-openacc", "all"))
                   for result in results(2, program, "--pattern", flag, "--local", 12, "--steps", 5, *way)}
            self.assertEqual(len(md5), 1, way)


if __name__ == "__main__":
    unittest.main()
