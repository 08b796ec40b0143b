"""The command: exit codes, text, JSON, time limits, failing checks; and a run on this machine as it is."""

import contextlib
import io
import ipaddress
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from machine import NO_GPU, ROOT, Facts, MachineTest

from headrace.bench import child
from headrace.doctor import cli, interfaces, job, run, single_copy
from headrace.doctor.check import Check, run_all
from headrace.doctor.checks import CHECKS


class Command(MachineTest):
    def doctor(self, *words):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            code = cli.main(list(words), self.facts)
        return code, said.getvalue()

    def test_exit_codes(self):
        self.assertEqual(self.doctor()[0], 0)
        self.facts.affinity = frozenset({0})
        self.assertEqual(self.doctor()[0], 1)
        (self.root / "dev/shm").rmdir()
        code, said = self.doctor()
        self.assertEqual(code, 2)
        self.assertTrue(said.endswith("1 error and 1 warning.\n"), said)

    def test_text(self):
        self.facts.affinity = frozenset({0})
        self.set(HEADRACE_NETWORK="ucx", UCX_NET_DEVICES="mlx5_7:1", OMPI_MCA_btl="tcp")
        for words in ((), ("--all",)):
            said = self.doctor(*words)[1]
            self.assertLessEqual(max(map(len, said.splitlines())), 100)
            self.assertIn("  warning  this process may use 1 of 4 CPUs: 0  [cpus.narrowed]\n", said)
            self.assertIn("\n           remedy: ", said)
        self.assertIn("in order", self.doctor()[1])

    def test_json(self):
        (self.root / "dev/shm").rmdir()
        code, said = self.doctor("--json")
        report = json.loads(said)
        self.assertEqual((report["format"], report["exit_code"], code), (1, 2, 2))
        error = next(finding for finding in report["findings"] if finding["level"] == "error")
        self.assertEqual((error["id"], error["check"], error["group"]), ("shm.missing", "shm", "Memory"))
        self.assertTrue(error["evidence"] and error["cost"] and error["remedy"])

    def test_list_and_only(self):
        self.assertEqual([line.split()[0] for line in self.doctor("--list")[1].splitlines()], [check.name for check in CHECKS])
        report = json.loads(self.doctor("--json", "--only", "clock")[1])
        self.assertEqual({finding["check"] for finding in report["findings"]}, {"clock"})

    def test_ids_begin_with_the_check(self):
        for check, found in run_all(CHECKS, self.facts):
            for finding in found:
                self.assertTrue(finding.id.startswith(check.name + "."), finding.id)

    def test_a_check_that_fails_is_a_finding(self):
        self.write("/sys/devices/system/cpu/online", "banana\n")
        code, said = self.doctor()
        self.assertEqual(code, 1)
        self.assertIn("[cpus.check-failed]", said)
        self.assertIn("Network", said)  # the others are shown

    def test_a_check_that_does_not_end(self):
        may_end = threading.Event()
        self.addCleanup(may_end.set)
        slow = Check("slow", "Slow", "", lambda facts: may_end.wait(50) or ())
        ((_, found),) = run_all([slow], self.facts, seconds=0.1)
        self.assertEqual(found[0].id, "slow.check-failed")
        self.assertIn("did not end within 0.1 s", found[0].evidence)

    def test_answers_that_make_no_sense(self):
        self.answers.update({"--config": "", "-c": "", "-d": "# Device: eth0\n"})
        self.set(HEADRACE_RMA_NETWORK="on", UCX_TLS="tcp")
        self.facts.try_gpus = lambda: {"driver": {}, "nvml": NO_GPU["nvml"]}
        self.assertIn(self.doctor()[0], (0, 1))


class Findings(unittest.TestCase):
    def test_each_is_provoked_and_explained(self):
        source = "".join(file.read_text() for part in ("checks", "job", "run") for file in (ROOT / "python/headrace/doctor" / part).glob("*.py"))
        tests = "".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
        names = "|".join(re.escape(check.name) for check in (*CHECKS, *job.CHECKS, *run.CHECKS))
        ids = set(re.findall(rf'"((?:{names})\.[a-z0-9-]+)"', source))
        self.assertGreater(len(ids), 60)
        self.assertEqual(sorted(id_ for id_ in ids if f'"{id_}"' not in tests), [])
        page = (ROOT / "docs/doctor.md").read_text()
        self.assertEqual(sorted(id_ for id_ in ids if f"`{id_}`" not in page), [])


class ThisMachine(unittest.TestCase):
    def test_command(self):
        build = ["--build", os.environ["HR_BUILD"]] if "HR_BUILD" in os.environ else []
        for _ in range(3):  # a busy machine may delay some of them
            begin = time.monotonic()
            done = subprocess.run([sys.executable, "-B", "-m", "headrace", "doctor", "--json", *build], capture_output=True, text=True,
                                  timeout=60, check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
            if (took := time.monotonic() - begin) < 15:
                break
        self.assertLess(took, 15)  # 10 s, and the time that the command takes to start
        self.assertEqual(done.stderr, "")
        report = json.loads(done.stdout)
        self.assertEqual(done.returncode, report["exit_code"])
        self.assertEqual({finding["check"] for finding in report["findings"]}, {check.name for check in CHECKS})

    def test_variables_of_any_bytes(self):
        done = subprocess.run([sys.executable, "-B", "-m", "headrace", "doctor", "--only", "launch", "--all"], capture_output=True,
                              timeout=30, check=False, env={**os.environb, b"PYTHONPATH": os.fsencode(ROOT / "python"),
                                                            b"PBS_NODEFILE": b"/\xff\xfe"})
        self.assertEqual((done.returncode, done.stderr), (2, b""))
        self.assertIn(b"/\\udcff\\udcfe", done.stdout)

    def test_a_program_that_hangs(self):
        with tempfile.TemporaryDirectory() as work:
            mpiexec = Path(work, "bin", "mpiexec")
            mpiexec.parent.mkdir()
            mpiexec.write_text("#!/bin/sh\nexec sleep 60\n")
            mpiexec.chmod(0o755)
            facts = Facts(prefix=Path(work), run=lambda command, timeout, env=None: child.run(command, 0.3, env))
            ((_, found),) = run_all([check for check in CHECKS if check.name == "settings"], facts)
        self.assertEqual(found[0].id, "settings.mpiexec-fails")  # else the limit of the check has ended it
        self.assertIn("no result", found[0].evidence)

    def test_single_copy_of_a_process_that_is_gone(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        self.assertEqual(single_copy._read(gone.pid, 4096), "No such process")

    def test_interfaces(self):
        known = {path.name for path in Path("/sys/class/net").iterdir()}
        for each in interfaces.every():
            self.assertIn(each.name.partition(":")[0], known)  # eth0:1 is a further address of eth0
            if ipaddress.ip_address(each.address).is_loopback:
                self.assertTrue(each.loopback, each)

    def test_wrong_option(self):
        done = subprocess.run([sys.executable, "-B", "-m", "headrace", "doctor", "--only", "x"], capture_output=True, text=True,
                              timeout=30, check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        self.assertEqual(done.returncode, 2)
        self.assertIn("invalid choice: 'x'", done.stderr)


if __name__ == "__main__":
    unittest.main()
