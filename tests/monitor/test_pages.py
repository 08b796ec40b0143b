"""Pages of counters as a source: created here in the documented format, for cases that jobs on this machine do not
show."""

import json
import os
import struct
import subprocess
import time
import unittest
import unittest.mock
from pathlib import Path

import support
from headrace import counters
from headrace.monitor import cli, query
from headrace.monitor import pages as subject
from headrace.monitor.history import History, connect
from headrace.monitor.model import Count, Mark

HEAD = counters.page.HEAD


class Maker:
    """A page with some counters of the real one, in the layout of its own description."""

    SCALARS = ("now.function", "now.waiting_since", "now.waiting_for", "posted.now", "posted.most", "unexpected.now", "unexpected.most", "unexpected.bytes", "wait.time")
    TABLES = {"function": (("none", "MPI_Send", "MPI_Recv", "evil\x1b[2J"), ("calls", "time", "bytes")), "peer": ((), ("process", "messages", "bytes", "waits", "wait", "internal_messages", "internal_bytes")),
              "received": (("eager", "stream"), ("messages", "bytes"))}
    PEERS = 3

    def __init__(self, **about):
        self.about = {"job": "headrace_1_1", "rank": 0, "size": 4, "pid": os.getpid(), "pid_started": 0, "host": "here", "program": "/opt/bin/halo3d", "begun": 1000, "cores": "0-1", "gpus": "", **about}
        self.values = {}

    def description(self):
        found, at = [], HEAD.size + (-HEAD.size % 8)
        dimensions = {"function": {"length": 4, "labels": list(self.TABLES["function"][0])}, "protocol": {"length": 2, "labels": list(self.TABLES["received"][0])},
                      "peer": {"length": self.PEERS, "others": {str(self.PEERS - 1): "others"}}}
        for name in self.SCALARS:
            found.append({"name": name, "unit": "", "kind": "level", "sentence": "", "at": at})
            at += 8
        for group, (_, fields) in self.TABLES.items():
            for field in fields:
                dimension = {"received": "protocol"}.get(group, group)
                found.append({"name": f"{group}.{field}", "unit": "", "kind": "sum", "sentence": "", "at": at, "dimension": dimension})
                at += 8 * dimensions[dimension]["length"]
        return found, dimensions, at

    def bytes(self, state=1, version=counters.page.VERSION, magic=counters.page.MAGIC):
        found, dimensions, text_at = self.description()
        text = json.dumps({"about": self.about, "counters": found, "dimensions": dimensions}).encode()
        memory = bytearray(text_at + len(text) + 8)
        HEAD.pack_into(memory, 0, magic, version, state, len(memory), text_at, len(text), int(time.time() * 1e9), 0)
        places = {each["name"]: each["at"] for each in found}
        for name, value in self.values.items():
            values = value if isinstance(value, list) else [value]
            struct.pack_into(f"={len(values)}Q", memory, places[name], *values)
        memory[text_at:text_at + len(text)] = text
        return memory

    def page(self, **more):
        return counters.Page(self.bytes(**more), f"page {self.about['rank']}")


