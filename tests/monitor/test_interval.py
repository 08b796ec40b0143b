"""Intervals below a second: what --interval accepts, the collector, its history, and the page."""

import contextlib
import io
import os
import subprocess
import threading
import time
import unittest
import unittest.mock
import urllib.parse

import support
from browser import Page, chromium
from headrace import command
from headrace.monitor import cli, collector, query
from headrace.monitor.answers import Place, answer, news
from headrace.monitor.collector import Collector
from headrace.monitor.history import History, connect
from headrace.monitor.hosts.channel import connect as call
from headrace.monitor.hosts.gather import Gather
from headrace.monitor.hosts.message import Report, pack
from headrace.monitor.model import Brief, Rank, Reading
from headrace.monitor.query import Range
from headrace.monitor.synthetic import Job, Synthetic

INTERVAL = 0.2


def arguments(*words):
    return command.parse("headrace monitor", cli.define, words)


class Running(Synthetic):
    """A synthetic job that runs in real time, and began one interval before its first reading: the history has no points that are shorter than half of one."""

    def __init__(self, ranks=4):
        super().__init__(Job(ranks=ranks, began=time.time() - INTERVAL, slow=1))
        self.sweeps = []

    def sweep(self, details):
        self.time = time.time()
        self.sweeps.append((self.time, details))
        return super().sweep(details)


class Arguments(unittest.TestCase):
    def refused(self, *words):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as ended:
            arguments(*words)
        self.assertEqual(ended.exception.code, 2)
        return said.getvalue()

    def test_nonsense(self):
        for word in ("0", "-1", "0.05", "0.0999", "5.1", "1e9", "nan", "inf", "", "fast", "0,2", "1" * 10_000):
            said = self.refused(f"--interval={word}")
            self.assertIn("is not a number of seconds from 0.1 to 5", said, word[:20])
            self.assertLess(len(said), 2000)
        for other in (["--report-to", "here:1"], ["--open", "x"], ["--save", "x"]):
            self.assertIn("--interval is for a monitor that shows what runs now", self.refused("--interval", "0.2", *other))

    def test_what_is_accepted(self):
        for word, value in (("0.1", 0.1), ("0.2", 0.2), ("5", 5.0), ("1e-1", 0.1)):
            self.assertEqual(arguments("--interval", word).interval, value)
        self.assertIsNone(arguments().interval)


