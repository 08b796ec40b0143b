"""Parts of the benchmark runner that evaluate results: limits between sizes, goals, programs that fail or hang."""

import sys
import tempfile
import time
import unittest
import unittest.mock
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from headrace.bench import bare, child, cli, compare, halo3d, libraries, nccl, plot, sections, suite  # noqa: E402 (the path comes first)
from headrace.bench.compare import Result, table, wandering_warning  # noqa: E402
from headrace.bench.figure import Figure, Table  # noqa: E402
from headrace.bench.grid import grid  # noqa: E402
from headrace.bench.limits import Limits  # noqa: E402
from headrace.bench.progress import Progress  # noqa: E402


def report(*rows):
    return {"rows": [{"label": label, "bytes": bytes_, "median": median} for label, bytes_, median in rows]}


class LimitsTest(unittest.TestCase):
    def setUp(self):
        self.limits = Limits()
        self.limits.add(report(("copy", 8, 4.0), ("copy", 800, 40.0), ("launch", 0, 3.0)))

    def test_a_measured_size_is_as_measured(self):
        self.assertEqual(self.limits.microseconds("copy", 8), 4.0)
        self.assertEqual(self.limits.microseconds("launch"), 3.0)

    def test_between_sizes_on_the_line(self):
        self.assertAlmostEqual(self.limits.microseconds("copy", 80), (4.0 * 40.0) ** 0.5)

    def test_beyond_the_sizes(self):
        self.assertEqual(self.limits.microseconds("copy", 1), 4.0)
        self.assertEqual(self.limits.microseconds("copy", 8000), 400.0)

    def test_the_median_of_the_runs(self):
        for median in (6.0, 100.0):
            self.limits.add(report(("copy", 8, median)))
        self.assertEqual(self.limits.microseconds("copy", 8), 6.0)

    def test_what_was_not_measured(self):
        self.assertIsNone(self.limits.microseconds("bcast", 8))
        self.assertFalse(Limits())


class NcclTest(unittest.TestCase):
    """Tables that compare MPI with NCCL, from synthetic figures for four ranks."""

    def setUp(self):
        self.kept = {"ranks": 4, "operations": nccl.operations({"rows": [
            {"label": label, "bytes": bytes_, "median": median, "best": median - 1, "worst": median + 1} for label, bytes_, median in (
                ("kernel kernel_sync", 0, 10.0), ("allreduce nccl_sync", 8, 20.0), ("allreduce nccl_graph", 8, 8.0), ("allreduce mpi", 8, 16.0),
                ("allgather nccl_sync", 16, 20.0), ("allgather mpi", 16, 30.0), ("ring mpi", 1 << 20, 12.0),
                ("ring bare_push", 1 << 20, 16.0), ("ring bare_pull", 1 << 20, 15.0))]})}

    def test_one_row_an_operation_and_size(self):
        self.assertEqual(self.kept["operations"][1], {"operation": "allreduce", "bytes": 8, "nccl_sync": 20.0, "nccl_graph": 8.0,
                                                      "mpi": 16.0, "mpi_low": 15.0, "mpi_high": 17.0})

    def test_both_baselines_and_the_rounded_size_in_one_column(self):
        lines = [" | ".join(map(str.strip, line.strip("| ").split("|"))) for line in nccl.tables(self.kept, None, True).splitlines()]
        self.assertEqual(lines[0], "of NCCL synchronised / in a graph / bare | 8 B | 1 MiB")
        self.assertEqual(lines[2:], ["allreduce | 0.80 / **2.00** | -", "allgather | **1.50** / - | -", "ring | - | - / - / 0.80"])

    def test_times_of_one_operation(self):
        text = nccl.tables(self.kept, ["allreduce"], True)
        self.assertIn("| Headrace | 16 |", text)
        self.assertIn("| Headrace / NCCL in a graph | **2.00** |", text)
        self.assertNotIn("enqueued", text)
        with self.assertRaisesRegex(KeyError, "operation scan"):
            nccl.tables(self.kept, ["scan"], True)

    def test_the_gpu_set_names_its_baselines(self):
        limits = Limits()
        limits.add(report(("allreduce nccl_sync", 8, 20.0), ("allreduce nccl_graph", 8, 8.0)))
        ours = report(("allreduce", 8, 10.0))
        allreduce = next(section for section in sections.SECTIONS if section.name == "allreduce")
        figure, = allreduce.figures(sections.Measured([[ours]], Limits(), limits))
        self.assertEqual((figure.ratio, figure.limit_name, figure.note), (0.5, "NCCL and a synchronisation", "NCCL in a graph 8 us"))

    def test_ranks_of_halo3d(self):
        self.assertEqual([halo3d.procs(ranks) for ranks in (1, 2, 4, 6, 8)], ["1,1,1", "2,1,1", "2,2,1", "3,2,1", "4,2,1"])

    def test_halo3d_ratios_are_formed_within_a_run(self):
        cases = halo3d.Cases()
        for seconds, alone in ((0.2, 0.1), (0.6, 0.4), (0.3, 0.2)):
            cases.add({"local": [64, 64, 64], "steps": 1000,
                       "results": [{"pattern": "overlap-fused", "seconds": seconds, "alone": alone, "valid": True}]})
        self.assertEqual(cases.rows(), [["64^3", "1000", "overlap-fused", "300", "200 to 600", "200", "1.500"]])
        with self.assertRaisesRegex(child.Failed, "64.3 points gave wrong values"):
            cases.add({"local": [64, 64, 64], "steps": 1, "results": [{"pattern": "x", "seconds": 1, "alone": 1, "valid": False}]})


