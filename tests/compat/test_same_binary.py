"""One binary, compiled once against Headrace's mpi.h, on two libraries: ours and MPICH's libmpi_abi.so.1.

HEADRACE_PEERS names a virtual environment with the package `mpich` 5 (or a directory that holds one as `mpich/`);
without it, these tests are skipped and say so. HR_MPIEXEC, HR_LIBRARY_DIR, HR_RESULTS, HR_HALO3D come from CMake.
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path


def find_peer():
    root = Path(os.environ.get("HEADRACE_PEERS", "/nonexistent"))
    for prefix in (root / "mpich", root):
        if (prefix / "lib/libmpi_abi.so.1").exists() and (prefix / "bin/mpiexec").exists():
            return prefix
    return None


PEER = find_peer()


def run(library, ranks, *command):
    """Returns the standard output of a job under a library's own launcher, with that library."""
    if library == "headrace":
        launcher, libraries = [os.environ["HR_MPIEXEC"], "--timeout", "100"], os.environ["HR_LIBRARY_DIR"]
    else:
        launcher, libraries = [PEER / "bin/mpiexec"], PEER / "lib"
    env = {**os.environ, "LD_LIBRARY_PATH": str(libraries)}
    done = subprocess.run([*launcher, "-n", str(ranks), *command], env=env, capture_output=True, text=True, timeout=150,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise AssertionError(f"{library}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


@unittest.skipUnless(PEER, "HEADRACE_PEERS names no environment with mpich 5 and its libmpi_abi.so.1")
class SameBinary(unittest.TestCase):
    maxDiff = 4000

    def test_results(self):
        for ranks in (1, 2, 3, 4):
            with self.subTest(ranks=ranks):
                ours = run("headrace", ranks, os.environ["HR_RESULTS"]).splitlines()
                theirs = run("mpich", ranks, os.environ["HR_RESULTS"]).splitlines()
                self.assertEqual(ours[-1], "end")
                self.assertGreater(len(ours), 100)
                self.assertEqual(ours, theirs)

    def test_halo3d(self):
        hashes = {}
        for library, ranks in (("headrace", 1), ("headrace", 8), ("mpich", 2), ("mpich", 8)):
            with tempfile.NamedTemporaryFile(suffix=".json") as out:
                run(library, ranks, os.environ["HR_HALO3D"], "--device", "host", "--local", "20,16,12", "--steps", "13",
                    "--reverse", "--json", out.name)
                found = json.loads(Path(out.name).read_text(encoding="utf-8"))
            self.assertIn("Headrace" if library == "headrace" else "MPICH", found["library"])
            self.assertTrue(all(result["valid"] for result in found["results"]), found)
            hashes[library, ranks] = {result["md5"] for result in found["results"]}
        self.assertEqual(len(set().union(*hashes.values())), 1, hashes)


if __name__ == "__main__":
    unittest.main()
