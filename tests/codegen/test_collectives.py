"""One entry of api/functions/ is a whole collective operation: its three functions, in both widths, and their bodies."""

import dataclasses
import re
import tempfile
import unittest
from pathlib import Path

from support import API

ENTRY = "buffer sendbuf in_place, out buffer recvbuf root_only, const count counts[peers], root root, comm comm; collective"


class Collectives(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from gen import collective, model
        tables = model.read(API)
        cls.tables = tables
        cls.added = [model.with_overlay(function, tables.overlay)
                     for function in model.parse_entry("MPI_New_one", ENTRY, "collective", tables.kinds)]
        with tempfile.TemporaryDirectory() as directory:
            collective.write(dataclasses.replace(tables, functions=tables.functions + cls.added), Path(directory))
            cls.bodies = (Path(directory) / "collectives.cpp").read_text()

    def test_an_entry_is_three_functions(self):
        arguments = "const void *sendbuf, void *recvbuf, const int counts[], int root, MPI_Comm comm"
        self.assertEqual([function.prototype(large=False) for function in self.added],
                         [f"int MPI_New_one({arguments})",
                          f"int MPI_Inew_one({arguments}, MPI_Request *request)",
                          f"int MPI_New_one_init({arguments}, MPI_Info info, MPI_Request *request)"])
        self.assertEqual({function.has_large for function in self.added}, {True})

    def test_the_forms_check_the_same_arguments(self):
        from gen import entries
        checks = [re.findall(r"return (report_\w+)\(kCall, \w+, \"(\w+)\"", entries.entries_of(function, None, 1))
                  for function in self.added]
        own = [("report_handle", "info"), ("report_null", "request")]
        self.assertIn(("report_rank", "root"), checks[0])
        for form in checks[1:]:
            self.assertEqual([check for check in form if check not in own], checks[0])

    def test_a_body_describes_the_call_and_carries_it_out(self):
        for name, expected in (("new_one", "run(call)"), ("inew_one", "start(call, &request)"),
                                  ("new_one_init", "init(call, &request)")):
            with self.subTest(name=name):
                self.assertRegex(self.bodies, rf"Status {name}\([^\n]*\) {{\n  coll::Call call;\n"
                                 r"  HR_TRY\(coll::new_one\(call, sendbuf, recvbuf, counts, root, comm\)\);\n"
                                 rf"  return coll::{re.escape(expected)};\n}}\n")

    def test_every_operation_of_the_standard_is_here_once(self):
        from gen import model
        names = [function.name for function in self.tables.functions]
        self.assertEqual(len(names), len(set(names)))
        operations = {function.operation for function in self.tables.functions} - {""}
        self.assertEqual(len(operations), 22)
        listed = [name for chapter in ("collective", "topology")
                  for name in model.load(API / f"functions/{chapter}.yaml")]
        derived = {function.name for function in self.tables.functions if function.operation} - operations
        self.assertEqual(len(derived), 44)
        self.assertEqual(derived.intersection(listed), set(), "written by hand beside the entry they come from")

    def test_what_is_not_implemented_has_no_body(self):
        from gen import collective
        missing = [dataclasses.replace(function, implemented=False) for function in self.added]
        with tempfile.TemporaryDirectory() as directory:
            collective.write(dataclasses.replace(self.tables, functions=self.tables.functions + missing), Path(directory))
            self.assertNotIn("new_one", (Path(directory) / "collectives.cpp").read_text())


if __name__ == "__main__":
    unittest.main()
