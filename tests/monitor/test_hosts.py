"""Several hosts that report to one: sums, a lost collector, a wrong secret, damaged and impossible messages, clocks, names."""

import copy
import dataclasses
import hmac
import json
import os
import random
import socket
import subprocess
import threading
import time
import unittest
import unittest.mock
import zlib

import support
from headrace.monitor import query, stacks
from headrace.monitor.answers import Place, news
from headrace.monitor.collector import Collector
from headrace.monitor.history import History, connect
from headrace.monitor.hosts import channel, message, report, secret
from headrace.monitor.hosts.gather import Gather
from headrace.monitor.listen import listen
from headrace.monitor.metrics import text
from headrace.monitor.model import Brief, Count, Mark, Sweep
from headrace.monitor.synthetic import Job, Synthetic
from headrace.stack import Stack

SECRET = b"a secret for tests, 0123456789"


class Part:
    """Some ranks of a synthetic job, as seen by one host. The test sets the clock."""

    def __init__(self, job, ranks, host):
        self.made, self.ranks, self.host = Synthetic(job), ranks, host

    def sweep(self, details):
        found = self.made.sweep(details)
        found.time = 0.0
        found.readings = [dataclasses.replace(reading, rank=dataclasses.replace(reading.rank, host=self.host))
                          for reading in found.readings if reading.rank.rank in self.ranks]
        return found

    def close(self):
        pass


class Gathering(support.Scratch):
    def setUp(self):
        super().setUp()
        self.said, self._db = [], None
        self.job = Job(ranks=8, seconds=100, began=time.time())
        self.here, self.there = Part(self.job, range(4), "h1"), Part(self.job, range(4, 8), "h2")
        self.listen()
        self.history = History(self.folder / "history.sqlite")
        self.addCleanup(self.history.close)
        self.collect()
        for part in (self.here, self.there):
            part.made.time = self.job.began + 10

    def listen(self, port=0):
        listener = listen("127.0.0.1", port)
        self.port = listener.getsockname()[1]
        self.gather = Gather(self.here, listener, SECRET, self.said.append)
        self.addCleanup(self.gather.close)

    def collect(self):
        self.collector = self.gather.collector = Collector(self.gather, self.history, period=0.1)
        self.gather.start()

    def reporter(self, source=None, name="h2"):
        """Runs until the test ends, or its stop() is called."""
        subject = report.Reporter(Collector(source or self.there, None, period=0.05), ("127.0.0.1", self.port), SECRET, self.said.append)
        original = subject._report

        def named(last=False):
            said = original(last)
            said.place = said.host = name
            return said

        subject._report = named
        thread = threading.Thread(target=subject.run)
        thread.start()

        def stop():
            subject.stop.set()
            thread.join(20)
        subject.end = stop
        self.addCleanup(stop)
        return subject

    def rounds(self, what, text):
        """Runs rounds of the collector until what() holds."""
        def look():
            self.collector.round()
            return what(self.collector.state.sweep)
        return support.wait_for(look, text=text)

    def all_there(self, sweep):
        return len(sweep.readings) == 8

    def db(self):
        if not self._db:
            self._db = connect(self.history.path)
            self.addCleanup(self._db.close)
        return self._db

    def channel(self, key=SECRET):
        made = channel.connect("127.0.0.1", self.port, key)
        self.addCleanup(made.close)
        return made

    def a_report(self, host="h3", **more):
        return message.pack(message.Report(host, host, time.time(), self.there.sweep(True).readings, **more))