class Readings(unittest.TestCase):
    def setUp(self):
        self.maker = Maker()
        self.maker.values = {"function.calls": [0, 5, 7, 1], "function.time": [0, 50, 70, 1], "function.bytes": [0, 500, 0, 0], "wait.time": 60,
                             "peer.process": [3, 2, 0], "peer.messages": [4, 1, 9], "peer.bytes": [400, 100, 900], "peer.waits": [2, 0, 0], "peer.wait": [60, 0, 0],
                             "received.messages": [6, 1], "received.bytes": [48, 4096], "posted.now": 2, "posted.most": 5, "unexpected.now": 1, "unexpected.most": 8,
                             "unexpected.bytes": 77, "now.function": 2, "now.waiting_for": 3, "now.waiting_since": time.monotonic_ns() - 10**9}

    def test_sums_and_details(self):
        said = subject.reading(self.maker.page(), True, False, {})
        self.assertEqual((said.rank.job, said.rank.size, said.rank.program, said.rank.cpus, said.rank.gpu), ("headrace_1_1", 4, "halo3d", "0-1", ""))
        self.assertEqual((said.brief.calls, said.brief.sent, said.brief.sent_bytes, said.brief.received, said.brief.received_bytes), (13, 14, 1400, 7, 4144))
        self.assertEqual((said.brief.posted, said.brief.unexpected, said.brief.unexpected_bytes), (2, 1, 77))
        self.assertGreaterEqual(said.brief.wait_ns, 10**9)  # with the wait in progress
        self.assertEqual((said.function, said.waits_for), ("MPI_Recv", 2))
        self.assertEqual(said.details["sent_to"], {"2": Count(4, 400), "1": Count(1, 100)})
        self.assertEqual(said.details["waited_for"], {"2": Count(2, 0, 60)})
        self.assertEqual(said.details["protocol"], {"eager": Count(6, 48), "stream": Count(1, 4096)})
        self.assertEqual(said.details["queue"], {"posted": Count(2, 5), "unexpected": Count(1, 8)})

    def test_the_call_under_way_counts(self):
        """Its wait has lasted a second so far, and is in neither of the counters, which are updated when it ends."""
        said = subject.reading(self.maker.page(), True, False, {})
        self.assertGreaterEqual(said.details["call"]["MPI_Recv"].ns, 10**9 + 70)
        self.assertEqual(said.details["call"]["MPI_Send"], Count(5, 500, 50))
        self.assertGreaterEqual(said.brief.mpi_ns, said.brief.wait_ns)
        self.assertEqual(subject.reading(self.maker.page(state=2), True, False, {}).details["call"]["MPI_Recv"], Count(7, 0, 70))

    def test_names_are_cleaned(self):
        self.assertFalse(any("\x1b" in name for name in subject.reading(self.maker.page(), True, False, {}).details["call"]))

    def test_a_rank_that_has_ended_waits_for_nobody(self):
        said = subject.reading(self.maker.page(state=2), False, False, {})
        self.assertTrue(said.ended)
        self.assertEqual((said.brief.wait_ns, said.brief.posted, said.function, said.waits_for), (60, 0, "", None))

    def test_marks_are_the_last_ones_of_a_ring(self):
        found = counters.Page(self.maker.bytes(), "page")
        found._counters = {**found._counters, **{name: {} for name in ("phase.marks", "phase.time", "phase.level")}}
        words = {"phase.marks": [6], "phase.time": [40 * 10**9, 50 * 10**9, 20 * 10**9, 30 * 10**9], "phase.level": [5, (1 << 64) - 1, 3, 4]}
        now = unittest.mock.Mock(page=found, values=words.get, value=lambda name: words[name][0])
        self.assertEqual(subject._marks(now), (Mark(2, 20.0, 3), Mark(3, 30.0, 4), Mark(4, 40.0, 5), Mark(5, 50.0, -1)))

    def test_a_page_that_lies_costs_one_remark(self):
        liar = Maker(rank=1)
        liar.values = {"function.calls": [0, 1 << 60, 0, 0]}
        sweep = subject.Pages([self.maker.page(), liar.page()]).sweep(True)
        self.assertEqual([reading.rank.rank for reading in sweep.readings], [0])
        self.assertIn("cannot be read", sweep.remarks[0])

    def test_pages_of_one_program_share_their_layout(self):
        first = self.maker.page()
        self.maker.about["rank"] += 1
        second = self.maker.page()
        self.assertEqual(second.rank, first.rank + 1)
        self.assertIs(second.description["counters"], first.description["counters"])
        self.maker.about["host"] = "another"
        self.maker.values["wait.time"] = 61
        self.assertEqual(self.maker.page().about["host"], "another")

    def test_counters_that_a_page_lacks_are_none(self):
        said = subject.reading(self.maker.page(), True, False, {})
        self.assertEqual((said.details["access"], said.details["collective"], said.details["phase"], said.details["size"]), ({}, {}, {}, {}))


