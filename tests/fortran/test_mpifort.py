"""mpifort as used by authors, configure scripts and build systems; its cache of modules; errors for bad input."""

import os
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import BUILD, COMPILER, ENVIRONMENT, mpiexec, mpifort, needs_compiler, run

HELLO = {
    "f08": "program hello\n use mpi_f08\n implicit none\n integer :: r\n call MPI_Init()\n"
           " call MPI_Comm_rank(MPI_COMM_WORLD, r)\n print '(a, i0)', 'rank ', r\n call MPI_Finalize()\nend program\n",
    "mpi": "program hello\n use mpi\n implicit none\n integer :: r, e\n call MPI_Init(e)\n"
           " call MPI_Comm_rank(MPI_COMM_WORLD, r, e)\n print '(a, i0)', 'rank ', r\n call MPI_Finalize(e)\n"
           "end program\n",
    "mpif": "program hello\n implicit none\n include 'mpif.h'\n integer :: r, e\n call MPI_Init(e)\n"
            " call MPI_Comm_rank(MPI_COMM_WORLD, r, e)\n print '(a, i0)', 'rank ', r\n call MPI_Finalize(e)\n"
            "end program\n"}

# Arrays of different types to one procedure, a short character variable, one element for an array, fixed form.
OLD = """
      PROGRAM OLD
      INCLUDE 'mpif.h'
      INTEGER I, IERR, STAT(MPI_STATUS_SIZE), A(2,2,2)
      REAL X(2)
      CHARACTER*3 NAME
      CALL MPI_INIT(IERR)
      A(1,1,1) = 7
      X(1) = 2.5
      CALL MPI_SENDRECV(A(1,1,1), 1, MPI_INTEGER, 0, 1,
     &                  A(1,1,2), 1, MPI_INTEGER, 0, 1,
     &                  MPI_COMM_SELF, STAT, IERR)
      CALL MPI_SENDRECV(X(1), 1, MPI_REAL, 0, 1,
     &                  X(2), 1, MPI_REAL, 0, 1,
     &                  MPI_COMM_SELF, STAT, IERR)
      CALL MPI_GET_PROCESSOR_NAME(NAME, I, IERR)
      PRINT *, 'OLD', A(1,1,2), X(2), I .LE. 3
      CALL MPI_FINALIZE(IERR)
      END
"""

# A tool in the program, using the old profiling interface (MPI 5.0 section 15.2).
PROFILED = """
      SUBROUTINE MPI_BARRIER(COMM, IERR)
      INTEGER COMM, IERR
      PRINT *, 'PROFILED'
      CALL PMPI_BARRIER(COMM, IERR)
      END
      PROGRAM TOOL
      INCLUDE 'mpif.h'
      INTEGER IERR
      CALL MPI_INIT(IERR)
      CALL MPI_BARRIER(MPI_COMM_WORLD, IERR)
      CALL MPI_FINALIZE(IERR)
      END
"""

PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(hello LANGUAGES C Fortran)
find_package(MPI REQUIRED COMPONENTS C Fortran)
add_executable(hello hello.f90)
target_link_libraries(hello MPI::MPI_Fortran)
message(STATUS "F77 ${MPI_Fortran_HAVE_F77_HEADER} F90 ${MPI_Fortran_HAVE_F90_MODULE}")
message(STATUS "F08 ${MPI_Fortran_HAVE_F08_MODULE}")
"""


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headrace test ")  # its name contains a blank, which must work
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for interface, text in HELLO.items():
            (self.folder / f"{interface}.f90").write_text(text, encoding="ascii")

    def own_cache(self, **more):
        return {**ENVIRONMENT, "HEADRACE_FORTRAN_CACHE": str(self.folder / "cache"), **more}

    def script(self, name, text):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text, encoding="ascii")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def assert_runs(self, program):
        self.assertEqual(sorted(mpiexec(2, program).splitlines()), ["rank 0", "rank 1"])


@needs_compiler
class Compiling(Folder):
    def test_the_three_interfaces(self):
        for interface in HELLO:
            for wrapper in ("mpifort", "mpif90"):
                program = self.folder / f"{interface}_{wrapper}"
                run(BUILD / "bin" / wrapper, self.folder / f"{interface}.f90", "-o", program)
                self.assert_runs(program)

    def test_an_old_program(self):
        (self.folder / "old.f").write_text(OLD, encoding="ascii")
        run(BUILD / "bin/mpif77", self.folder / "old.f", "-o", self.folder / "old")
        self.assertRegex(mpiexec(1, self.folder / "old"), r"OLD +7 +2\.5\d* +T")

    def test_a_tool_that_has_names_of_mpi(self):
        (self.folder / "tool.f").write_text(PROFILED, encoding="ascii")
        mpifort(self.folder / "tool.f", "-o", self.folder / "tool")
        self.assertIn("PROFILED", mpiexec(1, self.folder / "tool"))

    def test_show_and_the_flags(self):
        text = mpifort("-show", "x.f90", "-o", "x", cwd=self.folder)
        for word in ("-lheadrace_fortran -lmpi_abi", "x.f90 -o x", f"-L{BUILD}/lib", "-I"):
            self.assertIn(word, text)
        self.assertNotIn("-lmpi_abi", mpifort("-show", "-c", "x.f90"))
        self.assertTrue(text.startswith(mpifort("-showme:command").strip()), text)
        modules = mpifort("-showme:incdirs").strip()
        self.assertTrue((Path(modules) / "mpi_f08.mod").exists(), modules)
        self.assertIn(modules, mpifort("-showme:compile"))
        self.assertIn("mpi_abi", mpifort("-showme:link"))

    def test_compile_then_link(self):
        mpifort("-c", "f08.f90", "-o", "f08.o", cwd=self.folder)
        mpifort("f08.o", "-o", "hello", cwd=self.folder)
        self.assert_runs(self.folder / "hello")

    def test_the_compilers_errors_come_back(self):
        (self.folder / "bad.f90").write_text("this is no program\n", encoding="ascii")
        finished = mpifort("-c", self.folder / "bad.f90", check=False)
        self.assertNotEqual(finished.returncode, 0)

    def test_wide_default_integers_are_refused(self):
        finished = mpifort("-fdefault-integer-8", self.folder / "mpi.f90", check=False)
        self.assertEqual(finished.returncode, 1)
        self.assertIn("INTEGER has 4 bytes", finished.stdout)


@needs_compiler
@needs_compiler
class LastWords(Folder):
    PROGRAM = ("program last\n use mpi_f08\n implicit none\n call MPI_Init()\n write (*, '(a)', advance='no') 'said before'\n"
               " open (unit=20, file='unit20')\n write (20, '(a)') 'kept'\n call MPI_Abort(MPI_COMM_WORLD, 3)\nend program\n")

    def test_of_abort(self):
        (self.folder / "last.f90").write_text(self.PROGRAM, encoding="ascii")
        for words in ([], ["-static-libgfortran"] if "gfortran" in str(COMPILER) else []):
            with self.subTest(words):
                mpifort(*words, "last.f90", "-o", "last", cwd=self.folder)
                ended = mpiexec(1, "./last", check=False, cwd=self.folder)
                self.assertEqual(ended.returncode, 3, ended.stdout)
                self.assertIn("said before", ended.stdout)
                self.assertEqual((self.folder / "unit20").read_text(), "kept\n")


class BuildSystems(Folder):
    def test_cmake(self):
        (self.folder / "CMakeLists.txt").write_text(PROJECT, encoding="ascii")
        shutil.copy(self.folder / "f08.f90", self.folder / "hello.f90")
        # The modules are built on demand, while CMake parses all output of mpifort. CMake does not accept names with
        # blanks.
        cache = tempfile.TemporaryDirectory(prefix="headrace-test-")
        self.addCleanup(cache.cleanup)
        environment = {**ENVIRONMENT, "HEADRACE_FORTRAN_CACHE": cache.name}
        text = run("cmake", "-G", "Ninja", "-S", self.folder, "-B", self.folder / "b",
                   f"-DMPI_C_COMPILER={BUILD}/bin/mpicc", f"-DMPI_Fortran_COMPILER={BUILD}/bin/mpifort", f"-DCMAKE_Fortran_COMPILER={COMPILER}",
                   env=environment)
        self.assertIn("F77 TRUE F90 TRUE", text)
        self.assertIn("F08 TRUE", text)
        run("cmake", "--build", self.folder / "b", env=environment)
        self.assert_runs(self.folder / "b/hello")

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_pkg_config(self):
        where = mpifort("-showme:pkgconfig").strip()
        flags = run("pkg-config", "--cflags", "--libs", "headrace-fortran",
                    env={**ENVIRONMENT, "PKG_CONFIG_PATH": where}).split()
        run(COMPILER, "f08.f90", "-o", "hello", *flags, cwd=self.folder)
        self.assert_runs(self.folder / "hello")

    @unittest.skipUnless(shutil.which("meson"), "no meson")
    def test_meson(self):
        (self.folder / "meson.build").write_text("project('hello', 'fortran')\n"
                                                 "executable('hello', 'f08.f90', dependencies: "
                                                 "dependency('mpi', language: 'fortran'))\n", encoding="ascii")
        environment = {**ENVIRONMENT, "MPIFC": f"{BUILD}/bin/mpifort", "PATH": f"{BUILD}/bin:{os.environ['PATH']}"}
        run("meson", "setup", "b", cwd=self.folder, env=environment)
        run("ninja", "-C", "b", cwd=self.folder, env=environment)
        self.assert_runs(self.folder / "b/hello")


@needs_compiler
class Cache(Folder):
    def kept(self):
        return sorted(p.name for p in (self.folder / "cache").iterdir())

    def test_modules_are_built_once_and_mpifort_says_so(self):
        first = mpifort("-c", "f08.f90", cwd=self.folder, env=self.own_cache())
        self.assertRegex(first, r"mpifort: building the modules mpi and mpi_f08 for .*, once, in .*cache")
        self.assertEqual(mpifort("-c", "mpi.f90", cwd=self.folder, env=self.own_cache()), "")
        self.assertEqual(len(self.kept()), 1)

    def several_at_once(self, environment):
        started = [subprocess.Popen([BUILD / "bin/mpifort", "-c", f"{list(HELLO)[i % 3]}.f90", "-o", f"{i}.o"],
                                    cwd=self.folder, env=environment, text=True, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT) for i in range(6)]
        said = [process.communicate(timeout=240)[0] for process in started]
        for process, text in zip(started, said):
            self.assertEqual(process.returncode, 0, text)
        self.assertEqual(len(self.kept()), 1, self.kept())
        return sum("building the modules" in text for text in said)

    def test_several_start_in_an_empty_cache(self):
        self.assertEqual(self.several_at_once(self.own_cache()), 1)

    def test_several_start_without_flock(self):
        self.script("flock", "exit 1\n")
        builders = self.several_at_once(self.own_cache(PATH=f"{self.folder}:{os.environ['PATH']}"))
        self.assertGreaterEqual(builders, 1)

    def test_another_compiler_has_modules_of_its_own(self):
        mpifort("-c", "f08.f90", cwd=self.folder, env=self.own_cache())
        other = self.without_blank(self.script("other-fortran", f'exec {COMPILER} "$@"\n'))
        mpifort("-c", "f08.f90", cwd=self.folder, env=self.own_cache(HEADRACE_FC=other))
        self.assertEqual(len(self.kept()), 2)

    def without_blank(self, script):
        """HEADRACE_FC is split into words: a compiler's path cannot contain blanks."""
        folder = tempfile.TemporaryDirectory(prefix="headrace-test-")
        self.addCleanup(folder.cleanup)
        return shutil.copy(script, folder.name)

    def test_a_compiler_that_fails_leaves_nothing(self):
        broken = self.without_blank(self.script("broken-fortran", 'case "$*" in *mpi_types*) echo oops; exit 1 ;; esac\n'
                                                f'exec {COMPILER} "$@"\n'))
        finished = mpifort("-c", "f08.f90", cwd=self.folder, env=self.own_cache(HEADRACE_FC=broken), check=False)
        self.assertEqual(finished.returncode, 1)
        self.assertIn("could not compile the modules", finished.stdout)
        self.assertIn("oops", finished.stdout)
        self.assertEqual(self.kept(), [])

    def old_compiler(self):
        """Tries a compiler without assumed rank."""
        return self.without_blank(self.script(
            "old-fortran", 'for f; do case $f in *.f90) grep -q "dimension(\\.\\.)" "$f" && '
            '{ echo "Error: syntax"; exit 1; } ;; esac; done\n' f'exec {COMPILER} "$@"\n'))

    def test_a_compiler_without_assumed_rank(self):
        environment = self.own_cache(HEADRACE_FC=self.old_compiler())
        for interface in ("mpi", "mpif"):
            mpifort(f"{interface}.f90", "-o", interface, cwd=self.folder, env=environment)
            self.assert_runs(self.folder / interface)
        finished = mpifort("f08.f90", "-o", "f08", cwd=self.folder, env=environment, check=False)
        self.assertNotEqual(finished.returncode, 0)
        self.assertIn("lacks TYPE(*), DIMENSION(..) (assumed type and rank, Fortran 2018)", finished.stdout)
        self.assertIn('"use mpi" and mpif.h work', finished.stdout)


class WithoutCompiler(Folder):
    def test_what_to_install(self):
        tools = self.folder / "tools"
        tools.mkdir()
        for tool in ("sh", "sed", "readlink", "dirname", "basename", "cat", "id", "mkdir", "head", "tr", "cksum"):
            (tools / tool).symlink_to(shutil.which(tool))
        environment = {"PATH": str(tools), "HEADRACE_FORTRAN_CACHE": str(self.folder / "cache")}
        finished = mpifort("f08.f90", check=False, env=environment)
        self.assertEqual(finished.returncode, 1)
        self.assertIn("there is no Fortran compiler (it looked for gfortran flang", finished.stdout)
        self.assertIn("apt-get install gfortran", finished.stdout)

    def test_a_compiler_that_is_not_there(self):
        finished = mpifort("f08.f90", check=False, env={**ENVIRONMENT, "HEADRACE_FC": "no-such-fortran"})
        self.assertEqual(finished.returncode, 1)
        self.assertIn("no-such-fortran, which is not there", finished.stdout)


if __name__ == "__main__":
    unittest.main()
