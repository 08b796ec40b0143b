"""One machine as several hosts (mpiexec --as-hosts): placement of ranks, and the end of such jobs."""

import os
import re
import unittest
from pathlib import Path

from launching import PROBE, FilesTest, LaunchTest, run

PROGRAM = os.environ["HR_ACROSS_HOSTS"]
FAKE_UCX = Path(os.environ["HR_BUILD"]) / "fake_ucx/libucp.so.0"
FAKE_OFI = Path(os.environ["HR_BUILD"]) / "fake_ofi/libfabric.so.1"


def nodes(*words: str, environment: dict | None = None) -> str:
    result = run(*words, PROBE, "init", "hello", "finalize", env={**clean(), **(environment or {})})
    first = next(line for line in result.stdout.splitlines() if line.startswith("rank 0 "))
    return first.split("nodes ")[1].split()[0]


def clean() -> dict:
    """Returns the environment without variables with which this test itself may be run."""
    return {name: value for name, value in os.environ.items() if name not in ("HEADRACE_AS_HOSTS", "HEADRACE_NETWORK", "HEADRACE_TRANSPORTS")}


class Places(LaunchTest):
    def test_blocks_of_ranks(self):
        for words, expected in (
            (("-n", "4"), "0000"), (("-n", "4", "--as-hosts", "2"), "0011"), (("-n", "5", "--as-hosts", "2"), "00011"),
            (("-n", "7", "--as-hosts=3"), "0001122"), (("-n", "2", "--as-hosts", "8"), "01"),
            (("-n", "1", "--as-hosts", "2"), "0"),
        ):
            self.assertEqual(nodes(*words), expected, words)

    def test_the_variable_and_the_option_that_wins(self):
        self.assertEqual(nodes("-n", "4", environment={"HEADRACE_AS_HOSTS": "4"}), "0123")
        self.assertEqual(nodes("-n", "4", "--as-hosts", "2", environment={"HEADRACE_AS_HOSTS": "4"}), "0011")

    def test_no_number(self):
        for value in ("0", "-1", "two"):
            self.assert_ended(run("-n", "2", "--as-hosts", value, "true"), 2, "the number of hosts")

    def test_cores_are_shared_by_all(self):
        result = run("-n", "4", "--as-hosts", "2", PROBE, "init", "here", "finalize", env=clean())
        self.assertEqual(sorted(result.stdout.split("\n")), [""] + 4 * ["4 here"])

    def test_what_programs_see(self):
        result = run("-n", "5", "--as-hosts", "2", PROGRAM, "shared", env=clean())
        self.assert_ended(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), [
            "rank 0 shares with 3 place 0 of 3", "rank 1 shares with 3 place 1 of 3",
            "rank 2 shares with 3 place 2 of 3", "rank 3 shares with 2 place 0 of 2",
            "rank 4 shares with 2 place 1 of 2",
        ])


class ReportedTransports(LaunchTest):
    """The lines of --report-transports."""

    def report(self, *words: str, **environment: str):
        result = run("--report-transports", *words, PROGRAM, "shared", env={**clean(), **environment})
        self.assert_ended(result, 0)
        return sorted(line.partition("] transports: ")[2] for line in result.stderr.splitlines() if "] transports: " in line)

    def test_one_host(self):
        (line,) = self.report("-n", "3")
        self.assertRegex(line, r"^ranks 0-2 on \S+: shm: they share memory$")
        (line,) = self.report("-n", "1")
        self.assertRegex(line, r"^rank 0 on \S+: none, since there is no other process$")

    def test_one_host_without_shared_memory(self):
        (line,) = self.report("-n", "2", HEADRACE_TRANSPORTS="self,tcp")
        self.assertRegex(line, r"^ranks 0-1 on \S+: tcp, interface \S+: HEADRACE_TRANSPORTS is self,tcp$")

    def test_hosts(self):
        found = self.report("-n", "5", "--as-hosts", "3", HEADRACE_NETWORK="tcp")
        here = r"on [^\s:]+"
        expected = [rf"ranks 0-1 {here} to ranks 2-3 {here}: tcp, interface lo: HEADRACE_NETWORK is tcp",
                    rf"ranks 0-1 {here} to rank 4 {here}: tcp, interface lo: HEADRACE_NETWORK is tcp",
                    rf"ranks 0-1 {here}: shm: they share memory",
                    rf"ranks 2-3 {here} to rank 4 {here}: tcp, interface lo: HEADRACE_NETWORK is tcp",
                    rf"ranks 2-3 {here}: shm: they share memory"]
        self.assertEqual(len(found), len(expected), found)
        for pattern in expected:
            self.assertTrue(any(re.fullmatch(pattern, line) for line in found), (pattern, found))

    @unittest.skipUnless(FAKE_UCX.exists(), "UCX was not there at build")
    def test_networks_of_ucx(self):
        (line,) = self.report("-n", "2", "--as-hosts", "2", HEADRACE_NETWORK="ucx")
        self.assertRegex(line, r"^rank 0 on \S+ to rank 1 on \S+: ucx, tcp/lo: HEADRACE_NETWORK is ucx$")

    @unittest.skipUnless(FAKE_OFI.exists(), "no libfabric in this build")
    def test_libfabric_stays_on_the_loopback(self):
        """Also if it finds nothing for the address of the loopback interface, and then lists all devices."""
        for value in ("0", "1"):
            (line,) = self.report("-n", "2", "--as-hosts", "2", HEADRACE_NETWORK="ofi", HEADRACE_OFI_DIR=str(FAKE_OFI.parent),
                                  FAKE_OFI_NO_NODE=value)
            self.assertRegex(line, r"^rank 0 on \S+ to rank 1 on \S+: ofi, provider \S+ on lo: HEADRACE_NETWORK is ofi$")

    def test_nothing_without_the_option(self):
        result = run("-n", "2", "--as-hosts", "2", PROGRAM, "shared", env=clean())
        self.assertNotIn("transports:", result.stderr)


