"""The search for libmpi.so.12, and its message when something is wrong. HR_LIBRARY: the library, HR_CC: a C compiler.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LIBRARY = Path(os.environ["HR_LIBRARY"])
CC = os.environ.get("HR_CC", "cc")

PROGRAM = r"""
#include <stdio.h>
int MPI_Init(int*, char***);
int MPI_Comm_rank(int, int*);
int MPI_Finalize(void);
int main(void) {
  int rank = -1;
  MPI_Init(0, 0);
  MPI_Comm_rank(0x44000000, &rank);
  printf("rank %d\n", rank);
  return MPI_Finalize();
}
"""


def python(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})


class Loading(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)

    def compile(self, text, target, *words):
        source = self.scratch / "source.c"
        source.write_text(text)
        subprocess.run([CC, source, "-o", self.scratch / target, *words], check=True)
        return self.scratch / target

    def test_programs_find_it_under_every_name(self):
        for names in (["libmpi.so.12"], ["libmpich.so.12"], ["libmpifort.so.12", "libmpi.so.12"],
                      ["libmpicxx.so.12", "libmpi.so.12"], ["libmpichfort.so.12", "libmpich.so.12"],
                      ["libmpichcxx.so.12", "libmpich.so.12"]):
            with self.subTest(names):
                program = self.compile(PROGRAM, "program", "-Wl,--no-as-needed,--copy-dt-needed-entries",
                                       f"-Wl,-rpath-link,{LIBRARY.parent}", f"-L{LIBRARY.parent}",
                                       *(f"-l:{name}" for name in names))
                done = subprocess.run([program], capture_output=True, text=True, timeout=60,
                                      env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent)})
                self.assertEqual((done.stdout, done.stderr, done.returncode), ("rank 0\n", "", 0))

    def test_fortran_programs_are_told_what_to_do(self):
        for name in ("libmpifort.so.12", "libmpichfort.so.12"):
            with self.subTest(name):
                program = self.compile("void mpi_init_(int*); int main(void) { int e; mpi_init_(&e); return 0; }", "program",
                                       f"-Wl,-rpath-link,{LIBRARY.parent}", f"-L{LIBRARY.parent}", f"-l:{name}")
                done = subprocess.run([program], capture_output=True, text=True, timeout=60,
                                      env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent)})
                self.assertEqual((done.stdout, done.returncode), ("", 1))
                self.assertIn("compile it with Headrace's mpifort", done.stderr)

    def test_opened_by_path(self):
        code = f"""import ctypes
lib = ctypes.CDLL({str(LIBRARY)!r})
major, minor = ctypes.c_int(7), ctypes.c_int(7)
print(lib.MPI_Abi_get_version(ctypes.byref(major), ctypes.byref(minor)), major.value, minor.value)"""
        done = python(code)
        self.assertEqual((done.stdout, done.stderr), ("0 -1 -1\n", ""))

    def test_two_mpi_libraries(self):
        other = self.compile("int PMPI_Init(int* c, char*** v) { return 1; }", "libmpi.so.40", "-shared", "-fPIC")
        code = f"import ctypes; ctypes.CDLL({str(other)!r}); ctypes.CDLL({str(LIBRARY)!r})"
        done = python(code)
        self.assertIn("two MPI libraries are in this process", done.stderr)
        self.assertIn(str(other), done.stderr)
        self.assertIn(str(LIBRARY), done.stderr)

    def test_our_own_names_are_one_library(self):
        code = (f"import ctypes; ctypes.CDLL({str(LIBRARY)!r}); "
                f"ctypes.CDLL({str(LIBRARY.parent / 'libmpich.so.12')!r})")
        self.assertEqual(python(code).stderr, "")

    def test_alone(self):
        alone = self.scratch / LIBRARY.name
        shutil.copy(LIBRARY, alone)
        done = python(f"import ctypes; ctypes.CDLL({str(alone)!r})", LD_LIBRARY_PATH="")
        self.assertEqual(done.returncode, 127)
        self.assertIn("needs libmpi_abi.so.1 beside it", done.stderr)

    def test_old_cplusplus_bindings(self):
        done = python(f"import ctypes; ctypes.CDLL({str(LIBRARY)!r}).MPII_Op_set_cxx(0, None)")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("old C++ bindings", done.stderr)


if __name__ == "__main__":
    unittest.main()
