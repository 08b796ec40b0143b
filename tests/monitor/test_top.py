"""`headrace top`: rates between two sweeps, text, JSON, no job."""

import contextlib
import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import unittest
import unittest.mock

import support
from headrace.monitor import top
from headrace.monitor.model import Brief, Count, Rank, Reading, Sweep
from headrace.monitor.synthetic import Job, Synthetic


class Ticking(Synthetic):
    """A source on which a second passes between two sweeps."""

    def sweep(self, details):
        self.time += 1
        return super().sweep(details)


class Nothing:
    def sweep(self, details):
        return Sweep(1.0, remarks=["a page of version 9; this headrace reads version 1"])

    def close(self):
        pass


class Top(unittest.TestCase):
    def said(self, source, *words):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            code = top.main(["--once", "--period", "0.05", *words], source)
        return code, text.getvalue()

    def source(self):
        source = Ticking(Job(ranks=8, slow=3))
        source.time += 10
        return source

    def test_json(self):
        code, said = self.said(self.source(), "--json")
        (job,) = json.loads(said)["jobs"]
        self.assertEqual(code, 0)
        self.assertEqual((job["ranks"], job["running"], job["slowest"]), (8, 8, 3))
        self.assertEqual(job["messages_per_second"], 8 * 6 * 200)
        self.assertEqual(job["bytes_per_second"], 8 * 6 * 200 * 8192)
        self.assertEqual(job["total_messages"], 12 * 8 * 6 * 200)
        self.assertEqual(job["now"], {"MPI_Waitall": 7, "outside MPI": 1})
        self.assertEqual(next(iter(job["functions"])), "MPI_Waitall")

    def test_text(self):
        code, said = self.said(self.source())
        self.assertEqual(code, 0)
        self.assertIn("rank 3", said)
        self.assertIn("MPI_Waitall: 7", said)
        self.assertLessEqual(max(map(len, said.splitlines())), 100)

    def test_no_job(self):
        code, said = self.said(Nothing())
        self.assertEqual(code, 1)
        self.assertIn("No job of yours", said)
        self.assertIn("version 9", said)

    def columns(self, columns, ranks=256):
        source = Ticking(Job(key="headrace_4711_27c956efd56f23ee", ranks=ranks, slow=3, program="a_program_of_some_length"))
        source.time += 10
        with unittest.mock.patch.dict(os.environ, {"COLUMNS": str(columns)}):
            return self.said(source)[1].splitlines()

    def test_shares_and_the_slowest_rank_are_there_at_any_width(self):
        for columns in (40, 60, 72, 79, 80, 100, 132, 300):
            lines = self.columns(columns)
            self.assertLessEqual(max(map(len, lines)), columns)
            head, row = lines[0].split(), lines[1].split()
            self.assertEqual(head[-3:], ["MPI", "wait", "slowest"], columns)
            self.assertEqual(row[-4:], ["28%", "26%", "rank", "3"], columns)
            self.assertEqual("calls/s" in head and "msg/s" in head and "B/s" in head, columns >= 72, columns)
            said = " ".join(" ".join(lines).split())
            for word in ("MPI_Waitall 27%", "MPI_Irecv 0%", "MPI_Waitall: 255", "outside MPI: 1", "unexpected"):
                self.assertIn(word, said, columns)
        self.assertTrue(self.columns(80)[1].startswith("4711_27c956efd56f23ee "))

    def test_an_equal_job_has_no_slowest_rank(self):
        class Equal(Ticking):
            """In each reading, a different rank waits a little less."""

            def sweep(self, details):
                found = super().sweep(details)
                second = round(self.time - self.jobs[0].began)
                for each in found.readings:
                    less = sum(0.1 for past in range(second) if past % 4 == each.rank.rank)
                    each.brief = each.brief._replace(wait_ns=int(1e9 * (0.4 * second - less)))
                return found

        seen, source = {}, Equal(Job(ranks=4, slow=0))
        before = source.sweep(True)
        for _ in range(30):
            after = source.sweep(True)
            (row,) = top.rows(before, after, seen)
            self.assertIsNone(row.slowest)
            before = after

    def reading(self, rank, brief, calls, function=""):
        return Reading(Rank("job", rank, 2, 10 + rank, "here", "program", 0.0), Brief(*brief), False, {"call": {name: Count(*count) for name, count in calls.items()}}, function)

    def test_the_call_under_way_is_counted(self):
        """One rank has been in the same call since before the first reading; the other one computes."""
        then, now = (Sweep(time_, [self.reading(0, (5, 100, 0), {"MPI_Barrier": (1, 0, 100)}, "MPI_Barrier"), self.reading(1, (0, 0, 0), {})]) for time_ in (10.0, 12.0))
        (row,) = top.rows(then, now)
        self.assertEqual((row.functions, row.mpi_share), ({"MPI_Barrier": 0.5}, 0.5))
        self.assertIn("MPI_Barrier 50%", top.text([row], []))

    def test_shares_add_up_to_no_more_than_the_whole(self):
        """A call of 9 s ended within this second, and lengths are estimated."""
        then = Sweep(10.0, [self.reading(0, (5, 0, 0), {"MPI_Recv": (5, 0, 0)}, "MPI_Recv"), self.reading(1, (0, 0, 0), {})])
        now = Sweep(11.0, [self.reading(0, (7, 9_300_000_000, 0), {"MPI_Recv": (5, 0, 9_000_000_000), "MPI_Send": (2, 0, 300_000_000)}),
                           self.reading(1, (4, 2_000_000_000, 0), {"MPI_Send": (2, 0, 1_500_000_000), "MPI_Isend": (2, 0, 500_000_000)})])
        (row,) = top.rows(then, now)
        self.assertEqual(row.functions, {"MPI_Send": 0.525, "MPI_Recv": 0.35, "MPI_Isend": 0.125})
        self.assertEqual(row.mpi_share, 1.0)
        shares = [int(share) for share in re.findall(r"(\d+)%", top.text([row], []).splitlines()[2])]
        self.assertEqual(sum(shares), 100)

    def test_a_wait_is_part_of_a_call(self):
        """In a long call, completed waits are counted before its length is."""
        then = Sweep(10.0, [self.reading(rank, (5, 0, 0), {}, "MPI_Waitall") for rank in range(2)])
        now = Sweep(11.0, [self.reading(rank, (6, 100_000_000, 700_000_000), {}, "MPI_Waitall") for rank in range(2)])
        (row,) = top.rows(then, now)
        self.assertEqual((row.mpi_share, row.wait_share), (0.7, 0.7))

    def started(self, *words, **more):
        code = f"""
import sys
sys.path[:0] = {[str(support.ROOT / "python"), str(support.ROOT / "tests/monitor")]!r}
from headrace.monitor import top
from headrace.monitor.synthetic import Job
from test_top import Ticking
source = Ticking(Job(ranks=8, slow=3))
source.time += 10
sys.exit(top.main({list(words)!r}, source))
"""
        return subprocess.Popen([support.sys.executable, "-c", code], **more)

    def test_a_pipe_gets_no_codes_of_a_screen(self):
        for words in ([], ["--once"]):
            process = self.started("--period", "0.1", *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env={**os.environ, "TERM": "xterm"})
            said = [process.stdout.readline() for _ in range(5 if words else 20)]
            process.terminate()
            process.wait(20)
            process.stdout.close()
            self.assertFalse(any("\x1b" in line for line in said), said)
            self.assertEqual(sum(line.startswith("job ") for line in said), 1 if words else 3, said)

    def test_a_terminal_is_given_back(self):
        for end in (b"q", signal.SIGTERM, signal.SIGINT):
            master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 5, 80, 0, 0))
            before = termios.tcgetattr(slave)
            process = self.started("--period", "0.1", stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env={**os.environ, "TERM": "xterm"})
            said = b""
            while said.count(b"q ends") < 2:
                said += os.read(master, 65536)
            if isinstance(end, bytes):
                os.write(master, end)
            else:
                process.send_signal(end)
            while b"\x1b[?1049l" not in said:
                said += os.read(master, 65536)
            self.assertEqual(process.wait(20), 128 + signal.SIGTERM if end == signal.SIGTERM else 0)
            self.assertEqual(termios.tcgetattr(slave), before)
            for descriptor in (master, slave):
                os.close(descriptor)
            text = re.sub(r"\x1b\[[?0-9]*[a-zA-Z]", "", said.decode())
            self.assertIn("slowest", text)
            self.assertIn("3 more lines in a higher window; q ends", text)
            self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_numbers(self):
        self.assertEqual([top.short(value) for value in (0, 999, 1234, 12e9)], ["0", "999", "1.2 k", "12.0 G"])


if __name__ == "__main__":
    unittest.main()
