"""The collector's thread, the machine's figures, and a missing GPU management library."""

import importlib.util
import os
import threading
import unittest
import unittest.mock

import support
from headrace.monitor import clock, process
from headrace.monitor.alerts import Alerts, Rule, Rules
from headrace.monitor.collector import Collector
from headrace.monitor.fabric import Fabric
from headrace.monitor.history import History, connect
from headrace.monitor.host import Host
from headrace.monitor.model import Sweep
from headrace.monitor.nvml import Nvml
from headrace.monitor.pages import Pages
from headrace.monitor.query import Range, counters
from headrace.monitor.synthetic import Job, Synthetic


class Failing(Synthetic):
    failing = True

    def sweep(self, details):
        self.time += 1
        if self.failing:
            raise OSError("no such page")
        return super().sweep(details)


class Collecting(support.Scratch):
    def test_it_goes_on_after_a_failure(self):
        source = Failing(Job(ranks=2))
        collector = Collector(source, None, period=0.02)
        with support.contextlib.redirect_stderr(support.sys.stdout):
            collector.start()
            self.addCleanup(collector.stop)
            support.wait_for(lambda: collector.state.remarks, text="a remark")
            self.assertIn("no such page", collector.state.remarks[0])
            source.failing = False
            support.wait_for(lambda: collector.state.sweep.readings and not collector.state.remarks, text="readings")
        self.assertTrue(collector.alive())

    def test_the_last_figures_of_a_job_are_kept(self):
        source = Failing(Job(ranks=4, seconds=6))
        source.failing = False
        history = History(self.folder / "history.sqlite")
        self.addCleanup(history.close)
        collector = Collector(source, history)
        for _ in range(10):
            collector.round()
        db = connect(history.path)
        self.addCleanup(db.close)
        truth = source.sweep(True).readings
        self.assertEqual(sum(row[1] for row in counters(db, Range(1), "sent_to")), sum(reading.brief.sent for reading in truth))
        self.assertEqual(db.execute("SELECT ended FROM jobs").fetchall(), [(1,)])

    def test_rounds_that_were_missed_are_not_made_up_for(self):
        collector = Collector(Synthetic(Job(ranks=2)), None, period=1.0)
        self.assertEqual(collector._next(100.0, 100.1), 101.0)
        self.assertEqual(collector._next(100.0, 109.0), 109.5)  # stopped for 9 s
        self.assertEqual(collector._next(109.5, 109.6), 110.5)

    def test_a_wall_clock_that_jumps(self):
        """Spans continue as before, and marks of ranks are at the right places."""
        before = clock.now()
        for jump in (-86400, 86400):
            with unittest.mock.patch("time.time", return_value=support.time.time() + jump):
                self.assertLess(abs(clock.now() - before), 10)
                self.assertLess(abs(Pages([]).sweep(False).time - before), 10)
                self.assertLess(abs(clock.from_wall(support.time.time()) - before), 10)

    def test_readers_are_told(self):
        collector = Collector(Synthetic(Job(ranks=2)), None, period=0.02)
        collector.start()
        self.addCleanup(collector.stop)
        with collector.changed:
            self.assertTrue(collector.changed.wait(10))
        self.assertEqual(threading.active_count() > 1, True)


