"""Environments with a faulty installation of the wheel: files removed, overwritten by another MPI's package, or moved.

HR_WHEEL: the wheel. HR_OTHERS: a directory with the wheel of mpich. systems.py runs it; an ordinary machine with a compiler will do.
"""

import os
import re
import subprocess
import tempfile
import unittest
import venv
from pathlib import Path

WHEEL = Path(os.environ["HR_WHEEL"])
OTHERS = Path(os.environ["HR_OTHERS"])
CLEAN = {name: value for name, value in os.environ.items() if not re.match("LD_|MPI|OMPI_|HEADRACE_|PYTHON", name)}
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("rank %d\\n", rank);
  return MPI_Finalize();
}
"""
AGAIN = ("install", "--force-reinstall", "--no-deps")


class Environment(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="headrace ünv ")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.env = Path(cls.folder.name) / "made here"
        venv.create(cls.env, with_pip=True)

    def setUp(self):
        """After each test, an installation is complete, unless the test fails."""
        if not (self.env / "whole").exists():
            self.pip(*AGAIN, "--ignore-installed", WHEEL)
        (self.env / "whole").unlink(missing_ok=True)

    def whole(self):
        self.doctor(0, "files of the installation are there")
        (self.env / "whole").touch()

    def run_in(self, *words, env=None):
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, check=False, cwd=self.folder.name,
                              stdin=subprocess.DEVNULL, env={**CLEAN, "HEADRACE_OVERSUBSCRIBE": "quiet", **(env or {})})

    def pip(self, *words):
        done = self.run_in(self.env / "bin/python", "-m", "pip", "-q", "--disable-pip-version-check", words[0],
                           *(["--no-index"] if words[0] == "install" else []), *words[1:])
        self.assertEqual(done.returncode, 0, done.stderr)

    def doctor(self, code, *texts):
        done = self.run_in(self.env / "bin/headrace", "doctor", "--only", "files", "--all")
        said = re.sub(r"\s+", " ", done.stdout)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for text in texts:
            self.assertIn(text, said)

    def site(self):
        return next(self.env.glob("lib/python3*/site-packages"))

    def hello(self, env):
        (Path(self.folder.name) / "hello.c").write_text(PROGRAM, encoding="ascii")
        built = self.run_in(env / "bin/mpicc", "hello.c", "-o", "hello")
        self.assertEqual(built.returncode, 0, built.stderr)
        done = self.run_in(env / "bin/mpiexec", "--timeout", "60", "-n", "2", "./hello")
        self.assertEqual(sorted(done.stdout.splitlines()), ["rank 0", "rank 1"], done.stderr)

    def test_files_are_gone(self):
        self.doctor(0, "files of the installation are there")
        for name in ("bin/mpiexec", "lib/libmpi_abi.so.1", "include/mpi.h", "lib/headrace/bench/halo3d", "lib/pkgconfig/headrace.pc"):
            kept = (self.env / name).rename(self.env / "kept")
            self.doctor(2, f"files of the installation are gone: {name}", "pip install --force-reinstall --no-deps headrace")
            kept.rename(self.env / name)
        self.whole()

    def test_a_library_is_cut_off(self):
        os.truncate(self.env / "lib/libmpi_abi.so.1", 100_000)
        self.doctor(2, "not whole: lib/libmpi_abi.so.1")
        self.pip(*AGAIN, WHEEL)
        self.whole()

    def test_its_own_modules_are_gone(self):
        (self.site() / "headrace/doctor/checks/ucx.py").unlink()
        done = self.run_in(self.env / "bin/headrace", "info")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("headrace: 1 file of this installation is gone: headrace/doctor/checks/ucx.py", done.stderr)
        self.pip(*AGAIN, WHEEL)
        self.whole()

    def test_pips_list_is_gone(self):
        """The remedy that the doctor suggests works, and pip can remove everything afterwards."""
        next(self.site().glob("headrace-*.dist-info")).joinpath("RECORD").unlink()
        self.doctor(1, "pip's list of this installation's files", "pip install --ignore-installed --no-deps headrace")
        self.pip("install", "--ignore-installed", "--no-deps", WHEEL)
        self.whole()

    def test_another_package_came_later(self):
        self.pip("install", "--no-deps", next(OTHERS.glob("mpich-*.whl")))
        self.doctor(2, "the package mpich 5.", "has overwritten bin/mpic++", "pip uninstall mpich")
        self.pip("uninstall", "-y", "mpich")
        self.doctor(2, "files of the installation are gone: bin/mpic++")
        self.pip(*AGAIN, WHEEL)
        self.whole()
        self.hello(self.env)

    def test_another_package_came_before(self):
        self.pip("uninstall", "-y", "headrace")
        self.pip("install", "--no-deps", next(OTHERS.glob("mpich-*.whl")))
        self.pip("install", "--no-deps", WHEEL)
        self.doctor(1, "the package mpich 5.", "has files of the same names", "those of Headrace are there")
        self.hello(self.env)
        self.pip("uninstall", "-y", "mpich")

    def test_a_library_of_another_package(self):
        """If mpiexec is Headrace's and the library is not, mpiexec reports that before ranks fail."""
        kept = (self.env / "lib/libmpi.so.12").rename(self.env / "kept")
        (self.env / "lib/libmpi.so.12").write_bytes(Path("/bin/sh").read_bytes())
        done = self.run_in(self.env / "bin/mpiexec", "-n", "1", "true")
        self.assertIn(f"mpiexec: another MPI has overwritten {self.env}/lib/libmpi.so.12", done.stderr)
        kept.rename(self.env / "lib/libmpi.so.12")
        self.whole()

    def test_moved(self):
        moved = self.env.rename(self.env.with_name("moved ß (2)"))
        try:
            self.hello(moved)
            done = self.run_in(moved / "bin/python", "-m", "headrace", "doctor", "--only", "files", "--all")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(f" {moved}/lib/libmpi_abi.so.1\n", self.run_in(moved / "bin/python", "-m", "headrace", "info").stdout)
        finally:
            moved.rename(self.env)
        self.whole()

    def test_the_compiler_is_not_there(self):
        for wrapper, variable in (("mpicc", "CC"), ("mpicxx", "CXX"), ("mpifort", "FC")):
            done = self.run_in(self.env / "bin" / wrapper, "x.c", env={f"HEADRACE_{variable}": "/no/such/compiler"})
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"HEADRACE_{variable} names the", done.stderr)
            self.assertIn("/no/such/compiler, which is not there", done.stderr)
        self.whole()


if __name__ == "__main__":
    unittest.main()
