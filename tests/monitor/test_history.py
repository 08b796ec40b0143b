"""The history: sums that stay exact, thinning, bounds, and behaviour with a damaged file, a full disk and a second writer."""

import sqlite3
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import support
from headrace.monitor import query
from headrace.monitor.history import Busy, History, Unreadable, connect
from headrace.monitor.model import GAUGES, KINDS, SUMS, Brief, clean
from headrace.monitor.query import Range
from headrace.monitor.recorded import record
from headrace.monitor.save import save
from headrace.monitor.synthetic import Job, Synthetic, grid, neighbours
from headrace.monitor.thin import Limits

SUM_NAMES = Brief._fields[:SUMS]


class Sums(support.Scratch):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory(prefix="hr-monitor-")
        cls.addClassCleanup(made.cleanup)
        cls.path = Path(made.name) / "run.sqlite"
        cls.job = Job(ranks=12, seconds=400, slow=5)
        record(cls.path, cls.job, 400)
        cls.db = connect(cls.path)
        cls.addClassCleanup(cls.db.close)
        source = Synthetic(cls.job)
        source.time = cls.job.began + 400
        cls.truth = source.sweep(True).readings

    def test_ranks_are_those_of_the_source(self):
        rows = query.ranks(self.db, Range(1))
        self.assertEqual(len(rows), 12)
        for row, truth in zip(rows, self.truth):
            self.assertEqual(tuple(row[name] for name in Brief._fields), tuple(truth.brief))

    def test_samples_and_changes_add_up_to_the_totals(self):
        sums = self.db.execute(f"SELECT {', '.join(f'sum({name})' for name in SUM_NAMES)} FROM samples").fetchone()
        self.assertEqual(sums, tuple(sum(truth.brief[place] for truth in self.truth) for place in range(SUMS)))
        changes = self.db.execute("SELECT kind, rank, key, sum(count), sum(bytes), sum(ns) FROM changes GROUP BY 1, 2, 3").fetchall()
        totals = self.db.execute(f"SELECT kind, rank, key, count, bytes, ns FROM totals WHERE kind NOT IN ({', '.join('?' * len(GAUGES))}) AND (count OR bytes OR ns)", [KINDS[kind] for kind in GAUGES]).fetchall()
        self.assertEqual(sorted(changes), sorted(totals))

    def test_counters_are_those_of_the_source(self):
        for kind in KINDS:
            if kind == "queue":
                continue
            expected = {}
            for truth in self.truth:
                for key, count in truth.details.get(kind, {}).items():
                    expected[key] = [old + new for old, new in zip(expected.get(key, (0, 0, 0)), count)]
            found = {str(key): figures for key, *figures in query.counters(self.db, Range(1), kind)}
            self.assertEqual(found, expected, kind)

    def test_two_halves_make_the_whole(self):
        middle = self.job.began + 240
        for kind in ("call", "sent_to", "protocol"):
            sums = {}
            for part in (Range(1, None, middle), Range(1, middle, None)):
                for key, *figures in query.counters(self.db, part, kind):
                    sums[key] = [old + new for old, new in zip(sums.get(key, (0, 0, 0)), figures)]
            self.assertEqual(sums, {key: figures for key, *figures in query.counters(self.db, Range(1), kind)})

    def test_ranks_can_be_chosen(self):
        part = Range(1, ranks=query.ranks_of("3-4, 9"))
        self.assertEqual([row["rank"] for row in query.ranks(self.db, part)], [3, 4, 9])
        self.assertEqual({row[0] for row in query.counters(self.db, part, "sent_to", by_rank=True)}, {3, 4, 9})
        for wrong in ("x", "4-2", "-1", "1-99999999999"):
            with self.assertRaises(query.Wrong):
                query.ranks_of(wrong)

    def test_the_timeline_names_the_slowest_rank(self):
        line = query.timeline(self.db, Range(1))
        self.assertEqual({len(values) for values in line.values()}, {len(line["time"])})
        self.assertEqual(set(line["slowest"]), {5})
        self.assertTrue(all(least <= mean <= most for least, mean, most in zip(line["least"], line["mean"], line["most"])))
        self.assertNotIn(5, query.timeline(self.db, Range(1, ranks=query.ranks_of("0-4,6-11")))["slowest"])

    def test_marks_of_all_ranks_are_put_together(self):
        marks = query.marks(self.db, Range(1))
        self.assertEqual([(mark["number"], mark["level"], mark["ranks"]) for mark in marks], [(number, 2 + number % 2, 12) for number in range(20)])
        truth = self.truth[0].marks
        self.assertEqual([mark["first"] for mark in marks], [mark.time for mark in truth])
        self.assertTrue(all(0 < mark["last"] - mark["first"] < 0.01 for mark in marks))
        part = query.marks(self.db, Range(1, self.job.began + 100, self.job.began + 200, frozenset({1, 2})))
        self.assertEqual({mark["ranks"] for mark in part}, {2})
        self.assertTrue(0 < len(part) < 10)

    def test_a_saved_run_says_the_same(self):
        file = self.folder / "saved.hrrun"
        self.assertIn("halo3d on 12 ranks", save(self.path, file))
        saved = connect(file)
        self.addCleanup(saved.close)
        for ask in (lambda db: query.ranks(db, Range(1)), lambda db: query.timeline(db, Range(1)), lambda db: query.marks(db, Range(1)), query.jobs,
                    lambda db: sorted(query.counters(db, Range(1), "call")), lambda db: query.machine(db, None, None)):
            self.assertEqual(ask(saved), ask(self.db))
        self.assertEqual(len(saved.execute("SELECT * FROM named_totals").fetchall()), len(self.db.execute("SELECT * FROM totals").fetchall()))


