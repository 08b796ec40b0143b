"""More runs than a list shows: running ones first, the rest counted, found by search and by address. And other content
of the page: labels, dates, keys, reasons."""

import re
import time
import unittest

import support
from browser import VIEWS, Page, chromium
from headrace.monitor import chance, query
from headrace.monitor.answers import Place, answer
from headrace.monitor.history import History, connect
from headrace.monitor.synthetic import Job, Synthetic

OLD, RUNS, NOW = "headrace_1_0123456789abcdef", 640, 1_760_000_000.0
DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


def history(path, ended=RUNS):
    """A job that has run since before all others, and many that have ended since, on alternating hosts."""
    made = History(path)
    source = Synthetic(Job(key=OLD, ranks=4, began=NOW, slow=2, device=False, program="climate"))
    for second in range(1, 41):
        source.time = NOW + second
        made.write(source.sweep(second % 10 == 0), {"node7": {"cpu.busy": 0.4}})
    made.db.execute("BEGIN")
    for number in range(ended):
        program = "needle" if number == 3 else f"program{number % 7}"
        job = made.db.execute("INSERT INTO jobs(key, program, size, began, seen, ended) VALUES (?, ?, 1, ?, ?, 1)",
                              (f"headrace_{1000 + number}_27c956efd56f23ee", program, NOW + 100 + number, NOW + 200 + number)).lastrowid
        made.db.execute("INSERT INTO ranks VALUES (?, 0, 1, ?, '', '', ?, 1, 5, 0, 0, 1, 8, 1, 8, 0, 0, 0)",
                        (job, f"node{number % 50}.cluster.example.org", NOW + 200 + number))
    made.db.execute("UPDATE ranks SET host = 'node17.cluster.example.org', cpus = '16-23,80-87', gpu = '0000:c1:00.0' WHERE cpus != ''")
    made.db.execute("COMMIT")
    made.close()
    return path


class Listed(support.Scratch):
    """The requests of the page."""

    def setUp(self):
        super().setUp()
        self.db = connect(history(self.folder / "history.sqlite"))
        self.addCleanup(self.db.close)

    def test_running_ones_come_first_and_all_of_them(self):
        jobs = query.jobs(self.db)
        self.assertEqual((jobs[0]["key"], jobs[0]["ended"], len(jobs)), (OLD, 0, 1 + query.ENDED_MOST))
        self.assertEqual([job["began"] for job in jobs[1:]], [NOW + 100 + number for number in range(RUNS - 1, RUNS - 1 - query.ENDED_MOST, -1)])
        self.assertEqual(query.count(self.db), {"all": RUNS + 1, "found": RUNS + 1})

    def test_a_search_finds_what_is_not_listed(self):
        self.assertEqual([job["program"] for job in query.jobs(self.db, "NEEDLE")], ["needle"])
        self.assertEqual([job["key"] for job in query.jobs(self.db, "_1001_")], ["headrace_1001_27c956efd56f23ee"])
        self.assertEqual(query.count(self.db, "node49.")["found"], len(query.jobs(self.db, "node49.")))
        self.assertEqual(query.jobs(self.db, "%"), [])
        self.assertEqual(query.jobs(self.db, "' OR 1 --"), [])

    def test_the_job_of_an_address_is_there_in_any_case(self):
        first = self.db.execute("SELECT id FROM jobs WHERE program = 'needle'").fetchone()[0]
        place = Place(self.folder / "history.sqlite")
        for asked in ({"job": str(first)}, {"other": "headrace_1003_27c956efd56f23ee"}, {"job": str(first), "search": "climate"}):
            self.assertIn(first, [job["id"] for job in answer(place, "jobs", asked)])
        self.assertEqual(len(answer(place, "jobs", {"job": "no-such-job"})), 1 + query.ENDED_MOST)


