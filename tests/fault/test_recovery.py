"""Jobs that continue when ranks die (mpiexec --enable-recovery): recover.cpp describes the ranks, soak.py runs the same
more often."""

import os
import unittest

from launching import FilesTest, run

RECOVER = os.environ["HR_RECOVER"]
FAKE_CUDA = os.path.join(os.environ["HR_BUILD"], "fake_cuda")
SEED = int(os.environ.get("HR_SEED", "1"))


class Recovery(FilesTest):
    def recovers(self, ranks: int, what: str, seed: int, deaths: int = 1, *words: str, **environment: str):
        result = run("--enable-recovery", "--timeout", "40", "-n", str(ranks), *words, RECOVER, what, str(seed), str(deaths),
                     env={**os.environ, **environment})
        told = f"{what}, seed {seed}, {ranks} ranks, {deaths} deaths:\n{result.stdout}{result.stderr}"
        left = ranks - deaths
        self.assertEqual(result.stdout, f"recovered, {left} are left\n" * left, told)
        self.assertEqual(result.stderr.count("the others continue"), deaths, told)
        self.assertNotIn(result.returncode, (0, 124), told)

    def test_every_operation(self):
        for at, what in enumerate(("sendrecv", "waitall", "any_source", "pending", "probe", "test", "persistent", "partitioned",
                                   "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall",
                                   "scan", "exscan", "reduce_scatter", "nonblocking", "dup", "split", "agree", "shrink")):
            with self.subTest(what=what):
                self.recovers(2 + (at + SEED) % 3, what, SEED * 100 + at)

    def test_one_after_the_other(self):
        for seed in range(SEED * 10, SEED * 10 + 3):
            self.recovers(6, "random", seed, 4)

    def test_a_computation_goes_on_to_its_result(self):
        for seed in range(SEED * 10, SEED * 10 + 3):
            self.recovers(5, "solver", seed, 2)

    def test_on_several_hosts(self):
        for seed in range(SEED * 10, SEED * 10 + 3):
            self.recovers(4, "random", seed, 2, "--as-hosts", "2")
        self.recovers(4, "solver", SEED, 2, "--as-hosts", "2")

    def test_with_device_memory(self):
        for seed in range(SEED * 10, SEED * 10 + 3):
            self.recovers(4, "random", seed, 2, LD_LIBRARY_PATH=FAKE_CUDA, FAKE_CUDA_DEVICES="2")

    def test_who_does_not_recover_ends_all_the_same(self):
        for seed in range(SEED * 10, SEED * 10 + 4):
            self.recovers(4, "leave", seed)
        self.recovers(4, "leave", SEED, 1, "--as-hosts", "2")

    def test_who_only_meets_errors_is_told_of_a_revocation(self):
        for what in ("barrier", "send", "start", "receive", "request"):
            with self.subTest(what=what):
                self.recovers(4, "told-" + what, SEED)
        self.recovers(4, "told-send", SEED, 1, "--as-hosts", "2")

    def test_one_is_left(self):
        self.recovers(2, "allreduce", SEED)
        self.recovers(3, "random", SEED, 2)


if __name__ == "__main__":
    unittest.main()
