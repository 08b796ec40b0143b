"""The page while a job runs: plots, tables and cells are renewed in place, dragging selects the time range, the state
shows the age of figures."""

import threading
import time
import unittest

import support
from browser import Page, chromium
from headrace.monitor.answers import Place
from headrace.monitor.collector import Collector
from headrace.monitor.history import History
from headrace.monitor.synthetic import Job, Synthetic

PAST = 60  # seconds that the job has run when the page is opened
RANGE = "[data-plot=wait] .u-over"


class Clocked(Synthetic):
    """A source that follows the clock, unless it is held."""

    def __init__(self, *jobs):
        super().__init__(*jobs)
        self.free = threading.Event()
        self.free.set()

    def sweep(self, details):
        self.free.wait()
        self.time = time.time()
        return super().sweep(details)


@support.BROWSER
@support.SERVER
class Renewal(support.Scratch):
    @classmethod
    def setUpClass(cls):
        cls.browser = support.for_class(cls, chromium())

    def setUp(self):
        super().setUp()
        self.job = Job(ranks=8, began=time.time() - PAST, slow=3)
        history = History(self.folder / "history.sqlite")
        self.addCleanup(history.close)
        past = Synthetic(self.job)
        for second in range(1, PAST, 2):
            past.time = self.job.began + second
            history.write(past.sweep(second % 10 == 1), {"here": {"cpu.busy": 0.5}})
        self.source = Clocked(self.job)
        self.collector = Collector(self.source, history, period=0.3)
        self.collector.start()
        self.addCleanup(self.collector.stop)
        self.addCleanup(self.source.free.set)
        self.server = support.contextlib.ExitStack()
        self.addCleanup(self.server.close)
        address = self.server.enter_context(support.serving(Place(history.path, self.collector)))
        self.at = Page(self.browser, address)
        self.page = self.at.page
        self.addCleanup(self.page.close)

    def draws(self, count):
        """Waits until the page has been redrawn `count` times."""
        before = int(self.page.evaluate("document.body.dataset.drawn"))
        self.page.wait_for_function("until => Number(document.body.dataset.drawn) >= until", arg=before + count)

    def box(self, selector):
        self.page.eval_on_selector(selector, "element => element.scrollIntoView({block: 'center'})")
        return self.page.query_selector(selector).bounding_box()

    def test_what_the_pointer_shows_stays(self):
        self.at.open(view="timeline")
        plot = self.box(RANGE)
        self.page.mouse.move(plot["x"] + plot["width"] * 0.4, plot["y"] + plot["height"] * 0.5)
        legend = "[...document.querySelectorAll('[data-plot=wait] .u-value')].map(cell => cell.textContent)"
        shown = self.page.evaluate(legend)
        self.assertNotIn("-", shown)
        self.assertNotIn("--", shown)
        self.page.evaluate(f"""() => {{
            window.kept = [...document.querySelectorAll("nav a, select, .plot, .u-over, [data-sum=points], h3")];
            window.blank = 0;
            new MutationObserver(() => {{ if ({legend}.some(text => text === "-" || text === "--")) window.blank++; }})
                .observe(document.querySelector("[data-plot=wait]"), {{ subtree: true, childList: true, characterData: true }});
        }}""")
        points = self.at.sum("points")
        self.draws(4)
        self.assertGreater(self.at.sum("points"), points)
        self.assertEqual(self.page.evaluate("window.kept.filter(element => !element.isConnected).map(element => element.outerHTML)"), [])
        self.assertEqual(self.page.evaluate("window.blank"), 0)
        self.assertEqual(len(self.page.evaluate(legend)), len(shown))
        self.assertEqual(self.at.complaints, [])

    def test_a_drag_selects_what_was_dragged_over(self):
        self.at.open(view="timeline")
        plot = self.box(RANGE)
        self.page.mouse.move(plot["x"] + plot["width"] * 0.2, plot["y"] + 40)
        self.page.mouse.down()
        first, last = self.page.evaluate("""async () => {
            const line = await (await fetch("api/timeline")).json();
            return [line.time[0], line.time[line.time.length - 1]];
        }""")
        self.page.mouse.move(plot["x"] + plot["width"] * 0.5, plot["y"] + 60)
        self.draws(12)  # meanwhile the run gets longer by more than is allowed below
        self.page.mouse.move(plot["x"] + plot["width"] * 0.7, plot["y"] + 60)
        self.at.after(self.page.mouse.up)
        chosen = self.page.evaluate("[...new URLSearchParams(location.search)].filter(([key]) => key === 'from' || key === 'to').map(([, value]) => Number(value))")
        for found, share in zip(chosen, (0.2, 0.7)):
            self.assertAlmostEqual(found, first + (last - first) * share, delta=1)
        self.page.mouse.move(plot["x"] + plot["width"] * 0.4, plot["y"] + 40)
        self.assertEqual(self.at.complaints, [])

    def test_rows_stay_and_their_cells_change(self):
        self.at.open(view="ranks")
        self.page.evaluate("""() => { window.kept = [...document.querySelectorAll('[data-table=ranks] tr, [data-table=ranks] td')]; getSelection().selectAllChildren(document.querySelector("[data-column=host]")); }""")
        selected, before = self.page.evaluate("String(getSelection())"), self.at.column("ranks", "calls")
        self.draws(3)
        self.assertTrue(all(int(new) > int(old) for new, old in zip(self.at.column("ranks", "calls"), before)))
        self.assertEqual(self.page.evaluate("window.kept.filter(element => !element.isConnected).length"), 0)
        self.assertEqual((self.page.evaluate("String(getSelection())"), selected), ("synthetic", "synthetic"))
        self.at.press("[data-table=ranks] th:nth-child(1) button")  # sorts by rank in descending order: the rows are the same, at other positions
        self.assertEqual(self.at.column("ranks", "rank"), list("76543210"))
        self.assertEqual(self.page.evaluate("window.kept.filter(element => !element.isConnected).length"), 0)
        self.assertEqual(self.at.complaints, [])

    def test_the_matrix_goes_on_below_the_pointer(self):
        self.at.open(view="matrix")
        self.at.after(lambda: self.page.select_option("select[name=metric]", "messages"))  # which has the focus then
        self.page.wait_for_selector("[data-sum=messages]")
        self.draws(1)
        self.page.mouse.move(*self.at.cell(0.5, 1.5, 8))
        value = lambda: int(self.page.get_attribute("output.cell", "data-value"))  # noqa: E731
        self.assertIn("rank 0 → rank 1", self.page.inner_text("output.cell"))
        self.page.focus("canvas.heat")
        before = value()
        self.page.wait_for_function("before => Number(document.querySelector('output.cell').dataset.value) > before", arg=before)
        self.assertIn("rank 0 → rank 1", self.page.inner_text("output.cell"))
        self.assertTrue(self.page.evaluate("document.activeElement.matches('canvas.heat')"))
        self.assertEqual(self.at.complaints, [])

    def test_a_slider_that_is_held_stays(self):
        self.at.open(view="calls")
        thumb = self.box("input[name=from]")
        self.page.mouse.move(thumb["x"] + 8, thumb["y"] + thumb["height"] / 2)
        self.page.mouse.down()
        self.page.mouse.move(thumb["x"] + thumb["width"] / 2, thumb["y"] + thumb["height"] / 2, steps=4)
        held = self.page.input_value("input[name=from]")
        self.draws(3)
        self.assertEqual(self.page.input_value("input[name=from]"), held)
        self.at.after(self.page.mouse.up)
        self.assertIn("from=", self.page.url)
        self.at.after(lambda: self.page.keyboard.press("w"))
        self.assertEqual(self.page.input_value("input[name=from]"), "0")

    def test_hosts_are_renewed_and_zoomed(self):
        self.at.open(view="hosts")
        self.page.wait_for_selector("[data-plot=cores] .u-over")
        self.page.evaluate("() => { window.kept = document.querySelector('[data-plot=cores] .u-over'); }")
        self.draws(3)
        self.assertTrue(self.page.evaluate("window.kept.isConnected"))
        self.assertEqual(self.at.complaints, [])

    def test_wrong_ranks_are_no_lost_connection(self):
        self.at.open(view="ranks")
        state = lambda: self.page.inner_text(".state").partition(",")[0]  # noqa: E731
        self.assertEqual(state(), "live")
        self.page.fill("input[name=ranks]", "many")
        self.page.wait_for_selector(".problem")
        support.wait_for(lambda: "ranks are numbers" in self.page.inner_text(".problem"))
        self.draws_or_rounds()
        self.assertEqual(state(), "live")
        self.assertEqual(self.page.get_attribute("input[name=ranks]", "aria-invalid"), "true")
        self.at.fill("ranks", "0-3")
        self.assertEqual((self.at.sum("ranks"), state()), (4, "live"))
        self.assertEqual(self.page.query_selector(".problem"), None)

    def draws_or_rounds(self):
        before = float(self.page.get_attribute(".state", "data-time"))
        self.page.wait_for_function("before => Number(document.querySelector('.state').dataset.time) > before", arg=before)

    def looks(self):
        """Returns the appearance of the state without colours: its words, its sign and its border."""
        return self.page.evaluate("""() => { const place = document.querySelector(".state"), style = getComputedStyle(place);
            return [place.textContent, getComputedStyle(place, "::before").content, style.borderTopStyle]; }""")

    def test_stale_figures_are_told_without_colours(self):
        self.at.open(view="ranks")
        live = self.looks()
        self.source.free.clear()
        self.page.wait_for_selector(".state[data-kind=stale]", timeout=15_000)
        stale = self.looks()
        self.assertRegex(stale[0], r"^stale, figures are \d+(\.\d+)? s old$")
        self.assertTrue(all(one != other for one, other in zip(live, stale)), (live, stale))
        self.source.free.set()
        self.page.wait_for_selector(".state[data-kind=live]")
        self.assertEqual(self.looks(), live)
        self.server.close()  # now the server has ended
        self.page.wait_for_selector(".state[data-kind=lost]")
        self.assertIn("not connected", self.looks()[0])
        self.assertIn("does not answer", self.page.inner_text(".problem"))


if __name__ == "__main__":
    unittest.main()
