"""The parts of the benchmarks' runner that judge: limits between sizes, goals, and programs that fail or hang."""

import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from headrace.bench import child  # noqa: E402 (the path comes first)
from headrace.bench.figure import Figure, Table  # noqa: E402
from headrace.bench.limits import Limits  # noqa: E402


def report(*rows):
    return {"rows": [{"label": label, "bytes": bytes_, "median": median} for label, bytes_, median in rows]}


class LimitsTest(unittest.TestCase):
    def setUp(self):
        self.limits = Limits()
        self.limits.add(report(("copy", 8, 4.0), ("copy", 800, 40.0), ("launch", 0, 3.0)))

    def test_a_measured_size_is_as_measured(self):
        self.assertEqual(self.limits.microseconds("copy", 8), 4.0)
        self.assertEqual(self.limits.microseconds("launch"), 3.0)

    def test_between_sizes_on_the_line(self):
        self.assertAlmostEqual(self.limits.microseconds("copy", 80), (4.0 * 40.0) ** 0.5)

    def test_beyond_the_sizes(self):
        self.assertEqual(self.limits.microseconds("copy", 1), 4.0)
        self.assertEqual(self.limits.microseconds("copy", 8000), 400.0)

    def test_the_median_of_the_runs(self):
        for median in (6.0, 100.0):
            self.limits.add(report(("copy", 8, median)))
        self.assertEqual(self.limits.microseconds("copy", 8), 6.0)

    def test_what_was_not_measured(self):
        self.assertIsNone(self.limits.microseconds("bcast", 8))
        self.assertFalse(Limits())


class FigureTest(unittest.TestCase):
    def test_less_is_better(self):
        figure = Figure("s", "w", "us", [1.0, 12.0, 11.0], limit=10.0, goal=1.1)
        self.assertAlmostEqual(figure.ratio, 1.1)
        self.assertTrue(figure.reached)
        figure.goal = 1.0
        self.assertFalse(figure.reached)

    def test_more_is_better(self):
        figure = Figure("s", "w", "GB/s", [97.0], limit=100.0, goal=0.98, more_is_better=True)
        self.assertFalse(figure.reached)
        figure.goal = 0.97
        self.assertTrue(figure.reached)

    def test_both_bounds_count(self):
        self.assertFalse(Figure("s", "w", "us", [26.0], limit=26.0, goal=1.3, below=25).reached)

    def test_without_a_limit_nothing_is_claimed(self):
        self.assertIsNone(Figure("s", "w", "us", [1.0], goal=1.3).reached)

    def test_the_table_says_what_failed(self):
        text = Table([Figure("s", "w", "us", [1.0])], {"faces": "no result in 90 s"}).markdown()
        self.assertIn("`faces` is not complete: no result in 90 s", text)


class ChildTest(unittest.TestCase):
    def test_a_hanging_program_is_ended_with_its_children(self):
        start = time.monotonic()
        with self.assertRaisesRegex(child.Failed, "no result in 1 s"):
            child.run(["sh", "-c", "sleep 60 & sleep 60"], 1)
        self.assertLess(time.monotonic() - start, 20)

    def test_a_failing_program_is_quoted(self):
        with self.assertRaisesRegex(child.Failed, "exit code 3: error: no device"):
            child.run(["sh", "-c", "echo hello; echo error: no device >&2; exit 3"], 5)

    def test_a_program_that_is_not_there(self):
        with self.assertRaisesRegex(child.Failed, "cannot be started"):
            child.run(["/nonexistent/program"], 5)

    def test_no_result(self):
        with self.assertRaisesRegex(child.Failed, "left no result"):
            child.run_json(["true"], 5)


if __name__ == "__main__":
    unittest.main()
