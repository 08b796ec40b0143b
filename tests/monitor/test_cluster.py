"""The page of a cluster of 1,000 nodes with a job of 4,096 ranks: first view, sums, from a node to its links and to the ranks on them."""

import os
import random
import tempfile
import time
import unittest
from pathlib import Path

import support
from browser import Page, chromium
from headrace.monitor.answers import Place
from headrace.monitor.history import History
from headrace.monitor.model import Origin
from headrace.monitor.synthetic import Job, Synthetic

NODES = 1000
FAULTY, DOWN, BUSY, HOT = "node0300", "node0600", "node0017", "node0123"


def figures(name, noise):
    use = 0.97 if name == BUSY else 0.1 + 0.5 * noise.random()
    found = {"cpu.busy": round(0.3 + 0.6 * noise.random(), 3)}
    for port in (0, 1):
        link = f"link.infiniband.mlx5_{port}:1"
        found.update({f"{link}.speed": 25e9, f"{link}.up": float(name != DOWN or port == 0), f"{link}.use": use, f"{link}.rx": use * 25e9, f"{link}.tx": use * 20e9,
                      f"{link}.errors": 12.5 if name == FAULTY and port == 1 else 0.0})
    for gpu in range(4):
        found.update({f"gpu.{gpu}.busy": round(0.5 + 0.4 * noise.random(), 2), f"gpu.{gpu}.throttled": float(name == HOT and gpu == 2), f"gpu.{gpu}.temperature": 88.0 if name == HOT and gpu == 2 else 55.0,
                      f"gpu.{gpu}.memory": 0.5, f"gpu.{gpu}.power": 400.0, f"gpu.{gpu}.nvlink_tx": 1e10, f"gpu.{gpu}.pcie_rx": 1e9})
    return found


def recorded(path):
    history, noise = History(path, most_bytes=1 << 40), random.Random(1)
    began = Job().began
    jobs = (Job(ranks=4096, slow=700, per_node=8, device=False), Job(key="synthetic-2", ranks=64, slow=3, seed=2, began=began, device=False, origin=Origin("bob", "./ocean.x -c in.nml", "Slurm", "48299", "ocean")))
    source, names = Synthetic(*jobs), [f"node{number + 1:04}" for number in range(NODES) if number + 1 != 42]
    for second in (20, 40, 60):
        source.time = began + second
        history.write(source.sweep(second != 40), {name: figures(name, noise) for name in names})
    history.close()