class Life(support.Scratch):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "history.sqlite"

    def fill(self, history, source, begin, end, details=1):
        for second in range(begin, end):
            source.time = source.jobs[0].began + second
            history.write(source.sweep(second % details == 0), {"here": {"cpu.busy": 0.5}})

    def test_it_gets_coarser_and_keeps_its_sums(self):
        source = Synthetic(Job(ranks=4))
        limits = Limits(samples=((60, 10), (300, 60)), changes=((60, 60), (300, 300)), machine=(60, 10))
        history = History(self.path, limits=limits)
        self.addCleanup(history.close)
        for begin in range(1, 901, 10):
            self.fill(history, source, begin, begin + 10)
            history.tidy(source.time)
        levels = dict(history.db.execute("SELECT level, count(*) FROM spans WHERE what = 0 GROUP BY level"))
        self.assertEqual(set(levels), {0, 1, 2})
        self.assertLess(sum(levels.values()), 150)
        self.assertEqual(history.db.execute("SELECT sum(sent_bytes) FROM samples").fetchone(), history.db.execute("SELECT sum(sent_bytes) FROM ranks").fetchone())
        # Every second is in exactly one span.
        spans = history.db.execute("SELECT began, ended FROM spans WHERE what = 0 ORDER BY began").fetchall()
        for (_, ended), (began, _) in zip(spans, spans[1:]):
            self.assertEqual(ended, began)

    def test_readings_close_together_are_one_point(self):
        """A reading comes 9 s late, and the next ones a moment after it; the job has begun a moment before the first one."""
        source = Synthetic(Job(ranks=4))
        history = History(self.path)
        self.addCleanup(history.close)
        history.least = 0.5
        for second in (0.01, 1.01, 2.01, 11.01, 11.035, 11.044, 12.01, 13.01):
            source.time = source.jobs[0].began + second
            history.write(source.sweep(True), {})
        for what in (0, 1):
            spans = history.db.execute("SELECT began - ?, ended - ? FROM spans WHERE what = ? ORDER BY began", (source.jobs[0].began,) * 2 + (what,)).fetchall()
            self.assertEqual([tuple(round(time, 3) for time in span) for span in spans], [(0, 1.01), (1.01, 2.01), (2.01, 11.044), (11.044, 12.01), (12.01, 13.01)], what)
        line = query.timeline(history.db, Range(1))
        rates = line["messages"]
        self.assertTrue(all(3100 < rate < 3300 for rate in rates), rates)  # 4 ranks, 200 steps a second, 4 neighbours
        names = ", ".join(f"sum({name})" for name in SUM_NAMES)
        self.assertEqual(history.db.execute(f"SELECT {names} FROM samples").fetchone(), history.db.execute(f"SELECT {names} FROM ranks").fetchone())
        self.assertEqual(history.db.execute("SELECT sum(count) FROM changes WHERE kind = 1").fetchone(), history.db.execute("SELECT sum(count) FROM totals WHERE kind = 1").fetchone())

    def test_it_stays_below_its_bound(self):
        source = Synthetic(Job(ranks=24))
        history = History(self.path, most_bytes=1 << 19)
        self.addCleanup(history.close)
        for begin in range(1, 160, 40):
            self.fill(history, source, begin, begin + 40)
            history.tidy(source.time)
            self.assertLessEqual(history.used(), 1 << 19)
        self.assertGreater(history.db.execute("SELECT count(*) FROM spans").fetchone()[0], 10)
        self.assertEqual(history.db.execute("SELECT sum(calls) FROM ranks").fetchone()[0], sum(reading.brief.calls for reading in source.sweep(False).readings))

    def test_a_monitor_that_comes_again_goes_on(self):
        source = Synthetic(Job(ranks=4, seconds=50))
        for begin, end in ((1, 20), (30, 60)):
            history = History(self.path)
            self.fill(history, source, begin, end)
            history.close()
        db = connect(self.path)
        self.addCleanup(db.close)
        truth = source.sweep(True).readings
        for table in ("samples", "ranks"):
            self.assertEqual(db.execute(f"SELECT sum(sent_bytes), sum(wait_ns) FROM {table}").fetchone(),
                             (sum(each.brief.sent_bytes for each in truth), sum(each.brief.wait_ns for each in truth)))
        self.assertEqual(db.execute("SELECT ended FROM jobs").fetchall(), [(1,)])

    def test_marks_are_bounded(self):
        source = Synthetic(Job(ranks=4))
        with unittest.mock.patch("headrace.monitor.write._MARKS_MOST", 40):
            history = History(self.path)
            self.addCleanup(history.close)
            for second in range(20, 1000, 20):
                self.fill(history, source, second, second + 1)
                self.assertLessEqual(history.db.execute("SELECT count(*) FROM marks").fetchone()[0], 40)
        self.assertEqual(history.db.execute("SELECT max(number) FROM marks").fetchone()[0], source.sweep(True).readings[0].marks[-1].number)

    def test_a_job_that_ended_while_nobody_looked(self):
        history = History(self.path)
        self.fill(history, Synthetic(Job(ranks=4)), 1, 5)
        history.close()
        history = History(self.path)
        self.addCleanup(history.close)
        history.write(Synthetic(Job(key="another", ranks=2)).sweep(True), {})
        self.assertEqual(history.db.execute("SELECT key, ended FROM jobs ORDER BY id").fetchall(), [("synthetic-1", 1), ("another", 0)])
        self.fill(history, Synthetic(Job(ranks=4)), 5, 7)  # the port existed nevertheless
        self.assertEqual(history.db.execute("SELECT ended FROM jobs ORDER BY id").fetchall(), [(0,), (1,)])

    def test_a_damaged_file_is_set_aside(self):
        for content in (b"no database at all\n" * 100, b""):
            self.path.write_bytes(content)
            history = History(self.path)
            self.fill(history, Synthetic(Job(ranks=2)), 1, 3)
            self.assertEqual(history.trouble, "")
            self.assertEqual(len(history.remarks), 1 if content else len(history.remarks))
            history.close()
            self.path.unlink()
        self.assertTrue(list(self.folder.glob("history-aside-*.sqlite")))

    def test_a_file_with_damage_inside_is_set_aside(self):
        history = History(self.path)
        self.fill(history, Synthetic(Job(ranks=64)), 1, 60)
        history.close()
        with open(self.path, "r+b") as file:
            file.seek(40960)
            file.write(b"\xff" * 40960)
        history = History(self.path)
        self.addCleanup(history.close)
        self.assertIn("a new one has begun", history.remarks[0])
        self.assertEqual(query.jobs(history.db), [])

    def test_another_version_is_set_aside(self):
        History(self.path).close()
        with sqlite3.connect(self.path) as db:
            db.execute("UPDATE meta SET value = 99 WHERE key = 'version'")
        with self.assertRaisesRegex(Unreadable, "version 99"):
            connect(self.path)
        history = History(self.path)
        self.addCleanup(history.close)
        self.assertIn("version 99", history.remarks[0])

    def test_a_full_disk_is_survived(self):
        source = Synthetic(Job(ranks=16))
        history = History(self.path)
        self.addCleanup(history.close)
        self.fill(history, source, 1, 5)
        pages = history.db.execute("PRAGMA page_count").fetchone()[0]
        history.db.execute(f"PRAGMA max_page_count = {pages}").fetchall()  # SQLite then reports a full disk
        self.fill(history, source, 5, 60)
        self.assertIn("full", history.trouble)
        self.assertIn("live figures go on", history.trouble)
        history.db.execute("PRAGMA max_page_count = 1000000").fetchall()
        self.fill(history, source, 70, 90)
        self.assertEqual(history.trouble, "")
        self.assertEqual(history.db.execute("SELECT sum(sent) FROM samples").fetchone(), history.db.execute("SELECT sum(sent) FROM ranks").fetchone())

    def test_a_disk_that_is_full_indeed(self):
        """The system refuses to let files grow; in another process, since the limit applies to a process."""
        done = subprocess.run([sys.executable, "-c", f"""
import resource, signal, sys
sys.path[:0] = {[str(support.ROOT / "python")]!r}
from pathlib import Path
from headrace.monitor.history import History
from headrace.monitor.save import save
from headrace.monitor.synthetic import Job, Synthetic
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path, source = Path({str(self.path)!r}), Synthetic(Job(ranks=64))
history = History(path)
history.write(source.sweep(True), {{}})
resource.setrlimit(resource.RLIMIT_FSIZE, (200000, resource.RLIM_INFINITY))
for second in range(1, 100):
    source.time += 1
    history.write(source.sweep(True), {{}})
print(history.trouble)
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.RLIM_INFINITY))
try:
    save(path, path.with_name("saved"))
except OSError as error:
    print(error)
print(path.with_name("saved").exists())
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
source.time += 20
history.write(source.sweep(True), {{}})
print([history.trouble], history.db.execute("SELECT sum(sent) FROM samples").fetchone() == history.db.execute("SELECT sum(sent) FROM ranks").fetchone())
history.close()
"""], capture_output=True, text=True, timeout=60)
        said = done.stdout.splitlines()
        self.assertEqual(len(said), 4, done.stderr + done.stdout)
        self.assertIn("live figures go on", said[0])
        self.assertIn("cannot be written", said[1])
        self.assertEqual(said[2:], ["False", "[''] True"])

    def test_two_writers(self):
        first = History(self.path)
        with self.assertRaisesRegex(Busy, "another headrace monitor"):
            History(self.path)
        first.close()
        History(self.path).close()

    def test_a_clock_that_jumps_back(self):
        source = Synthetic(Job(ranks=2))
        history = History(self.path)
        self.addCleanup(history.close)
        self.fill(history, source, 50, 60)
        self.fill(history, source, 20, 30)
        self.assertEqual(history.trouble, "")
        for began, ended in history.db.execute("SELECT began, ended FROM spans"):
            self.assertLessEqual(began, ended)

    def test_names_are_bounded_and_printable(self):
        self.assertEqual(len(clean("x" * 100000)), 120)
        self.assertNotIn("\x1b", clean("\x1b[2J\n\0"))


class MadeUp(unittest.TestCase):
    def test_grid_and_neighbours(self):
        self.assertEqual(sorted(grid(256)), [4, 8, 8])
        for ranks in (1, 2, 3, 8, 12, 256):
            shape = grid(ranks)
            for rank in range(ranks):
                for peer in neighbours(rank, shape):
                    self.assertIn(rank, neighbours(peer, shape))


if __name__ == "__main__":
    unittest.main()
