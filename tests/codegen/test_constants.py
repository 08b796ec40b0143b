"""include/mpi.h compiles as C and C++ without a warning, and every constant has its value in the standard ABI."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import ABSENT, API, ROOT, standard

WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{ROOT / 'include'}"]
HEADERS = ("mpi.h", "mpi-ext.h", "mpix.h")


def compile_and_run(source, compiler, flags):
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "program.c"
        path.write_text(source)
        program = Path(directory) / "program"
        subprocess.run([compiler, *flags, *WARNINGS, path, "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def printed_values(names):
    """name -> value, as seen by a C program."""
    lines = "".join(f'  printf("%s %lld\\n", "{name}", (long long)(intptr_t)({name}));\n' for name in names)
    source = f'#include <stdint.h>\n#include <stdio.h>\n#include "mpi.h"\nint main(void) {{\n{lines}  return 0;\n}}\n'
    output = compile_and_run(source, os.environ.get("HR_CC", "cc"), ["-std=c99"])
    return {name: int(value) for name, value in (line.split() for line in output.splitlines())}


def table_values():
    """name -> value in Headrace's table, for constants of C."""
    from gen import header, model
    return {name: value for _, name, value, _ in header.constants_of(model.load(API / "constants.yaml"))}


class Constants(unittest.TestCase):
    def test_values_are_those_of_our_table(self):
        expected = table_values()
        self.assertEqual(printed_values(expected), expected)

    def test_values_are_those_of_the_forum(self):
        table = standard("mpi-5.0-abi.json")
        if table is None:
            self.skipTest(ABSENT)
        expected = {}
        for entry in table["constants"].values():
            in_c = (entry["handle_types"] or {}).get("c", {}).get("type") is not None
            if in_c and isinstance(entry["abi_value"], int):
                expected[entry["name"]] = entry["abi_value"]
        self.assertGreater(len(expected), 350)
        self.assertEqual(sorted(expected.keys() - table_values().keys()), [], "missing")
        self.assertEqual(printed_values(expected), expected)

    def test_layout_of_status_and_integers(self):
        checks = ("sizeof(MPI_Status) == 32", "offsetof(MPI_Status, MPI_SOURCE) == 0",
                  "offsetof(MPI_Status, MPI_TAG) == 4", "offsetof(MPI_Status, MPI_ERROR) == 8",
                  "offsetof(MPI_Status, MPI_internal) == 12", "sizeof(MPI_Aint) == sizeof(void*)",
                  "sizeof(MPI_Count) == 8", "sizeof(MPI_Offset) == 8", "sizeof(MPI_Comm) == sizeof(void*)",
                  "sizeof(MPI_F08_status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint)")
        asserts = "".join(f'_Static_assert({check}, "{check}");\n' for check in checks)
        source = f'#include <stddef.h>\n#include "mpi.h"\n{asserts}int main(void) {{ return 0; }}\n'
        compile_and_run(source, os.environ.get("HR_CC", "cc"), ["-std=c11"])

    def test_headers_stand_alone_in_c_and_cxx(self):
        for header in HEADERS:
            # Integer constants may be used in #if and case, as the standard promises.
            source = (f'#include "{header}"\n#if MPI_VERSION != 5 || MPI_ANY_SOURCE != -1\n#error\n#endif\n'
                      "int main(int argc, char** argv) { (void)argv; switch (argc) { case MPI_ERR_OTHER: return 1;"
                      " default: return 0; } }\n")
            compile_and_run(source, os.environ.get("HR_CC", "cc"), ["-std=c99"])
            compile_and_run(source, os.environ.get("HR_CXX", "c++"), ["-x", "c++", "-std=c++11"])


if __name__ == "__main__":
    unittest.main()
