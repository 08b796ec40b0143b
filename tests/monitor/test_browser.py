"""Every view of a synthetic run of 256 ranks in a browser: its sums compared with the database, filters, keys, colours,
width."""

import tempfile
import unittest
import unittest.mock
from pathlib import Path

import support
from browser import VIEWS, Page, chromium
from headrace.monitor import query
from headrace.monitor.answers import Place
from headrace.monitor.collector import Collector
from headrace.monitor.history import History, connect
from headrace.monitor.model import Origin, Reporter, clean
from headrace.monitor.query import Range
from headrace.monitor.recorded import record
from headrace.monitor.synthetic import Job, Synthetic

LEAK = "leak: 1 MPI_Comm of MPI_Comm_dup at halo.c:7 (main) is not given back before MPI_Finalize; free with MPI_Comm_free"
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"


def recorded(folder):
    """Two runs in one history: 256 ranks of halo3d, and a shorter one with hostile names."""
    path = Path(folder) / "history.sqlite"
    job = Job(ranks=256, seconds=180, reports=(LEAK,))
    record(path, job, 180)
    record(path, Job(key="synthetic-2", ranks=27, began=job.began + 1000, seconds=40, program=EVIL, slow=0, seed=2, origin=Origin("eve", EVIL, "Slurm", EVIL, EVIL), reports=(EVIL, LEAK)), 40)
    return path


class Recorded(unittest.TestCase):
    """The page of both runs."""

    @classmethod
    def setUpClass(cls):
        stack = support.contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        cls.path = recorded(stack.enter_context(tempfile.TemporaryDirectory(prefix="hr-monitor-")))
        cls.db = connect(cls.path)
        stack.callback(cls.db.close)
        cls.address = stack.enter_context(support.serving(Place(cls.path)))
        cls.context = stack.enter_context(chromium())
        cls.job = query.job_id(cls.db, "synthetic-1")

    def setUp(self):
        self.at = Page(self.context, self.address)
        self.at.open(job=self.job)
        self.page = self.at.page
        self.addCleanup(self.page.close)

    def tearDown(self):
        self.assertEqual(self.at.complaints, [])

    def of(self, kind, place, **part):
        return sum(row[place] for row in query.counters(self.db, Range(self.job, **part), kind))


