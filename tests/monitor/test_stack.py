"""`headrace stack`: debuggers' output, groups of equal stacks, and the ranks of a real job."""

import json
import os
import shutil
import subprocess
import unittest
import unittest.mock

import support
from headrace import counters, stack
from headrace.monitor import stacks
from headrace.monitor.query import Wrong
from headrace.stack import Stack

GDB = """
[New LWP 12]
Thread 2 (Thread 0x7f (LWP 12) "helper"):
#0  0x00007f in poll () from /lib/libc.so.6

Thread 1 (Thread 0x7f (LWP 11) "solver"):
#0  0x00007f11 in hr::p2p::wait (request=...) at /src/wait.cpp:40
#1  0x00007f12 in PMPI_Recv (buf=0x7ffd) from /opt/lib/libmpi_abi.so.1
#2  0x0000aaaa in main (argc=1, argv=0x7ffe) at solver.c:12
"""
HALO3D, MPIEXEC = support.BUILD / "bin/halo3d", support.BUILD / "bin/mpiexec"


class Texts(unittest.TestCase):
    def test_gdb(self):
        self.assertEqual(stack.of_gdb(GDB), (["hr::p2p::wait (wait.cpp:40)", "PMPI_Recv (libmpi_abi.so.1)", "main (solver.c:12)"], 2))
        self.assertEqual(stack.of_gdb("ptrace: Operation not permitted.\n"), ([], 0))
        frames, _ = stack.of_gdb("Thread 1 (x):\n" + "#1  f\x1b[2J () at a.c:1\n" * 100)
        self.assertEqual((len(frames), frames[0].isprintable()), (64, True))

    def test_py_spy(self):
        self.assertEqual(stack.of_py_spy('Process 1: python3 a.py\n\nThread 1 (idle): "MainThread"\n    recv (comm.py:5)\n    <module> (/home/ada/a.py:9)\nThread 2 (idle)\n    other (b.py:1)\n'),
                         ["recv (comm.py:5)", "<module> (a.py:9)"])

    def test_groups(self):
        same, other = ["poll", "PMPI_Recv (lib)", "main"], ["sleep", "PMPI_Recv (lib)", "main"]
        stacks = [Stack(rank, 100 + rank, same if rank % 2 else other, now=f"in MPI_Recv, waits for rank {rank}") for rank in range(4)] + [Stack(7, 107, ["work", "main"])]
        self.assertEqual([[one.rank for one in group] for group in stack.groups(stacks)], [[7], [0, 1, 2, 3]])
        said = stack.text("j", 8, stacks)
        self.assertIn("ranks 0-3\n", said)
        self.assertIn("5 of 8 ranks", said)
        self.assertNotIn("poll", said)
        self.assertIn("sleep", stack.text("j", 8, stacks, full=True))

    def test_the_frames_decide_where_a_rank_is(self):
        """The page is read before a debugger stops the rank."""
        frames = ["poll (libc.so.6)", "PMPI_Allreduce (libmpi_abi.so.1)", "main (ocean.c:23)"]
        for now, found, expected in (("outside MPI", frames, "in MPI_Allreduce"), ("in MPI_Recv, waits for rank 3", frames, "in MPI_Allreduce"),
                                     ("in MPI_Allreduce, waits for rank 3", frames, "in MPI_Allreduce, waits for rank 3"), ("outside MPI", ["main (ocean.c:9)"], "outside MPI"),
                                     ("in MPI_Barrier", ["poll", "mpi_barrier_ (libheadrace_fortran.so.1)", "MAIN__"], "in MPI_Barrier"), ("in MPI_Recv", [], "in MPI_Recv"),
                                     ("in MPI_Allreduce", ["clock_nanosleep (libc.so.6)", "advance (ocean.c:17)", "main (ocean.c:46)"], "outside MPI"),
                                     ("in MPI_Recv", ["poll (libc.so.6)", "?? (libmpi_abi.so.1)", "main (ocean.c:9)"], "in MPI_Recv"), ("in MPI_Recv", ["poll", "??"], "in MPI_Recv")):
            self.assertEqual(stack._as_seen(now, found), expected)

    def test_no_debugger(self):
        said = stack.text("j", 1, [Stack(0, 1, now="in MPI_Barrier", why="gdb is not installed; the system says: S (sleeping)")])
        self.assertIn("in MPI_Barrier", said)
        self.assertIn("no stack: gdb is not installed", said)

    def test_a_debugger_that_hangs_is_ended(self):
        self.assertEqual(stack._said(["sleep", "60"], 0.2), ("", "sleep took longer than 0.2 s"))
        self.assertEqual(stack._said(["/no/gdb"], 0.2)[1], "/no/gdb: No such file or directory")

    def test_a_limit_for_all_ranks_together(self):
        page = unittest.mock.Mock(rank=3, about={"pid": 1}, **{"read.side_effect": counters.Problem("no page")})
        begin = support.time.monotonic()
        (found,) = stack.look_at_all([page], 10, 0)
        self.assertIn("together took longer than 0 s", found.why)
        stop = support.threading.Event()
        support.threading.Timer(0.3, stop.set).start()
        stack._said(["sleep", "60"], 50, stop=stop)
        self.assertLess(support.time.monotonic() - begin, 10)

    def test_the_page_reads_one_job_at_a_time(self):
        with stacks._one, self.assertRaisesRegex(Wrong, "being read already"):
            stacks.stacks("j")
        with self.assertRaisesRegex(Wrong, "no rank of this job runs on the monitor's host"):
            stacks.stacks("no such job")

    def test_the_page_gets_a_bounded_answer(self):
        pages = [unittest.mock.Mock(rank=rank, size=900, job_of_owner="j", **{"alive.return_value": True}) for rank in range(600)]
        with unittest.mock.patch("headrace.counters.look", return_value=unittest.mock.Mock(pages=pages)), \
                unittest.mock.patch("headrace.stack.look", lambda page, *_: Stack(page.rank, 1, ["f", f"PMPI_Recv ({page.rank})" if page.rank < 100 else "PMPI_Recv", "main"], now=f"at {page.rank}")):
            found = stacks.stacks("j")
        self.assertEqual((found["here"], found["left_out"], len(found["groups"]), found["groups_left_out"]), (600, 88, 64, 37))
        last = found["groups"][-1]
        self.assertEqual((last["ranks"], last["count"], last["inside"], last["frames"], len(last["now"]), last["more_now"]), ("100-511", 412, ["f"], ["PMPI_Recv", "main"], 8, 404))

    def test_no_job(self):
        with self.assertRaisesRegex(Wrong, "no job of this user runs"):
            stack.pages_of("", [])


