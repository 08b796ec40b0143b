"""Sums by node and over the cluster: MPI functions, sizes, communication buffers, files by job; compared with the sums of the readings themselves."""

import os
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import support
from browser import Page, chromium
from headrace.monitor import metrics, process, running_totals
from headrace.monitor import sums as subject
from headrace.monitor.answers import Place, answer
from headrace.monitor.collector import Collector, State
from headrace.monitor.history import History
from headrace.monitor.model import Brief, Count, Origin, Rank, Reading, Sweep
from headrace.monitor.running_totals import RunningTotals
from headrace.monitor.synthetic import Job, Synthetic

SECONDS = (10, 20, 30, 40, 50)
JOBS = (Job(ranks=16, slow=3, per_node=4), Job(key="synthetic-2", ranks=6, slow=1, seed=2, per_node=4, device=False, program="ocean.x", origin=Origin("bob", "./ocean.x", "Slurm", "48299", "ocean")))
NAMES = {"read": "read", "written": "written", "from_storage": "read from storage", "to_storage": "written to storage"}


def recorded(path, jobs=JOBS):
    """Writes a history; returns the last sweep."""
    history, source = History(path), Synthetic(*jobs)
    for second in SECONDS:
        source.time = jobs[0].began + second
        last = source.sweep(True)
        history.write(last, {f"node{number:04}": {"cpu.busy": 0.5, "lustre.scratch.read": 1000.0 * number, "lustre.scratch.write": 10.0} for number in range(1, 5)})
    history.close()
    return last


def expected(sweep, kind, host=""):
    """Returns the sums of a kind by name, and by job."""
    found, by_job = {}, {}
    for reading in sweep.readings:
        if not host or reading.rank.host == host:
            for name, count in reading.details.get(kind, {}).items():
                for into in (found, by_job.setdefault(reading.rank.job, {})):
                    into[name] = Count(*map(sum, zip(into.get(name, Count()), count)))
    return found, by_job


class Query(support.Scratch):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "history.sqlite"
        self.sweep = recorded(self.path)

    def ask(self, **asked):
        return answer(Place(self.path), "sums", {name: str(value) for name, value in asked.items()})

    def check(self, found, host):
        ranks = [reading.rank for reading in self.sweep.readings if not host or reading.rank.host == host]
        self.assertEqual((found["ranks"], found["jobs"], found["estimated"]), (len(ranks), len({rank.job for rank in ranks}), False))
        wanted, by_job = expected(self.sweep, "call", host)
        self.assertEqual({row["name"]: (row["count"], row["bytes"], row["ns"]) for row in found["functions"]}, {name: tuple(count) for name, count in wanted.items()})
        times = [row["ns"] for row in found["functions"]]
        self.assertEqual(times, sorted(times, reverse=True))
        for row in found["functions"]:
            self.assertEqual(row["most"], max(calls.get(row["name"], Count()).ns for calls in by_job.values()))
            self.assertEqual(by_job[row["job"]][row["name"]].ns, row["most"])
            self.assertEqual(row["jobs"], sum(row["name"] in calls for calls in by_job.values()))
        for name, kind in (("sizes", "size"), ("operations", "operation")):
            self.assertEqual({row["name"]: row["count"] for row in found[name]}, {key: count.count for key, count in expected(self.sweep, kind, host)[0].items()})
        self.assertEqual(found["rank_seconds"], SECONDS[-1] * len(ranks))
        files = expected(self.sweep, "file", host)[1]
        self.assertEqual({row["job"]: {name: row[name] for name in NAMES} for row in found["files"]},
                         {job: {name: round(moved.get(said, Count()).bytes / SECONDS[-1]) for name, said in NAMES.items()} for job, moved in files.items()})
        held = expected(self.sweep, "buffer", host)[0]
        self.assertEqual({row["name"]: row["bytes"] for row in found["buffers"]}, {name: count.count for name, count in held.items()})
        self.assertEqual({row["name"]: row["most"] for row in found["buffers"]}, {name: max(reading.details["buffer"].get(name, Count()).bytes for reading in self.sweep.readings
                                                                                            if not host or reading.rank.host == host) for name in held})

    def test_the_cluster_and_each_node(self):
        for host in ("", "node0001", "node0002", "node0003", "node0004"):
            with self.subTest(host=host):
                self.check(self.ask(host=host), host)
        self.assertEqual(self.ask()["files"][0]["user"], "ada")
        self.assertEqual(self.ask()["lustre"], [{"name": "scratch", "read": 10_000, "write": 40, "nodes": 4}])
        self.assertEqual(self.ask(host="node0003")["lustre"], [{"name": "scratch", "read": 3000, "write": 10, "nodes": 1}])

    def test_a_part_of_the_time(self):
        """Between two readings, functions are counted as often as the readings differ."""
        source = Synthetic(*JOBS)
        sweeps = []
        for second in (SECONDS[1], SECONDS[3]):
            source.time = JOBS[0].began + second
            sweeps.append(expected(source.sweep(True), "call", "node0002")[0])
        found = self.ask(host="node0002", **{"from": JOBS[0].began + SECONDS[1], "to": JOBS[0].began + SECONDS[3]})
        self.assertEqual({row["name"]: row["count"] for row in found["functions"]}, {name: count.count - sweeps[0][name].count for name, count in sweeps[1].items() if count.count != sweeps[0][name].count})
        self.assertEqual(found["buffers"], [])  # those of then are not kept
        self.assertEqual(found["rank_seconds"], (SECONDS[3] - SECONDS[1]) * found["ranks"])

    def test_nothing_there(self):
        found = self.ask(host="nowhere")
        self.assertEqual((found["ranks"], found["functions"], found["sizes"], found["buffers"], found["files"], found["lustre"]), (0, [], [], [], [], []))
        self.assertEqual(self.ask(**{"from": 5, "to": 6})["functions"], [])

    def test_a_long_time_is_estimated(self):
        with unittest.mock.patch.object(subject, "_RANK_SPANS_MOST", 22 * 3):
            found = self.ask()
        self.assertTrue(found["estimated"])
        wanted = expected(self.sweep, "call")[0]
        for row in found["functions"]:
            if row["name"] not in ("MPI_Init", "MPI_Comm_rank"):  # these are called at the beginning
                self.assertAlmostEqual(row["count"] / wanted[row["name"]].count, 1, 1, row["name"])

    def test_ranks_that_have_ended_keep_no_buffers(self):
        history, source = History(self.path), Synthetic(*(Job(**{**job.__dict__, "seconds": SECONDS[-1] + 1}) for job in JOBS))
        source.time = JOBS[0].began + SECONDS[-1] + 5
        history.write(source.sweep(True), {})
        history.close()
        self.assertEqual(self.ask()["buffers"], [])