@support.BROWSER
@support.SERVER
class Page_(support.Scratch):
    @classmethod
    def setUpClass(cls):
        # This language orders dates differently from the page.
        cls.browser = support.for_class(cls, chromium(locale="en-US"))

    def setUp(self):
        super().setUp()
        self.path = history(self.folder / "history.sqlite")
        stack = support.contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.at = Page(self.browser, stack.enter_context(support.serving(Place(self.path))))
        self.page = self.at.page
        self.addCleanup(self.page.close)
        self.page.add_init_script("""window.drawn = []; window.times = []; for (const kind of ["fillText", "strokeText"]) { const own = CanvasRenderingContext2D.prototype[kind];
            CanvasRenderingContext2D.prototype[kind] = function (text, ...rest) { window.drawn.push(text); if (this.textAlign === "center") window.times.push([text, rest[0], rest[1], this.measureText(text).width]); return own.call(this, text, ...rest); }; }""")

    def test_the_list(self):
        self.at.open()
        self.assertEqual((self.at.column("jobs", "job")[0], self.at.column("jobs", "state")[0]), (OLD, "running"))
        self.assertEqual(self.page.get_attribute("[data-left-out]", "data-left-out"), str(RUNS - query.ENDED_MOST))
        self.assertIn(f"{RUNS - query.ENDED_MOST} older runs are left out", self.page.inner_text("#view"))
        self.assertIn(f"{RUNS - query.ENDED_MOST} more: search in Jobs", self.page.inner_text("select[name=job]"))
        self.at.fill("filter", "needle")
        self.assertEqual(self.at.column("jobs", "program"), ["needle"])
        self.assertEqual(self.page.query_selector("[data-left-out]"), None)
        self.at.after(lambda: self.page.click("[data-table=jobs] a"))
        self.assertIn("needle", self.page.inner_text("select[name=job] option:checked"))
        self.at.view("jobs")
        self.at.fill("filter", "nowhere")
        self.assertIn(f"None of {RUNS + 1}", self.page.inner_text("#view"))
        self.assertEqual(self.at.complaints, [])

    def test_addresses(self):
        """Finds a job and the adjacent one, by key and by number, however many have begun since."""
        number = query.job_id(connect(self.path), "headrace_1003_27c956efd56f23ee")
        for job, other in ((OLD, "headrace_1003_27c956efd56f23ee"), ("headrace_1003_27c956efd56f23ee", OLD), (OLD, str(number)), (str(number), OLD)):
            self.at.open(job=job, other=other, view="compare")
            self.assertEqual(len(self.page.query_selector_all("[data-table=compare] tbody tr")), 7, (job, other))
            self.assertIn("1003" if job != OLD else OLD, self.page.inner_text("select[name=job] option:checked"))
        self.at.open(job=OLD, view="ranks")
        self.assertEqual(self.at.sum("ranks"), 4)
        self.assertEqual(self.at.complaints, [])

    def test_nothing_is_cut(self):
        for width in (1400, 1200, 1024):
            self.page.set_viewport_size({"width": width, "height": 800})
            self.at.open(other="headrace_1003_27c956efd56f23ee")
            for view in VIEWS:
                self.at.view(view)
                for wide, shown in self.page.eval_on_selector_all(".scroll", "places => places.map(place => [place.scrollWidth, place.clientWidth])"):
                    self.assertLessEqual(wide, shown, (view, width))
                self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth"), width, view)
                self.at.screenshot(f"{width}-{view}")

    def test_labels_of_axes_are_told_apart(self):
        for view in ("timeline", "queues"):
            self.at.open(job=OLD, view=view)
            texts = [text for text in self.page.evaluate("window.drawn") if text.strip()]
            ranks = [text for text in texts if text.startswith("rank ")]
            self.assertEqual(len(ranks), len(set(ranks)))
            self.assertEqual("rank 2" in ranks, view == "timeline")
            self.assertTrue(all(re.fullmatch(r"rank \d+", text) for text in ranks), ranks)
            times = [text for text in texts if ":" in text]
            self.assertTrue(times and all(re.fullmatch(r"\d\d:\d\d(:\d\d)?", text) for text in times), texts)
            self.assertTrue(any(re.fullmatch(r"\d{4}-\d\d-\d\d", text) for text in texts))

    def test_times_of_an_axis_do_not_touch(self):
        for stretch in ({}, {"from": NOW + 10, "to": NOW + 13}, {"from": NOW + 10, "to": NOW + 24}):
            for width in (1200, 700, 380):
                self.page.set_viewport_size({"width": width, "height": 800})
                self.at.open(job=OLD, view="timeline", **stretch)
                times = sorted(set(tuple(each) for each in self.page.evaluate("window.times") if ":" in each[0]), key=lambda each: each[1])
                self.assertTrue(times)
                for (_, left, _, wide), (text, right, _, also) in zip(times, times[1:]):
                    if right > left:
                        self.assertGreater(right - left, (wide + also) / 2 + 4, (text, width, stretch))

    def test_dates_have_one_form(self):
        self.at.open()
        self.assertRegex(self.page.inner_text("td[data-column=began]"), f"^{DATE}$")
        self.assertRegex(self.page.inner_text(".range"), rf"^{DATE} to ({DATE}|\d\d:\d\d:\d\d) \(")
        self.at.open(job=OLD, view="timeline")
        plot = self.page.query_selector("[data-plot=wait] .u-over").bounding_box()
        self.page.mouse.move(plot["x"] + plot["width"] / 2, plot["y"] + 40)
        self.assertRegex(self.page.inner_text("[data-plot=wait] .u-series:first-child .u-value"), f"^{DATE}$")
        for view in VIEWS:
            self.at.view(view)
            self.assertNotRegex(self.page.inner_text("body"), r"\d/\d|\d\s?[AaPp]\.?[Mm]\b")

    def test_keys_of_views(self):
        self.at.open()
        titles = self.page.eval_on_selector_all("nav a", "links => links.map(link => [link.getAttribute('href').slice(6), link.title])")
        self.assertEqual(len({title for _, title in titles}), len(titles))
        for name, title in titles:
            if self.page.evaluate("document.body.dataset.view") != name:
                self.at.after(lambda: self.page.keyboard.press(title.removeprefix("key ")))
            self.assertEqual(self.page.evaluate("document.body.dataset.view"), name)

    def test_nothing_has_a_reason(self):
        self.at.open(job="headrace_1003_27c956efd56f23ee")
        seen = 0
        for view in VIEWS:
            self.at.view(view)
            for text in self.page.eval_on_selector_all("[data-empty]", "places => places.map(place => place.textContent)"):
                self.assertRegex(text, r"^(No|Nothing|MPI_Pcontrol was not|The library|Its processes) .*\.$")
                seen += 1
        self.assertGreaterEqual(seen, 9)
        self.at.view("calls")
        self.at.fill("ranks", "7-9")
        self.assertIn("by ranks 7-9", self.page.inner_text("[data-empty]"))
        self.at.view("ranks")
        self.assertIn("This job has no ranks 7-9; it has 1", self.page.inner_text("#view"))
        self.at.open(job=OLD, view="calls", filter="nothing-like-it")
        self.assertIn('None of 6 has "nothing-like-it" in its name', self.page.inner_text("[data-empty]"))
        self.assertEqual(self.at.complaints, [])


