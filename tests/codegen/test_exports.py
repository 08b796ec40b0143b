"""libmpi_abi.so.1 exports every function of the standard under both names, and only MPI names, except for what
libmpi.so.12 needs."""

import os
import re
import subprocess
import unittest
from pathlib import Path

from support import ROOT, header_prototypes

LIBRARY = os.environ.get("HR_LIBRARY", "")
FOR_MPICH = {"hr_enqueue_statuses"}  # src/mpich/stream.cpp


def exported():
    """name -> nm's letter: T strong, W weak."""
    output = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True).stdout
    return {name: letter for _, letter, name in (line.split() for line in output.splitlines())}


class Totals(unittest.TestCase):
    """docs/conformance.md counts each function of the standard once, without its _c form."""

    def test_they_add_up_to_the_functions_of_the_header(self):
        table = re.findall(r"^\| (.+?) \| (\d+) \| (\d+) \| (\d+) \|$", (ROOT / "docs/conformance.md").read_text(), re.M)
        rows = {title: [int(number) for number in numbers] for title, *numbers in table}
        # Tables of other projects' tests come first, and have more columns.
        total = rows.pop("**all**")
        self.assertEqual([sum(column) for column in zip(*rows.values())], total)
        self.assertEqual(total[1] + total[2], total[0])
        plain = {name for name in header_prototypes() if name.startswith("MPI_") and not name.endswith("_c")}
        self.assertEqual(total[0], len(plain))


@unittest.skipUnless(LIBRARY, "HR_LIBRARY names no library")
class Exports(unittest.TestCase):
    def test_exactly_the_functions_of_the_headers(self):
        extensions = set(re.findall(r"\b(MPIX_\w+)\(", (ROOT / "include/mpi-ext.h").read_text()))
        self.assertEqual(set(exported()), set(header_prototypes()) | extensions | FOR_MPICH)

    def test_profiling_names_are_strong_and_the_others_weak(self):
        for name, letter in exported().items():
            if not name.startswith("MPIX_") and name not in FOR_MPICH:
                self.assertEqual(letter, "T" if name.startswith("PMPI_") else "W", name)

    def test_soname(self):
        output = subprocess.run(["readelf", "-d", LIBRARY], check=True, capture_output=True, text=True).stdout
        self.assertIn("soname: [libmpi_abi.so.1]", output)

    def test_needs_no_cuda(self):
        output = subprocess.run(["readelf", "-d", LIBRARY], check=True, capture_output=True, text=True).stdout
        self.assertNotIn("cuda", output)

    def test_thread_local_memory_is_small(self):
        """Python opens both libraries at run time. With glibc 2.31 and older, all libraries opened in this way share
        1,664 bytes."""
        taken = {}
        for library in (Path(LIBRARY), Path(LIBRARY).with_name("libmpi.so.12")):
            output = subprocess.run(["readelf", "-lW", library], check=True, capture_output=True, text=True).stdout
            taken[library.name] = sum(int(line.split()[5], 16) for line in output.splitlines() if line.split()[:1] == ["TLS"])
        self.assertLessEqual(sum(taken.values()), 1024, taken)


if __name__ == "__main__":
    unittest.main()