class BareTest(unittest.TestCase):
    """The column of bare limits, from synthetic figures."""

    def setUp(self):
        self.commands = []
        self._run_json, bare.run_json = bare.run_json, self._report

    def tearDown(self):
        bare.run_json = self._run_json

    def find(self, program):
        return program

    def _report(self, command, _timeout):
        self.commands.append(command)
        rows = {"exchange": {8: 0.2, 16384: 4}, "memcpy": {8: 0.01, 16384: 0.2, 65536: 2}, "cache line": {64: 0.1},
                "bcast, memory": {8: 5, 8192: 20}, "bcast, reading": {8192: 10}}
        return {"rows": [{"label": label, "bytes": size, "median": time}
                         for label, times in rows.items() for size, time in times.items()]}

    def test_best_way_of_a_collective(self):
        limits = bare.Bare(self, 8, "8,8K")
        limits.measure(suite.BENCHMARKS["bcast"])
        self.assertEqual([limits.of("bcast", size) for size in (8, 8192, 64)], [5, 10, None])
        command = " ".join(self.commands[0])
        self.assertIn("--collectives bcast --processes 8", command)
        self.assertIn("--sizes 8,8K", command)

    def test_messages(self):
        limits = bare.Bare(self, 2, None)
        limits.measure(suite.BENCHMARKS["latency"])
        limits.measure(suite.BENCHMARKS["bandwidth"])
        self.assertEqual([limits.of("latency", size) for size in (8, 16384, 65536)], [0.2, 4, 2])
        self.assertEqual(limits.of("bandwidth", 65536), 32768)

    def test_cores_apart(self):
        for name in ("latency", "bcast"):
            limits = bare.Bare(self, 2, "8", cores_apart="45-150")
            limits.measure(suite.BENCHMARKS[name])
            self.assertIn("--cores-apart 45-150", " ".join(self.commands[-1]))

    def test_distances(self):
        limits = bare.Bare(self, 2, "8")
        self.assertEqual(limits.distances(), [])
        for _ in range(2):
            limits.measure(suite.BENCHMARKS["latency"])
        self.assertEqual(limits.distances(), [0.1, 0.1])

    def test_unknown(self):
        for ranks, touch, name in ((2, False, "reduce"), (8, False, "latency"), (2, True, "bcast"), (1, False, "bcast")):
            limits = bare.Bare(self, ranks, None, touch)
            limits.measure(suite.BENCHMARKS[name])
            self.assertIsNone(limits.of(name, 8))
        self.assertEqual(self.commands, [])


