"""References to the standard: each section that a manual page or a source names exists, and the directions of
parameters in the pages are those of the Forum's tables."""

import re
import unittest

from sections import exists
from support import ABSENT, API, ROOT, standard
from gen import man, model

TABLES = model.read(API)
MANUAL = man.Manual(TABLES, API, "0")
# C passes argc by value.
NOT_COMPARED = {("MPI_Info_create_env", "argc"), ("MPI_Info_create_env", "argv")}
SOURCES = ("src", "include", "api", "launcher", "kernels", "tests", "docs")
REFERENCE = re.compile(r"\b(?:[Ss]ections?|[Cc]hapters?) ((?:\d+(?:\.\d+)*(?:,? and |, )?)+)")


class Sections(unittest.TestCase):
    def test_of_manual_pages(self):
        for function in TABLES.functions:
            number, _ = MANUAL.place(function)
            self.assertTrue(exists(number), f"{function.name}: section {number}")

    def test_some_by_the_standards_index(self):
        for name, number in {"MPI_Sendrecv": "3.2.7", "MPI_Isendrecv": "3.7.2", "MPI_Status_set_tag": "13.3", "MPI_Status_get_tag": "3.2.5",
                             "MPI_Parrived": "4.2.2", "MPI_Get_hw_resource_info": "9.1.2", "MPI_Abort": "11.4.2", "MPI_Pcontrol": "15.2.7",
                             "MPI_Info_get": "16.3", "MPI_Type_size_x": "16.4", "MPI_Comm_c2f": "19.3.4", "MPI_Status_f082f": "19.3.5",
                             "MPI_Comm_toint": "20.4.5", "MPI_Ibcast": "6.12.2", "MPI_Neighbor_alltoallw_init": "8.8.2"}.items():
            self.assertEqual(MANUAL.place(next(f for f in TABLES.functions if f.name == name))[0], number, name)

    def test_in_sources(self):
        """In references to other documents, a letter or a word precedes the number; those found here are to MPI."""
        seen = 0
        for folder in SOURCES:
            for path in (ROOT / folder).rglob("*"):
                if path.suffix not in (".cpp", ".hpp", ".h", ".c", ".cu", ".py", ".yaml", ".md", ".F90", ".f90") or "adr" in path.parts:
                    continue
                for line_number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                    for match in REFERENCE.finditer(line):
                        for number in re.findall(r"\d+(?:\.\d+)*", match[1]):
                            seen += 1
                            self.assertTrue(exists(number), f"{path.relative_to(ROOT)}:{line_number}: section {number}")
        self.assertGreater(seen, 150)


class Directions(unittest.TestCase):
    def test_against_the_forum(self):
        table = standard("mpi-5.0-apis.json")
        if table is None:
            self.skipTest(ABSENT)
        theirs = {(entry["name"], p["name"]): p["lis_direction"] or p["param_direction"] for entry in table.values() for p in entry["parameters"]}
        compared = 0
        for function in TABLES.functions:
            for parameter in function.parameters:
                names = function.name, parameter.name
                if parameter.kind.role == "varargs" or names in NOT_COMPARED:
                    continue
                compared += 1
                self.assertEqual(MANUAL.direction(function, parameter), theirs[names], names)
        self.assertGreater(compared, 2000)


if __name__ == "__main__":
    unittest.main()