class Slowest(support.Scratch):
    """A rank is named if it is the slowest for long enough, and clearly more often than its equal share."""

    def verdict(self, slowest, ranks=4, less=0.1, ages=False, **part):
        """Returns the verdict on a job whose ranks wait 30 % of each second, except that one of them waits `less` of it less: the one in `slowest`, or none.
        `ages`: the history is as coarse as it is an hour later. `part`: began and ended, in seconds since the job began."""
        path = self.folder / f"{time.monotonic_ns()}.sqlite"
        made = History(path)
        source = Synthetic(Job(ranks=ranks, slow=0, began=NOW))
        waits = [0] * ranks
        for second, least in enumerate(slowest, 1):
            source.time = NOW + second
            sweep = source.sweep(False)
            for reading in sweep.readings:
                waits[reading.rank.rank] += int(3e8 - less * 1e9) if reading.rank.rank == least else 300_000_000
                reading.brief = reading.brief._replace(wait_ns=waits[reading.rank.rank], mpi_ns=waits[reading.rank.rank])
            made.write(sweep, {})
        if ages:
            for _ in range(3):
                made.tidy(source.time + 3600)
        made.close()
        db = connect(path)
        self.addCleanup(db.close)
        return query.slowest(db, query.Range(1, **{name: NOW + second for name, second in part.items()}))

    def test_an_equal_share_names_nobody(self):
        for slowest in ([0, 1, 2, 3] * 15, [3] * 18 + [0, 1, 2] * 14, [0, 1, 3] * 20 + [2] * 22, [3], [3, 3]):
            self.assertEqual(self.verdict(slowest)["rank"], None, slowest)

    def test_more_than_that_does(self):
        found = self.verdict([3] * 180 + [0, 1, 2] * 40)
        self.assertEqual((found["rank"], found["share"], found["equal"], found["points"]), (3, 1.0, 0.25, 300))
        self.assertEqual((found["since"] - NOW, found["until"] - NOW, found["goes_on"]), (0, 180, False))
        self.assertEqual(self.verdict([1] * 400, 2)["rank"], 1)
        self.assertEqual(self.verdict([0, 1] * 10, 2)["rank"], None)

    def test_points_without_a_slowest_rank_count(self):
        """Rank 0 is the slowest in half of the points that have a slowest rank, but in a fifth of the time."""
        points = ([0, 0, 1, 2] + [None] * 6) * 60
        self.assertEqual(self.verdict(points, 3)["rank"], None)

    def test_points_that_follow_each_other_are_not_independent(self):
        """Other programs slow a rank down for several seconds at a time: rank 2 happens to be the slowest in 65 of 180 points, in 13 groups."""
        groups = [[2] * 5 if number in (0, 3, 4, 5, 9, 12, 13, 17, 22, 24, 28, 31, 35) else [(0, 1, 3)[number % 3]] * 5 for number in range(36)]
        self.assertEqual(self.verdict([rank for group in groups for rank in group])["rank"], None)

    def test_a_rank_that_is_much_faster_to_tell(self):
        """It is named after half a minute if the others wait much longer than it, and not after some seconds."""
        before = [0, None, 1, None, 2, None, 3, None] * 60
        for seconds, rank in ((5, None), (40, 2)):
            found = self.verdict(before + [2] * seconds, less=0.25)
            self.assertEqual(found["rank"], rank, seconds)
        self.assertEqual((found["since"] - NOW, found["goes_on"], found["share"], found["within"]), (480, True, 1.0, 2))
        self.assertEqual(self.verdict([None] * 600 + [2] * 31 + [None] * 600, less=0.25)["rank"], None)  # half a minute, long ago

    def test_since_says_how_precise_it_is(self):
        """The verdict is the same when the history is coarser, within what it says."""
        points = [0, None, 1, None, 2, None, 3, None] * 30 + [2] * 167
        fine, coarse = (self.verdict(points, less=0.25, ages=ages) for ages in (False, True))
        self.assertEqual((fine["rank"], fine["within"], fine["since"] - NOW), (2, 2, 240))
        self.assertEqual((coarse["rank"], coarse["within"], coarse["points"] < fine["points"] / 5), (2, 10, True))
        self.assertLessEqual(abs(coarse["since"] - fine["since"]), coarse["within"])
        self.assertAlmostEqual(coarse["share"], fine["share"], 1)

    def test_time_counts_and_not_points(self):
        line = [chance.Seen(10.0, 0, 0.1)] * 30 + [chance.Seen(1.0, 1, 0.1)] * 60
        self.assertAlmostEqual(chance.share(line, 0), 300 / 360)
        self.assertEqual(chance.often(line, 4)[:4], (0, 0, 30, 1.0))

    def test_small_differences_before_do_not_move_the_beginning(self):
        """Rank 2 waits a little less than the others most of the time before it becomes slow."""
        line = [chance.Seen(1.0, 1 if second % 5 < 2 else 2, 0.04) for second in range(100)] + [chance.Seen(1.0, 2, 0.5)] * 200
        self.assertEqual(chance.often(line, 4)[:4], (2, 100, 300, 1.0))

    def test_an_end_is_said_after_some_intervals(self):
        for after, goes_on in ((0, True), (1, True), (10, True), (20, False)):
            found = self.verdict([2] * 300 + [0] * after, less=0.25)
            self.assertEqual((found["rank"], found["goes_on"], found["until"] - NOW), (2, goes_on, 300 + after if goes_on else 300), after)

    def test_a_monitor_that_was_started_late(self):
        """Its first point covers the time before, of which it does not know when the rank became slow."""
        source = Synthetic(Job(ranks=8, slow=3))
        made = History(self.folder / "late.sqlite")
        self.addCleanup(made.close)
        for second in (3000, *range(3001, 3061)):
            source.time = source.jobs[0].began + second
            made.write(source.sweep(False), {})
        found = query.slowest(made.db, query.Range(1))
        self.assertEqual((found["rank"], found["start"], found["within"], found["goes_on"]), (3, False, 3000, True))

    def test_a_chosen_time_in_the_middle(self):
        self.assertEqual(self.verdict([2] * 300, less=0.25, began=100, ended=115)["rank"], None)  # too short
        found = self.verdict([2] * 300, less=0.25, began=100, ended=200)
        self.assertEqual((found["since"] - NOW, found["until"] - NOW, found["earlier"]), (100, 200, True))
        found = self.verdict([2] * 300, less=0.25)
        self.assertEqual((found["earlier"], found["start"]), (False, True))


if __name__ == "__main__":
    unittest.main()
