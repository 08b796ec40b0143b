"""How long calls took, and the checker's reports: quantiles against the true ones, sums over ranks and times, what strangers and older versions send."""

import json
import random
import sqlite3
import struct
import unittest

import support
from headrace import counters
from headrace.counters.page import HEAD
from headrace.monitor import durations, query
from headrace.monitor.answers import Place, answer
from headrace.monitor.history import History, check, connect
from headrace.monitor.hosts import message
from headrace.monitor.model import KINDS
from headrace.monitor.pages import Pages
from headrace.monitor.query import Range
from headrace.monitor.recorded import record
from headrace.monitor.save import save
from headrace.monitor.synthetic import Job, Synthetic

LEAK, TYPE = "leak: 1 MPI_Comm is not given back", "MPI_Recv: signature: the receive expects 2 x MPI_FLOAT"


class Quantiles(unittest.TestCase):
    def test_within_a_class_of_the_true_ones(self):
        chance = random.Random(7)
        for _ in range(50):
            times = sorted(int(chance.lognormvariate(chance.uniform(5, 15), chance.uniform(0.1, 3))) for _ in range(chance.choice((1, 10, 5000))))
            classes = {}
            for time in times:
                begin = 0 if time < 64 else 1 << (time.bit_length() - 1)
                classes[begin] = classes.get(begin, 0) + 1
            for share in (0.5, 0.9, 0.99):
                true = times[max(0, -int(-share * len(times) // 1) - 1)]
                found = durations.quantile(durations.whole(classes, len(times)), share)
                self.assertTrue(true / 2 <= found <= 2 * max(64, true), (share, true, found))

    def test_calls_that_are_not_counted_yet_are_short(self):
        self.assertEqual(durations.whole({1 << 20: 5, 128: 1}, 100), {128: 95, 1 << 20: 5})
        self.assertEqual(durations.whole({1 << 20: 5}, 100), {0: 95, 1 << 20: 5})
        self.assertEqual(durations.whole({128: 1024}, 100), {128: 1024})  # one timed call stands for some that came later
        self.assertEqual(durations.whole({}, 100), {})
        self.assertIsNone(durations.quantile({}, 0.99))

    def test_keys_that_are_none(self):
        self.assertEqual(durations.by_function([("MPI_Recv 64-127", 2), ("MPI_Recv 64-127", 1), ("MPI_Recv 68719476736-", 4), ("MPI_Recv", 9), ("MPI_Recv -5", 9), ("", 9), ("a 1" + "0" * 40, 9)]),
                         {"MPI_Recv": {64: 3, 68719476736: 4}})


class Kept(support.Scratch):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "history.sqlite"
        self.job = Job(ranks=8, slow=2, seconds=60, reports=(LEAK, TYPE))
        record(self.path, self.job, 60)

    def test_calls_over_ranks_and_time(self):
        db = connect(self.path)
        self.addCleanup(db.close)
        job = query.job_id(db, self.job.key)
        waits = lambda **part: next(row for row in query.calls(db, Range(job, **part)) if row["name"] == "MPI_Waitall")  # noqa: E731
        steps = 60 * 200
        self.assertEqual(waits()["durations"], [(1 << 19, 8 * steps - 7 * (steps // 50)), (1 << 24, 7 * (steps // 50))])
        self.assertTrue(1 << 19 < waits()["median"] < 1 << 20)
        self.assertTrue(1 << 24 < waits()["p99"] < 1 << 25)
        self.assertTrue(1 << 19 < waits(ranks=frozenset({2}))["p99"] < 1 << 20)  # no call of the slow rank is late
        part = waits(ended=self.job.began + 30)
        self.assertEqual(sum(count for _, count in part["durations"]), part["count"])
        self.assertLess(part["count"], waits()["count"])
        self.assertIsNone(next(row for row in query.calls(db, Range(job)) if row["name"] == "MPI_Init")["p99"])

    def test_reports_of_equal_text_are_one(self):
        found = answer(Place(self.path), "reports", {"job": self.job.key})
        self.assertEqual([(row["text"], row["times"], row["ranks"], row["count"]) for row in found], [(LEAK, 8, "0-7", 8), (TYPE, 4, "0, 2, 4, 6", 4)])
        self.assertEqual([row["ranks"] for row in answer(Place(self.path), "reports", {"job": self.job.key, "ranks": "1-2"})], ["1-2", "2"])
        self.assertEqual(answer(Place(self.path), "reports", {"job": self.job.key, "to": str(self.job.began + 1)}), [])

    def test_saved_runs_have_them_and_older_ones_do_without(self):
        run = self.folder / "run.hrrun"
        save(self.path, run, self.job.key)
        check(run, 60)
        self.assertEqual(len(answer(Place(run), "reports", {})), 2)
        db = sqlite3.connect(run)
        db.executescript(f"DROP VIEW checker_reports; DROP TABLE reports; DROP VIEW rank_deaths; DROP TABLE deaths; DELETE FROM kinds WHERE id = {KINDS['duration']}; DELETE FROM totals WHERE kind = {KINDS['duration']};"
                         f"DELETE FROM changes WHERE kind = {KINDS['duration']}")
        db.close()
        check(run, 60)  # as one of an older version
        self.assertEqual((answer(Place(run), "reports", {}), answer(Place(run), "deaths", {})), ([], []))
        call = next(row for row in answer(Place(run), "counters", {"kind": "call"}) if row["name"] == "MPI_Waitall")
        self.assertEqual((call["p99"], call["median"], call["durations"]), (None, None, []))
        self.assertEqual(call["count"], 8 * 60 * 200)
        history = History(run)  # a newer monitor goes on with it
        self.assertIn(("duration",), history.db.execute("SELECT name FROM kinds").fetchall())
        history.close()

    def test_what_processes_use(self):
        db = connect(self.path)
        self.addCleanup(db.close)
        job = query.job_id(db, self.job.key)
        row = query.ranks(db, Range(job))[3]
        self.assertEqual((row["cpu_ns"], row["memory"]), (60 * 1_000_000_000, 1003 << 20))
        part = query.ranks(db, Range(job, began=self.job.began + 20, ended=self.job.began + 40))[3]
        self.assertEqual((part["cpu_ns"], part["memory"]), (20 * 1_000_000_000, 1003 << 20))

    def test_ranks_that_died(self):
        path = self.folder / "died.sqlite"
        record(path, Job(ranks=8, slow=2, seconds=20, died=(1, 2, 5)), 20)
        found = answer(Place(path), "deaths", {})
        self.assertEqual([(row["ranks"], row["count"]) for row in found], [("1-2, 5", 3)])
        self.assertEqual(found[0]["time"], Job().began + 20)
        self.assertEqual(answer(Place(path), "deaths", {"ranks": "0,3-4"}), [])
        self.assertEqual(answer(Place(self.path), "deaths", {}), [])

    def test_counts_over_time(self):
        db = connect(self.path)
        self.addCleanup(db.close)
        job = query.job_id(db, self.job.key)
        found = query.series(db, Range(job), "collective")
        self.assertEqual((list(found["rates"]), found["left_out"]), (["allreduce/shared"], 0))
        self.assertEqual(len(found["time"]), 6)
        self.assertEqual(set(found["rates"]["allreduce/shared"]), {8 * 200.0})
        self.assertEqual(set(query.series(db, Range(job, ranks=frozenset({1, 3})), "collective")["rates"]["allreduce/shared"]), {2 * 200.0})
        self.assertEqual(query.series(db, Range(job, began=self.job.began + 25), "call")["time"], [self.job.began + end for end in (30, 40, 50, 60)])
        calls = query.series(db, Range(job), "call")
        self.assertEqual((len(calls["rates"]), calls["left_out"]), (5, 1))
        for kind in ("sent_to", "", "nothing"):
            self.assertRaises(query.Wrong, query.series, db, Range(job), kind)

    def test_over_a_report_of_another_host(self):
        source = Synthetic(self.job)
        source.time += 10
        sweep = source.sweep(True)
        sent = json.loads(json.dumps(message.pack(message.Report("place", "host", 1.0, sweep.readings))))
        self.assertEqual([reading.reports for reading in message.unpack(sent).readings], [reading.reports for reading in sweep.readings])
        sent["ranks"][3][17] = True
        self.assertEqual([reading.died for reading in message.unpack(sent).readings], [rank == 3 for rank in range(8)])
        for rank in sent["ranks"]:
            del rank[16:]
        self.assertEqual({reading.reports for reading in message.unpack(sent).readings}, {()})  # a collector of an older version
        for wrong in ([[0, 1.0, 1]], [[0, 1.0, -1, "x"]], [["0", 1.0, 1, "x"]], [[0, 1.0, 1, 5]], 7, [[0, 1.0, 1, "x"]] * 1000):
            sent["ranks"][0][16:] = [wrong, False]
            self.assertRaises(message.Wrong, message.unpack, sent)


def page(kept, functions, rows, more=None, size=None):
    """A page with details: `kept` reports (time, times, text), rows of calls by class."""
    first, text_room = HEAD.size, 4096
    details = first + 16 + text_room
    said = {"about": {"job": "job_1", "rank": 0, "size": 1}, "dimensions": {"function": {"length": 2, "labels": ["", "MPI_Recv"]}},
            "counters": [{"name": "function.calls", "at": first, "dimension": "function", "stride": 8}],
            "durations": {"functions": details, "at": details + 8 * len(functions), "rows": len(functions), "classes": 4, "shortest": 64},
            "reports": {"at": details + 8 * len(functions) + 32 * len(rows) + 16, "all": details + 8 * len(functions) + 32 * len(rows), "kept": details + 8 * len(functions) + 32 * len(rows) + 8,
                        "length": 4, "stride": 64}}
    for name, changes in (more or {}).items():
        said[name].update(changes)
    text = json.dumps(said).encode().ljust(text_room)
    body = struct.pack(f"={len(functions)}Q", *functions) + b"".join(struct.pack("=4Q", *row) for row in rows)
    body += struct.pack("=QQ", 9, len(kept)) + b"".join(struct.pack("=QQ48s", *one) for one in kept).ljust(4 * 64, b"\0")
    whole = struct.pack("=2Q", 0, 100) + text + body
    return HEAD.pack(b"HRCOUNTS", 1, 1, size or HEAD.size + len(whole), first + 16, text_room, 10**9, 0) + whole


class Pages_(support.Scratch):
    def test_what_a_page_says(self):
        made = counters.Page(page([(5 * 10**9, 2, b"leak: \xff\n" + b"x" * 60), (6 * 10**9, 1, b"type")], (1, 0, 1, 7), ((1, 0, 0, 2), (9, 9, 9, 9), (0, 3, 0, 4), (9, 9, 9, 9))))
        self.assertEqual(made.durations(), {"MPI_Recv": {"0-63": 1, "64-127": 3, "256-": 6}})
        count, found = made.reports()
        self.assertEqual((count, [(report.time, report.times, report.text[:8]) for report in found]), (9, [(5.0, 2, "leak: \ufffd\ufffd"), (6.0, 1, "type")]))
        reading = Pages([made]).sweep(True).readings[0]
        self.assertEqual([(report.times, report.text[:4]) for report in reading.reports], [(2, "leak"), (1, "type"), (6, "furt")])
        self.assertEqual(reading.details["duration"]["MPI_Recv 256-"].count, 6)

    def test_pages_that_lie(self):
        for name, changes in (("durations", {"rows": 1 << 30}), ("durations", {"rows": 0}), ("durations", {"at": 0}), ("durations", {"at": 4099}), ("durations", {"classes": 1}), ("durations", {"shortest": 0}),
                              ("durations", {"rows": True}), ("durations", {"functions": 1 << 50}), ("reports", {"stride": 60}), ("reports", {"length": 1 << 20}), ("reports", {"all": -8}), ("reports", {"kept": 1 << 40})):
            with self.subTest((name, changes)):
                self.assertRaisesRegex(counters.Problem, "damaged", counters.Page, page([], (1,), ((1, 1, 1, 1),), {name: changes}))
        huge = (1 << 64) - 1
        made = counters.Page(page([(huge, huge, b"x")] * 4, (1,), ((huge, 0, 0, 0),)))
        sweep = Pages([made]).sweep(True)
        self.assertEqual(sweep.readings, [])  # it has counted more than a process can
        self.assertTrue(sweep.remarks)


if __name__ == "__main__":
    unittest.main()
