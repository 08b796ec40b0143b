"""The library for jobs of other MPIs: its reading of an mpi.h, its build, and its figures of a job whose messages are known.

HEADRACE_PEERS (make peers) names MPICH's environment, with Open MPI's next to it if that is installed; without it those are skipped. """

import os
import subprocess
import time
import unittest
from pathlib import Path

import support
from headrace import counters
from headrace.monitor import pmpi
from headrace.monitor.pages import reading
from headrace.monitor.pmpi.prototypes import parse

PEERS = Path(os.environ.get("HEADRACE_PEERS", "/nonexistent"))
PROGRAM = Path(__file__).parent / "pmpi_program.c"
RANKS = 4


class Prototypes(unittest.TestCase):
    def test_what_an_mpi_h_says(self):
        found = parse("""typedef int MPI_Comm; extern int MPI_Send(const void *buf, int count, MPI_Datatype t,
            int dest, int tag, MPI_Comm comm) __attribute__((a(1,2)));
            __attribute__((visibility("default"))) int PMPI_Send(const void *buf, int count, MPI_Datatype t, int dest, int tag, MPI_Comm comm);
            int MPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup); int PMPI_Group_range_incl(MPI_Group, int, int[][3], MPI_Group *);
            int MPI_Barrier(MPI_Comm); int PMPI_Barrier(MPI_Comm); int MPI_Alone(int x); double MPI_Wtime(void); double PMPI_Wtime(void);
            int MPI_Pcontrol(const int level, ...); int PMPI_Pcontrol(const int level, ...); int MPI_T_init(int x); int PMPI_T_init(int x);
            int MPI_Finalize(void); int PMPI_Finalize(void);""")
        self.assertEqual([(one.name, one.arguments) for one in found],
                         [("Finalize", ()), ("Group_range_incl", ("group", "n", "ranges", "newgroup")), ("Send", ("buf", "count", "t", "dest", "tag", "comm"))])
        self.assertEqual(found[1].declarations[2], "int ranges[][3]")


class Command(support.Scratch):
    def say(self, *words):
        return subprocess.run([support.sys.executable, "-m", "headrace", "monitor", "pmpi", *words], capture_output=True, text=True, timeout=100, cwd=support.ROOT / "python")

    def test_a_compiler_that_is_not_there_or_is_none_of_an_mpi(self):
        said = self.say(str(self.folder / "x.so"), "--mpicc", "no-such-mpicc")
        self.assertEqual(said.returncode, 2)
        self.assertIn("no-such-mpicc is not there", said.stderr)
        said = self.say(str(self.folder / "x.so"), "--mpicc", "false")
        self.assertEqual((said.returncode, "could not read its mpi.h" in said.stderr), (2, True))
        self.assertFalse((self.folder / "x.so").exists())


