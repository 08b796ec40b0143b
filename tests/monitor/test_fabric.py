"""Links: readers on a synthetic sysfs tree, wrong counters, the sums of nodes and links, the users of a link."""

import resource
import time
import unittest

import support
from headrace.monitor import collector as collector_module
from headrace.monitor import metrics
from headrace.monitor.answers import Place, answer
from headrace.monitor.collector import Collector, State
from headrace.monitor.fabric import Fabric
from headrace.monitor.history import History, connect
from headrace.monitor.host import Host
from headrace.monitor.model import Count
from headrace.monitor.nvml import Nvml
from headrace.monitor.query import Wrong
from headrace.monitor.synthetic import Job, Synthetic

GIB = 1 << 30


class Tree(support.Scratch):
    """A host with a port of each kind."""

    def setUp(self):
        super().setUp()
        self.clock = 100.0
        self.fabric = Fabric(self.folder, lambda: self.clock)
        self.ib, self.roce = "class/infiniband/mlx5_0/ports/1/", "class/infiniband/mlx5_1/ports/1/"
        self.cxi, self.eth = "class/cxi/cxi0/device/", "class/net/eth0/"
        for path, text in ((self.ib + "link_layer", "InfiniBand\n"), (self.ib + "state", "4: ACTIVE\n"), (self.ib + "rate", "100 Gb/sec (4X EDR)\n"),
                           (self.roce + "link_layer", "Ethernet"), (self.roce + "state", "1: DOWN"), (self.roce + "rate", "25 Gb/sec (1X EDR)"),
                           (self.cxi + "net/hsn0/operstate", "up"), (self.cxi + "net/hsn0/speed", "200000"),
                           (self.eth + "operstate", "up"), (self.eth + "speed", "10000"), (self.eth + "device/vendor", "x"), ("class/net/docker0/statistics/rx_bytes", "5")):
            self.put(path, text)
        self.count(0)

    def put(self, path, text):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(str(text))

    def count(self, seconds):
        """Writes the counters as they are after `seconds`: traffic of 4 GB/s in and 2 GB/s out on InfiniBand."""
        for path, rate in ((self.ib + "counters/port_rcv_data", 10 ** 9), (self.ib + "counters/port_xmit_data", 5 * 10 ** 8), (self.ib + "counters/port_rcv_packets", 1000),
                           (self.ib + "counters/port_xmit_packets", 500), (self.ib + "counters/symbol_error", 3), (self.ib + "counters/port_rcv_errors", 2),
                           (self.ib + "counters/port_xmit_wait", 70), (self.ib + "counters/port_xmit_discards", 4), (self.roce + "hw_counters/packet_seq_err", 6),
                           (self.roce + "hw_counters/rp_cnp_handled", 8), (self.eth + "statistics/rx_bytes", 10 ** 6), (self.eth + "statistics/tx_bytes", 2 * 10 ** 6),
                           (self.eth + "statistics/rx_errors", 1)):
            self.put(path, rate * seconds)
        for name, rate in (("hni_sts_rx_ok_octets", 10 ** 9), ("hni_sts_tx_ok_octets", 5 * 10 ** 9), ("hni_pcs_uncorrected_cw", 9)):
            self.put(self.cxi + "telemetry/" + name, f"{rate * seconds}@{seconds}.5")

    def after(self, seconds):
        self.clock += seconds
        return self.fabric.look()

    def test_each_kind(self):
        self.assertEqual(self.fabric.look()["link.infiniband.mlx5_0:1.speed"], 12.5e9)
        self.count(2)
        found = self.after(2)
        expected = {"infiniband.mlx5_0:1": {"rx": 4e9, "tx": 2e9, "packets": 1500, "errors": 5, "waits": 70, "discards": 4, "use": 0.32, "up": 1, "speed": 12.5e9},
                    "roce.mlx5_1:1": {"retries": 6, "congestion": 8, "up": 0, "speed": 3.125e9},
                    "slingshot.cxi0": {"rx": 1e9, "tx": 5e9, "errors": 9, "use": 0.2, "up": 1, "speed": 25e9},
                    "ethernet.eth0": {"rx": 1e6, "tx": 2e6, "errors": 1, "use": 0.0016, "up": 1, "speed": 1.25e9}}
        self.assertEqual(found, {f"link.{link}.{name}": value for link, figures in expected.items() for name, value in figures.items()})
        self.assertEqual(self.fabric.remarks, [])

    def test_counters_that_lie(self):
        self.count(10)
        self.fabric.look()
        self.put(self.ib + "counters/port_rcv_data", 5)  # backwards
        self.put(self.ib + "counters/port_xmit_data", 10 ** 18)  # faster than the link
        self.put(self.ib + "counters/symbol_error", "-1")
        self.put(self.ib + "counters/port_rcv_packets", "x" * 10_000)
        self.put(self.ib + "rate", "....... Gb/sec")
        self.put(self.eth + "statistics/rx_bytes", 1 << 70)
        found = self.after(1)
        self.assertFalse({f"link.infiniband.mlx5_0:1.{name}" for name in ("rx", "speed")} & found.keys())
        self.assertEqual(len(self.fabric.remarks), 4, self.fabric.remarks)
        self.put(self.ib + "rate", "100 Gb/sec")
        self.put(self.ib + "counters/port_xmit_data", 2 * 10 ** 18)
        self.assertNotIn("link.infiniband.mlx5_0:1.tx", self.after(1))
        self.assertTrue(any("link carries 1.25e+10" in remark for remark in self.fabric.remarks), self.fabric.remarks)
        self.assertIn("link.slingshot.cxi0.rx", found)  # the others are not lost

    def test_many_ports_and_no_tree(self):
        for number in range(300):
            self.put(f"class/net/p{number}/device/vendor", "x")
            self.put(f"class/net/p{number}/operstate", "up")
        self.put("class/net/with space/device/vendor", "x")
        found = self.fabric.look()
        self.assertLessEqual(len(found), 128 * 4)
        self.assertEqual(Fabric(self.folder / "none").look(), {})

    def test_this_machine_is_read_quickly(self):
        fabric = Fabric()
        fabric.look()
        used = time.thread_time()
        fabric.look()
        self.assertLess(time.thread_time() - used, 0.1)

    def test_a_link_is_in_use_by_the_whole_at_most(self):
        """Packets that the link held back arrive in the next second."""
        self.fabric.look()
        self.put(self.eth + "statistics/rx_bytes", 1_300_000_000)  # 10 Gbit/s are 1.25 GB/s
        figures = self.after(1)
        self.assertEqual((figures["link.ethernet.eth0.rx"], figures["link.ethernet.eth0.use"]), (1.3e9, 1.0))

    def test_a_hosts_figures_include_its_links(self):
        host = Host(self.folder / "proc", Nvml("no_such_package", self.folder / "none"), self.fabric)
        host.look()
        self.count(1)
        self.clock += 1
        (figures,) = host.look().values()
        self.assertEqual(figures["link.slingshot.cxi0.tx"], 5e9)


