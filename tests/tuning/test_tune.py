"""`headrace tune` from the outside: it measures, writes a file that jobs use, and leaves no files when it is stopped."""

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
        self.assertEqual([name for name in self.files() if name != "tuning.svg"], ["tuning.json"])
        content = json.loads(self.default.read_text())
        self.assertIn("--quick", content["command"])
        self.assertTrue({row["operation"] for row in content["rows"]} <= {"barrier", "allgather"})
        self.assertIn(f"{self.default}: {len(content['rows'])} rows", self.job(ranks=2, HEADRACE_VERBOSE="2"))

    def test_writes_where_asked(self):
        path = self.folder / "a/b/mine.json"
        result = self.run_tune(*QUICK[:-2], "--operations", "barrier", "--output", path, "--no-plot", HEADRACE_TUNING_FILE="off")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.files(), ["mine.json"])

    def test_dry_run_writes_nothing(self):
        result = self.run_tune(*QUICK[:-2], "--operations", "barrier", "--dry-run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("built-in", result.stdout)
        self.assertEqual(self.files(), [])

    def test_messages_and_collectives_in_one_run(self):
        path = self.folder / "both.json"
        result = self.run_tune(*QUICK[:-1], "barrier", "--messages", "--output", path, "--no-plot")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.files(), ["both.json", "both.messages"])
        for word in ("eager_bytes", "single_copy_bytes", "built-in"):
            self.assertIn(word, result.stdout)

    def test_an_earlier_file_of_another_machine_is_no_help(self):
        path = self.folder / "old.json"
        row = {"operation": "bcast", "max_hosts": 1, "algorithm": "linear"}
        for machine, kept in ((None, True), ({"cpu": "Z80", "cpus": 1, "gpus": []}, False)):
            self.put(self.content([row], **({"machine": machine} if machine else {})), path)
            result = self.run_tune(*QUICK[:-1], "barrier", "--output", path, "--no-plot")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(row in json.loads(path.read_text())["rows"], kept)

    def test_devices(self):
        """On the fake driver, only algorithms that it can run are measured, and rows for device memory are written."""
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

    def started(self, *words):
        """A run in progress, with a variable that identifies its processes."""
        mark = f"{self.id()}-{time.monotonic_ns()}"
        child = subprocess.Popen(tune(*words), env={**os.environ, "HR_TEST_MARK": mark}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(child.kill)
        while child.poll() is None and not self.measuring(mark):
            time.sleep(0.01)
        return child, mark

    def part(self):
        """Measurements of an unfinished run."""
        file = self.default.with_suffix(".part")
        return file.read_text().count('"key"') if file.is_file() else 0

    def test_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            child, mark = self.started("--rounds", "50", "--operations", "barrier")
            child.send_signal(number)
            _, said = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 130, said)
            self.assertIn("nothing was written", said)
            self.assertIn(self.files(), ([], ["tuning.part"]))
            self.assertEqual(self.marked(mark), [], "processes are left over")

    def test_a_killed_run_goes_on_where_it_was(self):
        words = ("--quick", "--rounds", "8", "--operations", "barrier", "--no-plot")
        child, mark = self.started(*words)
        while child.poll() is None and self.part() < 3:
            time.sleep(0.01)
        self.assertIsNone(child.poll(), "it has ended")
        again = self.run_tune(*words)
        self.assertEqual(again.returncode, 2)
        self.assertIn("another headrace tune is at work", again.stderr)
        child.kill()
        child.communicate(timeout=60)
        for _ in range(1000):
            if not self.marked(mark):
                break
            time.sleep(0.01)
        kept = self.part()
        with self.default.with_suffix(".part").open("a") as file:
            file.write('{"key": "half a li')
        result = self.run_tune(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"goes on with {kept} measurements", result.stderr)
        self.assertEqual(self.files(), ["tuning.json"])

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