def reading(job, rank, calls, host="n1", began=100.0, ended=False, sizes=None, files=None):
    who = Rank(job, rank, 2, 10 + rank, host, "p", began)
    return Reading(who, Brief(), ended, {"call": {name: Count(*count) for name, count in calls.items()}, "size": {name: Count(count) for name, count in (sizes or {}).items()},
                                         "file": {name: Count(bytes=count) for name, count in (files or {}).items()}})


class Totals(unittest.TestCase):
    """The sums of metrics never decrease, whatever jobs do."""

    def setUp(self):
        self.totals, self.time = RunningTotals(), 50.0

    def add(self, *readings):
        self.time += 10
        self.totals.add(Sweep(self.time, list(readings)))
        return self.totals.published()

    def test_jobs_that_come_and_go(self):
        self.add()
        found = self.add(reading("a", 0, {"MPI_Send": (10, 100, 1000)}), reading("a", 1, {"MPI_Recv": (10, 0, 3000)}, "n2"))
        self.assertEqual(found.hosts, {"n1": {"MPI_Send": (10, 100, 1000)}, "n2": {"MPI_Recv": (10, 0, 3000)}})
        self.assertEqual(found.cluster, {"MPI_Send": (10, 100, 1000), "MPI_Recv": (10, 0, 3000)})
        found = self.add(reading("b", 0, {"MPI_Send": (5, 50, 500)}, began=self.time))  # the other one is gone
        self.assertEqual((found.hosts["n1"], found.hosts["n2"]), ({"MPI_Send": (15, 150, 1500)}, {"MPI_Recv": (10, 0, 3000)}))

    def test_what_was_before_the_monitor_does_not_count(self):
        self.assertEqual(self.add(reading("a", 0, {"MPI_Send": (10, 100, 1000)}, began=1.0)).cluster, {})
        self.assertEqual(self.add(reading("a", 0, {"MPI_Send": (12, 120, 1200)}, began=1.0)).cluster, {"MPI_Send": (2, 20, 200)})
        found = self.add(reading("a", 0, {"MPI_Send": (12, 120, 1200)}, began=1.0), reading("late", 0, {"MPI_Send": (7, 7, 7)}, began=2.0))  # its collector has just connected
        self.assertEqual(found.cluster, {"MPI_Send": (2, 20, 200)})

    def test_counters_that_run_backwards_add_nothing(self):
        self.add()
        self.add(reading("a", 0, {"MPI_Send": (10, 100, 1000)}))
        self.assertEqual(self.add(reading("a", 0, {"MPI_Send": (4, 40, 400)})).cluster, {"MPI_Send": (10, 100, 1000)})

    def test_other_keeps_what_it_has(self):
        self.add()
        self.assertEqual(self.add(reading("a", 0, {"MPI_Wait": (1, 0, 1000), "MPI_Send": (1, 1, 10)})).cluster, {"MPI_Wait": (1, 0, 1000), "other": (1, 1, 10)})
        found = self.add(reading("a", 0, {"MPI_Wait": (1, 0, 1000), "MPI_Send": (5, 5, 5010)}))
        self.assertEqual(found.cluster, {"MPI_Wait": (1, 0, 1000), "other": (1, 1, 10), "MPI_Send": (4, 4, 5000)})

    def test_bounded(self):
        self.add()
        hosts, turns, many = running_totals._HOSTS_MOST + 6, running_totals._NAMED_MOST + 4, {f"MPI_{number}": (1, 1, 1000) for number in range(12)}
        self.add(*(reading("a", rank, many, f"n{rank}") for rank in range(hosts)))
        for turn in range(turns):
            found = self.add(*(reading("a", rank, {f"MPI_{turn + 100}": (1, 1, 10 ** 6)}, f"n{rank}", sizes={str(size): 1 for size in range(100)} if rank == 0 else {}) for rank in range(hosts)))
        self.assertEqual((len(found.hosts), found.left_out), (running_totals._HOSTS_MOST, 6))
        self.assertEqual(len(found.cluster), running_totals._NAMED_MOST + 1)
        self.assertTrue(all(len(functions) <= running_totals._NAMED_MOST + 1 for functions in found.hosts.values()))
        self.assertEqual(sum(values[0] for values in found.cluster.values()), hosts * (12 + turns))  # nothing is lost of the cluster
        self.assertEqual(len(found.sizes), running_totals._SIZES_MOST)

    def test_files_of_ranks_that_have_ended(self):
        self.add(reading("a", 0, {}, files={"read": 5}), reading("a", 1, {}, files={"read": 7, "written": 1}))
        found = self.add(reading("a", 0, {}, ended=True), reading("a", 1, {}, files={"read": 9, "written": 1}))
        self.assertEqual(found.files, {"a": {"read": 14, "written": 1}})
        self.assertEqual(self.add().files, {})


