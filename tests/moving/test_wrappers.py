"""Compilers and launchers under the names of other libraries, and the variables and options with which they specify a
compiler."""

import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from programs import BIN, BUILD, run

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("of %d\\n", size);
  return MPI_Finalize();
}
"""


class Names(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headrace test ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "a.c").write_text(PROGRAM, encoding="ascii")
        # Stand-ins for compilers that print their names.
        for name in ("icc", "icx", "icpc", "icpx", "ifort", "ifx", "mine"):
            (self.folder / name).write_text(f"#!/bin/sh\necho {name} \"$@\"\n", encoding="ascii")
            (self.folder / name).chmod(0o755)
        self.path = f"{self.folder}:{os.environ['PATH']}"

    def test_launchers(self):
        program = self.folder / "a"
        self.assertEqual(run(BIN / "mpicc", self.folder / "a.c", "-o", program).returncode, 0)
        for name in ("mpiexec", "mpirun", "mpiexec.hydra", "orterun"):
            result = run(BIN / name, "-n", "2", program)
            self.assertEqual((result.stdout, result.stderr), ("of 2\n" * 2, ""), name)

    def test_same_compiler_under_another_name(self):
        for name, ours in (("mpigcc", "mpicc"), ("mpigxx", "mpicxx"), ("mpiCC", "mpicxx"), ("mpif08", "mpifort"), ("ftn", "mpifort")):
            self.assertEqual(run(BIN / name, "-showme:command").stdout, run(BIN / ours, "-showme:command").stdout, name)

    def test_there_is_no_cc(self):
        for name in ("cc", "CC"):
            self.assertFalse((BIN / name).exists())

    def test_names_of_intel_mpi(self):
        for name, compiler in (("mpiicc", "icc"), ("mpiicx", "icx"), ("mpiicpc", "icpc"), ("mpiicpx", "icpx"), ("mpiifort", "ifort"),
                               ("mpiifx", "ifx")):
            self.assertEqual(run(BIN / name, "-showme:command", PATH=self.path).stdout.strip(), compiler)
            if not shutil.which(compiler):
                result = run(BIN / name, "-showme:command")
                self.assertEqual(result.returncode, 1)
                self.assertIn(f"{name}: Intel's compiler is not there (it looked for {compiler}", result.stderr)
        result = run(BIN / "mpiicc", "-showme:command", PATH=self.path, HEADRACE_CC="mine")
        self.assertEqual(result.stdout.strip(), "mine")

    def test_variables_and_options_that_name_a_compiler(self):
        for wrapper, ends, option in (("mpicc", ("CC",), "-cc"), ("mpicxx", ("CXX",), "-cxx"), ("mpifort", ("FC", "F77"), "-fc")):
            for variable in [f"{owner}_{end}" for owner in ("HEADRACE", "OMPI", "MPICH", "I_MPI") for end in ends]:
                if variable == "HEADRACE_F77":
                    continue
                with self.subTest(variable):
                    self.assertEqual(run(BIN / wrapper, "-showme:command", PATH=self.path, **{variable: "mine"}).stdout.strip(), "mine")
            first = f"HEADRACE_{ends[0]}"
            self.assertEqual(run(BIN / wrapper, "-showme:command", PATH=self.path, **{first: "icx", f"OMPI_{ends[0]}": "icc"}).stdout.strip(),
                             "icx")
            self.assertEqual(run(BIN / wrapper, f"{option}=mine", "-showme:command", PATH=self.path, **{first: "icx"}).stdout.strip(),
                             "mine")
        # The compiler runs, and receives only its own options.
        result = run(BIN / "mpicc", "-c", "-cc=mine", "a b.c", "-mt_mpi", PATH=self.path)
        self.assertEqual(result.stdout, f"mine -I{BUILD}/include -c a b.c\n")
        self.assertIn("mine -I", run(BIN / "mpicxx", "-CC=mine", "-show", "a.cpp", PATH=self.path).stdout)

    def test_program_of_open_mpi(self):
        """The program starts, and mpiexec names the library to which it belongs."""
        (self.folder / "other_mpi.c").write_text("int of_other_mpi;\n", encoding="ascii")
        (self.folder / "b.c").write_text("extern int of_other_mpi; int main(void) { return of_other_mpi; }\n", encoding="ascii")
        compiler = run(BIN / "mpicc", "-showme:command").stdout.strip()
        library, program = self.folder / "libmpi.so.40", self.folder / "b"
        self.assertEqual(run(compiler, "-shared", self.folder / "other_mpi.c", "-o", library, "-Wl,-soname,libmpi.so.40").returncode, 0)
        self.assertEqual(run(compiler, self.folder / "b.c", library, "-o", program).returncode, 0)
        result = run(BIN / "mpiexec", "-n", "2", "./b", cwd=self.folder, LD_LIBRARY_PATH=str(self.folder))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("mpiexec: ./b was compiled for Open MPI (it needs libmpi.so.40)"), 1)

    def test_words_for_the_linker_of_nvcc(self):
        """nvcc does not accept -Wl."""
        (self.folder / "nvcc").write_text("#!/bin/sh\n", encoding="ascii")
        (self.folder / "nvcc").chmod(0o755)
        for compiler in ("nvcc", "env nvcc"):
            shown = run(BIN / "mpicxx", "-show", "a.cu", PATH=self.path, HEADRACE_CXX=compiler).stdout
            self.assertIn(f" -Xlinker=-rpath={BUILD}/lib -Xlinker=--enable-new-dtags -lmpi_abi", shown)
            self.assertNotIn("-Wl", shown)

    def test_flags(self):
        result = run(BIN / "mpicc", "-show", "a.c", OMPI_CFLAGS="-g -O1", OMPI_LDFLAGS="-Wl,-q", I_MPI_CFLAGS="-DX").stdout.split()
        for word in ("-g", "-O1", "-Wl,-q", "-DX"):
            self.assertIn(word, result)
        self.assertNotIn("-Wl,-q", run(BIN / "mpicc", "-show", "-c", "a.c", OMPI_LDFLAGS="-Wl,-q").stdout)

    def test_a_compiler_that_is_not_there(self):
        for variables, words, said in (({"OMPI_CC": "nocc -m64"}, (), "OMPI_CC names the compiler nocc, which is not there"),
                                       ({}, ("-cc=nocc",), "-cc names the compiler nocc, which is not there. Add its directory to PATH, or"),
                                       ({"HEADRACE_CC": "nvcc", "PATH": "/usr/bin:/bin"}, (), "to PATH (mostly /usr/local/cuda/bin), or name another: HEADRACE_CC=")):
            result = run(BIN / "mpicc", *words, "a.c", **variables)
            self.assertEqual(result.returncode, 1)
            self.assertIn(said, result.stderr)
            self.assertIn("HEADRACE_CC=/path/to/compiler", result.stderr)

    def test_no_compiler_at_all(self):
        """A wrapper from a build on another machine, on a machine that has neither its compiler nor any other."""
        tools = self.folder / "tools"
        tools.mkdir()
        for tool in ("sh", "readlink", "dirname", "sed"):
            (tools / tool).symlink_to(shutil.which(tool))
        for name, variable in (("mpicc", "CC"), ("mpicxx", "CXX")):
            text = (BIN / name).read_text(encoding="utf-8")
            theirs = re.search(r'^  for candidate in "([^"]+)"', text, re.M)[1]
            wrapper = self.folder / name
            wrapper.write_text(text.replace(theirs, "/no/such/compiler"), encoding="utf-8")
            wrapper.chmod(0o755)
            result = run(wrapper, "a.c", PATH=str(tools))
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, rf"^{name}: there is no compiler \(it looked for /no/such/compiler c\S+ .*HEADRACE_{variable}=/path/to/compiler\n$")
            # If another compiler is in the path, the wrapper uses that one.
            (tools / "clang").write_text("#!/bin/sh\necho clang\n", encoding="ascii")
            (tools / "clang++").write_text("#!/bin/sh\necho clang++\n", encoding="ascii")
            for tool in ("clang", "clang++"):
                (tools / tool).chmod(0o755)
            self.assertTrue(run(wrapper, "-showme:command", PATH=str(tools)).stdout.startswith("clang"))
            (tools / "clang").unlink(), (tools / "clang++").unlink()

    def test_words_that_are_refused(self):
        for wrapper in ("mpicc", "mpicxx", "mpifort"):
            for word, said in (("-static_mpi", "shared library"), ("-check_mpi", "mpiexec -check_mpi"), ("-trace", "traces"),
                               ("-ilp64", "4 bytes"), ("-config=x", "names another compiler")):
                result = run(BIN / wrapper, word, "a.c")
                self.assertEqual(result.returncode, 1)
                self.assertIn(f"{wrapper}: {word}: ", result.stderr)
                self.assertIn(said, result.stderr)


class Questions(unittest.TestCase):
    def test_ompi_info(self):
        """The output contains the lines that scripts look for, and does not claim to be Open MPI."""
        text = run(BIN / "ompi_info", "--parsable", "--all").stdout
        self.assertIn("mca:mpi:base:param:mpi_built_with_cuda_support:value:true\n", text)
        self.assertIn(f"path:prefix:{BUILD}\n", text)
        self.assertTrue(all(line.count(":") >= 1 and "|" not in line for line in text.splitlines()))
        self.assertNotIn("ompi:version", text)
        for words in ((), ("--version",), ("--all",)):
            text = run(BIN / "ompi_info", *words).stdout
            self.assertIn("Headrace", text)
            self.assertRegex(text, r"not Open MPI")

    def test_mpichversion(self):
        text = run(BIN / "mpichversion").stdout
        self.assertRegex(text, r"Headrace Version: +[0-9.]+ \(this is not MPICH\)")
        self.assertRegex(text, r"MPICH ABI: +12 \(.*/lib/libmpi.so.12\)")
        self.assertEqual(run(BIN / "mpichversion", "--version").stdout.count("\n"), 1)
        self.assertEqual(run(BIN / "mpichversion", "--frob").returncode, 1)


if __name__ == "__main__":
    unittest.main()
