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

    @staticmethod
    def with_parts(parts: list[tuple[int, ...]], most: list[list[int]] | None = None, stride: int = 48) -> bytes:
        """A page of the words one, some[0], some[1], highest, and function, since and process of the present, followed by parts."""
        first = HEAD.size
        text = {"about": {"job": "job_1", "rank": 0, "size": 2}, "dimensions": {"kind": {"length": 2}},
                "counters": [{"name": "one", "at": first}, {"name": "some", "at": first + 8, "dimension": "kind", "stride": 8},
                             {"name": "highest", "kind": "high_water", "at": first + 24},
                             *({"name": name, "kind": "level", "at": first + 32 + 8 * i} for i, name in enumerate(("function", "since", "process")))]}
        text["parts"] = {"at": 4096, "stride": stride, "sum": [[0, first, 2, 8, 16]], "most": most or [[16, first + 24, 1, 8, 8]],
                         "now": [24, first + 32, 3, 8, 8]}
        made = page(values=(7, 3, 0, 5, 1, 50, 2), text=text).ljust(4096, b"\0")
        made += b"".join(struct.pack("=6Q", *part) for part in parts)
        return made[:16] + struct.pack("=Q", len(made)) + made[24:]

    def test_parts(self):
        now = self.look(self.with_parts([(1, 10, 4, 9, 0, 0), (2**64 - 2, 20, 8, 3, 40, 6), (0, 0, 0, 0, 0, 0)])).pages[0].read()
        self.assertEqual((now.value("one"), now.values("some"), now.value("highest")), (6, [3, 30], 8))
        self.assertEqual([now.value(name) for name in ("function", "since", "process")], [3, 40, 6])

    def test_parts_come(self):
        seen = self.look(self.with_parts([]) + bytes(48)).pages[0]  # the file has space for one part
        self.assertEqual((seen.read().value("one"), len(seen.raw())), (7, 4096))
        (self.path / NAME.format(0)).write_bytes(self.with_parts([(1, 0, 0, 0, 0, 0)]))
        self.assertEqual((seen.read().value("one"), len(seen.raw())), (8, 4096 + 48))

    def test_parts_damaged(self):
        self.assert_problem(self.with_parts([], most=[[48, HEAD.size, 1, 8, 8]]), "outside")
        self.assert_problem(self.with_parts([], most=[[0, HEAD.size, 1 << 30, 8, 8]]), "outside")
        self.assert_problem(self.with_parts([], most=[[0, HEAD.size, 0, 8, 8]]), "range")
        self.assert_problem(self.with_parts([], stride=44), "parts")

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
        self.assertFalse(self.look(page()).pages[0].alive())  # this process started at a different time

    def test_other_user(self):
        path = self.path / NAME.format(0)
        path.write_bytes(page())
        path.chmod(0)
        if os.getuid() == 0:  # root may read everything, and the message names the owner
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
