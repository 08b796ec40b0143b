"""A synthetic machine: a directory for "/", and facts without any finding until the test changes them."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from headrace.bench.child import Failed  # noqa: E402 (the path comes first)
from headrace.doctor.check import run_all  # noqa: E402
from headrace.doctor.checks import CHECKS  # noqa: E402
from headrace.doctor.facts import UNLIMITED, Facts, Space  # noqa: E402
from headrace.doctor.interfaces import Interface  # noqa: E402

GIB = 1 << 30
CONFIG = "name  value  origin\nverbose  0  default\neager_bytes  16384  default\n"
UCX_DEVICES = "# Transport: self\n#    Device: memory\n# Transport: tcp\n#    Device: eth0\n#    Device: lo\n"
INTERFACES = [Interface("lo", "127.0.0.1", loopback=True), Interface("eth0", "10.0.0.5")]
NO_GPU = {"driver": {"state": "missing"}, "nvml": {"state": "missing"}}
FILES = {
    "/proc/meminfo": "MemTotal:       16777216 kB\n",
    "/proc/self/cgroup": "0::/job\n",
    "/sys/devices/system/cpu/online": "0-3\n",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "/sys/devices/system/node/node0/cpulist": "0-3\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
}


class MachineTest(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.root = Path(work.name)
        self.answers = {"--config": CONFIG, "-c": "found 1.22.0 /ucx/lib/libucp.so.0\n", "-d": UCX_DEVICES,
                        "libfabric.so.1": "found 1.20 /lib/libfabric.so.1\n"}
        for path, text in FILES.items():
            self.write(path, text)
        (self.root / "dev/shm").mkdir(parents=True)
        for name in ("mpicc", "mpiexec"):
            self.program(f"/headrace/bin/{name}", "HEADRACE_")
        self.program("/usr/bin/ssh")
        self.facts = Facts(root=self.root, environment={"PATH": "/headrace/bin:/usr/bin"}, asked_affinity=frozenset(range(4)),
                           locked=(UNLIMITED, UNLIMITED), files=(4096, 4096), address_space=(UNLIMITED, UNLIMITED),
                           file_size=(UNLIMITED, UNLIMITED), stack=(8 << 20, UNLIMITED), space=lambda path: Space(8 * GIB, 8 * GIB),
                           prefix=self.root / "headrace", run=self.run_program, try_single_copy=lambda: "",
                           interfaces=lambda: INTERFACES,
                           try_gpus=lambda: NO_GPU, try_amd=lambda: {"state": "missing"})

    def write(self, path, text=""):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def program(self, path, text=""):
        self.write(path, text).chmod(0o755)

    def rdma(self, name):
        """Adds an RDMA device with an active port and a device file."""
        self.write(f"/sys/class/infiniband/{name}/ports/1/state", "4: ACTIVE\n")
        self.write(f"/sys/class/infiniband_verbs/uverbs_{name}/ibdev", f"{name}\n")
        self.write(f"/dev/infiniband/uverbs_{name}")

    def run_program(self, command, timeout, env=None):
        """Returns the output of a program: from self.answers, by its last word or first option. Raises an answer that
        is a Failed."""
        answer = self.answers.get(command[-1], self.answers.get(command[1] if command[1] != "-B" else command[2]))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def set(self, **variables):
        self.facts.environment.update(variables)

    def findings(self):
        return {finding.id: finding for _, found in run_all(CHECKS, self.facts) for finding in found}

    def assert_found(self, id_, level, evidence=""):
        """Checks that the finding exists, with all its parts, and that no check failed."""
        found = self.findings()
        self.assertEqual([failed.evidence for name, failed in found.items() if name.endswith("check-failed")], [])
        self.assertIn(id_, list(found))
        self.assertEqual(found[id_].level, level)
        self.assertIn(evidence, found[id_].evidence)
        if level in ("warning", "error"):
            self.assertTrue(found[id_].cost and found[id_].remedy)
        return found[id_]

    def assert_not_found(self, id_):
        self.assertNotIn(id_, self.findings())


__all__ = ["FILES", "GIB", "INTERFACES", "NO_GPU", "ROOT", "Failed", "Facts", "Interface", "MachineTest", "Space", "UNLIMITED"]
