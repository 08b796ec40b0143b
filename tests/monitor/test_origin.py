"""The origin of jobs: user, command line, batch job; it is stored, sent by collectors, and searched."""

import contextlib
import io
import os
import subprocess
import sys
import unittest
import unittest.mock
from pathlib import Path

import support
from headrace.counters import Page
from headrace.monitor import all_users, origin, query, top
from headrace.monitor.history import History, connect
from headrace.monitor.hosts import message
from headrace.monitor.model import Origin
from headrace.monitor.synthetic import Job, Synthetic
from test_pages import Maker

SLURM = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": "halo"}


class Process(unittest.TestCase):
    def of(self, *words, **environment):
        """Returns the origin that a process's page shows."""
        child = subprocess.Popen([sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 env={"PATH": os.environ["PATH"], **environment})
        self.addCleanup(child.communicate)
        child.stdout.readline()
        started = int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19])
        page = Page(bytes(Maker(pid=child.pid, pid_started=started).bytes()))
        page.owner = os.geteuid()
        return page, origin.origin(page)

    def test_user_command_and_slurms_job(self):
        _, found = self.of("--local", "two words", **SLURM)
        self.assertEqual(found.user, origin.user_name(os.geteuid()))
        self.assertTrue(found.command.endswith("--local 'two words'"), found.command)
        self.assertEqual(found[2:], ("Slurm", "4711", "halo"))

    def test_other_batch_systems_and_arrays(self):
        for variables, expected in (({"PBS_JOBID": "12.server", "PBS_JOBNAME": "b"}, ("PBS", "12.server", "b")),
                                    ({"LSB_JOBID": "8", "LSB_JOBINDEX": "0", "LSB_JOBNAME": "c"}, ("LSF", "8", "c")),
                                    ({"LSB_JOBID": "8", "LSB_JOBINDEX": "3"}, ("LSF", "8[3]", "")),
                                    ({**SLURM, "SLURM_ARRAY_JOB_ID": "4700", "SLURM_ARRAY_TASK_ID": "9"}, ("Slurm", "4700_9", "halo")), ({}, ("", "", ""))):
            self.assertEqual(origin.batch(b"\0".join(f"{name}={value}".encode() for name, value in variables.items())), expected)

    def test_texts_are_bounded_and_printable(self):
        _, found = self.of("\x1b[2J" + "x" * 5000, SLURM_JOB_ID="\n" * 500)
        self.assertLessEqual(len(found.command), 400)
        self.assertLessEqual(len(found.batch_job), 120)
        self.assertTrue(all(text.isprintable() for text in found))

    def test_a_process_of_somebody_else_is_not_asked(self):
        page, _ = self.of(**SLURM)
        page.owner = support.STRANGER
        self.assertEqual(origin.origin(page), Origin(str(support.STRANGER)))

    def test_an_ended_process_and_a_saved_page(self):
        page = Page(bytes(Maker(pid=os.getpid(), pid_started=1).bytes()))
        self.assertEqual(origin.origin(page), Origin())
        page.owner = os.geteuid()
        self.assertEqual(origin.origin(page), Origin(origin.user_name(os.geteuid())))


class Kept(support.Scratch):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "history.sqlite"
        history = History(self.path)
        self.source = Synthetic(Job(ranks=2, slow=0, origin=Origin("ada", "./halo3d -n 4", "Slurm", "4711", "weak")),
                                Job(key="synthetic-2", ranks=2, slow=0, seconds=1, origin=Origin("bob", "./ocean", "PBS", "99", "")))
        self.source.time += 5
        history.write(self.source.sweep(True), {})
        history.close()

    def keys(self, search):
        db = connect(self.path)
        with contextlib.closing(db):
            found = query.jobs(db, search)
            self.assertEqual(query.count(db, search)["found"], len(found), search)
        return [(job["key"], job["user"]) for job in found]

    def test_every_field_is_searched(self):
        one, two = ("synthetic-1", "ada"), ("synthetic-2", "bob")
        for search, expected in (("", [one, two]), ("4711", [one]), ("batch:99", [two]), ("user:ada", [one]), ("user:weak", []), ("OCEAN", [two]), ("state:running", [one]),
                                 ("state:ended", [two]), ("synthetic pbs", [two]), ("host:synthetic command:halo3d", [one]), ("100%_'", [])):
            self.assertEqual(self.keys(search), expected, search)
        with self.assertRaisesRegex(query.Wrong, "neither state:running nor state:ended"):
            self.keys("state:hungry")

    def test_a_run_saved_before_has_none(self):
        import sqlite3
        db = sqlite3.connect(self.path)
        db.executescript("DROP VIEW job_origins; DROP TABLE origins")
        db.close()
        self.assertEqual(self.keys("synthetic-1"), [("synthetic-1", "")])
        self.assertEqual(self.keys("user:ada"), [])

    def test_a_report_carries_it(self):
        readings = self.source.sweep(False).readings
        packed = message.pack(message.Report("p", "h", 1.0, readings))
        self.assertEqual([one.rank for one in message.unpack(packed).readings], [one.rank for one in readings])
        older = {**packed, "ranks": [rank[:15] for rank in packed["ranks"]]}  # a collector of an older version
        self.assertEqual({one.rank.origin for one in message.unpack(older).readings}, {Origin()})
        for wrong in ([1] * 5, ["a"] * 4, None):
            with self.assertRaises(message.Wrong):
                message.unpack({**packed, "ranks": [packed["ranks"][0][:15] + [wrong]]})


class Switch(unittest.TestCase):
    def test_a_user_without_the_right_is_told(self):
        with unittest.mock.patch.object(all_users, "_capabilities", lambda: 0), contextlib.redirect_stderr(io.StringIO()) as said:
            with self.assertRaises(SystemExit):
                top.main(["--all-users", "--once"])
        self.assertIn("CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH", said.getvalue())


if __name__ == "__main__":
    unittest.main()
