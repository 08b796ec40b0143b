"""The faults still fit the sources."""

import unittest
from pathlib import Path

from faults import ALL

ROOT = Path(__file__).resolve().parents[2]


class Faults(unittest.TestCase):
    def test_each_text_occurs_once(self):
        for number, fault in enumerate(ALL, 1):
            with self.subTest(f"{number}: {fault.name}"):
                self.assertEqual((ROOT / fault.file).read_text().count(fault.right), 1, fault.file)
                self.assertNotEqual(fault.right, fault.wrong)


if __name__ == "__main__":
    unittest.main()
