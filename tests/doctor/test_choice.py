"""The transport between hosts, and its interface over TCP: `headrace doctor` names those that a job uses with the same
settings."""

import fcntl
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path



def is_up(interface):
    with socket.socket() as any_socket:
        answer = fcntl.ioctl(any_socket, 0x8913, struct.pack("16sh14x", interface.encode(), 0))  # SIOCGIFFLAGS
    return bool(struct.unpack_from("h", answer, 16)[0] & 1)


ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ["HR_BUILD"]
FAKE_OFI = Path(BUILD) / "fake_ofi/libfabric.so.1"
TCP, UCX = "TCP, without a library", "UCX"
WARNING = r"(?m)^\[headrace 0/2\] messages between hosts go by UCX, which may use TCP"
ONLY_LOOPBACK = not any(name != "lo" and is_up(name) for _, name in socket.if_nameindex())
NAMES = {"tcp": TCP, "ucx": UCX, "ofi": "libfabric"}


# Adds what is in $1/class to /sys/class, and what is in $1/dev to /dev, and runs the other arguments. The machine's own
# adapters are hidden. An overlay on /dev would not open its devices for a user, so each is mounted again in a new
# directory.
_ADD = """
set -e
folder=$1
shift
for each in infiniband infiniband_verbs cxi; do
  mkdir -p "$folder/class/$each"
done
mount -t overlay none -o "lowerdir=$folder/class:/sys/class" /sys/class
for each in "$folder/class"/*; do
  mount --bind "$each" "/sys/class/${each##*/}"
done
mkdir -p "$folder/old"
mount --rbind /dev "$folder/old"
mount -t tmpfs none /dev
for each in "$folder/old"/*; do
  to=/dev/${each##*/}
  case ${each##*/} in infiniband | cxi*) continue ;; esac
  if [ -L "$each" ]; then cp -P "$each" "$to"
  elif [ -d "$each" ]; then mkdir "$to"; mount --rbind "$each" "$to"
  else : > "$to"; mount --bind "$each" "$to"; fi
done
cp -r "$folder/dev/." /dev
exec "$@"
"""


def _beside(folder):
    """Returns a command that runs another one on a machine whose /sys/class and /dev have the folder's contents as well."""
    return ["unshare", *(["-m"] if os.geteuid() == 0 else ["-Urm"]), "sh", "-c", _ADD, "sh", folder]


def _can_add_devices():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("class", "dev"):
            Path(folder, name).mkdir()
        try:
            return subprocess.run([*_beside(folder), "true"], capture_output=True, timeout=20, check=False).returncode == 0
        except OSError:
            return False