class WanderingTest(unittest.TestCase):
    def test_cores_that_stay(self):
        self.assertEqual(wandering_warning([]), "")
        self.assertEqual(wandering_warning([0.06, 0.07, 0.1]), "")

    def test_cores_that_wander(self):
        self.assertIn("25 to 270 ns", wandering_warning([0.06, 0.025, 0.27]))


class PatienceTest(unittest.TestCase):
    """The first two of three runs fail."""

    def _runs_until_it_works(self, why):
        runs = []

        def run_one(*_arguments):
            runs.append(1)
            if len(runs) < 3:
                raise child.Failed(why)
            return report()

        with unittest.mock.patch.object(compare, "run_one", run_one):
            found = compare.run_patiently(None, None, None, None)
        self.assertEqual(found, report())
        return len(runs)

    def test_cores_that_come_back(self):
        why = "exit code 3: --cores-apart 45-150: for 30 s the cores of the two ranks were never so far apart"
        self.assertEqual(self._runs_until_it_works(why), 3)

    def test_other_failures_are_final(self):
        with self.assertRaises(child.Failed):
            self._runs_until_it_works("no result in 120 s")


class FigureTest(unittest.TestCase):
    def test_less_is_better(self):
        figure = Figure("s", "w", "us", [1.0, 12.0, 11.0], limit=10.0, goal=1.1)
        self.assertAlmostEqual(figure.ratio, 1.1)
        self.assertTrue(figure.reached)
        figure.goal = 1.0
        self.assertFalse(figure.reached)

    def test_more_is_better(self):
        figure = Figure("s", "w", "GB/s", [97.0], limit=100.0, goal=0.98, more_is_better=True)
        self.assertFalse(figure.reached)
        figure.goal = 0.97
        self.assertTrue(figure.reached)

    def test_both_bounds_count(self):
        self.assertFalse(Figure("s", "w", "us", [26.0], limit=26.0, goal=1.3, below=25).reached)

    def test_without_a_limit_nothing_is_claimed(self):
        self.assertIsNone(Figure("s", "w", "us", [1.0], goal=1.3).reached)

    def test_the_table_says_what_failed(self):
        text = Table([Figure("s", "w", "us", [1.0])], {"faces": "no result in 90 s"}).text()
        self.assertIn("`faces` is not complete: no result in 90 s", text)

    def test_the_table_is_aligned_or_markdown(self):
        figures = Table([Figure("s", "w", "us", [2.0], limit=1.0, goal=1.1), Figure("s", "longer", "us", [12.5])])
        lines = figures.text().splitlines()
        self.assertEqual([line.index("us") for line in lines[2:4]], [13, 13])
        self.assertNotIn("|", figures.text())
        self.assertIn("| w | 2 us | 1, 2 to 2 | 1 us,  | 2.00 | at most 1.1 x | **no** |", figures.text(markdown=True))


class ChildTest(unittest.TestCase):
    def test_a_heading_is_no_reason(self):
        script = "print('# latency, us; Open MPI: v5'); print('latency: no memory: full'); raise SystemExit(3)"
        with self.assertRaisesRegex(child.Failed, "^exit code 3: latency: no memory: full$"):
            child.run([sys.executable, "-c", script], 30)

    def test_a_hanging_program_is_ended_with_its_children(self):
        start = time.monotonic()
        with self.assertRaisesRegex(child.Failed, "no result in 1 s"):
            child.run(["sh", "-c", "sleep 60 & sleep 60"], 1)
        self.assertLess(time.monotonic() - start, 20)

    def test_a_failing_program_is_quoted(self):
        with self.assertRaisesRegex(child.Failed, "exit code 3: error: no device"):
            child.run(["sh", "-c", "echo hello; echo error: no device >&2; exit 3"], 5)

    def test_a_program_that_is_not_there(self):
        with self.assertRaisesRegex(child.Failed, "cannot be started"):
            child.run(["/nonexistent/program"], 5)

    def test_no_result(self):
        with self.assertRaisesRegex(child.Failed, "left no result"):
            child.run_json(["true"], 5)