def figures(number):
    """A node: the third has a busy link with errors, the fourth one that is down."""
    use = {2: 0.9}.get(number, 0.1)
    return {"cpu.busy": 0.5, "gpu.0.busy": 0.4, "gpu.1.busy": 0.6, "gpu.1.throttled": float(number == 2), "link.infiniband.mlx5_0:1.speed": 12.5e9, "link.infiniband.mlx5_0:1.up": float(number != 3),
            "link.infiniband.mlx5_0:1.use": use, "link.infiniband.mlx5_0:1.rx": use * 12.5e9, "link.infiniband.mlx5_0:1.tx": 1e9,
            "link.infiniband.mlx5_0:1.errors": 7.0 if number == 2 else 0.0}


class Sums(support.Scratch):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "history.sqlite"
        history = History(self.path)
        job = Job(ranks=16, slow=0, per_node=4)
        source = Synthetic(job)
        for second in (1, 5, 10):
            source.time = job.began + second
            history.write(source.sweep(True), {f"node{number + 1:04}": figures(number) for number in range(4) if number != 1})
        history.close()
        self.end = source.time
        self.db = connect(self.path)
        self.addCleanup(self.db.close)

    def test_nodes(self):
        found = answer(Place(self.path), "nodes", {})
        rows = {row["host"]: row for row in found["nodes"]}
        self.assertEqual(list(rows), ["node0001", "node0002", "node0003", "node0004"])
        self.assertEqual([row["silent"] for row in rows.values()], [False, True, False, False])
        self.assertEqual(rows["node0003"] | {"rx": 0}, {"host": "node0003", "silent": False, "cpu": 0.5, "memory": None, "gpus": 2, "gpu": 0.5, "rx": 0, "tx": 1e9, "links": 1, "down": 0, "use": 0.9,
                                                        "busiest": "mlx5_0:1", "errors": 7.0, "discards": 0, "ranks": 4, "jobs": ["synthetic-1"], "more_jobs": 0, "traffic": rows["node0003"]["traffic"]})
        self.assertEqual((rows["node0004"]["down"], rows["node0002"]["ranks"]), (1, 4))

    def test_links(self):
        found = answer(Place(self.path), "links", {})
        self.assertEqual([row["host"] for row in found], ["node0004", "node0003", "node0001"])  # down, errors, the rest
        self.assertEqual([row["host"] for row in answer(Place(self.path), "links", {"host": "node0001"})], ["node0001"])
        self.assertEqual([(row["jobs"], row["more_jobs"]) for row in found], [(["synthetic-1"], 0)] * 3)
        self.assertEqual(answer(Place(self.path), "links", {"to": str(self.end - 1000)}), [])
        with self.assertRaises(Wrong):
            answer(Place(self.path), "links", {"from": "noon"})

    def test_gpus(self):
        found = answer(Place(self.path), "gpus", {})
        self.assertEqual([(row["host"], row["gpu"]) for row in found], [("node0003", 1), ("node0001", 1), ("node0004", 1), ("node0001", 0), ("node0003", 0), ("node0004", 0)])  # throttled, busiest
        self.assertEqual((found[0]["throttled"], found[0]["busy"], found[0]["busy_most"], found[0]["power"]), (1.0, 0.6, 0.6, None))
        row = answer(Place(self.path), "gpus", {"host": "node0001"})[1]
        self.assertEqual((row["gpu"], row["ranks"], row["more_ranks"]), (0, [{"id": 1, "job": "synthetic-1", "rank": 0, "alone": True}], 0))

    def test_a_time_relative_to_the_newest_figures(self):
        place = Place(self.path)
        self.assertEqual(answer(place, "nodes", {"from": "-5"})["from"], self.end - 5)
        self.assertEqual(answer(place, "timeline", {"from": "-6"})["time"], answer(place, "timeline", {"from": str(self.end - 6)})["time"])
        self.assertEqual(len(answer(place, "timeline", {"from": "-6", "to": str(self.end - 4)})["time"]), 2)

    def test_the_rank_whose_calls_take_longest(self):
        rows = {row["name"]: row for row in answer(Place(self.path), "counters", {"kind": "call"})}
        by_rank = self.db.execute("SELECT rank FROM totals JOIN names ON names.id = key WHERE kind = 1 AND name = 'MPI_Waitall' ORDER BY ns * 1.0 / count").fetchall()
        self.assertEqual((rows["MPI_Waitall"]["worst"],), by_rank[-1])
        self.assertEqual((rows["MPI_Init"]["worst"], rows["MPI_Init"]["seconds"]), (None, 10.0))  # it counts no time

    def test_since_when_a_rank_is_slow(self):
        class Turned(Synthetic):
            def _wait(self, job, rank, elapsed):
                return int(elapsed * 3e7 + (0 if rank == 5 else max(0.0, elapsed - 60) * 4e8))

        history = History(self.folder / "turned.sqlite")
        source = Turned(Job(ranks=16, slow=5, per_node=4))
        for second in range(2, 122, 2):
            source.time = source.jobs[0].began + second
            history.write(source.sweep(second % 10 == 0), {})
        history.close()
        found = answer(Place(self.folder / "turned.sqlite"), "slowest", {})
        began = source.jobs[0].began
        self.assertEqual((found["rank"], found["host"], found["cpus"], found["gpu"], found["since"] - began, found["until"] - began), (5, "node0002", "5", "5", 60, 120))
        self.assertAlmostEqual(found["outside"], 1 - 0.03 - 200 * 90e-6, 2)
        self.assertEqual((found["goes_on"], "calls" in found), (True, False))
        said = answer(Place(self.folder / "turned.sqlite"), "slowest", {"calls": "1"})
        rows = {row["name"]: row for row in said["calls"]}
        self.assertEqual(said["waits_in"], "MPI_Waitall")
        self.assertAlmostEqual(rows["MPI_Waitall"]["own"], 0.03 + 200 * 40e-6, 2)
        self.assertAlmostEqual(rows["MPI_Waitall"]["others"], 0.03 + 0.4 + 200 * 40e-6, 2)
        self.assertAlmostEqual(rows["MPI_Allreduce"]["own"], 200 * 20e-6, 3)
        place = Place(self.folder / "turned.sqlite")
        self.assertEqual([(number, said["rank"], said["since"] - began) for number, said in answer(place, "held", {}).items()], [(1, 5, 60)])
        self.assertIs(answer(place, "held", {})[1], answer(place, "held", {})[1])  # computed once
        self.assertEqual((found["earlier"], found["start"]), (False, False))
        (finding,) = (each for each in answer(place, "findings", {}) if each["id"].startswith("balance."))
        self.assertEqual((finding["id"], finding["cost"]), ("balance.uneven", "the job goes at the speed of rank 5"))
        self.assertIn("rank 5 waits least in 100% of the 60 s in which it holds the others up", finding["evidence"])
        early = answer(Place(self.folder / "turned.sqlite"), "slowest", {"calls": "1", "from": str(began + 70), "to": str(began + 90)})
        self.assertEqual((early["rank"], early["since"] - began, early["until"] - began, early["waits_in"], early["earlier"]), (5, 70, 90, "MPI_Waitall", True))
        self.assertEqual(answer(Place(self.folder / "turned.sqlite"), "slowest", {"to": str(began + 50)})["rank"], None)

    def test_who_is_on_a_link(self):
        found = answer(Place(self.path), "users", {"host": "node0001"})
        self.assertEqual({row["rank"] for row in found}, {0, 1, 2, 3})
        self.assertEqual({(row["job"], row["user"], row["batch"]) for row in found}, {("synthetic-1", "ada", "Slurm 48213")})
        sent = self.db.execute("""SELECT sum(bytes) FROM totals AS t JOIN ranks AS a ON a.job = t.job AND a.rank = t.rank JOIN ranks AS b ON b.job = t.job AND b.rank = t.key
                                  WHERE kind IN (2, 3) AND a.host = 'node0001' AND b.host != a.host""").fetchone()[0]
        self.assertAlmostEqual(sum(row["sent"] for row in found), sent / 10, delta=5)
        self.assertAlmostEqual(sum(row["received"] for row in found), sent / 10, delta=5)  # the halo is symmetric
        self.assertEqual(answer(Place(self.path), "users", {"host": "nowhere"}), [])
        self.assertEqual(answer(Place(self.path), "users", {"host": "node0001", "to": str(self.end - 1000)}), [])


