"""The reader of pages: its messages about unreadable pages and files."""

import json
import os
import struct
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "python"))
from headrace import counters  # noqa: E402
from headrace.counters.page import HEAD  # noqa: E402

NAME = "headrace.job_1.counters.{}"


def page(rank: int = 0, version: int = 1, magic: bytes = b"HRCOUNTS", values=(7, 3, 0, 5), text: dict | None = None) -> bytes:
    text_at = HEAD.size + 8 * len(values)
    description = text if text is not None else {
        "about": {"job": "job_1", "rank": rank, "size": 2, "pid": os.getpid(), "pid_started": 1},
        "dimensions": {"kind": {"length": 3, "labels": ["a", "b", "c"]}},
        "counters": [{"name": "one", "kind": "sum", "unit": "", "at": HEAD.size},
                     {"name": "some", "kind": "sum", "unit": "", "at": HEAD.size + 8, "dimension": "kind", "stride": 8},
                     {"name": "left", "kind": "sum", "unit": "", "at": HEAD.size + 8, "dimension": "kind", "stride": 8,
                      "rest": {"place": 1, "of": "total"}},
                     {"name": "total", "kind": "sum", "unit": "", "at": HEAD.size, "dimension": "kind", "stride": 8}]}
    written = json.dumps(description).encode()
    head = HEAD.pack(magic, version, 1, text_at + len(written), text_at, len(written), 10**9, 0)
    return head + struct.pack(f"={len(values)}Q", *values) + written


class Reader(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = Path(self.directory.name)

    def look(self, data: bytes, rank: int = 0) -> counters.Found:
        (self.path / NAME.format(rank)).write_bytes(data)
        return counters.look(job="job_1", where=[self.directory.name])

    def assert_problem(self, data: bytes, sentence: str):
        found = self.look(data)
        self.assertEqual(found.pages, [])
        self.assertEqual(len(found.problems), 1, found.problems)
        self.assertIn(sentence, found.problems[0])

    def test_values(self):
        now = self.look(page()).pages[0].read()
        self.assertEqual((now.value("one"), now.table("some"), now.state, now.begun, now.ended),
                         (7, {"a": 3, "c": 5}, "running", 1.0, None))
        self.assertEqual(now.values("left"), [3, 10 - 8, 5])

    def test_other_version(self):
        self.assert_problem(page(version=2), "version 2; this reader knows version 1")

    def test_not_whole(self):
        self.assert_problem(page(version=0, magic=bytes(8)), "not finished")

    def test_something_else(self):
        self.assert_problem(page(magic=b"SOMETHIN"), "no page of counters")
        self.assert_problem(b"short", "no page of counters")

    def test_damaged(self):
        self.assert_problem(page()[:-10], "damaged")
        self.assert_problem(page(text={"about": {}}), "damaged")
        broken = json.loads(page()[HEAD.size + 32:])
        broken["counters"][0]["at"] = 1 << 40
        self.assert_problem(page(text=broken), "outside")

    def test_dead_process(self):
        self.assertFalse(self.look(page()).pages[0].alive())  # this process began at another time

    def test_other_user(self):
        path = self.path / NAME.format(0)
        path.write_bytes(page())
        path.chmod(0)
        if os.getuid() == 0:  # root may read everything, and is told the owner
            os.chown(path, 54_321, -1)
            self.assertEqual(counters.look(job="job_1", where=[self.directory.name], everyone=False).pages, [])
            found = counters.look(job="job_1", where=[self.directory.name], everyone=True)
            self.assertEqual([page.job_of_owner for page in found.pages], ["job_1@54321"])
            self.assertEqual(list(found.jobs()), ["job_1@54321"])
            return
        self.assertIn("Permission denied", counters.look(job="job_1", where=[self.directory.name]).problems[0])

    def test_known_pages_are_kept(self):
        self.look(page(0))
        first = self.look(page(1), 1)
        self.assertEqual([each.rank for each in first.pages], [0, 1])
        self.assertEqual(list(first.jobs()), ["job_1"])

    def test_saved(self):
        found = self.look(page())
        file = self.path / "run.hrc"
        counters.save(file, found.pages)
        self.assertEqual(counters.load(file)[0].read().value("one"), 7)
        whole = file.read_bytes()
        file.write_bytes(whole[:-1])
        self.assertRaisesRegex(counters.Problem, "cut off", counters.load, file)
        file.write_bytes(b"x")
        self.assertRaisesRegex(counters.Problem, "not a file of counters", counters.load, file)
        self.assertEqual([each.name for each in self.path.iterdir() if each.suffix != ".hrc"], [NAME.format(0)])

    def test_no_directory(self):
        self.assertEqual(counters.look(job="job_1", where=["/nowhere"]).pages, [])


if __name__ == "__main__":
    unittest.main()