class Collecting(support.Scratch):
    def start(self, source, period=INTERVAL):
        self.path = self.folder / "history.sqlite"
        history = History(self.path)
        self.addCleanup(history.close)
        self.collector = Collector(source, history, None, period)
        self.collector.start()
        self.addCleanup(self.collector.stop)

    def test_the_history_has_each_reading(self):
        source = Running()
        self.start(source)
        support.wait_for(lambda: len(source.sweeps) > 20, 60)
        self.collector.stop()
        db = connect(self.path)
        self.addCleanup(db.close)
        (job,) = (job["id"] for job in query.jobs(db))
        line = query.timeline(db, Range(job))
        self.assertEqual(len(line["time"]), self.collector.state.round)
        gaps = sorted(later - earlier for earlier, later in zip(line["time"], line["time"][1:]))
        self.assertLess(gaps[len(gaps) // 2], 2 * INTERVAL, gaps)
        self.assertLess(self.collector.state.cpu_seconds / (line["time"][-1] - line["time"][0]), 0.2)
        for rank in range(4):  # sums are exact at this resolution, too
            last = query.ranks(db, Range(job))[rank]
            parts = [query.ranks(db, Range(job, begin, end))[rank]["calls"] for begin, end in zip([None, *line["time"][:-1]], line["time"])]
            self.assertEqual(sum(parts), last["calls"])
        details = [when for when, with_details in source.sweeps if with_details]
        self.assertGreater(len(details), 3)

    def test_too_many_ranks_are_read_less_often_and_the_page_says_so(self):
        source = Running()
        self.start(source)
        self.collector.stop()
        now = [0.0]
        with unittest.mock.patch.object(collector.time, "thread_time", lambda: now.__setitem__(0, now[0] + 0.02) or now[0]):  # a reading costs 20 ms
            self.collector._details_due = 1e18
            self.collector.round()
        self.assertAlmostEqual(self.collector.period, 0.5, 1)
        with unittest.mock.patch.object(collector.time, "thread_time", lambda: now.__setitem__(0, now[0] + 0.02) or now[0]):
            self.collector.round()
        (remark,) = self.collector.state.remarks
        self.assertEqual(remark, "figures come every 0.5 s, not every 0.2 s: reading these ranks so often would take more than 4% of a core")
        self.assertAlmostEqual(news(Place(self.path, self.collector))["period"], 0.5, 1)

    def test_host_figures_are_kept_once_a_second(self):
        class Machine:
            name, remarks, looks = "here", [], 0

            def look(self):
                self.looks += 1
                return {"here": {"cpu.busy": 0.5}}
        self.path = self.folder / "history.sqlite"
        history = History(self.path)
        self.addCleanup(history.close)
        written = []
        with unittest.mock.patch.object(history, "write", lambda sweep, machine: written.append(bool(machine))):
            host = Machine()
            own = Collector(Running(), history, host, INTERVAL)
            own.start()
            support.wait_for(lambda: host.looks > 15, 60)
            own.stop()
        self.assertLess(sum(written), 0.5 * len(written))
        self.assertGreater(sum(written), 1)

    def test_collectors_of_other_hosts_are_asked_as_often(self):
        listener = support.socket.create_server(("127.0.0.1", 0))
        gather = Gather(Synthetic(Job(ranks=1, began=1e10)), listener, b"s" * 32, lambda _: None)
        own = gather.collector = Collector(gather, None, None, INTERVAL)
        gather.start()
        own.start()
        self.addCleanup(lambda: (own.stop(), gather.close()))
        channel = call(*listener.getsockname()[:2], b"s" * 32)
        self.addCleanup(channel.close)
        seen, calls = [], 0
        end = time.monotonic() + 4
        while time.monotonic() < end:
            calls += 1
            rank = Rank("far", 0, 1, 1, "n2", "p", time.time())
            channel.send(pack(Report("n2", "n2", time.time(), [Reading(rank, Brief(calls=calls))])))
            wait = channel.receive()["wait"]
            self.assertLess(wait, 2 * INTERVAL)
            threading.Event().wait(wait)
            seen.append(next((reading.brief.calls for reading in own.state.sweep.readings if reading.rank.job == "far"), None))
        self.assertGreater(calls, 8)
        self.assertGreater(len(set(seen)), 4)


@support.BROWSER
@support.SERVER
@unittest.skipUnless((support.BUILD / "bin/halo3d").is_file() or support.REQUIRED, "halo3d is not built")
class InTheBrowser(support.Scratch):
    def test_a_live_job(self):
        environment = {**os.environ, "HEADRACE_SHM_DIR": str(self.folder), "PYTHONPATH": str(support.ROOT / "python"), "HEADRACE_OVERSUBSCRIBE": "quiet"}
        monitor = subprocess.Popen([support.sys.executable, "-m", "headrace", "monitor", "--interval", str(INTERVAL), "--port", "0", "--history", str(self.folder / "h.sqlite")],
                                   stdout=subprocess.PIPE, text=True, env=environment)
        self.addCleanup(lambda: (monitor.terminate(), monitor.wait(30), monitor.stdout.close()))
        parts = urllib.parse.urlsplit(monitor.stdout.readline().split()[-1])
        address, token = f"http://{parts.netloc}", urllib.parse.parse_qs(parts.query)["token"][0]
        job = subprocess.Popen([str(support.BUILD / "bin/mpiexec"), "--timeout", "150", "-n", "2", str(support.BUILD / "bin/halo3d"), "--local", "24", "--pattern", "step1", "--steps", "100000000", "--no-identity-check"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        self.addCleanup(lambda: (job.terminate(), job.wait(30)))
        with chromium() as context:
            at = Page(context, address)
            at.page.goto(f"{address}/?token={token}&view=jobs")
            at.page.wait_for_selector(f"[data-table=jobs] tr:has(td[data-value^=headrace_{job.pid}_])")
            at.page.wait_for_function("document.querySelector('.state').textContent.startsWith('live, every 0.')")
            times = at.page.evaluate("""async () => {
                const seen = new Set(), place = document.querySelector('.state'), end = performance.now() + 6000;
                while (performance.now() < end) { seen.add(place.dataset.time); await new Promise(requestAnimationFrame); }
                return [...seen].map(Number).sort((a, b) => a - b);
            }""")
            gaps = sorted(later - earlier for earlier, later in zip(times, times[1:]))
            print(f"{len(times)} readings on the page in 6 s; half of them within {gaps[len(gaps) // 2]:.2f} s of the one before")
            self.assertGreater(len(times), 9)  # one a second would be 6 or 7
            self.assertLess(gaps[len(gaps) // 2], 0.7)
            self.assertEqual(at.complaints, [])
        db = connect(self.folder / "h.sqlite")
        self.addCleanup(db.close)
        number = next(row["id"] for row in query.jobs(db) if row["key"].startswith(f"headrace_{job.pid}_"))
        self.assertGreater(len(answer(Place(self.folder / "h.sqlite"), "timeline", {"job": str(number)})["time"]), 12)


if __name__ == "__main__":
    unittest.main()
