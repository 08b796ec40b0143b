"""Programs are compiled and started in the usual ways."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["HR_BUILD"])

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("rank %d of %d\\n", rank, size);
  return MPI_Finalize();
}
"""

PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(hello LANGUAGES C CXX)
find_package(MPI REQUIRED COMPONENTS C CXX)
add_executable(hello_c hello.c)
target_link_libraries(hello_c MPI::MPI_C)
add_executable(hello_cxx hello.cpp)
target_link_libraries(hello_cxx MPI::MPI_CXX)
message(STATUS "launcher ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG}")
"""

PACKAGE = """
cmake_minimum_required(VERSION 3.22)
project(hello LANGUAGES C CXX)
find_package(headrace 0.1 REQUIRED)
add_executable(hello_c hello.c)
add_executable(hello_cxx hello.cpp)
target_link_libraries(hello_c headrace::mpi)
target_link_libraries(hello_cxx headrace::mpi)
message(STATUS "launcher ${headrace_MPIEXEC}")
"""


def output(*command, **options) -> str:
    # pkg-config puts a backslash before each byte of a letter.
    return subprocess.run([str(word) for word in command], check=True, encoding="utf-8", errors="surrogateescape", timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **options).stdout


class Prefix:
    """Tests of one prefix, which the classes below name."""

    prefix: Path

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headrace test ")  # a blank in the name is nothing special
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in ("hello.c", "hello.cpp"):
            (self.folder / name).write_text(PROGRAM, encoding="ascii")

    def assert_runs(self, program):
        lines = output(self.prefix / "bin/mpiexec", "-n", "2", program).splitlines()
        self.assertEqual(sorted(lines), ["rank 0 of 2", "rank 1 of 2"])

    def test_wrappers_compile_and_link(self):
        for wrapper, source in (("mpicc", "hello.c"), ("mpicxx", "hello.cpp"), ("mpic++", "hello.cpp")):
            program = self.folder / wrapper
            output(self.prefix / "bin" / wrapper, self.folder / source, "-o", program)
            self.assert_runs(program)

    def test_show_prints_and_does_nothing(self):
        text = output(self.prefix / "bin/mpicc", "-show", "hello.c", "-o", "hello", cwd=self.folder)
        words = shlex.split(text)
        for word in (f"-I{self.prefix}/include", f"-L{self.prefix}/lib", "-lmpi_abi", "hello.c", "-o", "hello"):
            self.assertIn(word, words)
        self.assertFalse((self.folder / "hello").exists())
        self.assertNotIn("-lmpi_abi", output(self.prefix / "bin/mpicc", "-show", "-c", "hello.c"))

    def test_another_compiler(self):
        text = output(self.prefix / "bin/mpicxx", "-show", "x.cpp", env={**os.environ, "HEADRACE_CXX": "ccache other"})
        self.assertTrue(text.startswith("ccache other -I"), text)

    def test_cmake_finds_us(self):
        (self.folder / "CMakeLists.txt").write_text(PROJECT, encoding="ascii")
        # Another MPI may be installed on the machine.
        text = output("cmake", "-G", "Ninja", "-S", self.folder, "-B", self.folder / "b",
                      f"-DMPI_C_COMPILER={self.prefix}/bin/mpicc", f"-DMPI_CXX_COMPILER={self.prefix}/bin/mpicxx",
                      f"-DMPIEXEC_EXECUTABLE={self.prefix}/bin/mpiexec")
        self.assertIn("version \"5.0\"", text)
        output("cmake", "--build", self.folder / "b")
        self.assert_runs(self.folder / "b/hello_c")
        self.assert_runs(self.folder / "b/hello_cxx")

    def test_the_cmake_package(self):
        """In a prefix that was moved to a path with a blank: find_package(headrace) finds that prefix, and no other MPI."""
        moved = self.folder / "p q"
        config = next(place for place in (self.prefix / "lib/cmake/headrace", BUILD / "wrappers") if (place / "headrace-config.cmake").is_file())
        (moved / "lib/cmake/headrace").mkdir(parents=True)
        for file in config.glob("headrace-config*.cmake"):
            shutil.copy(file, moved / "lib/cmake/headrace")
        for name in ("bin", "include", "lib/libmpi_abi.so.1"):
            (moved / name).symlink_to(self.prefix / name)
        (self.folder / "CMakeLists.txt").write_text(PACKAGE, encoding="ascii")
        build = self.folder / "b"
        text = output("cmake", "-G", "Ninja", "-S", self.folder, "-B", build, f"-DCMAKE_PREFIX_PATH={moved}")
        self.assertIn(f"launcher {moved}/bin/mpiexec", text)
        output("cmake", "--build", build)
        for program in ("hello_c", "hello_cxx"):
            self.assertIn(str(moved / "lib"), output("readelf", "-d", build / program))
            self.assert_runs(build / program)
        (self.folder / "CMakeLists.txt").write_text(PACKAGE.replace("0.1", "7.0"), encoding="ascii")
        refused = subprocess.run(["cmake", build], capture_output=True, text=True, timeout=120, check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("considered but not accepted", refused.stderr)

    def test_a_program_without_a_run_path(self):
        program = self.folder / "hello"
        output("cc", self.folder / "hello.c", "-o", program, f"-I{self.prefix}/include", f"-L{self.prefix}/lib", "-lmpi_abi")
        self.assertNotIn(str(self.prefix), output("readelf", "-d", program))
        self.assert_runs(program)

    def test_runpath_yields_to_the_user(self):
        program = self.folder / "hello"
        output(self.prefix / "bin/mpicc", self.folder / "hello.c", "-o", program)
        self.assertIn("RUNPATH", output("readelf", "-d", program))


class BuildTree(Prefix, unittest.TestCase):
    prefix = BUILD


class Blanks(Prefix, unittest.TestCase):
    """The build tree under a path with blanks: copies only the directories of the wrappers."""

    def setUp(self):
        super().setUp()
        self.prefix = self.folder / "a prefix (1)"
        (self.prefix / "bin").mkdir(parents=True)
        for name in ("lib", "include"):
            (self.prefix / name).symlink_to(BUILD / name)
        for name in ("mpicc", "mpicxx", "mpic++"):
            shutil.copy(BUILD / "bin" / name, self.prefix / "bin")
        (self.prefix / "bin/mpiexec").symlink_to(BUILD / "bin/mpiexec")

    def test_show_prints_and_does_nothing(self):
        text = output(self.prefix / "bin/mpicc", "-show", "a file.c", '-DX="$1"', cwd=self.folder)
        words = shlex.split(text)
        for word in (f"-I{self.prefix}/include", f"-L{self.prefix}/lib", f"-Wl,-rpath,{self.prefix}/lib", "a file.c", '-DX="$1"'):
            self.assertIn(word, words)

    def test_what_is_shown_can_be_run(self):
        text = output(self.prefix / "bin/mpicc", "-show", self.folder / "hello.c", "-o", self.folder / "hello")
        output("sh", "-c", text)
        self.assert_runs(self.folder / "hello")

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_pkg_config(self):
        (self.folder / "p q/lib/pkgconfig").mkdir(parents=True)
        shutil.copy(BUILD / "wrappers/headrace.pc", self.folder / "p q/lib/pkgconfig")
        flags = output("pkg-config", "--cflags", "--libs", "headrace",
                       env={**os.environ, "PKG_CONFIG_PATH": str(self.folder / "p q/lib/pkgconfig")})
        self.assertTrue(all(word.startswith("-") for word in shlex.split(flags)), flags)


class NoWords(unittest.TestCase):
    def test_it_says_that_there_is_no_input(self):
        for name in ("mpicc", "mpicxx"):
            result = subprocess.run([BUILD / "bin" / name], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"{name}: no input files", result.stderr)


ENVIRONMENT = Path(sysconfig.get_path("data"))


@unittest.skipUnless((ENVIRONMENT / "bin/mpicc").exists() and (ENVIRONMENT / "lib/libmpi_abi.so.1").exists(),
                     f"{sys.prefix} has no Headrace installed")
class Environment(Prefix, unittest.TestCase):
    prefix = ENVIRONMENT

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_pkg_config(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": f"{self.prefix}/lib/pkgconfig"}
        flags = shlex.split(output("pkg-config", "--cflags", "--libs", "headrace", env=environment))
        program = self.folder / "hello"
        output("cc", self.folder / "hello.c", "-o", program, *flags)
        self.assertIn("RUNPATH", output("readelf", "-d", program))
        self.assert_runs(program)
        self.assertEqual(output(program).strip(), "rank 0 of 1")  # also works without mpiexec

    def test_the_library_has_the_names_of_its_functions(self):
        self.assertIn(".symtab", output("readelf", "-SW", self.prefix / "lib/libmpi_abi.so.1"))

    def test_the_headrace_command(self):
        version = output(self.prefix / "bin/mpiexec", "--version").split()[-1]
        self.assertEqual(output(self.prefix / "bin/headrace", "--version").strip(), f"headrace {version}")
        self.assertNotIn("missing", output(self.prefix / "bin/headrace", "info"))
        self.assertIn("shm_dir", output(self.prefix / "bin/headrace", "config"))

    def test_mpirun_is_mpiexec(self):
        self.assertIn("Headrace", output(self.prefix / "bin/mpirun", "--version"))


if __name__ == "__main__":
    unittest.main()