class Reports(Gathering):
    def test_the_sums_are_those_of_all_hosts(self):
        subject = self.reporter()
        self.rounds(self.all_there, "all ranks")
        for part in (self.here, self.there):
            part.made.time += 50
        self.rounds(lambda sweep: self.all_there(sweep) and min(reading.brief.calls for reading in sweep.readings) > 60 * 200, "their new figures")
        for part in (self.here, self.there):
            part.made.time = self.job.began + 100  # all jobs have ended
        self.rounds(lambda sweep: self.db().execute("SELECT ended FROM jobs").fetchall() == [(1,)], "the end")
        subject.end()
        db, truth = self.db(), [reading for part in (self.here, self.there) for reading in part.sweep(True).readings]
        rows = query.ranks(db, query.Range(1))
        self.assertEqual([row["host"] for row in rows], ["h1"] * 4 + ["h2"] * 4)
        for row, reading in zip(rows, truth):
            self.assertEqual(tuple(row[name] for name in Brief._fields), tuple(reading.brief))
        self.assertEqual(sum(row[1] for row in query.counters(db, query.Range(1), "sent_to")), sum(reading.brief.sent for reading in truth))
        self.assertEqual(db.execute("SELECT sum(sent_bytes) FROM samples").fetchone(), db.execute("SELECT sum(sent_bytes) FROM ranks").fetchone())
        self.assertEqual({mark["ranks"] for mark in query.marks(db, query.Range(1))}, {8})
        self.assertEqual(self.said.count("h2 (127.0.0.1) reports"), 1)

    def test_one_that_ends_by_itself_is_not_lost(self):
        subject = self.reporter()
        self.rounds(self.all_there, "all ranks")
        subject.end()
        self.rounds(lambda sweep: not sweep.reporters, "no reporter")
        self.assertFalse([line for line in self.said if "lost" in line])

    def test_a_lost_collector_is_shown_and_comes_back(self):
        subject = self.reporter()
        self.rounds(self.all_there, "all ranks")
        subject._exchange = lambda: 0.05  # the collector sends nothing more
        subject._channel.cut()
        lost = self.rounds(lambda sweep: [each for each in sweep.reporters if not each.live], "the loss")
        self.assertEqual((lost[0].host, lost[0].ranks), ("h2", 4))
        self.collector.round()
        sweep = self.collector.state.sweep
        self.assertEqual((len(sweep.readings), sweep.unseen), (4, {self.job.key}))
        self.assertTrue(any("collector on h2 (127.0.0.1) is lost" in remark for remark in self.collector.state.remarks))
        self.assertIn('headrace_reporter_up{host="h2",address="127.0.0.1"} 0', text(self.collector.state))
        self.assertFalse(news(Place(self.history.path, self.collector))["reporters"][0]["live"])
        # The ranks here end: the job does not, since others may continue.
        self.here.made.time = self.job.began + 100
        self.collector.round()
        self.collector.round()
        self.assertEqual(self.db().execute("SELECT ended FROM jobs").fetchall(), [(0,)])
        self.there.made.time = self.job.began + 100
        subject.end()
        self.reporter()
        self.rounds(lambda sweep: self.db().execute("SELECT ended FROM jobs").fetchall() == [(1,)], "the end")
        self.assertEqual(self.db().execute("SELECT sum(sent) FROM ranks").fetchone()[0], sum(reading.brief.sent for part in (self.here, self.there) for reading in part.sweep(False).readings))

    def test_a_monitor_that_comes_again_gets_what_ended_meanwhile(self):
        self.reporter()
        self.rounds(self.all_there, "all ranks")
        self.gather.close()
        support.wait_for(lambda: any("no connection" in line for line in self.said), text="what the collector says")
        self.there.made.time = self.job.began + 100
        time.sleep(0.2)
        gone = self.there.sweep(True).readings
        self.there.ranks = range(0)  # their processes have also ended
        self.listen(self.port)
        self.collect()
        self.rounds(self.all_there, "all ranks")
        rows = {row["rank"]: row for row in query.ranks(self.db(), query.Range(1))}
        for reading in gone:
            self.assertEqual((rows[reading.rank.rank]["sent"], rows[reading.rank.rank]["ended"]), (reading.brief.sent, 1))

    def test_a_host_that_is_silent_is_lost(self):
        with unittest.mock.patch("headrace.monitor.hosts.gather._LOST_SECONDS", 0.3):
            silent = self.channel()
            silent.send(self.a_report())
            lost = self.rounds(lambda sweep: [each for each in sweep.reporters if not each.live], "the loss")
        self.assertIn("nothing was heard for 0.3 s", lost[0].why)

    def test_a_rank_that_two_report_counts_once(self):
        self.reporter(Part(self.job, range(8), "h1"), "h1")  # a second collector of this host sees the same
        self.rounds(lambda sweep: sweep.reporters, "its report")
        for _ in range(3):
            self.collector.round()
            self.assertLessEqual(len(self.collector.state.sweep.readings), 8)
            self.assertEqual(len({reading.rank.rank for reading in self.collector.state.sweep.readings}), len(self.collector.state.sweep.readings))

    def test_another_job_of_the_same_name_is_another(self):
        other = Part(dataclasses.replace(self.job, ranks=3), range(3), "h9")
        other.made.time = self.there.made.time
        self.reporter(other, "h9")
        jobs = self.rounds(lambda sweep: {reading.rank.job for reading in sweep.readings} if len(sweep.readings) == 7 else None, "seven ranks")
        self.assertEqual(jobs, {self.job.key, f"{self.job.key}@h9"})

    def test_a_clock_that_is_off(self):
        said = message.Report("h3", "h3", time.time() - 5000, self.there.sweep(True).readings)
        for reading in said.readings:
            reading.rank = dataclasses.replace(reading.rank, began=reading.rank.began - 5000)
            reading.marks = (Mark(0, self.job.began - 5000, 2),)
        connection = self.channel()
        connection.send(message.pack(said))
        sweep = self.rounds(lambda sweep: sweep if self.all_there(sweep) else None, "all ranks")
        for reading in sweep.readings:
            self.assertAlmostEqual(reading.rank.began, self.job.began, delta=2)
            if reading.rank.host == "h2":
                self.assertAlmostEqual(reading.marks[0].time if reading.marks else self.job.began, self.job.began, delta=2)

    def test_a_collector_that_cannot_look_says_so_and_goes_on(self):
        class Failing(Part):
            fails = True

            def sweep(self, details):
                if self.fails:
                    raise OSError("no pages")
                return super().sweep(details)
        source = Failing(self.job, range(4, 8), "h2")
        source.made.time = self.there.made.time
        self.reporter(source)
        support.wait_for(lambda: any("OSError: no pages" in line for line in self.said), text="what it says")
        source.fails = False
        self.rounds(self.all_there, "all ranks")

    def test_reports_are_asked_for_just_before_they_are_read(self):
        self.collector.due = time.monotonic() + 0.02
        connection = self.channel()
        connection.send(self.a_report())
        asked = connection.receive()
        self.assertTrue(0.05 <= asked["wait"] <= 0.15, asked)
        self.assertEqual(asked["details"], self.collector.details_seconds)


