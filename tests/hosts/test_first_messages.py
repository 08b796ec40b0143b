"""The first messages of a job connect no more processes than they need: 8 ranks as 4 hosts, one alltoall, paths counted.

A rank reports each path that it opens to another one (HEADRACE_VERBOSE).
"""

import collections
import os
import re
import subprocess
import unittest

RANKS, HOSTS = 8, 4
PATH = re.compile(r"\[headrace (\d+)/\d+\] (?:tcp|ucx|ofi): rank (\d+) is reached by")


def pairs(network: str, block: int, ranks: int = RANKS) -> set[frozenset[int]]:
    """Runs the job and returns the pairs of ranks with a path, whichever side opened it."""
    environment = {**os.environ, "HEADRACE_NETWORK": network, "HEADRACE_VERBOSE": "2"}
    words = [os.environ["HR_MPIEXEC"], "--timeout", "60", "--as-hosts", str(HOSTS), "-n", str(ranks), os.environ["HR_FIRST"], str(block)]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stdout)
    return {frozenset(map(int, found)) for found in PATH.findall(done.stdout)}


class FirstMessages(unittest.TestCase):
    def check(self, network: str) -> None:
        with self.subTest(blocks="short"):
            # One rank of each host is connected to one rank of each other host.
            self.assertEqual(len(pairs(network, 8)), HOSTS * (HOSTS - 1) // 2)
        with self.subTest(blocks="carried"):
            # Each rank carries blocks for one rank of each other host, which carries the blocks for it.
            found = pairs(network, 300)
            self.assertEqual(len(found), RANKS * (HOSTS - 1) // 2)
            self.assertEqual(set(collections.Counter(rank for pair in found for rank in pair).values()), {HOSTS - 1})

    def test_tcp(self) -> None:
        self.check("tcp")

    def test_many_ranks_on_a_host(self) -> None:
        self.assertEqual(len(pairs("tcp", 8, ranks=16 * HOSTS)), HOSTS * (HOSTS - 1) // 2)

    @unittest.skipUnless(os.environ.get("HR_UCX"), "UCX was not there at build")
    def test_ucx(self) -> None:
        self.check("ucx")

    @unittest.skipUnless(os.environ.get("HR_OFI"), "libfabric was not there at build")
    def test_libfabric(self) -> None:
        self.check("ofi")


if __name__ == "__main__":
    unittest.main()
