"""Jobs over the TCP provider of libfabric 1.18 and later, which differs from that of Debian's 1.17: uses the libfabric
of MPICH's wheel.

HEADRACE_PEERS names a virtual environment with the package `mpich`; without it these tests are skipped with a message. """

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

LIBRARY = Path(os.environ.get("HEADRACE_PEERS", "/nonexistent"), "lib/mpich")
SECONDS = 60


@unittest.skipUnless((LIBRARY / "libfabric.so.1").exists(), "HEADRACE_PEERS names no environment with the package mpich")
class Newer(unittest.TestCase):
    def run_job(self, ranks: int, *words: str, hosts: int = 2) -> None:
        environment = {**os.environ, "HEADRACE_NETWORK": "ofi", "HEADRACE_OFI_DIR": str(LIBRARY)}
        done = subprocess.run([os.environ["HR_MPIEXEC"], "--timeout", str(SECONDS), "--as-hosts", str(hosts), "-n", str(ranks), *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_processes_that_come_and_go(self):
        """Twenty times, new processes and old ones connect to one another at the same time, in connection records used
        before."""
        with tempfile.TemporaryDirectory() as folder:
            self.run_job(2, os.environ["HR_SPAWN"], "leave", f"{folder}/left")

    def test_connecting_within_a_job(self):
        self.run_job(4, os.environ["HR_CONNECT"], "within")

    def test_messages_of_all_lengths(self):
        self.run_job(4, os.environ["HR_EXCHANGE"], "--seed", "9", "--exchanges", "200", "--largest", "262144")

    def test_each_rank_a_host(self):
        self.run_job(8, os.environ["HR_STRESS"], hosts=8)


if __name__ == "__main__":
    unittest.main()
