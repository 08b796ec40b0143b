"""The transport between hosts, and its interface over TCP: `headrace doctor` names those that a job uses with the same
settings."""

import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ["HR_BUILD"]
TCP, UCX = "TCP, without a library", "UCX"
NAMES = {"tcp": TCP, "ucx": UCX, "ofi": "libfabric"}


class Choice(unittest.TestCase):
    def run_both(self, **settings):
        """Returns what the ranks of a job print, and the evidence of the doctor's findings. The ranks share no memory, so they
        need a transport between hosts."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("HEADRACE_", "UCX_", "FI_"))}
        environment = {**clean, "HEADRACE_OVERSUBSCRIBE": "quiet", "HEADRACE_TRANSPORTS": "self,ofi,ucx,tcp", **settings}
        job = subprocess.run([f"{BUILD}/bin/mpiexec", "--timeout", "50", "-n", "2", os.environ["HR_TALK"]], capture_output=True,
                             text=True, timeout=60, check=False, stdin=subprocess.DEVNULL, env={**environment, "HEADRACE_VERBOSE": "2"})
        doctor = subprocess.run([sys.executable, "-B", "-m", "headrace", "doctor", "--json", "--only", "network", "--build", BUILD],
                                capture_output=True, text=True, timeout=60, check=False,
                                env={**environment, "PYTHONPATH": str(ROOT / "python")})
        return job.stderr, {each["id"]: each["evidence"] for each in json.loads(doctor.stdout)["findings"]}

    def assert_agree(self, expected="", **settings):
        with self.subTest(**settings):
            said, found = self.run_both(**settings)
            choice = re.search(r"messages to other hosts go by (\w+)", said)
            self.assertIsNotNone(choice, said)
            self.assertIn(f"go by {NAMES[choice[1]]}: ", found["network.choice"])
            self.assertIn(expected, found["network.choice"])
            return said, found

    def assert_interfaces_agree(self, **settings):
        said, found = self.assert_agree(TCP, **settings)
        interface = re.search(r"tcp: listens at \S+ on interface (\S+)", said)
        if interface is None or (interface[1] == "lo" and "network.no-interface" in found):  # ranks of one host use the loopback
            self.assertIn("network.no-interface", found, said)
        else:
            evidence = found.get("network.interface") or found["network.interface-chosen"]
            self.assertRegex(evidence, rf"ranks use {re.escape(interface[1])} ")

    def test_as_it_is(self):
        self.assert_agree()

    def test_interfaces(self):
        self.assert_interfaces_agree(HEADRACE_NETWORK="tcp")
        self.assert_interfaces_agree(HEADRACE_NETWORK="tcp", HEADRACE_NETWORK_DEVICES="none,lo")

    def test_no_such_interface(self):
        said, found = self.assert_agree(TCP, HEADRACE_NETWORK="tcp", HEADRACE_NETWORK_DEVICES="none")
        self.assertIn("HEADRACE_NETWORK_DEVICES=none names no network interface", said)
        self.assertIn("network.no-such-interface", found)

    def test_libraries_that_are_not_there(self):
        self.assert_agree(HEADRACE_OFI_DIR="/none", HEADRACE_UCX_DIR="/none")

    @unittest.skipUnless(os.environ.get("HR_UCX"), "UCX was not there at build")
    def test_settings_for_ucx(self):
        place = os.environ["HR_UCX"]
        self.assert_agree(HEADRACE_OFI_DIR="/none", HEADRACE_UCX_DIR=place)
        self.assert_agree(HEADRACE_OFI_DIR="/none", HEADRACE_UCX_DIR=place, UCX_TLS="tcp,self")
        self.assert_agree(TCP, HEADRACE_UCX_DIR=place, HEADRACE_NETWORK="tcp")
        self.assert_agree(UCX, HEADRACE_UCX_DIR=place, HEADRACE_TRANSPORTS="self,ucx")


if __name__ == "__main__":
    unittest.main()