class Ends(FilesTest):
    network: dict = {}

    def across(self, *words: str, **environment: str):
        return run("--timeout", "50", "-n", "4", "--as-hosts", "2", *words, env={**clean(), **self.network, **environment})

    def test_a_rank_that_dies_is_what_is_told(self):
        result = self.across(PROGRAM, "death")
        self.assert_ended(result, 137, "rank 3", "killed by signal 9")
        self.assertNotIn("be reached", result.stderr)

    def test_where_the_job_goes_on_the_path_is_what_fails(self):
        result = self.across("-disable-auto-cleanup", PROGRAM, "death")
        self.assertNotEqual(result.returncode, 0)
        self.assertNotEqual(result.returncode, 124, result.stderr)
        self.assertIn("rank 3 can no longer be reached", result.stderr)

    def test_data_that_is_under_way_ends_with_the_process(self):
        result = self.across("-disable-auto-cleanup", PROGRAM, "data")
        self.assertNotIn(result.returncode, (0, 124), result.stderr)
        self.assertIn("both have ended", result.stdout, result.stderr)

    def test_short_messages_to_a_dead_rank_fail(self):
        result = self.across("-disable-auto-cleanup", PROGRAM, "send")
        self.assertNotIn(result.returncode, (0, 124), result.stderr)
        self.assertIn("the send has failed", result.stdout, result.stderr)

    def test_data_outlives_the_call_of_finalize(self):
        for hosts in ("2", "4"):
            self.assert_ended(self.across("--as-hosts", hosts, PROGRAM, "early"), 0)
        self.assert_ended(self.across(PROGRAM, "early", UCX_RNDV_THRESH="100"), 0)

    def test_sessions_end_with_the_process(self):
        result = self.across(PROGRAM, "sessions")
        self.assert_ended(result, 0)
        self.assertEqual((result.stdout, result.stderr), ("ok\n", ""))

    def test_exit_without_finalize(self):
        self.assert_ended(self.across(PROGRAM, "exit"), 1, "without calling MPI_Finalize")


EVERY = bool(os.environ.get("HR_EVERY"))  # set by tests of the night tier


@unittest.skipUnless(EVERY and os.environ.get("HR_OFI"), "fault_every_network does so, if the build has libfabric")
class EndsOverLibfabric(Ends):
    network = {"HEADRACE_NETWORK": "ofi"}


class RanksThatCompute(LaunchTest):
    def assert_not_lost(self, network: str):
        result = run("--timeout", "50", "-n", "3", "--as-hosts", "3", PROGRAM, "late",
                     env={**clean(), "HEADRACE_NETWORK": network, "HEADRACE_NETWORK_TIMEOUT": "0.5"})
        self.assert_ended(result, 0)
        self.assertEqual((result.stdout, result.stderr), ("all have arrived\n", ""))

    def test_over_tcp(self):
        self.assert_not_lost("tcp")

    @unittest.skipUnless(os.environ.get("HR_OFI"), "this build has no libfabric")
    def test_over_libfabric(self):
        self.assert_not_lost("ofi")


