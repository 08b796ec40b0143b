"""Counters are right: for every benchmark, halo3d in all its patterns and the course's programs, the page shows to the
byte what the profiling interface has seen the program send, by peer, function and size, and the calls of each function.
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import support
from headrace import counters
from headrace.monitor import pmpi

BIN = support.BUILD / "bin"
SMALL = ("--sizes", "8,3000,100000", "--reps", "5", "--iters", "20", "--seconds", "1")
PROGRAMS = {
    "latency": (2, SMALL), "bandwidth": (2, SMALL), "bibw": (2, SMALL), "message_rate": (2, SMALL), "collective": (3, ("--sizes", "8,3000", "--reps", "5", "--iters", "5")),
    "datatypes": (2, ("--sizes", "8,3000", "--reps", "5", "--iters", "5")), "matching": (2, ("--reps", "5", "--iters", "5")), "overlap": (2, SMALL),
    "threads": (2, ("--sizes", "8", "--reps", "5", "--iters", "20")), "one_sided": (2, ("--sizes", "8,3000", "--reps", "5", "--iters", "5")),
    "faces": (4, ()), "halo3d": (4, ("--local", "12", "--pattern", "all", "--steps", "5", "--no-identity-check")), "diffusion2d": (4, ()),
}
# Calls of the observing library itself that are counted as well: a fixed number of times, or for each message.
OWN = {"MPI_Comm_rank": 1, "MPI_Comm_size": 1, "MPI_Bcast": 1}
NOT_COMPARED = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Get_library_version", "MPI_Type_size", "MPI_Comm_create_keyval", "MPI_Comm_get_attr",
                "MPI_Comm_set_attr", "MPI_Comm_test_inter", "MPI_Comm_group", "MPI_Comm_remote_group", "MPI_Group_size", "MPI_Group_translate_ranks", "MPI_Group_free"}
# Calls that only the interface sees: before MPI_Init, after MPI_Finalize, or without the library's lock.
UNLOCKED = {"MPI_Initialized", "MPI_Finalized", "MPI_Get_version", "MPI_Wtime", "MPI_Wtick"}


@unittest.skipUnless((BIN / "mpiexec").is_file() or support.REQUIRED, "Headrace is not built")
class Programs(support.Scratch):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory(prefix="hr-monitor-")
        cls.addClassCleanup(cls.made.cleanup)
        cls.library = Path(cls.made.name) / "pmpi.so"
        pmpi.build(cls.library, str(BIN / "mpicc"))

    def pages(self, program, ranks, words):
        """Returns (ours, those of the profiling interface), by rank."""
        file = self.folder / f"{program}.hrc"
        saved = self.folder / program
        saved.mkdir()
        done = subprocess.run([BIN / "mpiexec", "--timeout", "120", "--save-counters", file, "-n", str(ranks), BIN / program, *words], capture_output=True, text=True, timeout=150,
                              cwd=self.folder, env={**os.environ, "LD_PRELOAD": str(self.library), "HEADRACE_PMPI_SAVE": str(saved), "HEADRACE_OVERSUBSCRIBE": "quiet",
                                   "HEADRACE_CHANNELS": "4"}  # on few cores, there would be none
                              )
        self.assertEqual(done.returncode, 0, done.stderr[-2000:] + done.stdout[-500:])
        return [page.read() for page in counters.load(file)], [page.read() for page in counters.look(where=[saved]).pages if page.place.startswith(str(saved))]

    def test_all(self):
        for program, (ranks, words) in PROGRAMS.items():
            if not (BIN / program).is_file() and not support.REQUIRED:
                continue
            with self.subTest(program):
                ours, theirs = self.pages(program, ranks, words)
                self.assertEqual((len(ours), len(theirs)), (ranks, ranks))
                for our, their in zip(ours, theirs):
                    for name in ("peer.messages", "peer.bytes"):
                        self.assertEqual(our.table(name), their.table(name), f"{program} {name} of rank {our.page.rank}")
                    calls, seen = our.table("function.calls"), their.table("function.calls")
                    names = {*calls, *seen} - NOT_COMPARED - UNLOCKED
                    self.assertEqual({name: calls.get(name, 0) - OWN.get(name, 0) for name in names}, {name: seen.get(name, 0) for name in names}, f"{program}, rank {our.page.rank}")
                    self.assertGreater(len(names), 3)


if __name__ == "__main__":
    unittest.main()
