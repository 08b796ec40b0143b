"""Jobs: every finding provoked by synthetic counters, and the command on a file without counters."""

import contextlib
import dataclasses
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import dataclass, field

from machine import ROOT

from headrace import counters
from headrace.doctor import cli
from headrace.doctor.job import balance
from headrace.doctor.job.facts import Job, JobFacts, Rank, Slowest, numbers

SECONDS = 100.0


@dataclass
class Now:
    """A made-up snapshot of a page."""

    tables: dict
    state: str = "running"
    begun: float = 1000.0
    ended: float | None = 1000.0 + SECONDS
    taken: float = 5000.0

    def table(self, name):
        return {label: value for label, value in self.tables[name].items() if value}

    def value(self, name):
        value = self.tables[name]
        return sum(value.values()) if isinstance(value, dict) else value


@dataclass
class Made:
    """A synthetic job without findings, for a test to change."""

    size: int = 4
    about: dict = field(default_factory=dict)
    tables: dict = field(default_factory=dict)
    dead: frozenset = frozenset()

    def facts(self, *problems):
        ranks = []
        for rank in range(self.size):
            about = {"host": "node1", "pid": 100 + rank, "program": "solver", "cores": str(rank), "gpus": None, **self.about.get(rank, {})}
            tables = {"wait.time": 5_000_000_000, "peer.wait": {}, "peer.messages": {(rank + 1) % self.size: 1000},
                      "peer.bytes": {(rank + 1) % self.size: 8_000_000}, **self.tables.get(rank, {})}
            ranks.append(Rank(rank, about, Now(tables), rank not in self.dead))
        return JobFacts([Job("headrace_1_1", self.size, ranks)], problems)


