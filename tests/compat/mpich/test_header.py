"""libmpi.so.12 against MPICH's own mpi.h and library: every name exists, every constant in api/mpich.yaml is right."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

ENVIRONMENT = Path(os.environ["HR_MPICH"])
LIBRARY = os.environ["HR_LIBRARY"]
API = Path(__file__).resolve().parents[3] / "api"
sys.path.insert(0, str(API))

from gen import model  # noqa: E402

HEADERS = {"MPICH": ENVIRONMENT / "include", "Intel MPI": ENVIRONMENT / "intel"}
# Names that the standard defines but that have no value in MPICH; and values that a version may choose.
CHOSEN = {"MPI_BSEND_OVERHEAD"}


def symbols(library):
    output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in output.splitlines()}


def declared(directory):
    """Names of functions in the header and in those it includes."""
    text = "".join(path.read_text(encoding="utf-8", errors="replace") for path in directory.glob("mpi*.h"))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return set(re.findall(r"\b(P?MPI_(?:T_)?[A-Z]\w*[a-z]\w*)\s*\(", text))


def values_in(directory, names):
    """name -> value, for the names that the header defines."""
    lines = ["#include <mpi.h>", "#include <stdio.h>", "int main(void) {"]
    lines += [f'#line {1000 + i} "probe"\nprintf("{name} %lld\\n", (long long)(long){name});'
              for i, name in enumerate(names)]
    with tempfile.TemporaryDirectory() as scratch:
        source, program = Path(scratch) / "probe.c", Path(scratch) / "probe"
        while True:
            source.write_text("\n".join([*lines, "return 0; }"]))
            done = subprocess.run(["cc", "-w", "-fmax-errors=0", f"-I{directory}", source, "-o", program, LIBRARY,
                                   f"-Wl,-rpath,{os.path.dirname(LIBRARY)}"], capture_output=True, text=True)
            unknown = {int(line) for line in re.findall(r"^probe:(\d+):\d+: error", done.stderr, re.M)}
            if done.returncode == 0:
                break
            if not unknown:
                raise AssertionError(done.stderr[-2000:])
            lines = [line for line in lines if not any(line.startswith(f"#line {number} ") for number in unknown)]
        output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {name: int(value) for name, value in (line.split() for line in output.splitlines())}


class Header(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tables = model.read(API)
        cls.values = yaml.safe_load((API / "mpich.yaml").read_text())["values"]

    def test_every_function_of_the_headers_is_exported(self):
        exported = symbols(LIBRARY)
        functions = {function.form(large) for function in self.tables.functions for large in
                     ((False, True) if function.has_large else (False,))}
        self.assertEqual(set(), {name for name in functions if not {name, "P" + name} <= exported})
        for owner, directory in HEADERS.items():
            with self.subTest(owner):
                wanted = {name for name in declared(directory) if not re.search(r"_fn$|_function(_c)?$", name)}
                self.assertGreater(len(wanted), 800)
                missing = {name for name in wanted - exported if name.removeprefix("P") not in NOT_FUNCTIONS}
                self.assertEqual(set(), missing)

    def test_variables_of_the_header_are_exported(self):
        text = (ENVIRONMENT / "include/mpi.h").read_text()
        variables = set(re.findall(r"^extern [^;(]*?\b(MPI_\w+) MPICH_API_PUBLIC;", text, re.M))
        self.assertGreaterEqual(variables, {"MPI_UNWEIGHTED", "MPI_F_STATUS_IGNORE"})
        self.assertEqual(set(), variables - symbols(LIBRARY))

    def test_every_symbol_of_mpichs_library_that_the_standard_has(self):
        theirs = symbols(ENVIRONMENT / "lib/libmpi.so.12")
        names = {name for name in theirs if re.match(r"P?MPI_[A-Z]", name)}
        self.assertGreater(len(names), 1200)
        self.assertEqual(set(), names - symbols(LIBRARY))

    def test_values(self):
        for owner, directory in HEADERS.items():
            found = values_in(directory, list(self.values))
            self.assertGreater(len(found), 330)
            for name, value in found.items():
                # MPICH 4.3 lacks some optional types, whose names are MPI_DATATYPE_NULL there.
                if name in CHOSEN or value == self.values["MPI_DATATYPE_NULL"]:
                    continue
                with self.subTest(owner, name=name):
                    self.assertEqual(value & 0xffffffff, self.values[name] & 0xffffffff)

    def test_overheads_that_headers_promise(self):
        room = re.search(r"kOverhead = (\d+);", (API.parent / "src/p2p/message/buffered.cpp").read_text())
        for owner, directory in HEADERS.items():
            with self.subTest(owner):
                self.assertLessEqual(int(room[1]), values_in(directory, ["MPI_BSEND_OVERHEAD"])["MPI_BSEND_OVERHEAD"])

    def test_names_and_run_path(self):
        for name in ("libmpi.so.12", "libmpich.so.12", "libmpifort.so.12", "libmpicxx.so.12", "libmpichfort.so.12",
                     "libmpichcxx.so.12"):
            path = Path(LIBRARY).parent / name
            output = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
            self.assertIn(f"soname: [{name}]", output)
            self.assertIn("runpath: [$ORIGIN]", output)
        # No program links to this library by accident.
        for name in ("libmpi.so", "libmpich.so", "libmpifort.so", "libmpicxx.so"):
            self.assertFalse((Path(LIBRARY).parent / name).exists(), name)

    def test_it_does_not_bring_the_standard_names_with_it(self):
        # mpi4py looks for MPI_Abi_get_version in a library that it has opened, and in the libraries that this one
        # needs.
        output = subprocess.run(["readelf", "-d", LIBRARY], check=True, capture_output=True, text=True).stdout
        self.assertNotIn("libmpi_abi", output)


# Types in casts, which the pattern above takes for functions.
NOT_FUNCTIONS = {"MPI_Aint", "MPI_Fint", "MPI_Count", "MPI_Offset", "MPI_Comm", "MPI_Datatype", "MPI_Errhandler", "MPI_File",
                 "MPI_Group", "MPI_Info", "MPI_Message", "MPI_Op", "MPI_Request", "MPI_Session", "MPI_Win"}

if __name__ == "__main__":
    unittest.main()