class CompareTest(unittest.TestCase):
    """Two peers, each better at one size; the third library fails."""

    def setUp(self):
        self.result = Result(suite.BENCHMARKS["latency"])
        for name, small, large in (("headrace", (1.0, 1.2, 1.1), 9.0), ("mpich", (2.0, 2.0, 2.0), 30.0),
                                   ("openmpi", (4.0, 4.0, 4.0), 10.0)):
            self.result.reports[name] = [{**report(("", 8, median), ("", 4096, large)), "unit": "us",
                                          "less_is_better": True, "benchmark": "latency"} for median in small]
        self.result.reports["impi"] = []
        self.result.failures["impi"] = "killed by signal 11"

    def test_the_best_peer_of_each_size(self):
        self.assertEqual([self.result.best_peer(key) for key in self.result.keys()], ["mpich", "openmpi"])

    def test_ratios_are_formed_within_a_run(self):
        self.assertEqual(self.result.ratios(("", 8)), [0.5, 0.6, 0.55])

    def test_of_rates_the_highest_is_best(self):
        for reports in self.result.reports.values():
            for one in reports:
                one["less_is_better"] = False
        self.assertEqual(self.result.best_peer(("", 8)), "openmpi")

    def test_the_table_for_a_terminal(self):
        text = table(self.result, ["headrace", "mpich", "openmpi", "impi"])
        self.assertIn("""
latency, us (less is better)

bytes  headrace  mpich  openmpi    impi  headrace / best peer (spread)
-----  --------  -----  -------  ------  -----------------------------
  8 B       1.1      2        4  failed  0.55 (0.50 to 0.60) mpich
4 KiB         9     30       10  failed  0.90 (0.90 to 0.90) openmpi
""", text)
        self.assertNotIn("|", text)
        self.assertNotIn("**", text)

    def test_the_table_as_markdown(self):
        text = table(self.result, ["headrace", "mpich", "openmpi", "impi"], markdown=True)
        self.assertIn("### latency, us (less is better)", text)
        self.assertIn("| 8 B | 1.1 | 2 | 4 | failed | **0.55** (0.50 to 0.60) mpich |", text)
        self.assertIn("worst 0.90", text)
        self.assertIn("impi failed: killed by signal 11", text)

    def test_nothing_ran(self):
        self.assertIn("mpich failed: no", table(Result(suite.BENCHMARKS["latency"], {}, {"mpich": "no"}), ["mpich"]))


class GridTest(unittest.TestCase):
    def test_figures_to_the_right_words_to_the_left(self):
        self.assertEqual(grid(["what", "us"], [["a", "1"], ["longer", "1000"], ["b", "-"]], False),
                         "what      us\n------  ----\na          1\nlonger  1000\nb          -")

    def test_no_rows(self):
        self.assertEqual(grid(["what", "us"], [], False), "what  us\n----  --")

    def test_markdown_only_when_asked(self):
        with unittest.mock.patch.object(cli, "host", lambda args, _build: int(args.markdown)):
            self.assertEqual(cli.main(["latency"]), 0)
            self.assertEqual(cli.main(["latency", "--markdown"]), 1)