@support.BROWSER
@support.SERVER
class Views(Recorded):
    def test_every_view_opens(self):
        for name in VIEWS:
            with self.subTest(name):
                self.at.view(name)
                self.assertTrue(self.page.inner_text("#view").strip())
                self.assertEqual(self.page.get_attribute("nav a[aria-current]", "href"), f"?view={name}")
                self.at.screenshot(name)

    def test_sums_are_those_of_the_database(self):
        self.at.view("ranks")
        for name, column in (("calls", "calls"), ("messages", "sent"), ("bytes", "sent_bytes"), ("wait", "wait_ns")):
            self.assertEqual(self.at.sum(name), self.db.execute(f"SELECT sum({column}) FROM ranks WHERE job = ?", (self.job,)).fetchone()[0])
        self.assertEqual(sum(map(int, self.at.column("ranks", "messages"))), self.of("sent_to", 1))
        self.assertEqual(self.page.get_attribute("[data-slowest]", "data-slowest"), "37")
        for view, kinds in (("calls", {"call": ("count", "bytes", "ns")}), ("ways", {"protocol": ("count", "bytes"), "memory": ("count", "bytes")}),
                            ("collectives", {"collective": ("count", "bytes")}), ("sizes", {"size": ("count",)})):
            self.at.view(view)
            for kind, figures in kinds.items():
                for figure in figures:
                    place = ("count", "bytes", "ns").index(figure) + 1
                    self.assertEqual(self.at.sum(f"{kind} {figure}"), self.of(kind, place), f"{kind} {figure}")
                self.assertEqual(sum(map(int, self.at.column(kind, {"count": {"call": "calls", "collective": "calls"}.get(kind, "messages")}["count"]))), self.of(kind, 1))

    def test_how_long_calls_took(self):
        self.at.view("calls")
        shown = {row["name"]: row for row in query.calls(self.db, Range(self.job))}
        for name in ("MPI_Waitall", "MPI_Isend", "MPI_Allreduce"):
            cells = self.page.eval_on_selector_all(f"[data-function='{name}'] [data-group]", "all => all.map(each => Number(each.dataset.value))")
            self.assertEqual(sum(cells), shown[name]["count"], name)
        self.assertEqual(list(map(float, self.at.column("call", "99 % of calls below")))[0], shown["MPI_Waitall"]["p99"])
        self.assertEqual(self.page.inner_text("[data-function='MPI_Waitall']").split("\t")[0], "MPI_Waitall")
        self.assertIn("16.8 ms to 67.1 ms", self.page.get_attribute("[data-function='MPI_Waitall'] [data-group]:last-child", "title"))
        self.at.fill("filter", "allreduce")
        self.assertEqual(self.page.eval_on_selector_all("[data-function]", "all => all.map(each => each.dataset.function)"), ["MPI_Allreduce"])

    def test_the_checkers_reports(self):
        self.at.view("job")
        self.assertEqual((self.at.column("reports", "report"), self.at.column("reports", "ranks"), self.at.column("reports", "times")), ([LEAK], ["0-255"], ["256"]))
        self.at.open(view="job", job="synthetic-2")
        self.assertEqual(self.at.column("reports", "report"), [EVIL, LEAK])  # a text, not markup
        self.at.after(lambda: self.page.click("[data-table=reports] tr:nth-child(2) a"))
        self.assertEqual((self.page.evaluate("document.body.dataset.view"), len(self.at.column("ranks", "rank"))), ("ranks", 14))

    def test_the_matrix_by_each_measure(self):
        self.at.view("matrix")
        for metric, kind, place in (("bytes", "sent_to", 2), ("messages", "sent_to", 1), ("wait", "waited_for", 3), ("internal", "internal_to", 2)):
            if metric != "bytes":
                self.at.after(lambda: self.page.select_option("select[name=metric]", metric))
            self.assertEqual(self.at.sum(metric), self.of(kind, place), metric)
        self.at.after(lambda: self.page.select_option("select[name=metric]", "bytes"))
        self.page.focus("canvas.heat")
        self.page.keyboard.press("ArrowRight")
        rank = dict((key, size) for source, key, _, size, _ in query.counters(self.db, Range(self.job), "sent_to", True) if source == 0)
        self.assertEqual(self.page.get_attribute("output.cell", "data-value"), str(rank.get(1, 0)))
        self.assertIn("rank 0 → rank 1", self.page.inner_text("output.cell"))

    def test_ranks_and_time_and_names_can_be_chosen(self):
        self.at.view("ranks")
        self.at.fill("ranks", "0-7, 37")
        self.assertEqual(self.at.sum("ranks"), 9)
        ranks = query.ranks_of("0-7,37")
        self.assertEqual(self.at.sum("bytes"), sum(row["sent_bytes"] for row in query.ranks(self.db, Range(self.job, ranks=ranks))))
        self.at.view("calls")
        self.assertEqual(self.at.sum("call ns"), self.of("call", 3, ranks=ranks))
        self.at.fill("filter", "waitall")
        self.assertEqual(self.at.column("call", "function"), ["MPI_Waitall"])
        self.assertIn("ranks=0-7%2C+37", self.page.url)
        self.assertIn("filter=waitall", self.page.url)
        self.page.reload()  # the address suffices
        self.page.wait_for_selector("body[data-drawn]")
        self.assertEqual(self.at.column("call", "function"), ["MPI_Waitall"])
        self.at.fill("filter", "")
        self.at.fill("ranks", "")
        self.at.after(lambda: self.page.evaluate("""() => { const to = document.querySelector('input[name=to]'); to.value = '500'; to.dispatchEvent(new Event('change')); }"""))
        began = self.db.execute("SELECT began FROM jobs WHERE id = ?", (self.job,)).fetchone()[0]
        self.assertIn(f"to={began + 90:.2f}", self.page.url)
        self.assertEqual(self.at.sum("call count"), self.of("call", 1, ended=began + 90))
        self.assertLess(self.at.sum("call count"), self.of("call", 1))

    def test_the_last_minutes(self):
        self.at.open(job=self.job, view="calls")
        seen = self.db.execute("SELECT seen FROM jobs WHERE id = ?", (self.job,)).fetchone()[0]
        self.at.after(lambda: self.at.press("button[data-from='-300']"))  # a range longer than the run
        self.assertEqual(self.at.sum("call count"), self.of("call", 1, began=seen - 300))
        self.at.open(job=self.job, view="calls", **{"from": -60})
        self.assertEqual(self.at.sum("call count"), self.of("call", 1, began=seen - 60))
        self.assertLess(self.at.sum("call count"), self.of("call", 1))
        self.assertIn("(60 s)", self.page.inner_text(".slider .range"))

    def test_playback(self):
        self.at.view("timeline")
        whole = self.at.sum("points")
        began = self.db.execute("SELECT began FROM jobs WHERE id = ?", (self.job,)).fetchone()[0]
        self.at.after(lambda: self.page.keyboard.press("p"))
        self.page.wait_for_function("to => Number(new URLSearchParams(location.search).get('to')) > to", arg=began + 25)
        self.page.keyboard.press("p")
        self.assertEqual(self.page.inner_text("button[name=play]"), "play")
        self.page.wait_for_function("() => document.body.dataset.address === location.search")
        self.assertLess(self.at.sum("points"), whole)
        self.at.view("ranks")  # shows the same time range
        self.assertIn("to=", self.page.url)
        self.assertLess(self.at.sum("calls"), self.db.execute("SELECT sum(calls) FROM ranks WHERE job = ?", (self.job,)).fetchone()[0])

    def test_wrong_ranks_get_a_sentence(self):
        self.at.view("ranks")
        self.page.fill("input[name=ranks]", "many")
        self.page.wait_for_selector(".problem")
        self.assertIn("ranks are numbers and ranges", self.page.inner_text(".problem"))
        self.at.complaints.clear()  # the browser notes the refused question
        self.at.fill("ranks", "")
        self.assertEqual(self.page.query_selector(".problem"), None)

    def test_the_timeline_marks_the_slowest_rank(self):
        self.at.view("timeline")
        line = query.timeline(self.db, Range(self.job))
        self.assertEqual(self.at.sum("points"), len(line["time"]))
        self.assertAlmostEqual(self.at.sum("waiting"), sum(line["mean"]) / len(line["mean"]), 6)
        self.assertEqual(self.page.get_attribute("[data-slowest]", "data-slowest"), "37")
        plot = self.page.query_selector("[data-plot=wait] .u-over").bounding_box()
        self.page.mouse.move(plot["x"] + plot["width"] * 0.3, plot["y"] + 50)  # a time range selected with the mouse
        self.page.mouse.down()
        self.page.mouse.move(plot["x"] + plot["width"] * 0.6, plot["y"] + 50, steps=4)
        self.at.after(self.page.mouse.up)
        self.assertIn("from=", self.page.url)
        self.assertLess(self.at.sum("points"), len(line["time"]))

    def test_phases_between_marks(self):
        self.at.view("timeline")
        marks = query.marks(self.db, Range(self.job))
        self.assertEqual(self.at.sum("marks"), len(marks))
        self.assertEqual(sorted(self.at.column("phases", "level")), ["2", "3"])
        self.assertEqual(sum(map(int, self.at.column("phases", "marks"))), len(marks))
        end = query.timeline(self.db, Range(self.job))["time"][-1]
        self.assertAlmostEqual(sum(map(float, self.at.column("phases", "time"))), end - marks[0]["first"], 3)
        self.page.eval_on_selector("[data-table=phases]", "table => table.scrollIntoView()")
        self.at.screenshot("phases")

    def test_two_runs_side_by_side(self):
        self.at.view("compare")
        other = query.job_id(self.db, "synthetic-2")
        self.at.after(lambda: self.page.select_option("select[name=other]", str(other)))
        bytes_of = [str(job["sent_bytes"]) for job in sorted(query.jobs(self.db), key=lambda job: job["key"])]
        cells = self.page.eval_on_selector_all("[data-table=compare] tr", "rows => rows.map(row => [...row.cells].map(cell => cell.dataset.value))")
        self.assertIn(["bytes", *bytes_of], [row[:3] for row in cells])
        self.assertEqual(len(self.page.query_selector_all(".pair .u-over")), 2)
        self.at.screenshot("compare")

    def test_names_of_others_are_text(self):
        self.at.open(job=query.job_id(self.db, "synthetic-2"))
        for name in VIEWS:
            self.at.view(name)
        self.at.view("jobs")
        self.assertIn(clean(EVIL).rpartition("/")[2], self.page.inner_text("#view"))
        self.assertEqual(self.page.query_selector_all("#view img, #view script"), [])

    def test_keys(self):
        for key, view in (("3", "matrix"), ("1", "jobs"), ("]", "job"), ("[", "jobs"), ("i", "job"), ("0", "hosts"), ("n", "cluster"), ("l", "links"), ("g", "gpus")):
            self.at.after(lambda: self.page.keyboard.press(key))
            self.assertEqual(self.page.evaluate("document.body.dataset.view"), view)
        self.page.keyboard.press("/")
        self.assertEqual(self.page.evaluate("document.activeElement.name"), "filter")
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("?")
        self.assertTrue(self.page.is_visible("dialog"))
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("Tab")  # every element can be reached
        self.assertNotEqual(self.page.evaluate("document.activeElement.tagName"), "BODY")

    def test_dark_and_light(self):
        colours = set()
        for _ in range(2):
            self.page.keyboard.press("t")
            colours.add(self.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(colours, {"rgb(21, 24, 28)", "rgb(251, 251, 250)"})
        if self.page.evaluate("document.documentElement.dataset.theme") == "light":
            self.page.keyboard.press("t")
        self.at.view("timeline")
        self.at.screenshot("timeline-dark")
        self.page.keyboard.press("t")

    def test_at_the_width_of_a_phone(self):
        self.page.set_viewport_size({"width": 380, "height": 760})
        for name in VIEWS:
            self.at.view(name)
            self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth"), 380, name)
            if name in ("timeline", "matrix"):
                self.at.screenshot(f"phone-{name}")

    def test_the_first_paint(self):
        times = []
        for _ in range(3):
            self.at.open(job=self.job, view="timeline")
            times.append(self.page.evaluate("performance.getEntriesByName('first-view')[0].startTime"))
        print(f"first view of 256 ranks: {sorted(round(time) for time in times)} ms")
        self.assertLess(min(times), 1000)


@support.BROWSER
@support.SERVER
class Live(support.Scratch):
    def test_no_job(self):
        history = History(self.folder / "history.sqlite")
        self.addCleanup(history.close)
        with support.serving(Place(history.path, Collector(Synthetic(Job(ranks=1)), None))) as address, chromium() as context:
            at = Page(context, address)
            at.open()
            for name in VIEWS:
                at.view(name)
                self.assertTrue(at.page.inner_text("#view").strip(), name)
            at.view("jobs")
            self.assertIn("No job yet", at.page.inner_text("#view"))
            self.assertEqual(at.complaints, [])

    def test_stacks_by_a_button(self):
        """As the synthetic ranks have no processes, the debugger's answer is also synthetic."""
        started = support.threading.Event()

        def made_up(job, everyone, stop, elsewhere):
            started.set()
            group = {"frames": ["PMPI_Waitall (libmpi_abi.so)", "exchange (halo3d.cpp:88)", "main (halo3d.cpp:40)"], "inside": ["poll", EVIL], "python": [], "threads": 2, "why": "", "more_now": 0}
            return {"job": job, "size": 8, "here": 8, "left_out": 0, "groups_left_out": 0, "missing": ["node7: its collector is lost"], "time": 1e9, "seconds": 1.5, "groups": [
                {**group, "ranks": "5", "count": 1, "frames": ["relax (halo3d.cpp:31)", "main (halo3d.cpp:40)"], "inside": [], "now": [{"text": "outside MPI", "ranks": "5"}]},
                {**group, "ranks": "0-4, 6-7", "count": 7, "now": [{"text": "in MPI_Waitall, waits for rank 5", "ranks": "0-4, 6-7"}]}]}

        history = History(self.folder / "history.sqlite")
        self.addCleanup(history.close)
        source = Synthetic(Job(ranks=8, slow=5))
        source.time += 10
        collector = Collector(source, history, period=0.2)
        collector.start()
        self.addCleanup(collector.stop)
        with unittest.mock.patch("headrace.monitor.answers.stacks", made_up), support.serving(Place(history.path, collector)) as address, chromium() as context:
            at = Page(context, address)
            at.open(view="job")
            self.assertIn("balance.uneven", at.column("findings", "id"))
            self.assertIn("Now 8 ranks run: MPI_Waitall: 7, outside MPI: 1. Waited for: rank 5, by 7.", at.page.inner_text("#view"))
            at.view("jobs")
            self.assertEqual(at.column("jobs", "slowest"), ["rank 5 on synthetic, since its start"])
            at.view("job")
            at.press("button[name=stacks]")
            at.page.wait_for_selector("[data-stack='5']")
            self.assertTrue(started.is_set())
            self.assertEqual(at.page.eval_on_selector_all("[data-stack]", "all => all.map(each => each.dataset.stack)"), ["5", "0-4, 6-7"])
            self.assertEqual((at.sum("stacks"), at.sum("groups")), (8, 2))
            self.assertIn("No stacks of node7: its collector is lost.", at.page.inner_text("main, #view"))
            at.page.eval_on_selector("button[name=stacks]", "button => button.parentElement.previousElementSibling.scrollIntoView()")
            at.screenshot("stacks")
            at.page.click("[data-stack='0-4, 6-7'] summary")
            drawn = at.page.evaluate("Number(document.body.dataset.drawn)")
            at.page.wait_for_function("drawn => Number(document.body.dataset.drawn) > drawn + 1", arg=drawn)
            self.assertTrue(at.page.is_visible("text=poll"))  # stays open while figures change
            self.assertIn(EVIL, at.page.inner_text("[data-stack='0-4, 6-7']"))
            at.press("[data-stack='0-4, 6-7'] a")
            at.page.wait_for_selector("[data-table=ranks]")
            self.assertEqual(at.sum("ranks"), 7)
            self.assertEqual(at.complaints, [])

    def test_collectors_of_other_hosts(self):
        class Two(Synthetic):
            """One rank waits for a certain one; the other is in a collective operation."""

            def sweep(self, details):
                found = super().sweep(details)
                for reading in found.readings:
                    reading.function, reading.waits_for = "MPI_Allreduce", 1 if reading.rank.rank == 0 and certain.is_set() else None
                found.reporters = [Reporter("node1", "10.0.0.1", True, 1.0, 4), Reporter("node2", "10.0.0.2", False, 2.0, 8, "nothing was heard for 10 s")]
                found.machine = {"node1": {"cpu.busy": 0.5}}
                return found

        history = History(self.folder / "history.sqlite")
        self.addCleanup(history.close)
        certain = support.threading.Event()
        source = Two(Job(ranks=2))
        source.time += 10
        collector = Collector(source, history, period=0.2)
        collector.start()
        self.addCleanup(collector.stop)
        with support.serving(Place(history.path, collector)) as address, chromium() as context:
            at = Page(context, address)
            at.open(view="hosts")
            at.page.wait_for_selector("[data-table=reporters]")
            self.assertEqual((at.column("reporters", "host"), at.column("reporters", "state")), (["node1", "node2"], ["reports", "lost"]))
            self.assertIn("nothing was heard for 10 s", at.page.inner_text("[data-table=reporters] tr.marked"))
            at.view("jobs")
            at.page.wait_for_selector("text=MPI_Allreduce: 2.")
            self.assertIn("The library knows of no rank that others wait for: in a collective operation it does not", at.page.inner_text("#view"))
            certain.set()
            at.page.wait_for_selector("text=Waited for: rank 1, by 1. The other rank in MPI may wait for others: in a collective operation, it is not known for which.")
            self.assertEqual(at.complaints, [])

    def test_new_figures_come_by_themselves(self):
        class Clocked(Synthetic):
            def sweep(self, details):
                self.time = support.time.time()
                return super().sweep(details)

        history = History(self.folder / "history.sqlite")
        self.addCleanup(history.close)
        collector = Collector(Clocked(Job(ranks=8, began=support.time.time() - 5)), history, period=0.5)
        collector.start()
        self.addCleanup(collector.stop)
        with support.serving(Place(history.path, collector)) as address, chromium() as context:
            at = Page(context, address)
            at.open(view="calls")
            lags = []
            for _ in range(4):
                before = at.sum("call count")
                at.page.wait_for_function("before => Number(document.querySelector('[data-sum=\"call count\"]').dataset.value) > before", arg=before)
                # The synthetic ranks make a known number of calls per second, so a sum reveals its time range.
                seconds = (at.sum("call count") - 8 * 2) / (8 * 14 * 200)
                lags.append(support.time.time() - (collector.source.jobs[0].began + seconds))
            print(f"lag of live figures: {[round(lag, 2) for lag in lags]} s")
            self.assertLess(min(lags), 2.0)
            self.assertTrue(at.page.inner_text(".state").startswith("live"))
            self.assertEqual(at.complaints, [])


if __name__ == "__main__":
    unittest.main()
