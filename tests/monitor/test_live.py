"""halo3d on 8 ranks while it runs: the commands as users type them, the page in a browser, sums compared with the
history and the program."""

import json
import os
import subprocess
import time
import unittest
import urllib.parse

import support
from browser import VIEWS, Page, chromium
from headrace.monitor import query
from headrace.monitor.history import connect
from headrace.monitor.query import Range

HALO3D = support.BUILD / "bin/halo3d"


@unittest.skipUnless(HALO3D.is_file() or support.REQUIRED, "halo3d is not built")
class Live(support.Scratch):
    def setUp(self):
        super().setUp()
        # Other tests' jobs may also be visible: this test's jobs have the pid of their mpiexec in their name.
        self.environment = {**os.environ, "HEADRACE_SHM_DIR": str(self.folder), "PYTHONPATH": str(support.ROOT / "python"), "HEADRACE_OVERSUBSCRIBE": "quiet"}
        self.history = self.folder / "history.sqlite"

    def halo3d(self, seconds):
        """Starts halo3d, which runs until end(), for at most `seconds`."""
        # The browser and the server need processors, too.
        job = subprocess.Popen(["nice", "-n", "15", str(support.BUILD / "bin/mpiexec"), "--timeout", str(seconds), "-n", "8", str(HALO3D), "--local", "24", "--pattern", "step1",
                                "--steps", "100000000", "--no-identity-check"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment)
        self.addCleanup(self.end, job)
        return job

    def end(self, job):
        if job.poll() is None:
            job.terminate()
        job.wait(30)

    def headrace(self, *words):
        return subprocess.run([support.sys.executable, "-m", "headrace", *words], capture_output=True, text=True, timeout=60, env=self.environment)

    def monitor(self):
        """Starts a monitor as users do; returns its address and token."""
        process = subprocess.Popen([support.sys.executable, "-m", "headrace", "monitor", "--port", "0", "--history", str(self.history)],
                                   stdout=subprocess.PIPE, text=True, env=self.environment)
        self.addCleanup(process.stdout.close)
        self.addCleanup(self.end, process)
        parts = urllib.parse.urlsplit(process.stdout.readline().split()[-1])
        return f"http://{parts.netloc}", urllib.parse.parse_qs(parts.query)["token"][0]

    def test_top(self):
        name = f"headrace_{self.halo3d(200).pid}_"

        def look():
            said = self.headrace("top", "--once", "--json", "--period", "0.3")
            jobs = [job for job in json.loads(said.stdout)["jobs"] if job["job"].startswith(name) and job["running"] == 8 and job["messages_per_second"]]
            return jobs[0] if jobs else None

        job = support.wait_for(look, 100, "halo3d in headrace top")
        self.assertEqual(job["ranks"], 8)
        self.assertGreater(job["bytes_per_second"], job["messages_per_second"])
        self.assertTrue(0 <= job["wait_share"] <= job["mpi_share"] <= 1)
        self.assertIn("halo3d", self.headrace("top", "--once", "--period", "0.3").stdout)

    @support.BROWSER
    @support.SERVER
    def test_the_page(self):
        address, token = self.monitor()
        job = self.halo3d(300)
        with chromium() as context:
            at = Page(context, address)
            at.page.goto(f"{address}/?token={token}")
            begin = time.monotonic()
            mine = f"[data-table=jobs] tr:has(td[data-value^=headrace_{job.pid}_])"
            at.page.wait_for_selector(mine, timeout=120_000)
            print(f"the job is on the page {time.monotonic() - begin:.1f} s after it was started")
            key = at.page.get_attribute(f"{mine} td[data-column=job]", "data-value")
            at.page.goto(f"{address}/?job={key}")
            at.page.wait_for_selector("body[data-drawn]")
            at.view("calls")
            before = at.sum("call count")
            at.page.wait_for_function("before => Number(document.querySelector('[data-sum=\"call count\"]').dataset.value) > before", arg=before)
            for name in VIEWS:
                at.view(name)
                at.screenshot(f"live-{name}")
            self.end(job)
            at.view("jobs")
            at.page.wait_for_selector(f"{mine} td[data-value=ended]", timeout=120_000)
            db = connect(self.history)
            self.addCleanup(db.close)
            (known,) = [one for one in query.jobs(db) if one["key"] == key]
            at.page.reload()
            at.page.wait_for_selector("body[data-drawn]")
            at.view("ranks")
            self.assertEqual(at.sum("ranks"), 8)
            self.assertEqual(at.sum("messages"), known["sent"])
            self.assertEqual(at.sum("bytes"), known["sent_bytes"])
            at.view("calls")
            calls = {row[0]: row[1:] for row in query.counters(db, Range(known["id"]), "call")}
            self.assertEqual(at.sum("call ns"), sum(figures[2] for figures in calls.values()))
            durations = at.page.eval_on_selector_all("[data-function=MPI_Sendrecv] [data-group]", "all => all.map(each => Number(each.dataset.value))")
            self.assertGreater(sum(durations), 100)
            self.assertGreater(float(at.page.get_attribute("[data-table=call] tr:has(td[data-value=MPI_Sendrecv]) td[data-column='99 % of calls below']", "data-value")), 64)
            at.view("job")  # the job was killed
            self.assertEqual(query.ranks_of(",".join(at.page.eval_on_selector_all("[data-died]", "all => all.map(each => each.dataset.died)"))), frozenset(range(8)))
            at.view("matrix")
            self.assertEqual(at.sum("bytes"), sum(row[2] for row in query.counters(db, Range(known["id"]), "sent_to")))
            # Each rank of a 2 x 2 x 2 torus communicates with three others.
            self.assertEqual(at.sum("pairs"), 24)
            self.assertEqual(at.complaints, [])
            # Sums of a program that ends normally are exact: this one was killed, so a call may be counted without its message.
            self.assertLessEqual(abs(known["sent"] - calls["MPI_Sendrecv"][0]), 8)
        said = self.headrace("monitor", "--save", str(self.folder / "run.hrrun"), "--job", key, "--history", str(self.history))
        self.assertIn("halo3d on 8 ranks", said.stdout, said.stderr)


if __name__ == "__main__":
    unittest.main()
