"""Measurements stored by a run of `headrace tune`, and its estimate of the remaining time."""

import json
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from headrace.bench.child import Failed
from headrace.bench.progress import Progress
from headrace.tune.choose import DEFAULT, Group
from headrace.tune.collectives import Collectives, Plan
from headrace.tune.journal import Journal
from headrace.tune.work import Work

HEAD = {"version": "1", "machine": {"cpus": 2}}
GROUPS = [Group(operation, 2, False, "host") for operation in ("bcast", "barrier", "scan")]
SECONDS = {"bcast": 1.0, "barrier": 0.2, "scan": 3.0}


class JournalTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "sub", "tuning.part")

    def test_what_was_measured_is_not_measured_again(self):
        journal = Journal(self.path, HEAD)
        self.assertEqual(Work(journal).do("a", "key", lambda: [[8, 1.5]]), [[8, 1.5]])
        journal.close(remove=False)
        work = Work(Journal(self.path, HEAD))
        self.assertEqual(work.do("a", "key", self.fail), [[8, 1.5]])
        self.assertEqual(work.do("a", "other", lambda: 2.0), 2.0)
        work.journal.close(remove=True)
        self.assertFalse(self.path.exists())

    def test_of_another_machine_or_version_or_damaged(self):
        def found(text, head=HEAD):
            self.path.parent.mkdir(exist_ok=True)
            self.path.write_text(text)
            journal = Journal(self.path, head)
            journal.close(remove=True)
            return journal.found
        good = json.dumps({"head": HEAD}) + '\n{"key": "a", "value": 1}\n'
        self.assertEqual(found(good), {"a": 1})
        self.assertEqual(found(good, {**HEAD, "version": "2"}), {})
        for text, kept in ((good + '{"key": "b", "va', {"a": 1}), (good + "7\n[]\n{}\n", {"a": 1}), ("", {}), ("no JSON\n" + good, {})):
            self.assertEqual(found(text), kept)

    def test_afresh_and_one_at_a_time(self):
        journal = Journal(self.path, HEAD)
        journal.put("a", 1)
        with self.assertRaises(Failed):
            Journal(self.path, HEAD)
        journal.close(remove=False)
        journal = Journal(self.path, HEAD, afresh=True)
        self.assertEqual(journal.found, {})
        journal.close(remove=False)
        self.assertFalse(self.path.exists())  # the journal is empty

    def test_a_failure_is_tried_again(self):
        def fail():
            raise Failed("no")
        journal = Journal(self.path, HEAD)
        with self.assertRaises(Failed):
            Work(journal).do("a", "key", fail)
        self.assertEqual(journal.found, {})
        journal.close(remove=True)


class TimeLeft(unittest.TestCase):
    def run_one(self, faster):
        """A run whose measurements take the times in SECONDS; the estimates, and the times that actually remained."""
        now, said = [0.0], []

        def time_of(group, name):
            said.append((now[0], work.progress.seconds_left()))
            now[0] += SECONDS[group.operation]
            return {8: 0.5 if name == "ring" and group.operation in faster else 1.0}
        run = Collectives({group: [DEFAULT, "linear", "ring", "tree"] for group in GROUPS}, Plan([8], 5, ()), time_of)
        work = Work(Journal(None, {}), Progress(run.steps(), clock=lambda: now[0]))
        work.progress.later = run.likely()
        run.measure(work)
        self.assertEqual((sum(work.progress.left.values()), work.progress.later), (0, Counter()))
        return [(at, left, now[0] - at) for at, left in said]

    def test_it_is_true_from_the_first_round_on(self):
        for faster in ((), ("scan",), ("bcast", "barrier", "scan")):
            with self.subTest(faster=faster):
                points = self.run_one(faster)
                for at, left, really in points[12:]:  # after a round: the changes are known
                    self.assertAlmostEqual(left, really, delta=0.05 * points[0][2] + 0.01, msg=f"at {at} s")


if __name__ == "__main__":
    unittest.main()
