"""On a host with several network cards, libfabric uses a different one for each rank, if they are alike. Cards that no
NUMA domain is known for are used in turns; unit_ofi_nearest tests the order by distance."""

import os
import re
import subprocess
import unittest

FAKE = os.environ["HR_FAKE_OFI_DIR"]


def devices(**settings: str) -> list[tuple[str, str]]:
    """Returns the provider and the device of each of four ranks on two hosts, after a random exchange."""
    environment = os.environ | {"HEADRACE_NETWORK": "ofi", "HEADRACE_OFI_DIR": FAKE, "HEADRACE_VERBOSE": "2"} | settings
    command = [os.environ["HR_MPIEXEC"], "--timeout", "60", "-n", "4", "--as-hosts", "2", os.environ["HR_EXCHANGE"], "--exchanges", "50"]
    done = subprocess.run(command, env=environment, check=True, timeout=90, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    found = re.findall(r"(?m)^\[headrace (\d)/4\] ofi: provider (\S+) on (\S+)$", done.stdout)
    return [(provider, device) for _, provider, device in sorted(found)]


class Cards(unittest.TestCase):
    def test_ranks_of_a_host_use_different_cards(self):
        found = devices(FAKE_OFI_PROVIDER="cxi", FAKE_OFI_CARDS="2")
        self.assertEqual(found, [("cxi", "card0"), ("cxi", "card1")] * 2)

    def test_the_user_chooses(self):
        found = devices(FAKE_OFI_PROVIDER="cxi", FAKE_OFI_CARDS="3", HEADRACE_NETWORK_DEVICES="card2")
        self.assertEqual(found, [("cxi", "card2")] * 4)
        found = devices(FAKE_OFI_PROVIDER="cxi", FAKE_OFI_CARDS="3", HEADRACE_NETWORK_DEVICES="card1,card2")
        self.assertEqual(found, [("cxi", "card1"), ("cxi", "card2")] * 2)

    def test_interfaces_of_the_kernel_keep_their_order(self):
        found = devices(FAKE_OFI_CARDS="2")
        self.assertEqual(len(found), 4)
        self.assertEqual({device for _, device in found}, {"card0"})


if __name__ == "__main__":
    unittest.main()
