"""`headrace doctor --run` on four hosts made of namespaces, one of whose links is slow: it is named, with how far off it is.

Run by namespace_test.py (tests/hosts/bed.md); whoever is alone on this machine gets the same answer."""

import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOSTS = os.environ["HR_HOSTS"]
NAMES = os.environ["HR_HOST_NAMES"].split()


def hosts(*words):
    return subprocess.run([HOSTS, *words], capture_output=True, text=True, check=True)


class SlowLink(unittest.TestCase):
    def test_it_is_named(self):
        first, second = NAMES[1], NAMES[3]
        hosts("shape", first, "--to", second, "--delay", "3ms", "--rate", "200mbit")
        self.addCleanup(hosts, "shape", first)
        result = subprocess.run(
            [HOSTS, "exec", NAMES[0], sys.executable, "-B", "-m", "headrace", "doctor", "--build", os.environ["HR_BUILD"], "--run",
             "--hosts", ",".join(NAMES), "--json"], capture_output=True, text=True, check=False, timeout=150,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "HEADRACE_OVERSUBSCRIBE": "quiet"})
        self.assertEqual(result.returncode, 1, result.stderr + result.stdout)
        found = {finding["id"]: finding["evidence"] for finding in json.loads(result.stdout)["findings"]}
        worst = re.search(rf"{first} - {second} \(([\d.]+) times\)", found["latency.odd"])
        self.assertIsNotNone(worst, found)
        self.assertGreater(float(worst[1]), 3, found)
        worst = re.search(rf"{first} -> {second} \(([\d.]+) times\)", found["bandwidth.odd"])
        self.assertIsNotNone(worst, found)
        self.assertGreater(float(worst[1]), 3, found)


if __name__ == "__main__":
    unittest.main()