@unittest.skipUnless(shutil.which("gdb"), "gdb is not installed")
@unittest.skipUnless(HALO3D.is_file() or support.REQUIRED, "halo3d is not built")
class Real(support.Scratch):
    def test_ranks_of_a_running_job(self):
        environment = {**os.environ, "PYTHONPATH": str(support.ROOT / "python"), "HEADRACE_OVERSUBSCRIBE": "quiet"}
        output = self.folder / "output"
        job = subprocess.Popen([str(MPIEXEC), "--timeout", "900", "-n", "3", str(HALO3D), "--local", "16", "--steps", "100000000", "--no-identity-check"],
                               stdout=subprocess.DEVNULL, stderr=output.open("w"), env=environment)
        self.addCleanup(lambda: (job.terminate(), job.wait(30)))

        def ask(*words):
            return subprocess.run([support.sys.executable, "-m", "headrace", "stack", str(job.pid), *words], capture_output=True, text=True, timeout=400, env=environment)
        support.wait_for(lambda: "3 of 3 ranks" in ask("--seconds", "5").stdout, 100, "three ranks")
        # A debugger needs the core that the ranks use, on a busy machine for longer than the usual limits.
        said = ask("--seconds", "120", "--json")
        self.assertEqual(said.returncode, 0, f"{said.stderr}; the job: {job.poll()}, {output.read_text()[-2000:]}")
        ranks = json.loads(said.stdout)["ranks"]
        self.assertEqual([rank["rank"] for rank in ranks], [0, 1, 2])
        if any("not permitted" in rank["why"] for rank in ranks):
            self.skipTest("this host permits no debugger")
        for rank in ranks:
            self.assertIn("main", " ".join(rank["frames"]), rank)
        self.assertIsNone(job.poll())  # the job continues
        with unittest.mock.patch.dict(os.environ, environment), unittest.mock.patch.multiple(stacks, _RANK_SECONDS=120.0, _SECONDS=400.0):
            key = next(page.job_of_owner for page in counters.look().pages if page.job_of_owner.startswith(f"headrace_{job.pid}_"))
            page = stacks.stacks(key)
        self.assertEqual((page["here"], page["size"], sum(group["count"] for group in page["groups"])), (3, 3, 3))
        self.assertIn("main", " ".join(page["groups"][0]["frames"]))
        self.assertIsNone(job.poll())
        self.assertIn("none of ranks 9", ask("--ranks", "9").stderr)


if __name__ == "__main__":
    unittest.main()