class JobTest(unittest.TestCase):
    def doctor(self, made, *words, problems=()):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            code = cli.main(["--job", "", "--json", *words], made.facts(*problems))
        findings = {finding["id"]: finding for finding in json.loads(said.getvalue())["findings"] if finding["level"] != "ok"}
        return code, findings

    def finds(self, made, code, id_, *texts, problems=()):
        got, findings = self.doctor(made, problems=problems)
        self.assertEqual((list(findings), got), ([id_], code))
        for text in texts:
            self.assertIn(text, findings[id_]["evidence"])

    def test_nothing_is_wrong(self):
        self.assertEqual(self.doctor(Made()), (0, {}))

    def test_what_is_in_order(self):
        made = Made(tables={0: {"received.memory_bytes": {"device": 1 << 30}, "received.bytes": {"cuda_ipc": 1 << 30}}})
        with contextlib.redirect_stdout(io.StringIO()) as said:
            cli.main(["--job", "", "--json"], made.facts())
        found = {finding["id"] for finding in json.loads(said.getvalue())["findings"] if finding["level"] == "ok"}
        self.assertLessEqual({"ranks.there", "balance.even", "queues.short", "messages.short", "devices.direct"}, found)

    def test_no_job(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(cli.main(["--job", "", "--json"], JobFacts([])), 0)
        self.assertIn("ranks.none", {finding["id"] for finding in json.loads(said.getvalue())["findings"]})

    def test_ranks(self):
        self.finds(Made(dead=frozenset({2})), 2, "ranks.dead", "rank 2 ended", "102")
        self.finds(Made(), 0, "ranks.unreadable", "of version 7", problems=["/dev/shm/x: a page of version 7"])

    def test_balance(self):
        waits = {"wait.time": 60_000_000_000, "peer.wait": {3: 54_000_000_000, 1: 6_000_000_000}}
        self.finds(Made(tables={0: waits, 1: waits, 2: waits}), 1, "balance.uneven", "from 5% (rank 3) to 60%", "the cause of 97% of the waiting is known, and 90% of that is for rank 3")
        alike = {"wait.time": 40_000_000_000}
        self.finds(Made(tables={rank: alike for rank in range(4)}), 0, "balance.waits", "40%")

    def cost(self, facts, id_):
        (finding,) = (finding for finding in balance.look(facts) if finding.id == id_)
        return finding

    def test_a_cause_that_is_known_of_few_waits_names_nobody(self):
        waits = {"wait.time": 60_000_000_000, "peer.wait": {3: 20_000_000_000}}
        said = self.cost(Made(tables={0: waits, 1: waits, 2: waits}).facts(), "balance.uneven").evidence
        self.assertNotIn("known", said)
        self.assertIn("(rank 3) to 60%", said)

    def test_ranks_that_differ_do_not_wait_alike(self):
        tables = {rank: {"wait.time": seconds * 10 ** 9} for rank, seconds in enumerate((44, 25, 40, 41))}
        self.assertNotIn("alike", self.cost(Made(tables=tables).facts(), "balance.waits").cost)

    def test_the_rank_that_the_history_names_is_the_finding(self):
        tables = {rank: {"wait.time": seconds * 10 ** 9, "peer.wait": {3: 20_000_000_000}} for rank, seconds in enumerate((44, 25, 40, 41))}
        (job,) = Made(tables=tables).facts().jobs
        found = self.cost(JobFacts([dataclasses.replace(job, history=True, slowest=Slowest(1, 0.93, 85.0))]), "balance.uneven")
        self.assertIn("rank 1 waits least in 93% of the 85 s in which it holds the others up", found.evidence)
        self.assertEqual((found.cost, "rank 1 on node1" in found.remedy, "rank 3" in found.evidence), ("the job goes at the speed of rank 1", True, False))

    def test_a_finding_names_no_rank_that_the_history_does_not(self):
        tables = {rank: {"wait.time": seconds * 10 ** 9} for rank, seconds in enumerate((44, 5, 40, 41))}
        (job,) = Made(tables=tables).facts().jobs
        found = self.cost(JobFacts([dataclasses.replace(job, history=True)]), "balance.uneven")
        self.assertIn("no single rank", found.cost)
        self.assertNotIn("rank 1 on", found.remedy)

    def test_placement(self):
        self.finds(Made(about={1: {"cores": "0"}}), 1, "placement.cores", "ranks 0-1 on node1 share one core")
        self.finds(Made(about={rank: {"cores": "0-2"} for rank in range(4)}), 1, "placement.cores", "ranks 0-3", "3 cores")
        self.finds(Made(about={0: {"gpus": "GPU-1"}, 3: {"gpus": "GPU-1"}, 2: {"gpus": "GPU-2"}}), 0, "placement.gpu", "ranks 0, 3")
        for text in ("none", "-1"):
            self.finds(Made(about={1: {"gpus": text}, 2: {"gpus": text}}), 0, "placement.gpu-hidden", "ranks 1-2 on node1")
        self.assertEqual(self.doctor(Made(about={1: {"cores": "0", "host": "node2"}})), (0, {}))
        self.assertEqual(self.doctor(Made(about={rank: {"gpus": "0,1"} for rank in range(4)})), (0, {}))  # each rank may have its own GPU

    def test_messages(self):
        self.finds(Made(tables={1: {"peer.messages": {0: 20_000_000}, "peer.bytes": {0: 160_000_000}}}), 0, "messages.short",
                   "rank 1 sends rank 0 200,000 messages a second of 8 bytes")

    def test_queues(self):
        self.finds(Made(tables={2: {"unexpected.most_bytes": 1 << 30}}), 1, "queues.unexpected", "rank 2", "1 GiB")
        self.finds(Made(tables={1: {"posted.most": 5000}}), 0, "queues.long", "5,000", "rank 1")

    def test_devices(self):
        device = {"received.memory_bytes": {"device": 1 << 30}}
        self.assertEqual(self.doctor(Made(tables={1: {**device, "received.bytes": {"device_get": 1 << 30}}})), (0, {}))
        self.finds(Made(tables={1: {**device, "received.bytes": {"staged": 1 << 30}}}), 1, "devices.staged", "1 GiB")
        self.finds(Made(tables={1: {**device, "received.bytes": {"network_staged": 1 << 30}}}), 0, "devices.network")
        self.finds(Made(tables={1: {**device, "received.bytes": {}, "library.device_ipc_misses": 5000}}), 1, "devices.ipc", "5,000")

    def test_numbers(self):
        self.assertEqual(numbers([3, 1, 2, 7, 9, 10]), "1-3, 7, 9-10")


class Command(unittest.TestCase):
    def run_doctor(self, *words):
        return subprocess.run([sys.executable, "-B", "-m", "headrace", "doctor", *words], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "python")})

    def test_no_such_job(self):
        result = self.run_doctor("--job", "headrace_0_none")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no such job of this user", result.stderr)

    def test_a_file_that_is_none(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"something else")
            file.flush()
            result = self.run_doctor("--job", file.name)
        self.assertEqual(result.returncode, 2)
        self.assertIn("not a file of counters", result.stderr)

    @unittest.skipIf(os.environ.get("HR_SANITIZER") == "asan", "Python would have to load this sanitizer first")
    def test_an_empty_list_of_gpus(self):
        """A script that sets CUDA_VISIBLE_DEVICES from a variable that is not set hides all GPUs."""
        build = os.environ["HR_BUILD"]
        program = f"import ctypes\nmpi = ctypes.CDLL('{build}/lib/libmpi_abi.so.1')\nmpi.MPI_Init(None, None)\nmpi.MPI_Finalize()\n"
        script = f"export CUDA_VISIBLE_DEVICES=$HR_NOT_SET; exec {sys.executable} -c \"{program}\""
        with tempfile.NamedTemporaryFile() as file:
            subprocess.run([f"{build}/bin/mpiexec", "--timeout", "50", "-n", "2", "--save-counters", file.name, "sh", "-c", script],
                           capture_output=True, check=True)
            self.assertIn("no GPU is visible to ranks 0-1", self.run_doctor("--job", file.name).stdout)

    def test_list(self):
        self.assertIn("balance", self.run_doctor("--job", "--list").stdout)


