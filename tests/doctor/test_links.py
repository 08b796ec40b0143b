"""`headrace doctor --run`: findings for synthetic links; the command's options; and this machine's cores."""

import contextlib
import io
import json
import os
import subprocess
import sys
import unittest

from machine import ROOT

from headrace.doctor import cli
from headrace.doctor.run.links import HOST_AND_GPUS, Links, RunFacts, read

PAIRS = [(low, high) for high in range(4) for low in range(high)]
WAYS = PAIRS + [(high, low) for low, high in PAIRS]


def made(latency=(), stream=(), together=1.0, what="hosts", ends=4):
    """Links of 10 us and 1 GB/s, except those given."""
    pairs = [pair for pair in PAIRS if max(pair) < ends]
    ways = [pair for pair in WAYS if max(pair) < ends]
    return RunFacts([Links(what, [f"node{i}" for i in range(ends)], 1 << 20, {**dict.fromkeys(pairs, 10.0), **dict(latency)},
                           {**dict.fromkeys(ways, 1048.576), **dict(stream)}, dict.fromkeys(ways, 1048.576 * together))])


class Findings(unittest.TestCase):
    def finds(self, facts, *ids):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            code = cli.main(["--run", "--json"], facts)
        findings = {finding["id"]: finding["evidence"] for finding in json.loads(said.getvalue())["findings"] if finding["level"] != "ok"}
        self.assertEqual(list(findings), list(ids))
        self.assertEqual(code, 1 if any(id_.endswith(".odd") for id_ in ids) else 0)
        return findings

    def in_order(self, facts):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            cli.main(["--run", "--json"], facts)
        return {finding["id"] for finding in json.loads(said.getvalue())["findings"] if finding["level"] == "ok"}

    def test_all_alike(self):
        self.finds(made())
        self.assertEqual(self.in_order(made()), {"latency.even", "bandwidth.even", "together.apart"})
        self.finds(made(ends=2))

    def test_latency(self):
        found = self.finds(made(latency={(1, 3): 55.0}), "latency.odd")
        self.assertEqual(found["latency.odd"], "10.0 us for 8 bytes between hosts, 55.0 between node1 - node3 (5.5 times)")

    def test_one_slow_host(self):
        found = self.finds(made(latency={(0, 3): 50.0, (1, 3): 60.0, (2, 3): 50.0}), "latency.odd")
        self.assertIn("node1 - node3 (6.0 times), ", found["latency.odd"])

    def test_bandwidth_one_way(self):
        found = self.finds(made(stream={(2, 0): 4194.304}), "bandwidth.odd")
        self.assertEqual(found["bandwidth.odd"], "1.0 GB/s between hosts, 250 MB/s over node2 -> node0 (4.0 times)")

    def test_together(self):
        self.assertIn("40%", self.finds(made(together=2.5), "together.shared")["together.shared"])
        self.finds(made(together=2.5, ends=2))

    def host_and_gpus(self, times, together=1.0, gpus=4):
        """Links of 16 MiB in 1 ms, except those given by (from, to); 0 is the host."""
        ways = {way: 1000.0 for gpu in range(1, gpus + 1) for way in ((0, gpu), (gpu, 0))} | times
        return RunFacts([Links(HOST_AND_GPUS, ["host", *(f"GPU {i}" for i in range(gpus))], 16 << 20, {}, ways,
                               {way: time * together for way, time in ways.items()})])

    def test_host_and_gpus(self):
        self.finds(self.host_and_gpus({}))
        found = self.finds(self.host_and_gpus({(3, 0): 4000.0}), "bandwidth.odd")
        self.assertEqual(found["bandwidth.odd"], "16.8 GB/s between host and GPUs, 4.2 GB/s over GPU 2 -> host (4.0 times)")
        found = self.finds(self.host_and_gpus({}, together=2.0), "together.shared")
        self.assertEqual(found["together.shared"], "with all GPUs busy each link between host and GPU carries 50% of what it carries alone")
        self.finds(self.host_and_gpus({}, together=2.0, gpus=1))

    def test_builds(self):
        def built(**builds):
            return RunFacts([], builds, "/opt/lib/libmpi_abi.so.1")
        self.finds(built(a="1f", b="1f"))
        self.assertEqual(self.in_order(built(a="1f", b="1f")), {"builds.same"})
        with contextlib.redirect_stdout(io.StringIO()) as said:
            code = cli.main(["--run", "--json"], built(a="1f", b="1f", c="2e", d="none"))
        (finding,) = json.loads(said.getvalue())["findings"]
        self.assertEqual((code, finding["id"]), (2, "builds.differ"))
        self.assertEqual(finding["evidence"], "/opt/lib/libmpi_abi.so.1 is not the same on all hosts: c has another one, d has none")

    def test_reading(self):
        rows = [("0-1 alone", 8, 9.0), ("0>1 alone", 4096, 20.0), ("1>0 alone", 4096, 30.0), ("0-1 together", 8, 11.0), ("0>1 together", 4096, 21.0)]
        links = read({"rows": [{"label": label, "bytes": bytes_, "best": best, "median": 2 * best} for label, bytes_, best in rows]}, "cores", ["a", "b"])
        self.assertEqual((links.bytes, links.latency, links.stream, links.together),
                         (4096, {(0, 1): 9.0}, {(0, 1): 20.0, (1, 0): 30.0}, {(0, 1): 21.0}))


