"""Every function through mpif.h, the module mpi and the module mpi_f08, on 1, 2 and 4 ranks, against C's results."""

import os
import re
import sys
import unittest
from pathlib import Path

from support import BUILD, COMPILER, HERE, WORK, mpiexec, mpifort, needs_compiler, run

INTERFACES = {"f08": "F08", "mpi": "MODULE", "mpif": "MPIF"}
RANKS = (1, 2, 4)
PROGRAMS = ("environment", "messages", "types", "communicators", "windows")
# Chapters whose scenarios will be added with their functions; until then, every_function.py calls these.
LATER = ("io", "partitioned", "process")
# Functions that programs call once, at their start or end: covered by other tests.
ELSEWHERE = {"MPI_Abort", "MPI_Init", "MPI_Finalize", "MPI_Comm_spawn"}


# Lines grow when macros are expanded; other compilers have no limit.
LONG_LINES = ["-ffree-line-length-none"] if COMPILER and "gfortran" in str(COMPILER) else []


def generate(script, *words):
    run(sys.executable, "-B", HERE / script, *words)


@needs_compiler
class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        WORK.mkdir(exist_ok=True)
        run(BUILD / "bin/mpicc", "-c", HERE / "c_side.c", "-o", WORK / "c_side.o")
        generate("collectives.py", WORK / "collectives.F90")

    def build(self, interface, program, source):
        folder = WORK / interface
        folder.mkdir(exist_ok=True)
        mpifort("-w", "-g", "-cpp", *LONG_LINES, f"-I{HERE}", f"-D{INTERFACES[interface]}",
                HERE / "checks.F90", HERE / "c_side.F90", source, WORK / "c_side.o", "-o", program, cwd=folder)
        return folder / program

    def passes(self, interface, program, source=None):
        built = self.build(interface, program, source or HERE / f"{program}.F90")
        for ranks in RANKS:
            with self.subTest(interface=interface, program=program, ranks=ranks):
                self.assertRegex(mpiexec(ranks, built), r"passed \d+ checks")

    def test_scenarios(self):
        for interface in INTERFACES:
            for program in PROGRAMS:
                self.passes(interface, program)

    def test_collectives(self):
        for interface in INTERFACES:
            self.passes(interface, "collectives", WORK / "collectives.F90")

    def test_sections(self):
        for interface in ("f08", "mpi"):
            self.passes(interface, "sections")

    def test_every_function_links_and_missing_ones_say_so(self):
        for interface in INTERFACES:
            source = WORK / f"every_{interface}.f90"
            generate("every_function.py", interface, source)
            program = WORK / f"every_{interface}"
            mpifort("-w", source, "-o", program)
            for ranks in (1, 2):
                self.assertRegex(mpiexec(ranks, program), r"linked \d{3,4} calls")


PEER = Path(os.environ.get("HEADRACE_PEERS", HERE.parents[1] / ".cache/peers"))


@needs_compiler
@unittest.skipUnless((PEER / "bin/mpiexec").exists(), "make peers: no other MPI library with the standard ABI is here")
class OnAnotherLibrary(Programs):
    """Runs the same binaries on another MPI with the standard ABI."""

    def passes(self, interface, program, source=None):
        built = self.build(interface, program, source or HERE / f"{program}.F90")
        environment = {**os.environ, "LD_LIBRARY_PATH": str(PEER / "lib")}
        with self.subTest(interface=interface, program=program):
            text = run(PEER / "bin/mpiexec", "-n", 2, built, env=environment, timeout=120)
            self.assertRegex(text, r"passed \d+ checks")

    def test_scenarios(self):
        for interface in INTERFACES:
            self.passes(interface, "messages")

    test_every_function_links_and_missing_ones_say_so = None


class Coverage(unittest.TestCase):
    def test_every_function_is_in_a_scenario(self):
        sys.path.insert(0, str(HERE.parents[1] / "api"))
        from gen import fortran, model
        api = HERE.parents[1] / "api"
        WORK.mkdir(exist_ok=True)
        generate("collectives.py", WORK / "collectives.F90")
        sources = [*HERE.glob("*.F90"), WORK / "collectives.F90"]
        called = {name.lower() for path in sources
                  for name in re.findall(r"\b(MPI_\w+)\(", path.read_text(encoding="ascii"))}
        missing = [p.name for p in fortran.Bindings(model.read(api), api).plain()
                   if p.function.implemented and p.function.chapter not in LATER and p.name not in ELSEWHERE
                   and p.name.lower() not in called]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
