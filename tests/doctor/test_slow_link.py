"""`headrace doctor --run` on four hosts made of namespaces: a slow link is reported with the factor by which it is slower than the
others, and a host with a different build is reported.

Run by namespace_test.py (tests/hosts/bed/README.md)."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from headrace.bench.programs import locate  # noqa: E402 (the path comes first)

HOSTS = os.environ["HR_HOSTS"]
NAMES = os.environ["HR_HOST_NAMES"].split()
TRIES = 3  # on a machine that is otherwise busy, all links are slow


def hosts(*words):
    return subprocess.run([HOSTS, *words], capture_output=True, text=True, check=True)


class Hosts(unittest.TestCase):
    def doctor(self, *words):
        return subprocess.run(
            [HOSTS, "exec", NAMES[0], sys.executable, "-B", "-m", "headrace", "doctor", "--build", os.environ["HR_BUILD"], "--run",
             "--hosts", ",".join(NAMES), "--json", *words], capture_output=True, text=True, check=False, timeout=150,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "HEADRACE_OVERSUBSCRIBE": "quiet"})

    def test_another_build_is_named(self):
        build = Path(os.environ["HR_BUILD"])
        library = locate(build).library.resolve()
        with tempfile.TemporaryDirectory(dir=build) as work:
            other = Path(work, "other")
            other.write_bytes(library.read_bytes() + b"other")
            hosts("exec", NAMES[2], "mount", "--bind", str(other), str(library))
            self.addCleanup(hosts, "exec", NAMES[2], "umount", str(library))
            result = self.doctor("--only", "builds")
        self.assertEqual(result.returncode, 2, result.stderr + result.stdout)
        (finding,) = json.loads(result.stdout)["findings"]
        self.assertEqual(finding["id"], "builds.differ")
        self.assertIn(f"{NAMES[2]} has another one", finding["evidence"])

    def test_it_is_named(self):
        first, second = NAMES[1], NAMES[3]
        hosts("shape", first, "--to", second, "--delay", "3ms", "--rate", "200mbit")
        self.addCleanup(hosts, "shape", first)
        for _ in range(TRIES):
            result = self.doctor()
            self.assertEqual(result.returncode, 1, result.stderr + result.stdout)
            found = {finding["id"]: finding["evidence"] for finding in json.loads(result.stdout)["findings"]}
            factors = [re.search(rf"{first} {arrow} {second} \(([\d.]+) times\)", found.get(id_, ""))
                       for arrow, id_ in (("-", "latency.odd"), ("->", "bandwidth.odd"))]
            if all(factor is not None and float(factor[1]) > 3 for factor in factors):
                return
        self.fail(f"{first} to {second} was not named as slow: {found}")


if __name__ == "__main__":
    unittest.main()
