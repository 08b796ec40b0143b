"""The verdict on the cost of a monitor: intervals that contain the true median as often as they say."""

import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import monitor_overhead as subject  # noqa: E402


class Verdict(unittest.TestCase):
    def test_intervals(self):
        self.assertEqual([subject.interval([float(value) for value in range(count)]) for count in (1, 5, 6, 10, 20)], [(0, 0, 0), (2, 0, 4), (2.5, 0, 5), (4.5, 1, 8), (9.5, 5, 14)])
        chance = random.Random(3)
        for count in (6, 9, 20, 41):
            hits = sum(low <= 0 <= high for _, low, high in (subject.interval([chance.expovariate(1) - 0.6931 for _ in range(count)]) for _ in range(1000)))
            self.assertGreater(hits, 930, count)

    def test_losses(self):
        self.assertAlmostEqual(subject.loss(99.0, 100.0, True), 1 / 99)
        self.assertAlmostEqual(subject.loss(1.01, 1.0, False), 0.01)

    def test_what_is_said(self):
        said = lambda low, high, rounds=20: subject.verdict(low, high, 0.01, rounds)  # noqa: E731
        self.assertEqual([said(-0.02, 0.01), said(-0.02, 0.011), said(0.011, 0.02), said(0.02, 0.03, 5)], ["met", "undecided", "missed", "undecided"])


if __name__ == "__main__":
    unittest.main()
