"""The pages of docs/performance: their tables match the saved runs, and the page tool reports everything that it cannot
show."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "python")]

import page  # noqa: E402 (the path comes first)
from headrace.bench import compare, nccl, suite, summary  # noqa: E402
from headrace.bench.compare import Result  # noqa: E402

PLAIN = "<!-- table plain calls/instructions -->\n<!-- end -->\n"


class Pages(unittest.TestCase):
    def test_tables_are_those_of_the_data(self):
        self.assertGreater(len(page.pages()), 3)
        for one in page.pages():
            with self.subTest(page=one.name):
                text = one.read_text(encoding="utf-8")
                self.assertEqual(page.rendered(text), text, f"{one} is not what its data says; run: bench/page.py write")

    def test_every_kept_run_is_shown(self):
        shown = set().union(*(page.used(one.read_text(encoding="utf-8")) for one in page.pages()))
        kept = {str(file.relative_to(page.DATA).with_suffix("")) for file in page.DATA.rglob("*.json")} - {"goals"}
        self.assertEqual(shown, kept)

    def test_every_run_says_when_where_and_how(self):
        for file in sorted(page.DATA.rglob("*.json")):
            if file.stem != "goals":
                run = json.loads(file.read_text(encoding="utf-8"))
                with self.subTest(file=str(file)):
                    self.assertTrue(all(run.get(key) for key in ("date", "machine", "commit", "command")))
                    self.assertEqual(page.written(run), file.read_text(encoding="utf-8"))

    def test_every_machine_says_what_limits(self):
        for one in (page.PAGES / "performance").glob("*.md"):
            with self.subTest(page=one.name):
                text = one.read_text(encoding="utf-8")
                self.assertIn("Current limits:", text)
                self.assertIn("<!-- table run ", text)


class Rendering(unittest.TestCase):
    def test_a_table_is_replaced_and_stays(self):
        once = page.rendered("before\n" + PLAIN + "after\n")
        self.assertIn("| `MPI_Send` |", once)
        self.assertTrue(once.startswith("before\n<!-- table") and once.endswith("<!-- end -->\nafter\n"))
        self.assertEqual(page.rendered(once), once)
        self.assertEqual(page.rendered(once.replace("| `MPI_Send` |", "| `MPI_Sand` |")), once)

    def test_what_cannot_be_shown(self):
        for text, said in ((PLAIN.replace("plain", "plane"), "no such view"),
                           (PLAIN.replace("instructions", "nothing"), "nothing.json is not there"),
                           (PLAIN.replace("plain", "figures"), "no such figures"),
                           ("<!-- table full amd-zen4/startup latency -->\n<!-- end -->\n", "no benchmark latency"),
                           (PLAIN.replace("<!-- end -->", ""), "has no '<!-- end -->'")):
            with self.subTest(said=said), self.assertRaisesRegex(page.Wrong, said):
                page.rendered(text)

    def test_goals(self):
        def one(benchmark, unit, less, *rows):
            return {"benchmark": benchmark, "unit": unit, "less_is_better": less, "libraries": ["headrace", "mpich"], "failures": {},
                    "rows": [{"label": "", "bytes": bytes_, "medians": {"headrace": ratio}, "bare": 0.5, "best": "mpich",
                              "ratio": ratio, "low": ratio, "high": ratio} for bytes_, ratio in rows]}
        text = page.view_goals({"ranks": 2, "tables": [one("allreduce", "us", True, (8, 0.5), (64, 0.8), (128, 0.9)),
                                                       one("bandwidth", "MB/s", False, (8, 1.0), (64, 2.0))]}, None)
        self.assertIn("| allreduce | 2 | at most 0.7 | 0.80 | 0.50 to 0.90 | 1 of 3 | 128 B 0.90, 64 B 0.80 | 1.60 |", text)
        self.assertIn("| bandwidth | 2 | at least 1.1 | 1.50 | 1.00 to 2.00 | 1 of 2 | 8 B 1.00 | 3.00 |", text)


class Kept(unittest.TestCase):
    """A saved summary of `headrace bench --json` shows the same as the terminal."""

    def run_of(self, **more):
        def report(*rows):
            return {"unit": "us", "less_is_better": True, "rows": [{"bytes": b, "median": m} for b, m in rows]}
        result = Result(suite.BENCHMARKS["latency"], {"headrace": [report((8, 1.0)), report((8, 3.0))],
                                                      "mpich": [report((8, 2.0)), report((8, 2.0))]}, {"impi": "exit code 1"})
        names = ["headrace", "mpich", "impi"]
        kept = {"date": "2026-11-23 06:30", "machine": "m", "command": "headrace bench latency", "ranks": 2, "runs": 2,
                "tables": [summary.summarise(result, names, lambda name, size: 0.25)],
                "benchmarks": {"latency": {"reports": result.reports}}} | more
        return kept, compare.table(result, names, lambda name, size: 0.25)

    def keep(self, directory, run, *words):
        """Runs `bench/page.py keep` in a copy, so that this checkout is not changed."""
        copy = Path(directory) / "copy"
        (copy / "bench").mkdir(parents=True)
        (copy / "python").symlink_to(ROOT / "python")
        (copy / "bench/page.py").write_text((ROOT / "bench/page.py").read_text(encoding="utf-8"), encoding="utf-8")
        (copy / "run.json").write_text(json.dumps(run), encoding="utf-8")
        done = subprocess.run([sys.executable, "-B", copy / "bench/page.py", "keep", copy / "run.json", "a/b", *words],
                              capture_output=True, text=True)
        return done, copy / "docs/performance/data/a/b.json"

    def test_round_trip(self):
        run, shown = self.run_of()
        self.assertIn("1.00 (0.50 to 1.50) mpich", shown)
        self.assertIn("impi failed: exit code 1", shown)
        with tempfile.TemporaryDirectory() as directory:
            done, file = self.keep(directory, run, "--commit", "abc1234")
            self.assertEqual(done.returncode, 0, done.stderr)
            kept = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(kept["commit"], "abc1234")
        self.assertNotIn("benchmarks", kept)
        self.assertEqual(summary.table(kept["tables"][0]), shown)
        self.assertIn("| 2 (1.00) |", page.view_sizes(kept, None))

    def test_a_run_beside_nccl(self):
        rows = [{"label": f"ring {way}", "bytes": 8, "median": median, "best": median, "worst": median}
                for way, median in (("nccl_sync", 20.0), ("nccl_graph", 5.0), ("mpi", 8.0), ("bare_pull", 10.0))]
        run = nccl.kept_run({"nccl": "2.28.9", "ranks": 4, "device": "d", "driver": "13.0", "rounds": "5", "rows": rows},
                            ["--operations", "ring"], "2026-11-27 01:00")
        with tempfile.TemporaryDirectory() as directory:
            done, file = self.keep(directory, run, "--commit", "abc1234")
            self.assertEqual(done.returncode, 0, done.stderr)
            kept = json.loads(file.read_text(encoding="utf-8"))
        self.assertIn("commit abc1234; medians of 5 runs; NCCL 2.28.9 called from C++, multicast off.", page.view_run(kept, None))
        self.assertIn("| ring | 0.40 / **1.60** / 0.80 |", page.view_nccl(kept, None))
        self.assertIn("| NCCL, in a CUDA graph | 5 |", page.view_nccl(kept, "ring"))
        with self.assertRaisesRegex(KeyError, "operation bcast"):
            page.view_nccl(kept, "bcast")

    def test_something_else_is_refused(self):
        with tempfile.TemporaryDirectory() as directory:
            done, file = self.keep(directory, {"program": "halo3d"}, "--commit", "abc1234")
            self.assertEqual(done.returncode, 2)
            self.assertIn("is not what `headrace bench --json`", done.stderr)
            self.assertFalse(file.exists())


if __name__ == "__main__":
    unittest.main()