class Metrics(unittest.TestCase):
    def test_every_series(self):
        source = Synthetic(*JOBS)
        collector = Collector(source, None)
        source.time = JOBS[0].began - 1  # no job yet
        collector.round()
        before = expected(source.sweep(True), "call")
        self.assertEqual(before, ({}, {}))
        source.time = JOBS[0].began + 20
        collector._details_due = 0
        collector.round()
        sweep = source.sweep(True)
        found = {}
        for family in metrics.families(collector.state):
            for labels, value, _ in family.points:
                found[family.name, tuple(sorted(labels.items()))] = value
        text = metrics.text(collector.state)
        named = set(collector.state.totals.cluster) - {"other"}
        self.assertIn("MPI_Waitall", named)
        for host in ("", "node0001", "node0002", "node0003", "node0004"):
            wanted = {}
            for name, count in expected(sweep, "call", host)[0].items():
                label = name if name in named else "other"
                wanted[label] = Count(*map(sum, zip(wanted.get(label, Count()), count)))
            where, labels = ("host", {"host": host}) if host else ("cluster", {})
            for name, count in wanted.items():
                for figure, value in zip(("calls", "bytes", "seconds"), (count.count, count.bytes, count.ns / 1e9)):
                    self.assertEqual(found[f"headrace_{where}_function_{figure}_total", tuple(sorted({**labels, "function": name}.items()))], value, (host, name, figure))
        for size, count in expected(sweep, "size")[0].items():
            self.assertEqual(found["headrace_cluster_messages_total", (("size", size),)], count.count)
        for job, kept in expected(sweep, "buffer")[1].items():
            for name, count in kept.items():
                self.assertEqual(found["headrace_job_buffer_bytes", (("kept_by", name), ("mpi_job", job))], count.count)
        for job, moved in expected(sweep, "file")[1].items():
            for name, count in moved.items():
                level, way = metrics._FILES[name]
                self.assertEqual(found["headrace_job_file_bytes_total", (("level", level), ("mpi_job", job), ("way", way))], count.bytes)
        self.assertIn('headrace_host_function_calls_total{host="node0001",function="MPI_Waitall"} ', text)

    def test_a_monitor_without_jobs(self):
        self.assertIn("# TYPE headrace_cluster_function_calls_total counter", metrics.text(State()))


class Files(support.Scratch):
    def test_this_process(self):
        before = process.files("self")
        data = os.urandom(123_457)
        (self.folder / "file").write_bytes(data)
        self.assertEqual((self.folder / "file").read_bytes(), data)
        after = process.files("self")
        self.assertGreaterEqual(after.written - before.written, len(data))
        self.assertGreaterEqual(after.read - before.read, len(data))
        self.assertLess(after.read - before.read, len(data) + 16_384)  # /proc itself is read, too
        self.assertGreater(after.reads, before.reads)

    def test_figures_that_are_missing(self):
        self.assertIsNone(process.files(None))
        self.assertIsNone(process.files("9" * 9))
        for text in ("", "rchar: 1\n", "rchar: x\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 1\nwrite_bytes: 1\n", "no colon\n"):
            (self.folder / "1").mkdir(exist_ok=True)
            (self.folder / "1/io").write_text(text)
            self.assertIsNone(process.files("1", self.folder), text)


