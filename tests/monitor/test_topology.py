"""Switches from Slurm's and ibnetdiscover's files, and the inside of a host from a synthetic sysfs."""

import dataclasses
import unittest

import support
from headrace.monitor import topology
from headrace.monitor.answers import Place, answer
from headrace.monitor.history import History
from headrace.monitor.inside import Inside
from headrace.monitor.synthetic import Job, Synthetic

SLURM = """# a comment with SwitchName=no
SwitchName=leaf1 Nodes=node[0001-0004],login LinkSpeed=4
SwitchName=leaf[2-3] Nodes=node[0005,0007-08]
switchname=spine Switches=leaf[1-2]
"""
FABRIC = """#
# Topology file: generated on ...
vendid=0x2c9
switchguid=0xb8599f0300a1(b8599f0300a1)
Switch	40 "S-b8599f0300a1"		# "leaf1" enhanced port 0 lid 5 lmc 0
[1]	"H-0c42a1030001"[1](c42a1030001) 		# "node0001 mlx5_0" lid 7 4xHDR
[2]	"H-0c42a1030002"[1](c42a1030002) 		# "node0002 mlx5_0" lid 8 4xHDR
[40]	"S-b8599f0300b1"[1]		# "spine" lid 9 4xHDR

Switch	40 "S-b8599f0300b1"		# "spine" enhanced port 0 lid 9 lmc 0
[1]	"S-b8599f0300a1"[40]		# "leaf1" lid 5 4xHDR
[2]	"H-0c42a1030003"[1](c42a1030003) 		# "" lid 10 4xHDR

Ca	1 "H-0c42a1030001"		# "node0001 mlx5_0"
[1](c42a1030001) 	"S-b8599f0300a1"[1]		# lid 7 lmc 0 "leaf1" lid 5 4xHDR
"""


class Files(support.Scratch):
    def test_slurm(self):
        found = {switch.name: (switch.hosts, switch.switches) for switch in topology.parse(SLURM)}
        self.assertEqual(found["leaf1"], (["login", "node0001", "node0002", "node0003", "node0004"], []))
        self.assertEqual(found["leaf2"], (["node0005", "node0007", "node0008"], []))
        self.assertEqual(found["spine"], ([], ["leaf1", "leaf2"]))
        self.assertEqual(len(found), 4)

    def test_fabric(self):
        found = {switch.name: (switch.hosts, switch.switches) for switch in topology.parse(FABRIC)}
        self.assertEqual(found, {"leaf1": (["node0001", "node0002"], ["spine"]), "spine": (["H-0c42a1030003"], ["leaf1"])})

    def test_wrong_files(self):
        for text, words in (("", "names no switch"), ("SwitchName=a Nodes=n[1-x]", "is not a range of numbers"), ("SwitchName=a Nodes=n[1-9999999999]", "is not a range"),
                            ("SwitchName=a Nodes=n[9-1]", "is not a range"), ("SwitchName=a Nodes=n[" + "9" * 5000 + "]", "is not a range"), ("SwitchName=a Nodes=" + "n" * 300, "is not a list of names"),
                            ("SwitchName=s[0-9999] Nodes=n[0-9999]", "more than"), ("Nodes=n[0-99999]\n" * 9999, "more than"), ("SwitchName=a Nodes=n" + "[0-9]" * 50, "more than"),
                            ("SwitchName=a Nodes=n[0-99999][0-99999]", "more than"), ("SwitchName=s[0-20000]", "more than"), ("\0\xff" * 1000, "names no switch")):
            with self.assertRaisesRegex(topology.Wrong, words, msg=text[:30]):
                topology.parse(text)
        (self.folder / "t").write_text("nothing")
        with self.assertRaisesRegex(topology.Wrong, "t: it names no switch"):
            topology.read(self.folder / "t")


class Sysfs(support.Scratch):
    def put(self, path, text):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)

    def test_the_nodes_of_devices(self):
        self.put("devices/system/node/node0/cpulist", "0-3,8-11\n")
        self.put("devices/system/node/node1/cpulist", "4-7,12\n")
        self.put("devices/system/node/node2/cpulist", "wrong\n")
        self.put("bus/pci/devices/0000:17:00.0/numa_node", "0\n")
        self.put("bus/pci/devices/0000:d7:00.0/numa_node", "-1\n")
        self.put("class/infiniband/mlx5_0/device/numa_node", "1\n")
        self.put("class/net/eth0/device/numa_node", "x" * 5000)
        found = Inside(self.folder).look(["infiniband.mlx5_0:1", "ethernet.eth0", "other.x"], {0: "0000:17:00.0", 1: "0000:d7:00.0"})
        self.assertEqual(found, {"inside.numa.0.cpus.0": 3.0, "inside.numa.0.cpus.8": 11.0, "inside.numa.1.cpus.4": 7.0, "inside.numa.1.cpus.12": 12.0,
                                 "inside.gpu.0": 0.0, "inside.link.infiniband.mlx5_0:1": 1.0})
        self.assertEqual(Inside(self.folder / "none").look(["ethernet.eth0"], {}), {})


def figures(number):
    """A node with two NUMA nodes of eight CPUs, each with two GPUs and an adapter."""
    found = {"cpu.busy": 0.6, "inside.numa.0.cpus.0": 7.0, "inside.numa.1.cpus.8": 15.0}
    for port in (0, 1):
        link = f"infiniband.mlx5_{port}:1"
        found.update({f"inside.link.{link}": float(port), f"link.{link}.speed": 25e9, f"link.{link}.up": 1.0, f"link.{link}.use": 0.2 + 0.7 * port * (number == 1), f"link.{link}.tx": 5e9,
                      f"link.{link}.rx": 5e9, f"link.{link}.errors": 3.0 * (number == 6 and port)})
    for gpu in range(4):
        found.update({f"inside.gpu.{gpu}": float(gpu // 2), f"gpu.{gpu}.busy": 0.2 * gpu + 0.1, f"gpu.{gpu}.throttled": float(number == 1 and gpu == 3)})
    return found


def recorded(path):
    history = History(path)
    job = Job(ranks=128, slow=20, per_node=16)
    source = Synthetic(job)
    for second in (1, 20, 40):
        source.time = job.began + second
        sweep = source.sweep(True)
        for reading in sweep.readings:
            place = reading.rank.rank % 16
            reading.rank = dataclasses.replace(reading.rank, cpus=str(place), gpu=str(place // 4))
        history.write(sweep, {f"node{number + 1:04}": figures(number) for number in range(8)})
    history.close()


class Answers(support.Scratch):
    def test_inside(self):
        path = self.folder / "history.sqlite"
        recorded(path)
        self.assertEqual(answer(Place(path), "inside", {"host": "node0001"}), {"numa": [{"number": 0, "cpus": [(0, 7)]}, {"number": 1, "cpus": [(8, 15)]}],
                                                                            "gpus": {"0": 0, "1": 0, "2": 1, "3": 1}, "links": {"infiniband.mlx5_0:1": 0, "infiniband.mlx5_1:1": 1}})
        self.assertEqual(answer(Place(path), "inside", {"host": "nowhere"}), {"numa": [], "gpus": {}, "links": {}})
        self.assertEqual(answer(Place(path, topology=({"name": "s"},)), "topology", {}), ({"name": "s"},))


if __name__ == "__main__":
    unittest.main()
