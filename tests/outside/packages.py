"""Other projects' programs, which run.py builds and runs: their builds, their tests, and the evaluation of their
output."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

Count = Callable[[str, int], tuple[int, int]]


def by_code(_: str, code: int) -> tuple[int, int]:
    """Counts one test, which passed if the program succeeded."""
    return (1, 0) if code == 0 else (0, 1)


def automake(text: str, code: int) -> tuple[int, int]:
    """Returns the sums of "# PASS: n" and "# FAIL: n" (and errors) of every directory."""
    def total(word: str) -> int:
        return sum(int(number) for number in re.findall(rf"^# {word}: +(\d+)", text, re.M))
    failed = total("FAIL") + total("ERROR")
    return total("PASS"), failed or int(code != 0)


def said(passed: str, failed: str) -> Count:
    """Counts lines with these words."""
    def count(text: str, code: int) -> tuple[int, int]:
        bad = len(re.findall(failed, text, re.M))
        return len(re.findall(passed, text, re.M)), bad or int(code != 0)
    return count


def tap(text: str, known: dict[str, str]) -> tuple[int, int]:
    """Counts lines of the Test Anything Protocol: "ok 3 - ./coll/red3 10 # ..."; known ones may fail, and are not counted."""
    passed = failed = 0
    for verdict, name, rest in re.findall(r"^(ok|not ok) \d* ?- (\S+)(.*)$", text, re.M):
        if "# SKIP" in rest:
            continue
        if verdict == "ok":
            passed += 1
        elif name.removeprefix("./") not in known:
            failed += 1
    return passed, failed or int(passed == 0)


@dataclass
class Test:
    name: str
    command: list[str]
    count: Count = by_code
    limit: int = 900


@dataclass
class Package:
    name: str  # name of the source package of Debian or PyPI
    build: list[list[str]]
    tests: list[Test]
    tests_in: str = "."  # test directory within the build directory
    tests_in_source: bool = False  # true if the tests are in the source directory
    settings: dict[str, str] = field(default_factory=dict)  # variables of the tests' environment
    python: bool = False
    python_needs: list[str] = field(default_factory=list)  # Python packages that its build needs
    needs: list[str] = field(default_factory=list)  # Debian packages that its build needs


def parallel(name: str, limit: int = 900) -> Test:
    return Test(name, ["mpiexec", "--timeout", "{limit}", "-n", "{ranks}", f"./{name}"], by_code, limit)


HDF5_TESTS = ["t_mpi", "t_pread", "t_init_term", "testphdf5", "t_shapesame", "t_filters_parallel", "t_bigio", "t_cache", "t_cache_image"]
# The second reads the file that the first has left open at its end.
HDF5_AGAIN = ["t_pshutdown", "t_prestart"]

PIP = ["{build}/environment/bin/python", "-m", "pip", "install", "-v", "--no-build-isolation", "--no-deps"]

# Tests that the build registers (its own check looks for words that they do not print; here, the exit code decides), except those that
# measure for minutes (mir_perf1, mir_perf2, perf, perfmod, perform), two that multiply matrices without a BLAS (mmatrix, testmatmultc), and
# seven that fail, three of these on MPICH 5, too (mulmatpatchc, pg2test, pgtest, test, random, simple_groups_comm, simple_groups_commc).
GLOBAL_ARRAYS_TESTS = """bin d2test g2test g3test ga_shift ghosts jacobi nb2test nbtest ndim
    normc ntestc ntestfc packc patch patch2 patch_enumc patch_enumf perf2 print scan
    scan_addc scan_copyc simple_groups sparse sprsmatmult stride testc
    testmult testmultrect testsolve types-test unpackc""".split()

# MPICH tests that need more than the standard or have another requirement, each with the reason.
MPICH_KNOWN = {
    "attr/keyval_double_free": "frees a keyval three times by copies of its handle, which is erroneous (section 7.7)",
    "attr/keyval_double_free_comm": "the same",
    "attr/keyval_double_free_type": "the same",
    "attr/keyval_double_free_win": "the same",
    "coll/nonblocking2": "keeps datatypes in arrays of int",
    "coll/nonblocking3": "the same",
    "datatype/pack_external": "takes datatypes for integers (switch)",
    "errhan/adderr": "calls MPIX_Delete_error_class and the like, which the standard names MPI_Remove_error_class",
    "errors/attr/keyvalmis": "expects errors of a window where only the communicator's handler returns",
    "errors/coll/rerr": "MPI_MAX of MPI_BYTE, which is done as for unsigned char; HEADRACE_CHECK=types refuses it",
    "errors/coll/nb_rerr": "the same",
    "errors/comm/comm_create_nullarg": "sets the handler of MPI_COMM_WORLD, and expects it of a duplicate made before",
    "errors/comm/comm_create_group_nullarg": "the same",
    "errors/comm/comm_split_nullarg": "the same",
    "errors/comm/comm_split_type_nullarg": "the same",
    "errors/pt2pt/truncmsg2": "a receive of another type of the same size; HEADRACE_CHECK=full refuses it",
    "errors/spawn/connect_timeout_no_accept": "a connect waits as long as the port is open; there is no limit that ends it yet",
    "io/tst_fileview": "expects MPI_ERR_IO of a filetype that no file may have, where it gets MPI_ERR_ARG",
    "mpi_t/cvarwrite": "expects that every control variable takes any value, also now",
    "mpi_t/qmpi_test": "QMPI",
    "part/nonblocking_pready": "sends and receives MPI_DATATYPE_NULL",
    "pt2pt/scancel": "expects that sends are cancelled which have gone out (MPICH's own list expects its failure)",
    "pt2pt/pscancel": "the same",
    "pt2pt/scancel_unmatch": "the same",
    "threads/pt2pt/mt_improbe_isendrecv": "takes MPI_REQUEST_NULL for MPI_MESSAGE_NULL",
    "threads/pt2pt/mt_improbe_sendrecv": "the same",
    "threads/pt2pt/mt_improbe_sendrecv_huge": "the same",
    "threads/pt2pt/multisend4": "25 threads that spin in a barrier of its own: not within its time on 2 cores",
    "topo/cartsuball": "expects MPI_COMM_NULL where MPI_Cart_sub has no dimension left, not one of none (section 8.5.7)",
    "topo/dims5": "expects 14 x 14 x 9 x 8 x 7 where 14 x 12 x 12 x 7 x 7 are as close to each other",
}

def mpich(directory: str, tests: str = "testlist", *settings: str) -> Test:
    name = "-".join([directory.replace("/", "-"), *settings])
    return Test(name, ["env", *settings, "sh", "-c", f"./runtests -srcdir={{source}}/test/mpi -tests={tests} -testdirs={directory} "
                       f"-tapfile={{results}}/{name}.tap; cat {{results}}/{name}.tap"],
                lambda text, _: tap(text, MPICH_KNOWN), 3600)


ALL = [
    Package(
        "hdf5",
        [["{source}/configure", "CC=mpicc", "CFLAGS=-O1 -w", "--enable-parallel", "--disable-shared", "--disable-hl",
          "--disable-fortran", "--disable-cxx", "--disable-java", "--with-default-api-version=v110"],
         ["make", "-j{cpus}", "-C", "src"],
         ["make", "-j{cpus}", "-C", "test", "libh5test.la"],
         ["make", "-j{cpus}", "-C", "testpar", *HDF5_TESTS, *HDF5_AGAIN]],
        [*(parallel(name, 1800 if name == "t_cache_image" else 900) for name in HDF5_TESTS),
         Test("-".join(HDF5_AGAIN), ["sh", "-c", " && ".join(" ".join(parallel(name).command) for name in HDF5_AGAIN)],
              by_code, 900)],
        tests_in="testpar"),
    Package(
        "pnetcdf",
        [["autoreconf", "-fi"],
         ["{source}/configure", "MPICC=mpicc", "CFLAGS=-O1 -w", "--disable-fortran", "--disable-cxx", "--disable-shared",
          "TESTMPIRUN=mpiexec -n NP", "TESTSEQRUN="],
         ["make", "-j{cpus}"],
         ["make", "-j{cpus}", "tests"]],
        [Test("check", ["make", "check"], automake, 1800),
         Test("ptest", ["make", "ptest"], said(r"^\*\*\* TESTING .*--- pass", r"^\*\*\* TESTING .*--- fail"), 1800)],
        needs=["autoconf", "automake", "libtool", "m4"]),
    Package(
        "mpi4py-fft",
        [["env", "MPICC=mpicc", "MPI4PY_BUILD_MPIABI=0", "CFLAGS=-O0 -g0", *PIP, "--no-binary", "mpi4py", "mpi4py"],
         ["env", "CC=mpicc", "CFLAGS=-O1 -g0", *PIP, "{source}"]],
        [Test(name, ["mpiexec", "--timeout", "{limit}", "-n", "{ranks}", "{build}/environment/bin/python", f"{name}.py"])
         for name in ("test_pencil", "test_darray", "test_mpifft")],  # the others only test FFTW
        tests_in="tests", tests_in_source=True, python=True, python_needs=["cython>=3.0", "numpy", "scipy"], needs=["libfftw3-dev"]),
    Package(
        "hypre",  # is built in its source directory
        [["cp", "-a", "{source}/src", "{build}"],
         ["sh", "-c", "cd src && ./configure CC=mpicc CXX=mpicxx CFLAGS='-O1 -w' CXXFLAGS='-O1 -w' --disable-fortran"],
         ["make", "-j{cpus}", "-C", "src"],
         ["make", "-j{cpus}", "-C", "src/test", "ij", "struct", "struct_migrate", "sstruct", "maxwell_unscaled", "ams_driver"]],
        [Test(name, ["sh", "-c", f"rm -f TEST_{name}/*.err*; ./runtest.sh -rtol 1e-3 -atol 1e-6 -mpi 'mpiexec --timeout 300 -n' "
                     f"TEST_{name}/*.sh; ./checktest.sh TEST_{name}"],
              said(r"^ +OK : ", r"^FAILED : "), 3600)
         for name in ("ij", "struct", "sstruct", "ams")],
        tests_in="src/test"),
    Package(
        "globalarrays",  # uses only windows: put, get, accumulate, fetch_and_op, locks
        [["cmake", "-S", "{source}/ga-master", "-DCMAKE_C_COMPILER=mpicc", "-DCMAKE_Fortran_COMPILER=mpifort", "-DCMAKE_BUILD_TYPE=Release",
          "-DGA_RUNTIME=MPI_RMA", "-DENABLE_FORTRAN=ON", "-DENABLE_I8=OFF",
          "-DENABLE_BLAS=OFF",
          "-DCMAKE_C_FLAGS=-w", "-DCMAKE_Fortran_FLAGS=-w -std=legacy -fallow-argument-mismatch",
          # Computing eigenvalues needs ScaLAPACK.
          "-DCMAKE_EXE_LINKER_FLAGS=-no-pie -Wl,--allow-multiple-definition,--defsym=gai_diag_seq_=0,--defsym=gai_diag_std_seq_=0"],
         ["make", "-j{cpus}"]],
        [parallel(f"{name}.x", 600) for name in GLOBAL_ARRAYS_TESTS],
        tests_in="global/testing", python=True, needs=["gfortran"]),
    Package(
        "mpich",  # only its test suite for the C interface
        [["{source}/test/mpi/configure", "CC=mpicc", "MPICC=mpicc", "MPIEXEC=mpiexec", "CFLAGS=-O1 -w",
          # Its datatype pools call functions that MPI 3 removed.
          "CPPFLAGS=-DMPI_Type_hvector=MPI_Type_create_hvector -DMPI_Type_hindexed=MPI_Type_create_hindexed",
          "--disable-cxx", "--disable-fortran", "--enable-strictmpi"],
         ["sed", "-i", "s/ strict=false//", "coll/testlist"],  # persistent collectives, now part of the standard
         # These tests expect errors if the arguments of members disagree; only the checker detects that.
         ["sh", "-c", "cd {source}/test/mpi/errors/coll; grep -Ev 'length|reduceop' testlist >{build}/errors/coll/testlist; "
          "grep -E '^(bcast|reduce|allreduce|gather|scatter|allgather)(length|op)' testlist >{build}/errors/coll/testlist.checked"]],
        [*[mpich(name) for name in ("attr", "coll", "comm", "datatype", "errhan", "group", "info", "init", "io", "mpi_t", "part",
                                    "pt2pt", "rma", "spawn", "topo", "threads", "errors")],
         mpich("threads", "testlist", "HEADRACE_CHANNELS=4"),
         mpich("errors/coll", "testlist.checked", "HEADRACE_CHECK=full")],
        settings={"MPITEST_CLEANUP": "0", "MPITEST_TIMEOUT": "300", "MPITEST_MPIEXECARG": "--usize 40"}),
]