class Jobs(support.Scratch):
    """A job of four ranks under each MPI, looked at while it waits."""

    def job(self, bin, mpicc, how):
        library, program, go = self.folder / "pmpi.so", self.folder / "program", self.folder / "go"
        print(pmpi.build(library, str(bin / mpicc)))
        subprocess.run([bin / mpicc, PROGRAM, "-o", program], check=True)
        saved = self.folder / "saved"
        saved.mkdir()
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "OMPI", "PMIX", "HEADRACE"))}
        job = subprocess.Popen([bin / "mpiexec", *how(library), "-n", str(RANKS), program, go], env={**environment, "HEADRACE_PMPI_SAVE": str(saved), "PATH": f"{bin}:{os.environ['PATH']}"})
        self.addCleanup(job.wait, 60)
        self.addCleanup(job.terminate)

        def pages():
            found = [page for page in counters.look(where=[]).pages if page.about["program"] == str(program.resolve())]
            return found if len(found) == RANKS and all(page.read().table("function.calls").get("MPI_Barrier") for page in found) else None
        found = support.wait_for(pages, 60, "the pages of all ranks")
        support.wait_for(lambda: all(page.read().value("now.function") == 0 for page in found), 30, "the program to be out of MPI")
        self.check(found)
        go.touch()
        self.assertEqual(job.wait(60), 0)
        self.assertEqual({page.read().state for page in found}, {"finalized"})
        self.check([page for page in counters.look(where=[saved]).pages if page.place.startswith(str(saved))])

    def check(self, pages):
        self.assertEqual(([page.rank for page in pages], {page.size for page in pages}, len({page.job for page in pages})), (list(range(RANKS)), {RANKS}, 1))
        for page in pages:
            now, rank = page.read(), page.rank
            long = 1 if rank == RANKS - 1 else 0
            following, before = (rank + 1) % RANKS, (rank - 1) % RANKS
            messages, sizes = {following: 10 + long, before: 11}, {following: 8000 + (long << 20), before: 5 * 3 + 6 * 16}
            self.assertEqual((now.table("peer.messages"), now.table("peer.bytes")), (messages, sizes), page.job)
            calls = now.table("function.calls")
            self.assertEqual({name: calls[name] for name in ("MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Sendrecv", "MPI_Startall", "MPI_Barrier", "MPI_Pcontrol")},
                             {"MPI_Isend": 10, "MPI_Irecv": 10, "MPI_Waitall": 16, "MPI_Sendrecv": 5, "MPI_Startall": 6, "MPI_Barrier": 1, "MPI_Pcontrol": 2})
            timed = {name: count for name, count in calls.items() if name not in ("MPI_Pcontrol", "MPI_Finalize")}  # which is saved before it ends
            took = page.durations()
            self.assertEqual({name: sum(took[name].values()) for name in timed}, timed)
            self.assertEqual(now.table("function.bytes"), {"MPI_Isend": 8000, "MPI_Sendrecv": 15, "MPI_Startall": 96, **({"MPI_Ssend": 1 << 20} if long else {})})
            self.assertEqual(now.table("sent.sizes"), {"512-1023": 10, "2-3": 5, "16-31": 6, **({"1048576-2097151": 1} if long else {})})
            said = reading(page, True, False, {})  # the page as the monitor sees it
            self.assertEqual([mark.level for mark in said.marks], [7, -3])
            self.assertLess(abs(said.marks[0].time - time.time()), 120)
            self.assertEqual((said.brief.sent, said.brief.sent_bytes), (sum(messages.values()), sum(sizes.values())))
            self.assertLessEqual(said.brief.wait_ns, said.brief.mpi_ns)
            if not long:  # each other rank waited for the late one
                self.assertGreater(said.brief.wait_ns, 200e6)
        self.assertGreater(pages[0].read().table("peer.wait")[RANKS - 1], 200e6)

    @unittest.skipUnless((PEERS / "bin/mpicc").is_file(), "no MPICH; see make peers (HEADRACE_PEERS)")
    def test_mpich(self):
        self.job(PEERS / "bin", "mpicc", lambda library: ["-genv", "LD_PRELOAD", str(library)])

    @unittest.skipUnless((PEERS / "bin/mpicc_abi").is_file(), "no MPICH with the standard ABI; see make peers (HEADRACE_PEERS)")
    def test_the_standard_abi(self):
        self.job(PEERS / "bin", "mpicc_abi", lambda library: ["-genv", "LD_PRELOAD", str(library)])

    @unittest.skipUnless((PEERS / "openmpi/bin/mpicc").is_file(), "no Open MPI beside MPICH; see make peers (HEADRACE_PEERS)")
    def test_open_mpi(self):
        root = ["--allow-run-as-root"] if os.getuid() == 0 else []
        self.job(PEERS / "openmpi/bin", "mpicc", lambda library: [*root, "--oversubscribe", "--bind-to", "none", "-x", f"LD_PRELOAD={library}"])

    @unittest.skipUnless((support.BUILD / "bin/mpicc").is_file() or support.REQUIRED, "Headrace is not built")
    def test_headrace_needs_none(self):
        """The library can be built for Headrace, and does not change existing pages."""
        library, program = self.folder / "pmpi.so", self.folder / "program"
        pmpi.build(library, str(support.BUILD / "bin/mpicc"))
        subprocess.run([support.BUILD / "bin/mpicc", PROGRAM, "-o", program], check=True)
        (self.folder / "go").touch()
        file = self.folder / "pages"
        subprocess.run([support.BUILD / "bin/mpiexec", "--save-counters", file, "-n", "2", program, self.folder / "go"], check=True, timeout=60,
                       env={**os.environ, "LD_PRELOAD": str(library), "HEADRACE_OVERSUBSCRIBE": "quiet"})
        self.assertEqual([page.rank for page in counters.load(file)], [0, 1])


if __name__ == "__main__":
    unittest.main()
