"""Runs jobs with tuning files, for the tests of this directory."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["HR_BUILD"])
BIN = BUILD / "bin"
LINEAR = [{"operation": name, "algorithm": "linear"} for name in ("allreduce", "bcast", "barrier", "allgather")]
JOB = ["collective", "--op", "allreduce,bcast,barrier,allgather", "--sizes", "8,5000,100000", "--validate", "--iters",
       "3", "--warmup", "1", "--reps", "2", "--json", "-"]


def described() -> dict:
    return json.loads(subprocess.run([BIN / "selection"], capture_output=True, check=True).stdout)


class TuningTest(unittest.TestCase):
    """The library looks for the file in a directory of the test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.default = self.folder / "headrace/tuning.json"
        for name in ("HEADRACE_TUNING_FILE", "HEADRACE_VERBOSE", "HEADRACE_CONFIG_FILE"):
            if name in os.environ:
                self.addCleanup(os.environ.__setitem__, name, os.environ.pop(name))
        before = os.environ.get("XDG_CONFIG_HOME")
        os.environ["XDG_CONFIG_HOME"] = str(self.folder)
        self.addCleanup(lambda: os.environ.pop("XDG_CONFIG_HOME") if before is None
                        else os.environ.__setitem__("XDG_CONFIG_HOME", before))

    def content(self, rows, **changes) -> dict:
        known = described()
        return {"format": 1, "version": known["version"], "date": "2026-11-22", "command": "test",
                "machine": known["machine"], "rows": rows, **changes}

    def put(self, content, path=None) -> Path:
        path = path or self.default
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def job(self, *words, ranks=3, **variables) -> str:
        """Returns the standard error of a job that must succeed."""
        command = [BIN / "mpiexec", "--timeout", "60", *(words or ("-n", str(ranks), BIN / JOB[0], *JOB[1:]))]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                                env={**os.environ, "HEADRACE_OVERSUBSCRIBE": "quiet", **variables})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(len(json.loads(result.stdout)["rows"]), 6)
        return result.stderr
