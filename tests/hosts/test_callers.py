"""Ranks that connect to one that computes: they sleep meanwhile, and none fails if its queue of connections is full."""

import os
import subprocess
import unittest

MPIEXEC, CALLERS = os.environ["HR_MPIEXEC"], os.environ["HR_CALLERS"]
# A network namespace of its own, in which the system keeps two connections for a process that accepts none.
SHORT_QUEUE = 'ip link set lo up && echo 2 > /proc/sys/net/core/somaxconn && exec "$@"'


def job(ranks: int, *words: str) -> list[str]:
    return [MPIEXEC, "--timeout", "60", "--as-hosts", str(ranks), "-n", str(ranks), CALLERS, *words]


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "HEADRACE_NETWORK": "tcp", **variables}
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False)


def has_namespaces() -> bool:
    return subprocess.run(["unshare", "-n", "sh", "-c", SHORT_QUEUE, "sh", "true"], capture_output=True, check=False).returncode == 0


class Callers(unittest.TestCase):
    def test_waiting_takes_no_core(self):
        done = run(job(2, "2", "0.5"))
        self.assertEqual(done.returncode, 0, done.stdout)

    @unittest.skipUnless(has_namespaces(), "no network namespaces for this user")
    def test_full_queue(self):
        # Six seconds are 12 time-outs; a process that cannot be reached fails after three of them.
        command = ["unshare", "-n", "sh", "-c", SHORT_QUEUE, "sh", *job(8, "6")]
        done = run(command, HEADRACE_NETWORK_TIMEOUT="0.5")
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