def unshares():
    return subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True, check=False).returncode == 0


class Container(unittest.TestCase):
    """A job whose processes have other pids here."""

    @unittest.skipIf(os.environ.get("HR_SANITIZER") == "asan", "Python would have to load this sanitizer first")
    @unittest.skipUnless(unshares(), "no namespaces for this user")
    def test_its_ranks_are_alive(self):
        with tempfile.TemporaryDirectory() as folder:
            library = os.environ["HR_BUILD"] + "/lib/libmpi_abi.so.1"
            program = (f"import ctypes, sys\nctypes.CDLL({library!r}).MPI_Init(None, None)\n"
                       f"open({folder!r} + '/ready', 'w').close()\nsys.stdin.read()\n")
            mpiexec = [os.environ["HR_BUILD"] + "/bin/mpiexec", "--timeout", "50", "-n", "1", sys.executable, "-c", program]
            with subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *mpiexec], stdin=subprocess.PIPE) as job:
                self.addCleanup(job.kill)
                deadline = time.monotonic() + 40
                while not os.path.exists(folder + "/ready") and time.monotonic() < deadline:
                    time.sleep(0.05)
                mine = [page for page in counters.look(None).pages if self.below(page.place.split("/")[2], job.pid)]
                self.assertTrue(mine, "no page of the job was found")
                self.assertTrue(all(page.alive() for page in mine))
                for page in mine:
                    self.assertNotEqual(page.place.split("/")[2], str(page.about["pid"]))
                job.kill()
                job.wait()

    @staticmethod
    def below(pid, ancestor):
        while pid not in ("0", "1"):
            if pid == str(ancestor):
                return True
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                    pid = file.read().rpartition(")")[2].split()[1]
            except OSError:  # a process of another job, which has ended
                return False
        return False


if __name__ == "__main__":
    unittest.main()
