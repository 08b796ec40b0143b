"""`headrace tune` from the outside: it measures, writes a file that jobs use, and leaves nothing when it is stopped."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from tuning import BUILD, TuningTest


def tune(*words) -> list[str]:
    return [sys.executable, "-m", "headrace", "tune", "--build", str(BUILD), *map(str, words)]


QUICK = ("--quick", "--rounds", "2", "--operations", "barrier,allgather")


class Tune(TuningTest):
    def run_tune(self, *words, **variables):
        return subprocess.run(tune(*words), capture_output=True, text=True, timeout=200, check=False,
                              env={**os.environ, **variables})

    def files(self):
        return sorted(path.name for path in self.folder.rglob("*") if path.is_file())

    def test_writes_where_jobs_look(self):
        result = self.run_tune(*QUICK)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"written to {self.default}", result.stdout)
        self.assertEqual(self.files(), ["tuning.json"])
        content = json.loads(self.default.read_text())
        self.assertIn("--quick", content["command"])
        self.assertTrue({row["operation"] for row in content["rows"]} <= {"barrier", "allgather"})
        self.assertIn(f"{self.default}: {len(content['rows'])} rows", self.job(ranks=2, HEADRACE_VERBOSE="2"))

    def test_writes_where_asked(self):
        path = self.folder / "a/b/mine.json"
        result = self.run_tune(*QUICK[:-2], "--operations", "barrier", "--output", path, HEADRACE_TUNING_FILE="off")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.files(), ["mine.json"])

    def test_dry_run_writes_nothing(self):
        result = self.run_tune(*QUICK[:-2], "--operations", "barrier", "--dry-run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("built-in", result.stdout)
        self.assertEqual(self.files(), [])

    def test_devices(self):
        """On the fake driver: only algorithms that run there, and rows for there."""
        result = self.run_tune(*QUICK[:-2], "--operations", "allreduce", "--device",
                               LD_LIBRARY_PATH=str(BUILD / "fake_cuda"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        rows = json.loads(self.default.read_text())["rows"]
        self.assertTrue(all(row["memory"] in ("host", "device") for row in rows))
        self.assertFalse({"cells", "slots", "direct"} & {row["algorithm"] for row in rows if row["memory"] == "device"})

    def test_wrong_usage(self):
        for words, said in ((("--operations", "gossip"), "gossip"), (("--ranks", "1"), "'1'"), (("--largest", "x"), "'x'"),
                            (("--rounds", "0"), "--rounds")):
            result = self.run_tune(*words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(said, result.stderr)
        result = self.run_tune(*QUICK, HEADRACE_TUNING_FILE="off")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--output", result.stderr)

    def test_a_place_that_cannot_be_written(self):
        blocked = self.folder / "file"
        blocked.write_text("")
        result = self.run_tune(*QUICK[:-2], "--operations", "barrier", "--output", blocked / "tuning.json")
        self.assertEqual(result.returncode, 2)
        self.assertIn(str(blocked), result.stderr)

    def test_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            mark = f"{self.id()}-{time.monotonic_ns()}"
            child = subprocess.Popen(tune("--rounds", "50"), env={**os.environ, "HR_TEST_MARK": mark}, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while child.poll() is None and not self.measuring(mark):
                time.sleep(0.01)
            child.send_signal(number)
            _, said = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 130, said)
            self.assertIn("nothing was written", said)
            self.assertEqual(self.files(), [])
            self.assertEqual(self.marked(mark), [], "processes are left over")

    def marked(self, mark):
        found = []
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                    found.append((folder / "comm").read_text().strip())
            except OSError:
                continue
        return found

    def measuring(self, mark):
        return "collective" in self.marked(mark)


if __name__ == "__main__":
    unittest.main()
