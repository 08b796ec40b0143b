"""Between two hosts only ssh passes: a job ends within HEADRACE_NETWORK_TIMEOUT and its grace period, and the error names the
host, the interface or the provider, and the firewall.

Run by namespace_test.py (bed/README.md). Rules for packets that arrive take the place of a firewall."""

import os
import subprocess
import time
import unittest

HOSTS = os.environ["HR_HOSTS"]
NAMES = os.environ["HR_HOST_NAMES"].split()
MPIEXEC = os.environ["HR_MPIEXEC"]
TALK = os.environ["HR_TALK"]
TIMEOUT = 10  # HEADRACE_NETWORK_TIMEOUT
# Seconds that the job may take beyond the usual: time-out, grace period, and a reserve for a busy machine.
MORE = TIMEOUT + 8 + 10


def inside(host, *words, check=True, **more):
    return subprocess.run([HOSTS, "exec", host, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, check=check, **more)


def address(host):
    return inside(host, "sh", "-c", "ip -4 -o addr show dev eth0 | sed 's/.*inet //; s,/.*,,'").stdout.strip()


class OnlySsh(unittest.TestCase):
    def close(self, action):
        """Closes both hosts to TCP from the other one, except to and from its ssh."""
        addresses = [address(host) for host in NAMES[:2]]
        for host, other in zip(NAMES[:2], reversed(addresses)):
            lines = ["ip rule add pref 20 lookup local", "ip rule del pref 0",
                     *(f"ip rule add pref 10 from {other} ipproto tcp {port} 22 lookup local" for port in ("sport", "dport")),
                     f"ip rule add pref 12 from {other} ipproto tcp {action}",
                     "echo 1 > /proc/sys/net/ipv4/ip_forward"]  # without it, the kernel tells nobody that it rejects a packet
            inside(host, "sh", "-ec", "\n".join(lines))
            self.addCleanup(inside, host, "sh", "-c", "ip rule add pref 0 lookup local; ip rule del pref 20; ip rule del pref 12; "
                            "ip rule del pref 10; ip rule del pref 10; echo 0 > /proc/sys/net/ipv4/ip_forward")

    def job(self, network):
        begin = time.monotonic()
        done = inside(NAMES[0], MPIEXEC, "--timeout", "60", "-n", "2", "--hosts", ",".join(NAMES[:2]), TALK, check=False, timeout=90,
                      env={**os.environ, "HEADRACE_NETWORK": network, "HEADRACE_NETWORK_TIMEOUT": str(TIMEOUT)})
        return done.returncode, done.stdout, time.monotonic() - begin

    def assert_explained(self, network, action, *texts):
        code, said, usual = self.job(network)
        self.assertEqual((code, said.count("right")), (0, 2), said)
        self.close(action)
        code, said, took = self.job(network)
        self.assertNotIn(code, (0, 124), said)
        self.assertRegex(said, rf"the path to rank [01] on host ({'|'.join(NAMES[:2])}) by the network \({network}, ")
        for text in ("firewall", *texts):
            self.assertIn(text, said)
        self.assertLess(took, usual + MORE, said)

    def test_dropped_over_tcp(self):
        self.assert_explained("tcp", "blackhole", "interface eth0", "its host does not answer", "HEADRACE_NETWORK_DEVICES")

    def test_rejected_over_tcp(self):
        self.assert_explained("tcp", "prohibit", "interface eth0", "cannot be reached")

    @unittest.skipUnless(os.environ.get("HR_OFI"), "libfabric was not there at build")
    def test_dropped_over_libfabric(self):
        self.assert_explained("ofi", "blackhole", "provider tcp", "They have never been connected")


if __name__ == "__main__":
    unittest.main()