class BothTest(unittest.TestCase):
    machine = ()  # command that runs another one on the machine of the test

    def run_both(self, **settings):
        """Returns what the ranks of a job print, and the evidence of the doctor's findings. The ranks share no memory, so they
        need a transport between hosts."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("HEADRACE_", "UCX_", "FI_"))}
        environment = {**clean, "HEADRACE_OVERSUBSCRIBE": "quiet", "HEADRACE_TRANSPORTS": "self,ofi,ucx,tcp", **settings}
        job = subprocess.run([*self.machine, f"{BUILD}/bin/mpiexec", "--timeout", "120", "-n", "2", os.environ["HR_TALK"]], capture_output=True,
                             text=True, timeout=150, check=False, stdin=subprocess.DEVNULL, env={**environment, "HEADRACE_VERBOSE": "2"})
        checks = ["--only", "network", "--only", "listening"]
        doctor = subprocess.run([*self.machine, sys.executable, "-B", "-m", "headrace", "doctor", "--json", *checks, "--build", BUILD],
                                capture_output=True, text=True, timeout=150, check=False,
                                env={**environment, "PYTHONPATH": str(ROOT / "python")})
        return job.stderr, {each["id"]: each["evidence"] for each in json.loads(doctor.stdout)["findings"]}

    def assert_agree(self, expected="", **settings):
        with self.subTest(**settings):
            said, found = self.run_both(**settings)
            choice = re.search(r"messages to other hosts go by (\w+): (.*)", said)
            self.assertIsNotNone(choice, said)
            self.assertEqual(f"messages to other hosts go by {NAMES[choice[1]]}: {choice[2]}", found["network.choice"])
            self.assertIn(expected, found["network.choice"])
            return said, found


    def assert_warnings(self, *cases):
        settings = {"HEADRACE_OFI_DIR": "/none", "HEADRACE_UCX_DIR": os.environ["HR_UCX"]}
        for more, warns in cases:
            said, _ = self.assert_agree(UCX if more.get("HEADRACE_NETWORK") is None else "", **settings, **more)
            self.assertEqual(len(re.findall(WARNING, said)), int(warns), said)


class Choice(BothTest):
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
        self.assert_agree(TCP, HEADRACE_OFI_DIR="/none", HEADRACE_UCX_DIR=place, UCX_TLS="tcp,self", UCX_NET_DEVICES="lo")
        self.assert_agree(TCP, HEADRACE_UCX_DIR=place, HEADRACE_NETWORK="tcp")
        self.assert_agree(UCX, HEADRACE_UCX_DIR=place, HEADRACE_TRANSPORTS="self,ucx")

    @unittest.skipUnless(os.environ.get("HR_UCX"), "UCX was not there at build")
    def test_ucx_that_nobody_has_chosen_by_name_warns_of_tcp(self):
        self.assert_warnings(({"HEADRACE_RMA_NETWORK": "on"}, True), ({"HEADRACE_RMA_NETWORK": "on", "HEADRACE_NETWORK": "ucx"}, False))


@unittest.skipUnless(os.environ.get("HR_UCX"), "UCX was not there at build")
@unittest.skipUnless(_can_add_devices(), "no right to mount an overlay on /sys/class")
class Adapters(BothTest):
    """On a machine that seems to have RDMA adapters. UCX finds that they are none, so over UCX only TCP would work."""

    def adapters(self, files=True, **states):
        """Lets the machine have adapters, by name, whose port is in this state. `files`: True if it has their device files."""
        folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("class", "dev/infiniband"):
            (Path(folder.name) / name).mkdir(parents=True)
        for number, (name, state) in enumerate(states.items()):
            verbs = f"uverbs{number}"
            for path, text in ((f"class/infiniband/{name}/ports/1/state", state), (f"class/infiniband_verbs/{verbs}/ibdev", name)):
                file = Path(folder.name, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"{text}\n", encoding="ascii")
            if files:
                Path(folder.name, "dev/infiniband", verbs).touch()
        self.machine = _beside(folder.name)

    def setUp(self):
        self.adapters(mlx5_0="4: ACTIVE", mlx5_1="1: DOWN")
        self.libraries = {"HEADRACE_OFI_DIR": "/none", "HEADRACE_UCX_DIR": os.environ["HR_UCX"]}

    def test_an_active_port_selects_ucx_without_tcp(self):
        said, found = self.assert_agree("this host has mlx5_0", **self.libraries)
        self.assertRegex(said, r"no path to rank \d: .*mlx5_0.*HEADRACE_NETWORK=tcp .*HEADRACE_NETWORK=ucx ")
        self.assertIn("listening.would-not", found)
        self.assertNotRegex(said, WARNING)

    def test_without_device_files_jobs_use_tcp(self):
        self.adapters(files=False, mlx5_0="4: ACTIVE", efa_0="4: ACTIVE")
        said, found = self.assert_agree("efa_0 cannot be used: /dev/infiniband/uverbs1 cannot be opened: No such file", **self.libraries)
        self.assertRegex(said, r"go by tcp: efa_0 cannot be used")
        self.assertNotIn("no path to rank", said)
        self.assertIn("network.adapter-unusable", found)
        self.assert_agree(UCX, **self.libraries, HEADRACE_NETWORK="ucx")

    @unittest.skipUnless(FAKE_OFI.exists(), "libfabric was not there at build")
    def test_a_provider_that_cannot_be_opened_leaves_tcp(self):
        self.adapters()
        for path in ("class/cxi/cxi0", "dev/cxi0"):
            file = Path(self.folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        fake = {"HEADRACE_OFI_DIR": str(FAKE_OFI.parent), "FAKE_OFI_PROVIDER": "cxi"}
        said, _ = self.assert_agree("libfabric: this host has cxi0", **fake)
        self.assertIn("ofi: provider cxi on ", said)
        said, _ = self.run_both(**fake, FAKE_OFI_CANNOT="domain")
        self.assertRegex(said, r"network: ofi: provider cxi on \S+: .*No such device")
        self.assertRegex(said, r"go by tcp: libfabric cannot be used, although this host has cxi0")
        self.assertNotIn("no path to rank", said)
        said, _ = self.run_both(**fake, FAKE_OFI_CANNOT="receive")
        self.assertRegex(said, r"network: ofi: provider cxi accepts no buffers")
        self.assertRegex(said, r"go by tcp: libfabric cannot be used, although this host has cxi0")
        self.assertNotIn("fake_ofi: ", said)  # its endpoint is closed
        # The providers for the kernel's network are used only if the user asks for libfabric.
        said, _ = self.run_both(HEADRACE_OFI_DIR=str(FAKE_OFI.parent))
        self.assertRegex(said, r"go by tcp: libfabric cannot be used, although this host has cxi0")
        said, _ = self.run_both(HEADRACE_OFI_DIR=str(FAKE_OFI.parent), HEADRACE_NETWORK="ofi")
        self.assertRegex(said, r"ofi: provider tcp\S* on ")

    def test_tcp_of_ucx_has_to_be_asked_for(self):
        for settings, warns in (({"HEADRACE_NETWORK": "ucx"}, False), ({"UCX_TLS": "tcp,self"}, True)):
            said, found = self.assert_agree(UCX, **self.libraries, **settings)
            self.assertRegex(said, r"rank 1 is reached by tcp/")
            self.assertEqual(bool(re.search(WARNING, said)), warns, said)
            self.assertIn("listening.would-not" if ONLY_LOOPBACK else "listening.would", found)

    def test_tcp_of_ucx_on_the_loopback(self):
        for settings in ({"HEADRACE_AS_HOSTS": "2"}, {"HEADRACE_NETWORK_DEVICES": "lo"}):
            said, _ = self.assert_agree(UCX, **self.libraries, **settings)
            self.assertRegex(said, r"rank 1 is reached by tcp/lo:")
            self.assertNotRegex(said, WARNING)

    def test_settings_that_warn_of_tcp(self):
        self.machine = BothTest.machine
        self.assert_warnings(({"HEADRACE_DEVICE_NETWORK_DIRECT": "on"}, True), ({"HEADRACE_TRANSPORTS": "self,ucx"}, True),
                             ({"HEADRACE_RMA_NETWORK": "on", "UCX_NET_DEVICES": "lo"}, False),
                             ({"HEADRACE_RMA_NETWORK": "on", "HEADRACE_NETWORK_DEVICES": "lo"}, False))

    def test_ports_that_are_down_select_nothing(self):
        self.adapters(mlx5_0="1: DOWN", efa_0="2: INIT")
        for settings in ({}, {"UCX_TLS": "rc,self", "UCX_NET_DEVICES": "mlx5_0:1"}):
            self.assert_agree(TCP, **self.libraries, **settings)


if __name__ == "__main__":
    unittest.main()