class Files(support.Scratch):
    """Pages of mpiexec's jobs as files in a directory, with this process as the rank."""

    def setUp(self):
        super().setUp()
        self.addCleanup(os.environ.pop, "HEADRACE_SHM_DIR", None)
        os.environ["HEADRACE_SHM_DIR"] = str(self.folder)
        self.maker = Maker(pid_started=self.started(os.getpid()))
        self.file = self.folder / "headrace.headrace_1_1.counters.0"

    def started(self, pid):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])

    def source(self):
        source = subject.Pages()
        self.addCleanup(source.close)
        return source

    def mine(self, sweep):
        return [reading for reading in sweep.readings if reading.rank.job == "headrace_1_1"]

    def test_a_job_that_comes_and_goes(self):
        source = self.source()
        self.assertEqual(self.mine(source.sweep(True)), [])
        self.maker.values = {"peer.messages": [3, 0, 0], "peer.process": [2, 0, 0]}
        self.file.write_bytes(self.maker.bytes())
        source._look_at = 0
        (reading,) = self.mine(source.sweep(False))
        self.assertEqual((reading.ended, reading.brief.sent), (False, 3))
        self.file.unlink()
        source._look_at = 0
        self.assertTrue(self.mine(source.sweep(False))[0].ended)  # the last figures are read again with details
        self.assertEqual(self.mine(source.sweep(True))[0].details["sent_to"], {"1": Count(3)})
        self.assertEqual(self.mine(source.sweep(True)), [])

    def test_counters_that_run_backwards(self):
        """The page is ignored, and named, until it has passed its own figures again; nothing of the other rank is lost."""
        other = Maker(rank=1, pid_started=self.started(os.getpid()))
        source, history = self.source(), History(self.folder / "history.sqlite")
        self.addCleanup(history.close)
        seen = []
        for number, calls in enumerate((100, 40, 60, 130)):
            other.values, self.maker.values = {"function.calls": [0, calls, 0, 0]}, {"function.calls": [0, 10 * number, 0, 0]}
            for name, maker in (("0", self.maker), ("1", other)):
                file = self.file.with_suffix(f".{name}")
                file.with_suffix(".new").write_bytes(maker.bytes())
                os.replace(file.with_suffix(".new"), file)
            source._pages.clear()  # the files are new ones
            source._look_at = 0
            sweep = source.sweep(True)
            sweep.time += number
            history.write(sweep, {})
            seen.append((sorted(reading.rank.rank for reading in self.mine(sweep)), [remark.partition("(")[2] for remark in sweep.remarks if str(self.folder) in remark]))
        self.assertEqual(seen[0], ([0, 1], []))
        self.assertEqual(seen[1], ([0], ["ValueError: its calls ran backwards, from 100 to 40)"]))
        self.assertEqual(seen[2], ([0], ["ValueError: its calls ran backwards, from 100 to 60)"]))
        self.assertEqual(seen[3], ([0, 1], []))
        self.assertEqual(history.db.execute("SELECT rank, sum(calls) FROM samples JOIN spans ON spans.id = span JOIN jobs ON jobs.id = job WHERE key = 'headrace_1_1' GROUP BY rank").fetchall(), [(0, 30), (1, 130)])

    def test_a_process_that_was_killed_leaves_its_last_figures(self):
        """A real process, whose page ends with it; the reader's mapping stays."""
        child = subprocess.Popen([support.sys.executable, "-c", "import os, sys, time\nfile = os.memfd_create('headrace.headrace_9_9.counters.0')\n"
                                  "sys.stdin.readline()\nos.write(file, open(sys.argv[1], 'rb').read())\nprint('there', flush=True)\ntime.sleep(100)",
                                  str(self.folder / "page")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        self.maker = Maker(job="headrace_9_9", pid=child.pid, pid_started=self.started(child.pid))
        self.maker.values = {"peer.messages": [7, 0, 0], "peer.process": [2, 0, 0]}
        (self.folder / "page").write_bytes(self.maker.bytes())
        child.stdin.write("go\n")
        child.stdin.close()
        self.assertEqual(child.stdout.readline(), "there\n")
        source = self.source()
        mine = lambda details: [one for one in source.sweep(details).readings if one.rank.job == "headrace_9_9"]  # noqa: E731
        self.assertEqual([one.brief.sent for one in mine(True)], [7])
        child.kill()
        child.wait(20)
        source._look_at = 0
        (last,) = mine(True)
        self.assertEqual((last.ended, last.brief.sent, last.details["sent_to"]), (True, 7, {"1": Count(7)}))
        self.assertEqual(mine(True), [])

    def test_a_page_of_a_process_that_is_no_more(self):
        """By now, its pid may be another process's; the start time distinguishes the two."""
        self.maker = Maker(pid_started=1)
        self.file.write_bytes(self.maker.bytes())
        self.assertEqual([one.ended for one in self.mine(self.source().sweep(True))], [True])

    def test_processes_without_a_page_are_asked_seldom(self):
        idle = counters.Idle(age=10, again=30)
        clock = unittest.mock.patch("headrace.counters.files.time.monotonic")
        now = clock.start()
        self.addCleanup(clock.stop)
        for when, there, skipped, owners in ((100, "ab", set(), {"a"}), (105, "ab", set(), {"a"}), (111, "abc", {"b"}, {"a"}), (122, "abc", {"b", "c"}, {"a"}),
                                             (131, "abc", set(), {"a", "b"}), (141, "abc", {"c"}, {"b"}), (142, "abd", set(), {"b"}), (152, "abd", {"a"}, {"b"})):
            now.return_value = when
            self.assertEqual(idle.skipped(there), skipped, when)
            idle.looked(there, owners)

    def test_pages_of_others_get_a_sentence(self):
        self.file.write_bytes(self.maker.bytes(version=99))
        (self.folder / "headrace.headrace_1_1.counters.1").write_bytes(b"x" * 4096)
        remarks = self.source().sweep(True).remarks
        self.assertTrue(any("version 99" in remark for remark in remarks), remarks)
        self.assertTrue(any("no page of counters" in remark for remark in remarks), remarks)

    def test_what_mpiexec_saved_can_be_shown(self):
        self.maker.values = {"function.calls": [0, 5, 7, 1]}
        counters.save(self.folder / "run.hrc", [self.maker.page(state=2)])
        db = connect(cli._counters_as_history(self.folder / "run.hrc", str(self.folder)))
        self.addCleanup(db.close)
        (job,) = query.jobs(db)
        self.assertEqual((job["key"], job["calls"], job["ended"]), ("headrace_1_1", 13, 1))
        self.assertEqual({row[0]: row[1] for row in query.counters(db, query.Range(job["id"]), "call")}["MPI_Recv"], 7)


if __name__ == "__main__":
    unittest.main()