class Stacks(Gathering):
    """Stacks of ranks on other hosts, read by their collectors."""

    def part(self, ranks):
        return stacks.Part(8, len(ranks), [Stack(rank, 1, ["poll", "PMPI_Recv (lib)", "main"] if rank != 6 else ["assemble (ocean.c:7)", "main"], now="in MPI_Recv" if rank != 6 else "outside MPI", threads=2)
                                           for rank in ranks])

    def asked(self, here, there, seconds=(20, 0)):
        """Returns the answer that the page gets. `here`, `there`: read() of the monitor's host and of the collector's."""
        with unittest.mock.patch.object(stacks, "read", here), unittest.mock.patch.object(report, "read", there), \
                unittest.mock.patch.multiple(stacks, _SECONDS=seconds[0], _ANSWER_SECONDS=seconds[1]):
            return stacks.stacks("synthetic-1", elsewhere=self.gather)

    def connected(self):
        reporter = self.reporter()
        self.rounds(self.all_there, "8 ranks")
        return reporter

    def test_ranks_of_all_hosts_are_grouped(self):
        self.connected()
        found = self.asked(lambda *_: self.part(range(4)), lambda *_: self.part(range(4, 8)))
        self.assertEqual((found["size"], found["here"], found["left_out"], found["missing"]), (8, 8, 0, []))
        self.assertEqual([(group["ranks"], group["frames"], group["now"][0]["text"]) for group in found["groups"]],
                         [("6", ["assemble (ocean.c:7)", "main"], "outside MPI"), ("0-5, 7", ["PMPI_Recv (lib)", "main"], "in MPI_Recv")])
        self.assertEqual(self.asked(lambda *_: stacks.Part(), lambda *_: self.part(range(4, 8)))["here"], 4)  # a second request; no rank is on the monitor's host

    def test_reports_go_on_while_stacks_are_read(self):
        self.connected()
        go_on, rounds = threading.Event(), []

        def slow(*_):
            before = self.gather._hosts["h2"].heard
            support.wait_for(lambda: self.gather._hosts["h2"].heard > before, 10, "a report")
            rounds.append(1)
            go_on.set()
            return self.part(range(4, 8))
        self.assertEqual(self.asked(lambda *_: self.part(range(4)), slow)["here"], 8)
        self.assertTrue(go_on.is_set() and rounds)

    def test_one_that_cannot_read_says_why(self):
        def broken(*_):
            raise OSError("no debugger")
        self.connected()
        found = self.asked(lambda *_: self.part(range(4)), broken)
        self.assertEqual((found["here"], found["missing"]), (4, ["h2: its stacks could not be read (OSError: no debugger)"]))

    def test_one_that_does_not_answer(self):
        with unittest.mock.patch.object(report.Reporter, "_examine", lambda *_: None):  # as of an older version
            self.connected()
            found = self.asked(lambda *_: self.part(range(4)), None, (0.2, 0.2))
        self.assertEqual((found["here"], found["missing"]), (4, ["h2: its collector has not answered; it may be of an older version"]))

    def test_one_that_is_lost_meanwhile(self):
        reporter = self.connected()
        ending = threading.Event()

        def ends(*_):
            reporter._channel._connection.close()
            ending.wait(20)
            return self.part(())
        found = self.asked(lambda *_: self.part(range(4)), ends)
        ending.set()
        self.assertEqual((found["here"], found["missing"]), (4, ["h2: its collector is lost"]))

    def test_requests_of_another_form(self):
        reporter = self.connected()
        for asked in (None, 3, {}, {"job": "j"}, {"number": "1", "job": "j"}, {"number": True, "job": "j"}, {"number": 1, "job": "j" * 1000}, {"number": 1, "job": ["j"]}):
            reporter._examine(asked)
        self.assertIsNone(reporter._examiner)

    def test_answers_of_another_form(self):
        good = message.pack(message.Report("h3", "h3", 1.0, stacks=(5, self.part((4, 5, 6)))))
        number, part = message.unpack(good).stacks
        self.assertEqual((number, part.size, part.here, sorted(each.rank for each in part.stacks)), (5, 8, 3, [4, 5, 6]))
        group = good["stacks"]["groups"][0]
        for change in ({"number": -1}, {"number": True}, {"size": "8"}, {"here": 1 << 40}, {"groups": {}}, {"groups": [group] * 65}, {"groups": [group[:5]]}, {"groups": [[[1, 2], ["x"], *group[2:]]]},
                       {"groups": [[["1"], *group[1:]]]}, {"groups": [[*group[:2], ["f"] * 65, *group[3:]]]}, {"groups": [[*group[:2], [3], *group[3:]]]}, {"problem": None}):
            self.assertRaises(message.Wrong, message.unpack, {**good, "stacks": {**good["stacks"], **change}})
        for wrong in (None, [], {}, {"number": 5}):
            self.assertRaises(message.Wrong, message.unpack, {**good, "stacks": wrong})
        evil = message.unpack({**good, "stacks": {**good["stacks"], "groups": [[[1], ["\x1b[2J"], ["\x1b[2J" + "f" * 900], [], 1, ""]]}}).stacks[1].stacks[0]
        self.assertTrue(evil.now.isprintable() and evil.frames[0].isprintable() and len(evil.frames[0]) <= 200)