class Machine(support.Scratch):
    def proc(self, busy, received):
        (self.folder / "net").mkdir(exist_ok=True)
        (self.folder / "net/dev").write_text("head\nhead\n  eth0: %d 0 0 0 0 0 0 0 77 0\n broken\n" % received)
        (self.folder / "stat").write_text(f"cpu {busy} 0 0 {1000 - busy} 0 0 0 0 0 0\n")

    def test_rates(self):
        host = Host(self.folder, Nvml("no_such_package", self.folder / "none"), Fabric(self.folder))
        self.proc(100, 1000)
        self.assertEqual(host.look(), {})
        (self.folder / "stat").write_text("cpu 175 0 0 925 0 0 0 0 0 0\n")
        (self.folder / "net/dev").write_text("head\nhead\n  eth0: 999000 0 0 0 0 0 0 0 77 0\n")
        (figures,) = host.look().values()
        self.assertEqual(figures["cpu.busy"], 0.75)
        self.assertGreater(figures["net.eth0.rx"], 0)
        self.assertEqual(figures["net.eth0.tx"], 0)

    def test_memory(self):
        host = Host(self.folder, Nvml("no_such_package", self.folder / "none"), Fabric(self.folder))
        for text, used in (("MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    250 kB\n", 0.75), ("MemTotal: 0 kB\nMemAvailable: 0 kB\n", None), ("MemTotal: 5 kB\n", None),
                           ("MemTotal: x\nMemAvailable:\n", None), ("MemTotal: 10 kB\nMemAvailable: 20 kB\n", 0.0)):
            (self.folder / "meminfo").write_text(text)
            self.assertEqual(host.look().get(host.name, {}).get("memory.used"), used, text)

    def test_lustre(self):
        host = Host(self.folder, Nvml("no_such_package", self.folder / "none"), Fabric(self.folder), debug=self.folder / "debug")
        places = [self.folder / "fs/lustre/llite/scratch-ffff8800", self.folder / "debug/lustre/llite/home-ffff8801"]
        form = "snapshot_time 1.5 secs.nsecs\nread_bytes 12 samples [bytes] 4096 1048576 {}\nwrite_bytes 3 samples [bytes] 1 2 {} 55\nopen 9 samples [reqs]\n"

        def look(*counts):
            for place, (read, written) in zip(places, counts):
                place.mkdir(parents=True, exist_ok=True)
                (place / "stats").write_text(form.format(read, written))
            return {name: value for name, value in host.look().get(host.name, {}).items() if name.startswith("lustre.")}
        self.assertEqual(look((1000, 0), (5, 5)), {})
        with unittest.mock.patch("time.monotonic", lambda: host._before[0] + 2):
            self.assertEqual(look((5000, 600), (1, 5)), {"lustre.scratch.read": 2000, "lustre.scratch.write": 300, "lustre.home.read": 0, "lustre.home.write": 0})
            (places[0] / "stats").write_text("read_bytes many samples [bytes] 1 2 x\n")
            self.assertNotIn("lustre.scratch.read", look())

    def test_a_process(self):
        found = process.use(str(os.getpid()))
        self.assertTrue(found.cpu_ns > 0 and 1 << 20 < found.resident <= found.most)
        self.assertIsNone(process.use(None))
        self.assertIsNone(process.use("9" * 9))
        self.assertIsNone(process.use("1", self.folder))

    def gpus(self):
        self.clock = 100.0
        nvml = Nvml("fake_nvml", clock=lambda: self.clock)
        self.addCleanup(nvml.end)
        return nvml

    def test_gpus(self):
        nvml = self.gpus()

        def look():
            self.clock += 2
            return nvml.look()
        look()
        figures = support.wait_for(lambda: said if len(said := look()) == 15 else None, text="all figures")
        self.assertEqual(figures, {"gpu.0.busy": 0.1, "gpu.1.busy": 0.2, "gpu.0.memory": 0.25, "gpu.1.memory": 0.5, "gpu.0.nvlink_tx": 8192, "gpu.0.nvlink_rx": 0,
                                   "gpu.0.pcie_tx": 100e3, "gpu.0.pcie_rx": 101e3, "gpu.1.pcie_tx": 200e3, "gpu.1.pcie_rx": 201e3, "gpu.0.throttled": 0.0, "gpu.1.throttled": 1.0,
                                   "gpu.0.temperature": 40.0, "gpu.1.temperature": 80.0, "gpu.0.power": 300.5})
        self.assertEqual(nvml.addresses(), {0: "0000:17:00.0", 1: "0000:27:00.0"})

    def test_a_throttled_gpu_is_an_alert(self):
        told = []
        alerts = Alerts(Rules([Rule("hot", "gpu.throttled", 0.0)]), lambda _, event: told.append((event["state"], event["text"])) or "")
        host = Host(self.folder, self.gpus(), Fabric(self.folder))
        for hot in (True, True, False):
            with unittest.mock.patch("fake_nvml.hot", hot):
                alerts.look(Sweep(1.0), host.look())
        support.wait_for(lambda: len(told) == 2, text="both alerts")
        self.assertEqual(told, [("begins", f"hot: GPU 1 of {host.name} is throttled"), ("ends", f"over: hot: GPU 1 of {host.name} is throttled")])

    def test_without_the_package(self):
        self.assertEqual(Nvml("no_such_package", self.folder / "none").remarks, [])
        (remark,) = Host(self.folder, Nvml("no_such_package", self.folder), Fabric(self.folder)).remarks
        self.assertIn("pip install 'headrace[monitor]'", remark)

    def test_without_a_driver(self):
        with unittest.mock.patch("fake_nvml.nvmlInit", side_effect=OSError("libnvidia-ml.so.1: cannot open shared object file")):
            nvml = Nvml("fake_nvml")
        self.assertEqual((nvml.look(), nvml.addresses(), nvml.remarks), ({}, {}, []))

    @unittest.skipUnless(importlib.util.find_spec("pynvml") or support.REQUIRED, "nvidia-ml-py is not here; make test installs it")
    def test_the_package_has_these_names(self):
        import fake_nvml
        import pynvml

        for name, value in vars(fake_nvml).items():
            if name.startswith("NVML_"):
                self.assertEqual(getattr(pynvml, name), value, name)
            elif name.startswith("nvml"):
                self.assertTrue(callable(getattr(pynvml, name)), name)
        self.assertLessEqual({"nvmlReturn", "value"}, {name for name, *_ in pynvml.c_nvmlFieldValue_t._fields_})

    def test_nothing_to_read(self):
        host = Host(self.folder / "missing", Nvml("no_such_package", self.folder / "none"), Fabric(self.folder))
        self.assertEqual((host.look(), host.look()), ({}, {}))

    def test_this_machine(self):
        host = Host()
        host.look()
        self.assertTrue(all(0 <= value for figures in host.look().values() for value in figures.values()))


if __name__ == "__main__":
    unittest.main()
