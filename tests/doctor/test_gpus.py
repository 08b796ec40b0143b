"""Each finding about GPUs, provoked by synthetic answers from the driver and NVML; and the fake driver queried for
real."""

import copy
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from machine import ROOT, Failed, MachineTest

ATTRIBUTES = {"compute_mode": 0, "unified_addressing": 1, "vmm": 1, "chunk_descriptors": 1, "pools": 1, "gpudirect_rdma": 1,
              "ipc_events": 1}
TWO = {"driver": {"state": "opened", "cuda": "13.0",
                  "devices": [{"name": "NVIDIA H100", "attributes": ATTRIBUTES, "peers": [True, True]} for _ in range(2)]},
       "nvml": {"state": "opened", "devices": [{"name": "NVIDIA H100", "persistence": True, "ecc": True, "mig": False,
                                                "uncorrected": 0, "slowed": 1, "clock": 345, "most": 1980} for _ in range(2)]}}


class Gpus(MachineTest):
    def setUp(self):
        super().setUp()
        self.answer = copy.deepcopy(TWO)
        self.facts.try_gpus = lambda: self.answer

    def driver_fails(self, code):
        self.answer["driver"] = {"state": "failed", "code": code, "reason": f"cuInit fails with CUDA error {code}"}

    def test_in_order(self):
        self.assert_found("gpu.found", "ok", "CUDA 13.0, 2 x NVIDIA H100")
        self.assert_found("gpu.peer-access", "ok", "all 2 ordered pairs")
        self.assert_found("gpu.ecc", "ok")
        self.assertEqual([id_ for id_, finding in self.findings().items() if finding.level in ("warning", "error")], [])

    def test_none(self):
        self.answer = {"driver": {"state": "missing"}, "nvml": {"state": "missing"}}
        self.assert_found("gpu.none", "note", "no GPU here")
        self.write("/dev/nvidia0")
        self.assert_found("gpu.no-driver", "error")

    def test_driver_fails(self):
        self.write("/dev/nvidia0")
        for code in (100, 803, 999, 12345):
            with self.subTest(code=code):
                self.driver_fails(code)
                self.assert_found("gpu.driver-fails", "error", str(code))

    def test_driver_hangs(self):
        def hang():
            raise Failed("no result in 7 s")
        self.facts.try_gpus = hang
        self.assert_found("gpu.driver-hangs", "error", "7 s")

    def test_peers(self):
        self.answer["driver"]["devices"][1]["peers"][0] = False
        self.assert_found("gpu.no-peer-access", "warning", "1 of 2 ordered pairs of GPUs have no peer access: 1-0")

    def test_abilities(self):
        attributes = self.answer["driver"]["devices"][1]["attributes"] = dict(ATTRIBUTES)
        for name, id_, level, value in (("unified_addressing", "gpu.no-unified-addressing", "error", 0),
                                        ("ipc_events", "gpu.no-ipc", "warning", 0), ("vmm", "gpu.no-vmm-export", "note", 0),
                                        ("compute_mode", "gpu.exclusive", "warning", 3)):
            with self.subTest(name=name):
                attributes[name] = None  # a driver that does not know it
                self.assert_not_found(id_)
                attributes[name] = value
                self.assert_found(id_, level)

    def test_visible(self):
        for text, id_, evidence in (("", "gpu.all-hidden", ""), ("-1", "gpu.all-hidden", ""), ("0,5", "gpu.odd-visible", "5 (there are 2"),
                                    ("0,0", "gpu.odd-visible", "0 twice"), ("cuda:0", "gpu.odd-visible", "no number")):
            with self.subTest(text=text):
                self.set(CUDA_VISIBLE_DEVICES=text)
                self.assert_found(id_, "warning", evidence)
        self.set(CUDA_VISIBLE_DEVICES="GPU-8932f937")
        self.assert_found("gpu.some-visible", "note")

    def test_hidden_by_the_variable(self):
        self.driver_fails(100)
        self.set(CUDA_VISIBLE_DEVICES="")
        self.assert_found("gpu.driver-fails", "note")
        self.assert_found("gpu.all-hidden", "warning")

    def test_switched_off(self):
        self.set(HEADRACE_CUDA="off")
        self.assertEqual(self.findings()["gpu.switched-off"].level, "warning")

    def test_mps(self):
        self.set(CUDA_MPS_PIPE_DIRECTORY="/tmp/mps")
        self.assert_found("gpu.mps-absent", "warning", "/tmp/mps/control")
        self.write("/tmp/mps/control")
        self.assert_found("gpu.mps", "note")
        del self.facts.environment["CUDA_MPS_PIPE_DIRECTORY"]
        self.set(CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="50")
        self.assert_found("gpu.mps-variables", "note")

    def test_nvml(self):
        device = self.answer["nvml"]["devices"][1]
        for name, value, id_, level in (("uncorrected", 3, "gpu.ecc-errors", "error"), ("ecc", False, "gpu.ecc-off", "note"),
                                        ("mig", True, "gpu.mig", "warning"), ("persistence", False, "gpu.not-persistent", "note")):
            with self.subTest(name=name):
                device[name] = value
                self.assert_found(id_, level, "GPUs 1")
        for bits, id_, level, evidence in ((0x40, "gpu.slowed", "warning", "GPU 1: too hot (hardware) (345 of 1980 MHz)"),
                                           (0x88, "gpu.slowed", "warning", "GPU 1: hardware slowdown, power brake"),
                                           (0x2, "gpu.clocks-set", "note", "GPU 1: set (345 of 1980 MHz)")):
            with self.subTest(bits=bits):
                device["slowed"] = bits
                self.assert_found(id_, level, evidence)
        device["slowed"] = device["clock"] = None  # a driver that does not report it
        self.assert_not_found("gpu.slowed")
        self.answer["nvml"] = {"state": "failed", "code": 18, "reason": "nvmlInit fails with NVML error 18"}
        self.assert_found("gpu.no-nvml", "error", "18")


class FakeDriver(unittest.TestCase):
    """The process that queries the driver, with the fake driver."""

    def ask(self, **variables):
        fake = Path(os.environ.get("HR_BUILD", "/none")) / "fake_cuda"
        if not (fake / "libcuda.so.1").is_file():
            self.skipTest("the fake driver is not built")
        done = subprocess.run([sys.executable, "-B", "-m", "headrace.doctor.gpu"], capture_output=True, text=True, timeout=30,
                              check=True, env={**os.environ, "LD_LIBRARY_PATH": str(fake), "PYTHONPATH": str(ROOT / "python"),
                                               "FAKE_CUDA_DEVICES": "3", **variables})
        return json.loads(done.stdout)["driver"]

    def test_devices(self):
        driver = self.ask()
        self.assertEqual(driver["state"], "opened")
        self.assertEqual([device["peers"] for device in driver["devices"]], [[True] * 3] * 3)
        self.assertEqual(driver["devices"][0]["attributes"]["compute_mode"], 0)

    def test_no_peer_access(self):
        self.assertEqual(self.ask(FAKE_CUDA_PEER="0")["devices"][0]["peers"], [True, False, False])


if __name__ == "__main__":
    unittest.main()
