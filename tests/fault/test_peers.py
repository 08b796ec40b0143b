"""MPICH's mpiexec starts Headrace's programs, and Headrace's mpiexec starts MPICH's programs.

HEADRACE_PEERS names a virtual environment with the package `mpich`; without it these tests are skipped and say so.
"""

import os
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from launching import PROBE, LaunchTest, left_of, run

PEERS = Path(os.environ.get("HEADRACE_PEERS", "/nonexistent"))

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char** argv) {
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d sum %d\n", rank, size, sum);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 1 && strcmp(argv[1], "abort") == 0 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
  MPI_Finalize();
  return 0;
}
"""


EARLY_EXIT = os.environ.get("HR_EARLY_EXIT", "")
ACROSS_HOSTS = os.environ.get("HR_ACROSS_HOSTS", "")


def files_of_foreign_jobs() -> set[str]:
    """Returns files of jobs whose names come from another launcher."""
    return {file.name for file in Path("/dev/shm").glob("headrace.*") if not file.name.startswith("headrace.headrace_")
            and not file.name.startswith("headrace.unit")}


def peers_files() -> set[Path]:
    return set(Path("/dev/shm").glob("mpich_shm_*"))


def is_mapped(file: Path) -> bool:
    """True if a process uses the file."""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            if str(file) in maps.read_text(errors="replace"):
                return True
        except OSError:  # the process has ended, or is another user's
            continue
    return False


@unittest.skipUnless((PEERS / "bin/mpiexec.hydra").exists() and (PEERS / "bin/mpicc").exists(),
                     "HEADRACE_PEERS names no environment with the package mpich")
class Mpich(LaunchTest):
    grace = 30.0

    def setUp(self):
        super().setUp()
        self.files_before = peers_files()

    def tearDown(self):
        super().tearDown()
        # Ranks that MPICH's launcher kills leave their files. Other jobs of this machine use theirs.
        for file in peers_files() - self.files_before:
            if not is_mapped(file):
                file.unlink(missing_ok=True)

    def test_its_launcher_starts_our_ranks(self):
        result = run("-n", "3", PROBE, "init", "hello", "exchange", "finalize", launcher=str(PEERS / "bin/mpiexec.hydra"))
        self.assert_ended(result, 0)
        jobs = set()
        for line in result.stdout.splitlines():
            self.assertRegex(line, r"rank \d of 3 app 0 nodes 000 launcher 1 job \S+$")
            jobs.add(line.split(" job ")[1])
        self.assertEqual((len(result.stdout.splitlines()), len(jobs)), (3, 1), result.stdout)

    def test_two_names_of_a_machine_are_one_host(self):
        """Proxies for two names of this machine, which MPICH's launcher considers two hosts: the ranks share memory."""
        hosts = ("-launcher", "fork", "-hosts", f"{socket.gethostname()},127.0.0.1", "-ppn", "2", "-n", "4")
        for case in ("meet", "early"):
            result = run(*hosts, ACROSS_HOSTS, case, launcher=str(PEERS / "bin/mpiexec.hydra"))
            self.assert_ended(result, 0)
        result = run(*hosts, ACROSS_HOSTS, "shared", launcher=str(PEERS / "bin/mpiexec.hydra"))
        self.assertEqual(result.stdout.count("shares with 4 "), 4, result.stdout)

    def test_its_launcher_hears_our_abort(self):
        result = run("-n", "2", PROBE, "init", "fence", "abort=7@1", "hang", launcher=str(PEERS / "bin/mpiexec.hydra"))
        self.assertEqual(result.returncode, 7, result.stderr)
        result = run("-n", "2", PROBE, "init", "fence", "abort=0@1", "hang", launcher=str(PEERS / "bin/mpiexec.hydra"))
        self.assertEqual(result.returncode, 1, result.stderr)

    def test_no_file_is_left_in_whatever_order_ranks_leave(self):
        """MPICH's launcher kills the other ranks when one leaves without MPI_Finalize, on any host, and removes no
        files."""
        before = files_of_foreign_jobs()
        for way in ("exit", "fail", "kill", "late"):
            for ranks in (["0"], ["3"], ["1", "2"], ["0", "1", "2", "3"]):
                for _ in range(3):
                    run("-n", "4", EARLY_EXIT, way, *ranks, launcher=str(PEERS / "bin/mpiexec.hydra"))
                    new = files_of_foreign_jobs() - before
                    # Files of other jobs on this machine exist for a moment.
                    self.assertFalse(left_of(lambda new=new: new & files_of_foreign_jobs(), 60), f"{way} of {ranks} leaves files")

    def test_our_launcher_starts_its_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "program.c"
            source.write_text(PROGRAM, encoding="ascii")
            program = f"{folder}/program"
            subprocess.run([PEERS / "bin/mpicc", source, "-o", program, f"-Wl,-rpath,{PEERS}/lib"], check=True)
            result = run("-n", "3", program)
            self.assert_ended(result, 0)
            self.assertEqual(sorted(result.stdout.splitlines()), [f"rank {rank} of 3 sum 3" for rank in range(3)])
            self.assert_ended(run("-n", "3", program, "abort"), 7, "rank 1", "MPI_Abort with code 7")


if __name__ == "__main__":
    unittest.main()