class Refusals(Gathering):
    def lost(self, sentence):
        found = self.rounds(lambda sweep: [each for each in sweep.reporters if not each.live], "the loss")
        self.assertIn(sentence, found[0].why)

    def test_a_wrong_secret(self):
        subject = report.Reporter(Collector(self.there, None), ("127.0.0.1", self.port), SECRET + b"x", self.said.append)
        with self.assertRaisesRegex(channel.WrongSecret, "refused the secret"):
            subject.run()
        self.assertTrue(any("does not know the secret" in line for line in self.said))
        self.assertEqual(self.gather.sweep(False).reporters, [])

    def test_wrong_secrets_are_answered_ever_later(self):
        times = []
        for _ in range(3):
            begin = time.monotonic()
            with self.assertRaises(channel.WrongSecret):
                channel.connect("127.0.0.1", self.port, b"not that one at all")
            times.append(time.monotonic() - begin)
        self.assertGreater(times[2], 0.35)
        with unittest.mock.patch.object(self.gather._slower, "wrong", side_effect=AssertionError):
            self.channel()  # the right secret is not delayed

    def test_secrets_are_compared_in_constant_time(self):
        with unittest.mock.patch.object(channel.hmac, "compare_digest", wraps=hmac.compare_digest) as compared:
            with self.assertRaises(channel.WrongSecret):
                channel.connect("127.0.0.1", self.port, b"wrong" * 5)
        self.assertEqual(len(compared.call_args.args[0]), 32)

    def test_nothing_is_looked_at_before_the_secret_is_proven(self):
        with unittest.mock.patch.object(channel, "_unpack", side_effect=AssertionError), unittest.mock.patch("headrace.monitor.hosts.gather.unpack", side_effect=AssertionError):
            for said in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 4, b"\0" * 4096, b"HRREPRT1" + b"\xff" * 4096):
                with socket.create_connection(("127.0.0.1", self.port)) as stranger:
                    stranger.settimeout(10)
                    self.assertEqual(len(stranger.recv(4096)), 40)  # the greeting
                    stranger.sendall(said)
                    try:
                        self.assertEqual(stranger.recv(10), b"")
                    except ConnectionResetError:
                        pass

    def test_a_monitor_that_does_not_know_the_secret_hears_nothing(self):
        false = listen("127.0.0.1", 0)
        self.addCleanup(false.close)
        heard = []

        def pretend():
            connection, _ = false.accept()
            with connection:
                connection.sendall(b"HRREPRT1" + b"n" * 32)
                heard.append(connection.recv(4096))
                connection.sendall(b"p" * 32)
                heard.append(connection.recv(4096))
        thread = threading.Thread(target=pretend)
        thread.start()
        with self.assertRaisesRegex(channel.WrongSecret, "does not know the secret"):
            channel.connect("127.0.0.1", false.getsockname()[1], SECRET)
        thread.join(10)
        self.assertEqual((len(heard[0]), heard[1]), (72, b""))

    def tampered(self, change):
        """Sends one message, with its bytes changed in transit."""
        connection = self.channel()
        connection.send(self.a_report())
        connection.receive()
        taken = []
        real, connection._connection = connection._connection, unittest.mock.Mock(sendall=taken.append)
        connection.send(self.a_report())
        connection._connection = real
        real.sendall(change(bytearray(taken[0])))

    def test_a_damaged_message(self):
        def change(said):
            said[60] ^= 1
            return said
        self.tampered(change)
        self.lost("damaged on its way")

    def test_a_message_that_is_sent_twice(self):
        self.tampered(lambda said: said + said)
        self.lost("damaged on its way")

    def test_a_length_that_is_too_much(self):
        self.tampered(lambda said: b"\xff\xff\xff\xff" + said[4:])
        self.lost("4294967295 bytes")

    def test_a_message_that_is_cut_off(self):
        connection = self.channel()
        connection.send(self.a_report())
        connection.receive()
        connection._connection.sendall((100).to_bytes(4, "big") + b"x" * 20)
        connection.cut()
        self.lost("connection was closed")

    def test_a_message_that_unpacks_to_too_much(self):
        with unittest.mock.patch.object(channel, "_UNPACKED_MOST", 1000):
            with self.assertRaisesRegex(channel.Refused, "more than is allowed"):
                channel._unpack(zlib.compress(b" " * 1001))
        for wrong in (b"no zlib", zlib.compress(b"{"), zlib.compress(b"[" * 100000), zlib.compress(b"\xff")):
            with self.assertRaises(channel.Refused):
                channel._unpack(wrong)

    def test_reports_of_another_form(self):
        right = json.loads(json.dumps(self.a_report(machine={"cpu.busy": 0.5}, remarks=["a page"])))
        self.assertEqual(message.pack(message.unpack(right)), right)
        rank = right["ranks"][0]

        def changed(place, value):
            made = copy.deepcopy(right)
            made["ranks"][0][place] = value
            return made
        wrong = [None, [], {}, {**right, "ranks": {}}, {**right, "time": "now"}, {**right, "time": float("inf")}, {**right, "machine": []}, {**right, "remarks": [1]},
                 {**right, "machine": {"x": None}}, {**right, "ranks": [rank[:-1]]}, {**right, "ranks": [rank[:-4]]}, changed(16, {}), {**right, "ranks": [[*rank, 1]]}, {**right, "remarks": ["x"] * 100}, changed(1, -1), changed(1, True), changed(1, 1.5),
                 changed(0, None), changed(9, [0]), changed(9, [-1] * 10), changed(9, [1 << 63] * 10),
                 changed(13, {"sent_to": {"x": [1, 2, 3]}}), changed(13, {"sent_to": {"²": [1, 2, 3]}}), changed(13, {"call": {"x": [1, 2]}}), changed(14, [[1, 2]]),
                 changed(14, [[0, 1.0, 1 << 40]]), changed(13, {f"k{number}": {} for number in range(65)}), changed(12, "x")]
        for each in wrong:
            with self.assertRaises(message.Wrong, msg=str(each)[:200]):
                message.unpack(each)
        newer = message.unpack(changed(13, {"call": {"MPI_Send": [1, 2, 3]}, "of a newer version": {"x": [1]}}))
        self.assertEqual(newer.readings[0].details, {"call": {"MPI_Send": Count(1, 2, 3)}})
        connection = self.channel()
        connection.send(right)
        connection.receive()
        connection.send(wrong[-1])
        self.lost("its report has a number out of its range")

    def test_random_damage_is_refused_or_can_be_kept(self):
        """The worst that a holder of the secret may send: the report is rejected, or its content is harmless."""
        seed = int(time.time())
        print(f"seed {seed}")
        noise = random.Random(seed)
        junk = [None, True, -1, 1 << 70, 1e300, float("nan"), "", "x" * 5000, "\x1b[2J\ud800", [], {}, [[]], {"": 1}]
        refused = 0
        for _ in range(1500):
            said = json.loads(json.dumps(self.a_report(machine={"cpu.busy": 0.5})))
            for _ in range(noise.choice((1, 1, 3))):
                node = said
                while isinstance(node, (list, dict)) and node:
                    place = noise.choice(list(node) if isinstance(node, dict) else range(len(node)))
                    if not isinstance(node[place], (list, dict)) or not node[place] or noise.random() < 0.2:
                        node[place] = noise.choice(junk)
                        break
                    node = node[place]
            try:
                found = message.unpack(said)
            except message.Wrong:
                refused += 1
                continue
            self.history.write(Sweep(time.time(), found.readings), {found.host: found.machine})
            self.assertEqual((self.history.trouble, self.history.remarks), ("", []), said)
        self.assertTrue(200 < refused < 1500, refused)

    def test_names_are_cleaned(self):
        said = self.a_report()
        said["ranks"][0][5] = "\x1b[2J" + "x" * 1000
        found = message.unpack(said).readings[0].rank.program
        self.assertEqual((len(found), "\x1b" in found), (120, False))

    def test_impossible_figures_of_a_page_cost_no_history(self):
        class Lying(Part):
            lies = True

            def sweep(self, details):
                found = super().sweep(details)
                if self.lies:
                    found.readings[0].details = {"call": {"MPI_Send": Count(1 << 64)}}
                return found
        source = Lying(self.job, range(2), "h1")
        source.made.time = self.job.began + 3
        collector = Collector(source, self.history)
        collector.round()
        self.assertIn("nothing is kept now", self.history.trouble)
        source.lies, self.history._again = False, 0.0
        collector._details_due = 0.0
        collector.round()
        self.assertEqual((self.history.trouble, self.db().execute("SELECT count(*) FROM ranks").fetchone()), ("", (2,)))