class Command(unittest.TestCase):
    def run_doctor(self, *words, **variables):
        return subprocess.run([sys.executable, "-B", "-m", "headrace", "doctor", "--build", os.environ["HR_BUILD"], *words],
                              capture_output=True, text=True, check=False, timeout=100,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **variables})

    def test_cores_of_this_machine(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one core")
        result = self.run_doctor("--run", "--json")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        found = json.loads(result.stdout)["findings"]
        self.assertEqual([finding["check"] for finding in found][:2], ["latency", "bandwidth"])
        self.assertRegex(found[0]["evidence"], "us for 8 bytes between cores")

    def test_host_and_gpus_of_the_fake_driver(self):
        self.third_gpu_is_slow("fake_cuda/libcuda.so.1")

    def test_host_and_gpus_of_the_fake_hip_runtime(self):
        self.third_gpu_is_slow("fake_hip/7/libamdhip64.so.7", HSA_ENABLE_IPC_MODE_LEGACY="1")

    def third_gpu_is_slow(self, driver, **variables):
        """It is reported, in both directions."""
        library = os.path.join(os.environ["HR_BUILD"], driver)
        if not os.path.isfile(library):
            self.skipTest("the fake driver is not built")
        result = self.run_doctor("--run", "--json", "--only", "bandwidth", LD_LIBRARY_PATH=os.path.dirname(library), FAKE_CUDA_DEVICES="3", FAKE_CUDA_SLOW="2",
                                 FAKE_CUDA_KERNELS=os.path.join(os.environ["HR_BUILD"], "fake_cuda"), **variables)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        found = [finding["evidence"] for finding in json.loads(result.stdout)["findings"] if "host and GPUs" in finding["evidence"]]
        self.assertEqual(len(found), 1, result.stdout)
        self.assertRegex(found[0], r"host -> GPU 2 \(\d")
        self.assertRegex(found[0], r"GPU 2 -> host \(\d")

    def test_wrong_words(self):
        for words, says in ((("--hosts", "a,b"), "--run"), (("--run", "--hosts", "a"), "at least two"), (("--run", "--job"), "two things")):
            result = self.run_doctor(*words)
            self.assertEqual(result.returncode, 2)
            self.assertIn(says, result.stderr)

    def test_a_host_that_is_not_there(self):
        result = self.run_doctor("--run", "--hosts", "localhost,no-such-host.invalid")
        self.assertEqual(result.returncode, 2)
        self.assertIn("headrace doctor: ", result.stderr)
        self.assertIn("no-such-host.invalid", result.stderr)


if __name__ == "__main__":
    unittest.main()