class Receiving(support.Scratch):
    """Three jobs on two nodes: ranks of the one that is last by name send to a rank on the first node, which sends nothing."""

    RATE = 4_000_000

    class Filling(Synthetic):
        def _details(self, job, rank, peers, steps, wait):
            found = {**super()._details(job, rank, peers, steps, wait), "internal_to": {}}
            seconds = steps / 200
            if job.key == "wide":
                found["sent_to"] = {"0": Count(int(4 * seconds), int(Receiving.RATE * seconds))} if rank else {}
                found["call"] = {"MPI_Send" if rank else "MPI_Waitany": Count(int(4 * seconds), 0, int(seconds * 1e9))}
            else:
                found["sent_to"] = {str(1 - rank): Count(int(seconds), int(50 * seconds) * (3 - rank))}
            return found

    def setUp(self):
        super().setUp()
        self.path = self.folder / "history.sqlite"
        history = History(self.path)
        self.addCleanup(history.close)
        jobs = [Job(key=key, ranks=2, per_node=1, seed=seed) for seed, key in enumerate(("narrow", "thin", "wide"))]
        source = self.Filling(*jobs)
        for second in (1, 5, 10):
            source.time = jobs[0].began + second
            link = "link.ethernet.eth0"
            history.write(source.sweep(True), {"node0001": {f"{link}.up": 1.0, f"{link}.rx": 4.2e6, f"{link}.tx": 3e4}, "node0002": {f"{link}.up": 1.0, f"{link}.rx": 3e4, f"{link}.tx": 4.2e6}})

    def test_received_bytes_count(self):
        for host, ways in (("node0001", (self.RATE, 0)), ("node0002", (0, self.RATE))):
            first, *others = answer(Place(self.path), "users", {"host": host})
            self.assertEqual((first["job"], len(others)), ("wide", 2), host)
            for way, rate in zip(("received", "sent"), ways):
                self.assertAlmostEqual(first[way], rate, delta=1, msg=host)
            self.assertEqual([(row["received"], row["sent"]) for row in others], [(100, 150) if host == "node0001" else (150, 100)] * 2, host)

    def test_a_function_that_one_rank_calls_takes_longest_there(self):
        rows = answer(Place(self.path), "counters", {"kind": "call", "job": "wide"})
        self.assertEqual({row["name"]: row["worst"] for row in rows}, {"MPI_Waitany": 0, "MPI_Send": 1})

    def test_jobs_on_a_link_are_in_the_order_of_their_bytes(self):
        for name, rows in (("links", answer(Place(self.path), "links", {})), ("nodes", answer(Place(self.path), "nodes", {})["nodes"])):
            self.assertEqual({row["host"]: row["jobs"] for row in rows}, dict.fromkeys(("node0001", "node0002"), ["wide", "narrow", "thin"]), name)
            self.assertEqual({row["host"]: row["traffic"] for row in rows}, {"node0001": [[self.RATE, 0], [100, 150], [100, 150]], "node0002": [[0, self.RATE], [150, 100], [150, 100]]}, name)


