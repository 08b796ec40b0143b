"""Two hosts made of namespaces: a job on both, a monitor on the first, a collector on the second, with the commands
that users type.

Run by namespace_test.py (tests/hosts/bed/README.md)."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
from pathlib import Path

import support

ROOT = support.ROOT
BUILD = Path(os.environ["HR_BUILD"])
HOSTS = os.environ["HR_HOSTS"]
NAMES = os.environ["HR_HOST_NAMES"].split()
ADDRESS = "10.77.0.1"  # address at which the second host reaches the first


@support.SERVER
class TwoHosts(unittest.TestCase):
    def setUp(self):
        # Not in /tmp, of which each host has its own.
        made = tempfile.TemporaryDirectory(prefix="hr-monitor-", dir=BUILD)
        self.addCleanup(made.cleanup)
        self.folder = Path(made.name)
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "XDG_STATE_HOME": str(self.folder), "HEADRACE_OVERSUBSCRIBE": "quiet"}

    def start(self, host, *words, **more):
        process = subprocess.Popen([HOSTS, "exec", host, *words], text=True, env=self.environment, **more)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.terminate()
        process.wait(30)
        for file in (process.stdout, process.stderr):
            if file:
                file.close()

    def monitor(self, host, *words, **more):
        return self.start(host, sys.executable, "-B", "-m", "headrace", "monitor", *words, **more)

    def ask(self, name, method="GET"):
        """Queries the page on the first host, since it is only on that host's loopback."""
        code = (f"import urllib.request as u; request = u.Request('{self.address}/{name}', method='{method}', headers={{'Authorization': 'Bearer {self.token}'}})\n"
                "print(u.urlopen(request, timeout=50).read().decode())")
        done = subprocess.run([HOSTS, "exec", NAMES[0], sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
        return json.loads(done.stdout)

    def state(self):
        code = (f"import urllib.request as u; f=u.urlopen('{self.address}/api/events?token={self.token}', timeout=10)\n"
                "print(next(line for line in iter(f.readline, b'') if line.startswith(b'data: ')).decode()[6:])")
        done = subprocess.run([HOSTS, "exec", NAMES[0], sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
        return json.loads(done.stdout)

    def reporters(self, live):
        return [each for each in self.state().get("reporters", []) if each["live"] == live and each["host"] == NAMES[1]]

    def test_one_page_for_both(self):
        monitor = self.monitor(NAMES[0], "--port", "0", "--reports", f"{ADDRESS}:8643", stdout=subprocess.PIPE)
        parts = urllib.parse.urlsplit(monitor.stdout.readline().split()[-1])
        self.address, self.token = f"http://{parts.netloc}", urllib.parse.parse_qs(parts.query)["token"][0]
        job = self.start(NAMES[0], str(BUILD / "bin/mpiexec"), "--hosts", ",".join(f"{name}:2" for name in NAMES), "-n", "4", "--timeout", "150",
                         str(BUILD / "bin/halo3d"), "--local", "16", "--pattern", "step1", "--steps", "100000000", "--no-identity-check",
                         stdout=subprocess.DEVNULL)

        wrong = self.folder / "wrong"
        wrong.write_text("not the secret at all\n")
        wrong.chmod(0o600)
        refused = self.monitor(NAMES[1], "--report-to", f"{ADDRESS}:8643", "--secret-file", str(wrong), stderr=subprocess.PIPE)
        self.assertEqual(refused.wait(60), 2)
        self.assertIn("refused the secret", refused.stderr.read())

        pid = self.folder / "pid"
        collector = self.start(NAMES[1], "sh", "-c", f'echo $$ > {pid}; exec "$@"', "sh", sys.executable, "-B", "-m", "headrace", "monitor", "--report-to", f"{ADDRESS}:8643")
        support.wait_for(lambda: self.reporters(True) and self.reporters(True)[0]["ranks"] == 2, 60, "the second host's ranks")
        rows = support.wait_for(lambda: (found := self.ask("api/ranks")) and len(found) == 4 and all(row["sent"] for row in found) and found, 60, "four ranks")
        self.assertEqual([row["host"] for row in rows], [NAMES[0]] * 2 + [NAMES[1]] * 2)
        self.assertEqual({name for job in self.ask("api/jobs") for name in job["hosts"].split(",")}, set(NAMES))
        self.assertEqual(set(self.ask("api/machine")) & set(NAMES), set(NAMES))
        matrix = self.ask("api/matrix?metric=messages")
        self.assertEqual({rank for rank in matrix["from"]}, {0, 1, 2, 3})

        stacks = self.ask("api/stack", "POST")
        self.assertEqual((stacks["size"], stacks["here"], stacks["missing"]), (4, 4, []))
        self.assertEqual(sum(group["count"] for group in stacks["groups"]), 4)

        subprocess.run([HOSTS, "exec", NAMES[1], "kill", "-KILL", pid.read_text().strip()], check=True)
        lost = support.wait_for(lambda: self.reporters(False), 60, "the loss")
        self.assertEqual(lost[0]["ranks"], 2)
        self.end(collector)
        # Starts it with mpiexec, which also starts programs without MPI.
        collector = self.start(NAMES[0], str(BUILD / "bin/mpiexec"), "--hosts", NAMES[1], "-ppn", "1", sys.executable, "-B", "-m", "headrace", "monitor", "--report-to", f"{ADDRESS}:8643")
        support.wait_for(lambda: self.reporters(True), 60, "the collector again")
        self.end(collector)
        support.wait_for(lambda: not self.state().get("reporters"), 30, "the collector gone by itself")
        self.end(job)
        self.end(monitor)


if __name__ == "__main__":
    unittest.main()
