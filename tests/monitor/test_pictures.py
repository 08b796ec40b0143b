"""The pictures of the page in a browser, in more detail than test_browser.py: the matrix enlarged, the inside of a node, nodes by switch."""

import tempfile
import unittest
from pathlib import Path

import support
import test_browser
from browser import Page, chromium
from headrace.monitor import query, topology
from headrace.monitor.answers import Place
from headrace.monitor.query import Range
from test_topology import recorded


@support.BROWSER
@support.SERVER
class Ranks(test_browser.Recorded):
    def test_the_matrix_enlarged(self):
        self.at.view("matrix")
        view = lambda: self.page.get_attribute("canvas.heat", "data-view")  # noqa: E731
        numbers = lambda: [list(map(int, self.page.get_attribute("canvas.heat", f"data-{axis}").split())) for axis in ("rows", "columns")]  # noqa: E731
        rows, columns = numbers()
        self.assertEqual((rows[:2], columns[:3], columns[-1]), ([0, 20], [0, 20, 40], 240))
        least, middle, most = self.page.eval_on_selector_all("[data-scale] span", "all => all.map(each => each.textContent)")
        biggest = max(size for *_, size, _ in query.counters(self.db, Range(self.job), "sent_to", True))
        self.assertEqual((least, middle), ("", ""))  # all pairs have exchanged as many bytes
        self.assertEqual(most, f"{biggest / 1e9:.2f} GB" if biggest >= 1e9 else f"{biggest / 1e6:.0f} MB")
        self.at.after(lambda: self.page.select_option("select[name=metric]", "wait"))
        least, middle, most = self.page.eval_on_selector_all("[data-scale] span", "all => all.map(each => parseFloat(each.textContent))")
        self.assertTrue(0 < least < middle < most, (least, middle, most))
        self.at.screenshot("matrix")
        self.at.after(lambda: self.page.select_option("select[name=metric]", "bytes"))
        self.page.mouse.move(*self.at.cell(128.5, 64.5, 256))
        self.assertIn("rank 128 → rank 64", self.page.inner_text("output.cell"))
        for _ in range(3):
            self.page.mouse.wheel(0, -100)
        self.page.wait_for_function("document.querySelector('canvas.heat').dataset.view !== '0-255 0-255'")
        first, last = map(int, view().split()[0].split("-"))
        self.assertTrue(0 < first < 128 < last < 255, view())
        self.page.mouse.move(*self.at.cell(5, 5, 100))
        self.page.dblclick("canvas.heat")
        self.assertEqual(view(), "0-255 0-255")
        self.page.mouse.move(*self.at.cell(32.5, 64.5, 256))  # a part by a drag
        self.page.mouse.down()
        self.page.mouse.move(*self.at.cell(63.5, 95.5, 256), steps=4)
        self.page.mouse.up()
        self.assertEqual(view(), "32-62 64-94")
        self.assertTrue(set(numbers()[0]) <= set(range(32, 63)) and len(numbers()[0]) > 10)
        self.page.mouse.move(*self.at.cell(1.5, 2.5, 31))
        self.assertIn("rank 33 → rank 66", self.page.inner_text("output.cell"))
        self.at.screenshot("matrix-part")
        self.page.focus("canvas.heat")
        for _ in range(3):
            self.page.keyboard.press("ArrowLeft")  # the part follows
        self.assertEqual(view(), "32-62 63-93")
        self.page.keyboard.press("+")
        self.assertLess(len(numbers()[0]), 20)
        self.page.keyboard.press("Home")
        self.assertEqual(view(), "0-255 0-255")

    def test_from_the_slow_rank_to_its_node(self):
        self.at.view("calls")
        said = self.page.inner_text("[data-slowest='37']")
        self.assertRegex(said, r"Rank 37 on synthetic, CPUs 37, GPU 5, held the others up from its start at \S+ to \S+: it was outside MPI 9\d % of that time, and the others waited for it\. It was the slowest in \d+ % of that time \(0\.4 % would be an equal share\)\.")
        self.assertAlmostEqual(self.at.sum("outside MPI"), 1 - self.of("call", 3) / 1e9 / 256 / 180, 2)
        self.assertEqual(self.page.eval_on_selector_all("[data-table=call] td[data-column='longest in rank'] a", "all => all.filter(each => each.textContent === '-' && each.hasAttribute('href')).length"), 0)
        self.at.view("job")
        self.assertIn("waited for it in MPI_Waitall.", self.page.inner_text("[data-slowest='37']"))
        rows = {name: (float(own), float(others)) for name, own, others in zip(self.at.column("beside", "function"), self.at.column("beside", "rank 37"), self.at.column("beside", "mean of the others"))}
        self.assertAlmostEqual(rows["MPI_Waitall"][0], 0.02 + 200 * 40e-6, 2)  # synthetic.py: what the slow rank waits, and the call itself
        self.assertGreater(rows["MPI_Waitall"][1], 0.22)
        self.assertGreater(rows["outside MPI"][0], 0.9)
        self.assertTrue(all(sum(shares) < 1.001 for shares in zip(*rows.values())), rows)
        self.at.after(lambda: self.page.click("[data-slowest='37'] a >> text=/[0-9]{2}:[0-9]{2}/"))
        self.assertIn("view=timeline", self.page.url)
        self.assertTrue("from=" in self.page.url and "to=" in self.page.url, self.page.url)
        self.at.view("job")
        self.at.after(lambda: self.page.click("[data-slowest='37'] a >> text=synthetic"))
        self.assertEqual(self.page.evaluate("document.body.dataset.view"), "hosts")
        self.assertIn("host=synthetic", self.page.url)