class Secrets(support.Scratch):
    def test_it_is_made_once_and_read_by_its_user_alone(self):
        path = self.folder / "state/report-secret"
        made = secret.read_or_make(path)
        self.assertEqual((secret.read_or_make(path), secret.read(path), path.stat().st_mode & 0o777), (made, made, 0o600))
        path.chmod(0o640)
        with self.assertRaisesRegex(secret.Unusable, "can be read by others"):
            secret.read(path)

    def test_none(self):
        with self.assertRaisesRegex(secret.Unusable, "No such file.*bring it here"):
            secret.read(self.folder / "none")
        (self.folder / "short").write_text("short\n")
        (self.folder / "short").chmod(0o600)
        with self.assertRaisesRegex(secret.Unusable, "at least 16"):
            secret.read(self.folder / "short")

    def command(self, *words, **more):
        return subprocess.run([support.sys.executable, "-m", "headrace", "monitor", *words], capture_output=True, text=True, timeout=60, cwd=support.ROOT / "python", **more)

    def test_what_the_command_says(self):
        file = str(self.folder / "secret")
        for words, sentence in ((["--report-to", "head", "--secret-file", file], "not HOST:PORT"), (["--report-to", "127.0.0.1:9", "--secret-file", file], "no secret"),
                                (["--reports", "x:y"], "not [ADDRESS:]PORT"), (["--reports", "1", "--open", "x"], "shows what runs now")):
            said = self.command(*words)
            self.assertEqual((said.returncode, "Traceback" in said.stderr), (2, False), said.stderr)
            self.assertIn(sentence, said.stderr)

    @support.SERVER
    def test_two_commands(self):
        """Commands as users start them, with the secret on standard input, as ssh would pass it."""
        environment = {**os.environ, "XDG_STATE_HOME": str(self.folder), "HEADRACE_SHM_DIR": str(self.folder), "PYTHONPATH": str(support.ROOT / "python")}
        start = lambda *words, **more: subprocess.Popen([support.sys.executable, "-m", "headrace", "monitor", *words], text=True, env=environment, stderr=subprocess.PIPE, **more)  # noqa: E731
        monitor = start("--port", "0", "--reports", "0", stdout=subprocess.DEVNULL)
        self.addCleanup(monitor.stderr.close)
        self.addCleanup(monitor.wait, 20)
        self.addCleanup(monitor.terminate)
        said = monitor.stderr.readline()
        self.assertIn("takes reports on 127.0.0.1", said)
        port = said.partition("port ")[2].partition(";")[0]
        collector = start("--report-to", f"127.0.0.1:{port}", "--secret-file", "-", stdin=subprocess.PIPE)
        self.addCleanup(collector.stderr.close)
        self.addCleanup(collector.wait, 20)
        self.addCleanup(collector.terminate)
        collector.stdin.write((self.folder / "headrace/report-secret").read_text())
        collector.stdin.close()
        # Other lines may precede it, such as that of a first attempt to connect.
        self.assertTrue(any(f"reports to 127.0.0.1, port {port}" in line for line in collector.stderr), "the collector does not report")
        self.assertTrue(any("(127.0.0.1) reports" in line for line in monitor.stderr), "the monitor takes no report")
        collector.terminate()
        self.assertEqual(collector.wait(20), 0)


if __name__ == "__main__":
    unittest.main()