@unittest.skipUnless(EVERY, "fault_every_network does so")
class EndsOverUcx(Ends):
    network = {"HEADRACE_NETWORK": "ucx"}


class Transports(LaunchTest):
    def refused(self, *words: str, **environment: str):
        return run("--timeout", "50", "-n", "2", *words, PROGRAM, env={**clean(), **environment})

    def test_a_name_that_there_is_not(self):
        result = self.refused(HEADRACE_TRANSPORTS="self,smoke")
        self.assertNotIn(result.returncode, (0, 124), result.stderr)
        self.assertIn('there is no transport "smoke" (there are self, shm, ofi, ucx, tcp', result.stderr)

    def test_none_that_reaches_the_other_host(self):
        result = self.refused("--as-hosts", "2", HEADRACE_TRANSPORTS="self,shm")
        self.assertNotIn(result.returncode, (0, 124), result.stderr)
        self.assertRegex(result.stderr, r"none of the transports here \(self\) reaches rank \d; HEADRACE_TRANSPORTS=self,shm")

    def test_no_ucx(self):
        result = self.refused("--as-hosts", "2", HEADRACE_UCX_DIR="/nonexistent", HEADRACE_NETWORK="ucx")
        self.assertNotIn(result.returncode, (0, 124), result.stderr)
        self.assertIn("pip install 'headrace[ucx]'", result.stderr)
        self.assertIn("/nonexistent/libucp.so.0", result.stderr)

    @unittest.skipUnless(FAKE_UCX.exists(), "no UCX in this build")
    def test_ucx_that_is_too_old(self):
        old = {"HEADRACE_UCX_DIR": str(FAKE_UCX.parent), "FAKE_UCX_OLD": "1"}
        result = self.refused("--as-hosts", "2", HEADRACE_NETWORK="ucx", **old)
        self.assertNotIn(result.returncode, (0, 124), result.stderr)
        self.assertIn("is UCX 1.13, and 1.14 or newer is needed (pip install 'headrace[ucx]'", result.stderr)

    @unittest.skipUnless(FAKE_OFI.exists(), "no libfabric in this build")
    def test_libfabric_that_is_too_old(self):
        result = self.refused("--as-hosts", "2", HEADRACE_NETWORK="ofi", HEADRACE_OFI_DIR=str(FAKE_OFI.parent), FAKE_OFI_OLD="1")
        self.assertNotIn(result.returncode, (0, 124), result.stderr)
        self.assertIn("is libfabric 1.8: 1.9 or newer is needed", result.stderr)

    @unittest.skipUnless(FAKE_OFI.exists(), "no libfabric in this build")
    def test_a_provider_that_cannot_be_opened(self):
        for what in ("fabric", "domain", "endpoint"):
            with self.subTest(what=what):
                settings = {"HEADRACE_OFI_DIR": str(FAKE_OFI.parent), "FAKE_OFI_CANNOT": what, "FAKE_OFI_PROVIDER": "tcp"}
                result = self.refused("--as-hosts", "2", HEADRACE_NETWORK="ofi", **settings)
                self.assertNotIn(result.returncode, (0, 124), result.stderr)
                self.assertRegex(result.stderr, r"ofi: provider tcp on \S+: .*No such device.*HEADRACE_NETWORK=tcp")

    def test_one_host_without_shared_memory(self):
        for network in ("ucx", "tcp"):
            result = run("--timeout", "50", "-n", "3", PROGRAM, env={**clean(), "HEADRACE_TRANSPORTS": f"self,{network}", "HEADRACE_NETWORK": network})
            self.assert_ended(result, 0)
            self.assertEqual((result.stdout, result.stderr), ("ok\n", ""))

    def test_an_interface_that_there_is_not(self):
        result = self.refused("--as-hosts", "2", HEADRACE_NETWORK="tcp", HEADRACE_NETWORK_DEVICES="nosuch0")
        self.assertNotIn(result.returncode, (0, 124), result.stderr)
        self.assertIn("HEADRACE_NETWORK_DEVICES=nosuch0 names no network interface that is up", result.stderr)
        self.assertIn("this host has: ", result.stderr)

    def test_one_process_needs_none(self):
        environment = {**clean(), "HEADRACE_TRANSPORTS": "self,ucx", "HEADRACE_UCX_DIR": "/nonexistent"}
        self.assert_ended(run("-n", "1", PROGRAM, env=environment), 0)


if __name__ == "__main__":
    unittest.main()