@support.BROWSER
@support.SERVER
class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = Path(support.for_class(cls, tempfile.TemporaryDirectory(prefix="hr-monitor-")))
        recorded(folder / "history.sqlite")
        (folder / "topology.conf").write_text("SwitchName=leaf1 Nodes=node[0001-0004]\nSwitchName=leaf2 Nodes=node[0005-0007]\nSwitchName=spine Switches=leaf[1-2]\n")
        cls.address = support.for_class(cls, support.serving(Place(folder / "history.sqlite", topology=tuple(topology.read(folder / "topology.conf")))))
        cls.context = support.for_class(cls, chromium())

    def setUp(self):
        self.at = Page(self.context, self.address)
        self.addCleanup(lambda: (self.at.page.close(), self.assertEqual(self.at.complaints, [])))

    def chips(self, node):
        return self.at.page.eval_on_selector_all(f"[data-numa='{node}'] [data-chip]", "all => all.map(each => each.dataset.chip)")

    def test_inside(self):
        self.at.open(view="hosts", host="node0002")
        self.assertEqual(self.chips(0), [*(f"rank {rank}" for rank in range(16, 24)), "GPU 0 10 %", "GPU 1 30 %", "mlx5_0:1 20 %"])
        self.assertEqual(self.chips(1), [*(f"rank {rank}" for rank in range(24, 32)), "GPU 2 50 %", "GPU 3 70 %", "mlx5_1:1 90 %"])
        self.assertEqual(self.at.page.eval_on_selector_all(".chip.bad", "all => all.map(each => each.dataset.chip)"), ["GPU 3 70 %"])
        self.at.page.eval_on_selector(".inside", "place => place.scrollIntoView({ block: 'center' })")
        self.at.screenshot("inside")
        self.at.after(lambda: self.at.press("[data-chip='GPU 3 70 %']"))
        self.assertEqual(sorted(map(int, self.at.column("ranks", "rank"))), [28, 29, 30, 31])

    def test_switches(self):
        self.at.open(view="cluster")
        self.assertEqual(self.at.page.eval_on_selector_all(".switch", "all => all.map(each => [each.dataset.switch, each.querySelectorAll('.node').length])"), [["leaf1", 4], ["leaf2", 3], ["", 1]])
        self.assertIn("leaf1 — spine", self.at.page.inner_text("[data-switch=leaf1] h4"))
        self.assertIn("64 ranks, sent 40.0 GB/s", self.at.page.inner_text("[data-switch=leaf1]"))
        self.assertIn("3 errors/s", self.at.page.inner_text("[data-switch=leaf2]"))
        self.at.screenshot("switches")


if __name__ == "__main__":
    unittest.main()