@support.BROWSER
@support.SERVER
class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        path = Path(support.for_class(cls, tempfile.TemporaryDirectory(prefix="hr-monitor-"))) / "history.sqlite"
        recorded(path)
        cls.address = support.for_class(cls, support.serving(Place(path)))
        cls.context = support.for_class(cls, chromium())

    def setUp(self):
        self.at = Page(self.context, self.address)
        self.addCleanup(lambda: (self.at.page.close(), self.assertEqual(self.at.complaints, [])))

    def test_the_first_view(self):
        times, work = [], []
        browser = self.context.new_cdp_session(self.at.page)
        browser.send("Performance.enable", {"timeDomain": "threadTicks"})
        for _ in range(3):
            self.at.page.goto("about:blank")
            before = time.process_time()
            self.at.open(view="cluster")
            times.append(self.at.page.evaluate("performance.getEntriesByName('first-view')[0].startTime"))
            tasks = next(metric["value"] for metric in browser.send("Performance.getMetrics")["metrics"] if metric["name"] == "TaskDuration")
            work.append(1e3 * (time.process_time() - before + tasks))
        print(f"first view of {NODES} nodes: {sorted(map(round, times))} ms; CPU time of the server and the page: {sorted(map(round, work))} ms")
        self.assertLess(min(work), 1000)  # does not depend on what else the machine does
        if os.getloadavg()[0] < (os.cpu_count() or 1):
            self.assertLess(min(times), 1000)
        self.assertEqual((self.at.sum("nodes"), self.at.sum("silent"), self.at.sum("down"), self.at.sum("ranks"), self.at.sum("GPUs")), (NODES + 1, 2, 1, 4160, 4 * (NODES - 1)))
        self.assertEqual(len(self.at.page.query_selector_all(".nodes .node")), NODES + 1)
        marked = {name: self.at.page.inner_text(f".nodes [data-host={name}]") for name in (FAULTY, DOWN, "node0042", "node0001")}
        self.assertEqual(marked, {FAULTY: "!", DOWN: "×", "node0042": "?", "node0001": ""})
        self.at.screenshot("cluster")

    def test_from_the_worst_to_the_ranks(self):
        self.at.open(view="cluster")
        self.assertIn(BUSY, self.at.column("worst", "node"))
        self.at.after(lambda: self.at.press(f".nodes [data-host={BUSY}]"))
        self.assertEqual(self.at.page.evaluate("document.body.dataset.view"), "hosts")
        self.assertEqual((self.at.column("nodes", "node"), self.at.column("links", "link")), ([BUSY], ["mlx5_0:1", "mlx5_1:1"]))
        self.assertEqual(sorted(map(int, self.at.column("users", "rank"))), list(range(128, 136)))
        self.assertTrue(all(float(value) > 0 for way in ("from", "to") for value in self.at.column("users", f"{way} other nodes")))
        moved = [sum(map(float, self.at.column(name, "from other nodes"))) for name in ("loads", "users")]
        self.assertEqual((len(self.at.column("loads", "job")), self.at.column("loads", "ranks")), (1, ["8"]))
        self.assertEqual(moved[0], moved[1])
        part = float(self.at.page.get_attribute("[data-explained]", "data-explained"))  # the made-up links carry much more than the job sends
        self.assertAlmostEqual(part, moved[0] / (2 * 25e9 * 0.97), 3)
        self.assertEqual(self.at.page.get_attribute("[data-explained]", "data-way"), "received")  # the busier direction
        self.assertIn("The rest is traffic of other programs", self.at.page.inner_text("[data-explained]"))
        self.at.screenshot("node")

    def test_gpus(self):
        self.at.open(view="gpus")
        self.assertEqual((self.at.sum("GPUs"), self.at.sum("throttled")), (4 * (NODES - 1), 1))
        self.assertEqual((self.at.column("gpus", "node")[0], self.at.column("gpus", "GPU")[0], self.at.column("gpus", "temperature")[0]), (HOT, "2", "88"))
        self.assertEqual(self.at.page.inner_text(f"[data-gpu='{HOT} 2']"), "!")
        self.at.screenshot("gpus")
        self.at.after(lambda: self.at.press(f"[data-gpu='{HOT} 2']"))
        self.assertEqual(self.at.column("gpus", "node"), [HOT] * 4)  # the table is on the node's own page

    def test_links(self):
        self.at.open(view="links")
        self.assertEqual(self.at.sum("links"), 2 * (NODES - 1))
        self.assertEqual(self.at.column("links", "node")[:2], [DOWN, FAULTY])
        self.assertEqual(self.at.column("links", "jobs on the node")[:3], ["", "synthetic-1", "synthetic-1"])
        self.at.after(lambda: self.at.press("[data-table=links] td[data-column='jobs on the node'] a[href]"))  # the first one with a job
        self.assertEqual((self.at.page.evaluate("document.body.dataset.view"), self.at.page.inner_text("dl.facts dd")), ("job", "synthetic-1"))
        self.at.open(view="links")
        self.assertRegex(self.at.page.inner_text("[data-table=links]"), r"ada · Slurm 48213 · halo3d \(receives [0-9.]+ [kM]B/s\)")
        self.assertIn("ada · Slurm 48213 · halo3d", self.at.page.inner_text("[data-table=links]"))
        self.at.fill("filter", BUSY)
        self.assertEqual(self.at.column("links", "in use"), ["0.97", "0.97"])
        self.assertIn("Means of the last minute before the end of the chosen time", self.at.page.inner_text("#view"))
        self.at.screenshot("links")


if __name__ == "__main__":
    unittest.main()
