"""Messages of 1 MiB use the protocols that docs/architecture/device-message.md and long-message.md state for their
memory.

HR_BUILD, HR_FAKE: the build directory, the fake driver's directory.
"""

import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HR_BUILD"])
PAGE = ROOT / "docs/architecture/device-message.md"


def seen(memory: str) -> tuple[dict[int, set[str]], str]:
    """Returns the protocols of a ping-pong, keyed by the sending rank, and the whole trace. `memory`: of both ranks, or
    of rank 0 and rank 1."""
    words = [BUILD / "bin/mpiexec", "--timeout", "60", "-n", "2", BUILD / "bin/latency", "--mem", memory, "--sizes", "1M", "--iters", "1",
             "--warmup", "1", "--reps", "5"]
    environment = os.environ | {"LD_LIBRARY_PATH": os.environ["HR_FAKE"], "FAKE_CUDA_DEVICES": "2", "HEADRACE_VERBOSE": "3"}
    result = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL)
    if result.returncode != 0:
        raise AssertionError(result.stdout + result.stderr)
    protocols: dict[int, set[str]] = {0: set(), 1: set()}
    for sender, protocol in re.findall(r"\b1048576 of 1048576 bytes from rank (\d): (\w+)", result.stderr):
        protocols[int(sender)].add(protocol)
    return protocols, result.stderr


class Protocols(unittest.TestCase):
    def named(self, *cells: str):
        """The page contains a row with these cells, or their beginnings."""
        row = r"^\| " + r"[^|]*\| ".join(map(re.escape, cells))
        self.assertRegex(PAGE.read_text(encoding="utf-8"), re.compile(row, re.M))

    def test_mapped_device_memory(self):
        self.named("device memory from `cudaMalloc`, or VMM memory", "device ", "device_get")
        for memory in ("cuda", "vmm"):
            with self.subTest(memory):
                self.assertEqual(seen(memory)[0], {0: {"device_get"}, 1: {"device_get"}})

    def test_pinned_host_memory(self):
        self.named("the same", "pinned host memory", "device_get")
        self.named("pinned host memory", "device memory that can be mapped", "device_put")
        self.assertEqual(seen("pinned,cuda")[0], {0: {"device_put"}, 1: {"device_get"}})

    def test_pool_memory(self):
        self.named("pool or managed memory", "device ", "staged in device chunks")
        protocols, trace = seen("pool")
        self.assertEqual(protocols, {0: {"staged"}, 1: {"staged"}})
        self.assertIn("staged in device memory: packed by the device, unpacked by the device", trace)

    def test_pageable_host_memory(self):
        self.named("device ", "pageable host memory, or vice versa", "staged in pinned shared memory")
        protocols, trace = seen("cuda,host")
        self.assertEqual(protocols, {0: {"staged"}, 1: {"staged"}})
        self.assertIn("staged in shared memory: packed by the device, unpacked by the CPU", trace)
        self.assertIn("staged in shared memory: packed by the CPU, unpacked by the device", trace)

    def test_host_memory(self):
        text = (ROOT / "docs/architecture/long-message.md").read_text(encoding="utf-8")
        protocols = set().union(*seen("host")[0].values())
        self.assertTrue(protocols and protocols <= {"single_copy", "stream"}, protocols)
        for name in protocols:
            self.assertIn(f"**{name}**", text)


if __name__ == "__main__":
    unittest.main()
