"""include/mpi.h declares every function of the standard, with the standard's prototypes, and nothing else."""

import unittest

import forum
from support import ABSENT, header_function_types, header_prototypes, standard


class Prototypes(unittest.TestCase):
    def test_every_function_has_a_profiling_name(self):
        prototypes = header_prototypes()
        plain = {name: signature for name, signature in prototypes.items() if name.startswith("MPI_")}
        self.assertGreater(len(plain), 600)
        for name, signature in plain.items():
            self.assertEqual(prototypes.get("P" + name), signature, name)
        self.assertEqual(len(prototypes), 2 * len(plain))

    def compare(self, ours, theirs):
        self.assertEqual(sorted(ours.keys() - theirs.keys()), [], "not in the standard")
        self.assertEqual(sorted(theirs.keys() - ours.keys()), [], "missing")
        for name, signature in theirs.items():
            with self.subTest(name=name):
                self.assertEqual(ours[name], signature)

    def test_against_the_forum(self):
        table = standard("mpi-5.0-apis.json")
        if table is None:
            self.skipTest(ABSENT)
        ours = {name: signature for name, signature in header_prototypes().items() if name.startswith("MPI_")}
        self.compare(ours, forum.signatures(table, callbacks=False))

    def test_callbacks_against_the_forum(self):
        table = standard("mpi-5.0-apis.json")
        if table is None:
            self.skipTest(ABSENT)
        self.compare(header_function_types(), forum.signatures(table, callbacks=True))


if __name__ == "__main__":
    unittest.main()