@support.BROWSER
@support.SERVER
class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        path = Path(support.for_class(cls, tempfile.TemporaryDirectory(prefix="hr-monitor-"))) / "history.sqlite"
        cls.sweep = recorded(path)
        cls.address = support.for_class(cls, support.serving(Place(path)))
        cls.context = support.for_class(cls, chromium())

    def setUp(self):
        self.at = Page(self.context, self.address)
        self.page = self.at.page
        self.addCleanup(lambda: (self.at.page.close(), self.assertEqual(self.at.complaints, [])))

    def table(self, name, *columns):
        return {row[0]: row[1:] for row in zip(*(self.at.column(name, column) for column in columns))}

    def check(self, host):
        wanted = expected(self.sweep, "call", host)[0]
        self.assertEqual({name: tuple(map(int, row)) for name, row in self.table("node-functions", "function", "calls", "bytes").items()}, {name: count[:2] for name, count in wanted.items()})
        shares = self.table("node-functions", "function", "share of time")
        ranks = sum(not host or reading.rank.host == host for reading in self.sweep.readings)
        for name, count in wanted.items():
            self.assertAlmostEqual(float(shares[name][0]), count.ns / 1e9 / SECONDS[-1] / ranks, 6)
        for table, kind, column in (("node-sizes", "size", "size"), ("node-operations", "operation", "operation")):
            self.assertEqual({name: int(row[0]) for name, row in self.table(table, column, "number").items()}, {name: count.count for name, count in expected(self.sweep, kind, host)[0].items()})
        self.assertEqual({name: int(row[0]) for name, row in self.table("node-buffers", "kept by", "bytes now").items()}, {name: count.count for name, count in expected(self.sweep, "buffer", host)[0].items()})
        self.assertEqual({job: int(row[0]) for job, row in self.table("files", "job", "to storage").items()},
                         {job: round(moved["written to storage"].bytes / SECONDS[-1]) for job, moved in expected(self.sweep, "file", host)[1].items()})

    def test_the_cluster(self):
        self.at.open(view="cluster")
        self.check("")
        self.assertEqual(self.table("lustre", "file system", "read", "nodes"), {"scratch": ("10000", "4")})
        self.at.after(lambda: self.page.click("[data-table='node-functions'] tr:has(td[data-value='MPI_Waitall']) td[data-column='most in'] a"))
        self.assertEqual(self.page.evaluate("document.body.dataset.view"), "calls")

    def test_a_node(self):
        for host in ("node0002", "node0004"):
            self.at.open(view="hosts", host=host)
            self.check(host)
        self.at.open(view="hosts", host="node0002")
        self.assertIn("6 ranks of 2 jobs, over 50 s", self.page.inner_text("[data-estimated]"))
        self.page.eval_on_selector("[data-estimated]", "place => place.previousElementSibling.scrollIntoView()")
        self.at.screenshot("functions")
        self.at.after(lambda: self.at.press("[data-table='files'] tr td[data-column='job'] a"))
        self.assertEqual(self.page.evaluate("document.body.dataset.view"), "job")

    def test_a_job(self):
        self.at.open(view="job", job="synthetic-1")
        moved = expected(self.sweep, "file")[1]["synthetic-1"]
        self.assertEqual({name: (int(row[0]), int(row[1])) for name, row in self.table("job-files", "what", "bytes", "calls").items()}, {name: (count.bytes, count.count) for name, count in moved.items()})
        self.at.view("queues")
        kept = [(reading.rank.rank, reading.details["buffer"]) for reading in self.sweep.readings if reading.rank.job == "synthetic-1"]
        names = {name for _, held in kept for name in held}
        self.assertEqual({name: tuple(map(int, row)) for name, row in self.table("buffers", "kept by", "bytes now", "most in one process").items()},
                         {name: (sum(held.get(name, Count()).count for _, held in kept), max(held.get(name, Count()).bytes for _, held in kept)) for name in names})
        self.page.eval_on_selector("[data-table='buffers']", "place => place.scrollIntoView({ block: 'center' })")
        self.at.screenshot("buffers")
        self.at.view("sizes")
        self.assertEqual({name: int(row[0]) for name, row in self.table("operation", "operation and size", "calls").items()},
                         {name: count.count for name, count in expected(self.sweep, "operation")[1]["synthetic-1"].items()})


if __name__ == "__main__":
    unittest.main()
