"""Whole programs in the pages compile as the pages say, and do what these promise.

HR_BUILD: the build directory, whose mpicc, mpifort and mpiexec are used.
"""

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HR_BUILD"])
MPIEXEC = BUILD / "bin/mpiexec"
WORDS = ["--timeout", "60"]


def blocks(page: str, language: str) -> list[str]:
    """Fenced programs of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)


def nvcc() -> Path | None:
    found = sorted(Path(sysconfig.get_paths()["purelib"]).glob("nvidia/*/bin/nvcc"))
    return found[-1] if found else None


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headrace-examples-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def done(self, *words):
        result = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, cwd=self.folder, stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 0, f"{words}\n{result.stdout}\n{result.stderr}")
        return sorted(result.stdout.splitlines())

    def program(self, source: str, name: str, wrapper: str = "mpicc") -> Path:
        (self.folder / name).write_text(source, encoding="utf-8")
        self.done(BUILD / "bin" / wrapper, name, "-o", "program")
        return self.folder / "program"

    def test_hello(self):
        page = (ROOT / "docs/start.md").read_text(encoding="utf-8")
        source = re.search(r"    cat >hello.c <<'END_OF_FILE'\n(.*?)    END_OF_FILE\n", page, re.S)[1]
        program = self.program(re.sub(r"^    ", "", source, flags=re.M), "hello.c")
        self.assertEqual(self.done(MPIEXEC, *WORDS, "-n", 4, program), [f"hello from {rank} of 4" for rank in range(4)])

    def test_files(self):
        program = self.program(blocks("docs/files.md", "c")[0], "array.c")
        self.assertEqual(self.done(MPIEXEC, *WORDS, "-n", 2, program), ["rank 0: as written", "rank 1: as written"])

    def test_failures(self):
        """One rank leaves, which is the exit code."""
        program = self.program(blocks("docs/failures.md", "c")[0], "example.c")
        result = subprocess.run([MPIEXEC, *WORDS, "--enable-recovery", "-n", "4", program], capture_output=True, text=True, timeout=120)
        self.assertIn("3 are left, the mean is 1.66667", result.stdout)

    @unittest.skipUnless(shutil.which("gfortran"), "there is no gfortran")
    def test_fortran(self):
        program = self.program(blocks("docs/fortran.md", "fortran")[0], "hello.f90", "mpifort")
        self.assertEqual([line.strip() for line in self.done(MPIEXEC, *WORDS, "-n", 2, program)], ["hello from 0 of 2", "hello from 1 of 2"])

    @unittest.skipUnless(nvcc(), "there is no nvcc in this environment")
    def test_cuda_compiles(self):
        """The exchange on a stream; GPUs run it elsewhere."""
        (self.folder / "exchange.cu").write_text(blocks("docs/gpus.md", "cuda")[0], encoding="utf-8")
        self.done(nvcc(), "-c", "exchange.cu", "-o", "exchange.o", "-I", BUILD / "include")
        self.assertTrue((self.folder / "exchange.o").is_file())


if __name__ == "__main__":
    unittest.main()