class ProgressTest(unittest.TestCase):
    """Two short steps and one long step, three times each, one kind at a time."""

    def setUp(self):
        self.now = 0.0
        self.progress = Progress(["short"] * 3 + ["long"] * 3, clock=lambda: self.now)

    def step(self, what, seconds):
        self.progress.step(what)
        self.now += seconds

    def test_nothing_is_claimed_at_the_start(self):
        self.progress.step("short")
        self.assertIsNone(self.progress.seconds_left())

    def test_kinds_count_as_they_were_measured(self):
        self.step("short", 1)
        self.step("long", 10)
        self.progress.step("short")
        self.assertEqual(self.progress.seconds_left(), 1 + 1 + 2 * 10)
        self.now += 0.5
        self.assertEqual(self.progress.seconds_left(), 0.5 + 1 + 2 * 10)

    def test_a_kind_that_has_not_been_seen_counts_as_the_others(self):
        self.step("short", 2)
        self.progress.step("short")
        self.assertEqual(self.progress.seconds_left(), 2 + 2 + 3 * 2)

    def test_what_the_machine_does_meanwhile_counts(self):
        self.step("short", 1)
        self.step("long", 10)
        self.step("long", 30)  # more steps have been added
        self.progress.step("long")
        self.assertEqual(self.progress.seconds_left(), 30 + 2 * 1)
        self.now += 100  # longer than before; the others have not yet run
        self.assertEqual(self.progress.seconds_left(), 2 * 1)

    def test_not_beyond_the_limit(self):
        progress = Progress(["long"] * 100, limit=25, clock=lambda: self.now)
        progress.step("long")
        self.now += 10
        progress.step("long")
        self.assertEqual(progress.seconds_left(), 15)


class SuiteTest(unittest.TestCase):
    def test_groups_and_names_once_each(self):
        names = [benchmark.name for benchmark in suite.expand(["bibw", "p2p"])]
        self.assertEqual(names, ["bibw", "latency", "bandwidth", "message_rate"])

    def test_unknown_names(self):
        with self.assertRaisesRegex(ValueError, "no such benchmark: bcats"):
            suite.expand(["latency", "bcats"])

    def test_sizes(self):
        self.assertEqual(suite.parse_sizes("0,8,4K,1M"), "0,8,4K,1M")
        for bad in ("", "8,", "4KK", "x", "-1"):
            with self.assertRaises(ValueError):
                suite.parse_sizes(bad)

    def test_every_program_has_its_source(self):
        for benchmark in suite.BENCHMARKS.values():
            self.assertTrue((libraries.sources() / f"{benchmark.program}.cpp").is_file(), benchmark.program)


class LibrariesTest(unittest.TestCase):
    def test_a_peer_that_cannot_be_installed_leaves_nothing_behind(self):
        def install(command, seconds):
            """Makes an environment without pip, which takes a fraction of the time, and uses the pip of this one."""
            if command[1:3] == ["-m", "venv"]:
                return child.run([*command, "--without-pip"], seconds)
            return child.run([sys.executable, "-m", "pip", *command[1:]], seconds)

        with (unittest.mock.patch.dict(libraries.PACKAGES, mpich=("./there-is-no-such-package",)), unittest.mock.patch.object(libraries, "run", install),
              tempfile.TemporaryDirectory() as root):
            with self.assertRaisesRegex(child.Failed, "cannot be installed.*there-is-no-such-package"):
                libraries.install_peer("mpich", Path(root))
            self.assertEqual(list(Path(root).iterdir()), [])


class PlotTest(unittest.TestCase):
    def test_a_picture_is_well_formed(self):
        text = plot.svg("a < b", "us", [plot.Line("headrace", [(8, 0.2), (4096, 1.5)]), plot.Line("peer", [(8, 0.0)])])
        root = xml.etree.ElementTree.fromstring(text)
        self.assertEqual(len(root.findall("{http://www.w3.org/2000/svg}polyline")), 1)

    def test_one_size_makes_no_picture(self):
        self.assertEqual(plot.svg("t", "us", [plot.Line("headrace", [(8, 0.2)])]), "")


if __name__ == "__main__":
    unittest.main()
