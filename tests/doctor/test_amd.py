"""Each finding about AMD GPUs, provoked by synthetic answers from the HIP runtime; and the fake runtime queried for
real."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from machine import ROOT, Failed, MachineTest

TWO = {"state": "opened", "library": "libamdhip64.so.6", "rocm": [6, 2], "devices": ["AMD Instinct MI250X", "AMD Instinct MI250X"]}


class Amd(MachineTest):
    def setUp(self):
        super().setUp()
        self.answer = dict(TWO)
        self.facts.try_amd = lambda: self.answer

    def hardware(self, mode=0o666):
        self.write("/dev/kfd").chmod(mode)

    def no_device(self):
        self.answer = {"state": "failed", "code": 100, "reason": "hipGetDeviceCount gives error 100", "library": "libamdhip64.so.6", "rocm": [6, 2]}

    def test_in_order(self):
        self.assert_found("amd.found", "ok", "ROCm 6.2, 2 x AMD Instinct MI250X")
        self.assert_found("amd.emulated", "note", "emulated")

    def test_none(self):
        self.answer = {"state": "missing"}
        self.assert_found("amd.none", "note", "no AMD GPU here")
        self.hardware()
        self.assert_found("amd.no-runtime", "error", "/dev/kfd")

    def test_no_device(self):
        self.no_device()
        self.assert_found("amd.runtime-only", "note", "libamdhip64.so.6")
        self.hardware()
        self.assert_found("amd.runtime-fails", "error", "100")
        self.set(ROCR_VISIBLE_DEVICES="")
        self.assert_found("amd.runtime-fails", "warning", "ROCR_VISIBLE_DEVICES=")

    @unittest.skipIf(os.getuid() == 0, "root may read everything")
    def test_no_access(self):
        self.no_device()
        self.hardware(0o000)
        self.assert_found("amd.no-access", "error", "/dev/kfd")

    def test_half_installed(self):
        self.answer = {"state": "failed", "code": None, "reason": "libhsa-runtime64.so.1: cannot open shared object file"}
        self.hardware()
        self.assert_found("amd.runtime-fails", "error", "libhsa-runtime64")

    def test_old(self):
        self.answer["rocm"] = [5, 1]
        self.assert_found("amd.too-old", "error", "5.2 is needed")

    def test_exports_pin(self):
        for rocm, pinned in (([6, 4], False), ([7, 0], True), ([7, 2], True), ([7, 14], False)):
            self.answer["rocm"] = rocm
            with self.subTest(rocm):
                self.assertEqual("amd.exports-pin" in self.findings(), pinned)
        self.answer["rocm"] = [7, 2]
        self.assert_found("amd.exports-pin", "warning", "HSA_ENABLE_IPC_MODE_LEGACY is not 1")
        self.set(HSA_ENABLE_IPC_MODE_LEGACY="1")
        self.assert_not_found("amd.exports-pin")

    def test_no_migration(self):
        for name, migrates in (("AMD Instinct MI250X", True), ("AMD Instinct MI210", True), ("AMD Instinct MI300X", True),
                               ("AMD Instinct MI300A", False), ("AMD Instinct MI100", False), ("Radeon RX 7900 XTX", False)):
            self.answer["devices"] = [name]
            with self.subTest(name):
                self.assertEqual("amd.no-migration" in self.findings(), migrates)
        self.answer = dict(TWO)
        self.assert_found("amd.no-migration", "note", "HSA_XNACK is not 1")
        self.set(HSA_XNACK="1")
        self.assert_not_found("amd.no-migration")

    def test_hangs(self):
        def hang():
            raise Failed("no result in 7 s")
        self.facts.try_amd = hang
        self.assert_found("amd.runtime-hangs", "error", "7 s")

    def test_variables(self):
        self.set(HEADRACE_HIP="off")
        self.assert_found("amd.switched-off", "warning")
        self.set(ROCR_VISIBLE_DEVICES="2,3", HIP_VISIBLE_DEVICES="1")
        self.assert_found("amd.visible-twice", "note", "ROCR_VISIBLE_DEVICES=2,3")


class FakeRuntime(unittest.TestCase):
    """Answers from the queried process, with each version of the fake runtime."""

    BUILD = Path(os.environ.get("HR_BUILD", ROOT / "build/pip"))

    def ask(self, version, **variables):
        folder = self.BUILD / "fake_hip" / str(version)
        if not folder.exists():
            self.skipTest("the fake HIP runtime is not built")
        said = subprocess.run([sys.executable, "-B", "-m", "headrace.doctor.amd"], capture_output=True, text=True, timeout=30, check=True,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "LD_LIBRARY_PATH": str(folder),
                                   "FAKE_HIP_ROCM": str(version), **variables})
        return json.loads(said.stdout)

    def test_versions(self):
        for version in (5, 6, 7):
            with self.subTest(version):
                answer = self.ask(version)
                self.assertEqual((answer["state"], answer["library"], answer["rocm"][0]), ("opened", f"libamdhip64.so.{version}", version))
                self.assertEqual(answer["devices"], ["Fake HIP device 0", "Fake HIP device 1"])

    def test_visible(self):
        self.assertEqual(self.ask(6, ROCR_VISIBLE_DEVICES="1")["devices"], ["Fake HIP device 1"])
        both = self.ask(6, FAKE_CUDA_DEVICES="4", ROCR_VISIBLE_DEVICES="1,3", HIP_VISIBLE_DEVICES="1")
        self.assertEqual(both["devices"], ["Fake HIP device 3"])
        self.assertEqual(self.ask(6, HIP_VISIBLE_DEVICES="")["code"], 100)

    def test_devices_of_benchmarks(self):
        for devices in (3, 0):
            said = subprocess.run([sys.executable, "-B", "-c", "from headrace.bench import nccl; print(nccl.devices())"], capture_output=True, text=True,
                                  timeout=30, check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "FAKE_HIP_ROCM": "5",
                                                               "LD_LIBRARY_PATH": str(self.BUILD / "fake_hip/5"), "FAKE_CUDA_DEVICES": str(devices)})
            self.assertEqual(said.stdout, f"{devices}\n")

    def test_info(self):
        for option, key in (("info", "HIP runtime"), ("info --all", "amd_gpus.rocm")):
            said = subprocess.run([sys.executable, "-B", "-m", "headrace", *option.split()], capture_output=True, text=True, timeout=60, check=True,
                                  env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "FAKE_HIP_ROCM": "6", "LD_LIBRARY_PATH":
                                       os.pathsep.join(str(self.BUILD / name) for name in ("fake_hip/6", "fake_hip/programs"))})
            self.assertRegex(said.stdout, rf"{key} +(ROCm )?6\.2")


if __name__ == "__main__":
    unittest.main()