class Large(support.Scratch):
    def test_a_thousand_nodes(self):
        """Bounds are generous: the machine may be busy."""
        path = self.folder / "history.sqlite"
        history = History(path, most_bytes=1 << 40)
        job = Job(ranks=4096, slow=0, per_node=4, device=False)
        source, machine = Synthetic(job), {f"node{number + 1:04}": figures(number % 5) for number in range(1000)}
        for second in (20, 40, 60):
            source.time = job.began + second
            history.write(source.sweep(second == 20), machine)
        history.close()
        for name in ("nodes", "links", "jobs"):
            begin = time.thread_time()
            found = answer(Place(path), name, {})
            self.assertLess(time.thread_time() - begin, 1.0, name)
            if name == "nodes":
                self.assertEqual((len(found["nodes"]), sum(row["ranks"] for row in found["nodes"])), (1024, 4096))

    def test_the_cost_of_a_look_and_its_memory(self):
        """The collector reads less often if reading takes long; host figures are stored at a limited rate."""
        class Hosts:
            remarks = []

            def look(self):
                return {f"node{number + 1:04}": figures(number % 5) for number in range(1000)}

        history = History(self.folder / "history.sqlite", most_bytes=1 << 40)
        self.addCleanup(history.close)
        source = Synthetic(Job(ranks=4096, slow=0, per_node=4, device=False))
        begun = source.time
        collector = Collector(source, history, Hosts())
        for _ in range(2):  # the first with details, which are less frequent
            source.time += 1
            collector.round()
        before, memory = time.thread_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(4):
            source.time += collector.period
            collector.round()
        cost = (time.thread_time() - before) / 4
        self.assertGreater(collector.period, 1.0)
        self.assertLess(cost / collector.period, 0.08, f"{cost} s a look, each {collector.period} s")  # 5 % on an otherwise idle machine
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory, 64 << 10)
        rows = history.db.execute("SELECT count(DISTINCT time) FROM machine").fetchone()[0]
        # 9,000 figures are stored only every few seconds; a slow machine reads less often, over a longer time.
        pause = sum(map(len, Hosts().look().values())) / collector_module._MACHINE_ROWS - 0.5
        self.assertGreater(pause, 2)
        self.assertIn(rows, range(1, 2 + int((source.time - begun) / pause)))

    def test_the_number_of_series_is_bounded(self):
        source = Synthetic(Job(ranks=4096, slow=0), Job(key="small", ranks=4, slow=0))
        source.time += 10
        sweep = source.sweep(True)
        counts = {f"MPI_F{number}": Count(1, 2, number) for number in range(200)}
        for reading in sweep.readings:
            reading.details["call"] = counts
        state = State(sweep=sweep, machine={f"n{number}": figures(2) for number in range(10)}, functions=metrics.functions(sweep))
        lines = metrics.text(state).splitlines()
        self.assertLess(len(lines), 1000)
        for line in ('headrace_wait_seconds_total{mpi_job="small",program="halo3d",rank="3",host="synthetic"}', 'headrace_function_calls_total{mpi_job="synthetic-1",function="MPI_F199"} 4096',
                     'headrace_function_calls_total{mpi_job="small",function="other"} 704', 'headrace_link_errors_per_second{host="n3",link="mlx5_0:1",kind="infiniband"} 7.0',
                     'headrace_link_up{host="n9",link="mlx5_0:1",kind="infiniband"} 1.0', 'headrace_host_gpu{host="n0",device="0",figure="busy"} 0.4', "headrace_series_left_out 4096",
                     'headrace_job_info{mpi_job="small",program="halo3d",user="ada",batch="Slurm",batch_job="48213",batch_name="halo-weak-256"} 1',
                     f'headrace_job_sent_messages_total{{mpi_job="synthetic-1"}} {sum(one.brief.sent for one in sweep.readings if one.rank.job == "synthetic-1")}'):
            self.assertTrue(any(line in each for each in lines), line)


if __name__ == "__main__":
    unittest.main()
