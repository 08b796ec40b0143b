"""Each wrong program produces its message, once and promptly; the correct one produces none (docs/offload.md)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
import unittest
from pathlib import Path

MARK = "check device:"
LIMIT = 5.0  # seconds for the whole program on a loaded machine; on an idle one, it takes 0.1
# Text of a message without addresses; docs/offload.md must contain it, too.
HOST_COPY = "MPI_Send: buf (ADDRESS) is host memory with a copy on device 0, which holds other data."
OTHER_DEVICE = "MPI_Send: buf (ADDRESS) is memory of device 1, but device 0 is current;"
DEFAULT_DEVICE = "MPI_Sendrecv_replace: all 2 ranks of this node use device 0 of 2;"
INIT_AFTER = "MPI_Init: the program has already used CUDA device 0."
BUSY_QUEUE = "MPI_Send: an OpenACC queue has work that is not done while buf (ADDRESS) of device 0 is handed over;"
HOST_PLACE = "MPI_Allgatherv: MPI_ERR_ARG: recvcounts is ADDRESS, memory of device 0, but the CPU accesses it;"
ATTACH = "MPI_Buffer_attach: MPI_ERR_BUFFER: the buffer ADDRESS is memory of device 0;"


def run(program: str, check: str = "device", preload: str = os.environ["HR_FAKE_OFFLOAD"], **more: str):
    environment = {**os.environ, "LD_LIBRARY_PATH": os.environ["HR_FAKE_CUDA"], "FAKE_CUDA_DEVICES": "2",
                   "HEADRACE_CHECK": check, **more}
    path = Path(os.environ["HR_OFFLOAD"]) / f"offload_{program}"
    command = [os.environ["HR_MPIEXEC"], "--timeout", "20", "-n", "2",
               "env", "LD_PRELOAD=" + preload, str(path)]
    begin = time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    text = re.sub(r"0x[0-9a-f]+", "ADDRESS", done.stdout + done.stderr)
    return done.returncode, text, time.monotonic() - begin


class Pitfalls(unittest.TestCase):
    def wrong(self, program: str, message: str, times: int = 1) -> None:
        for _ in range(3):  # a loaded machine may delay some of them
            code, text, seconds = run(program + "_wrong")
            self.assertEqual(text.count(message), times, text)
            self.assertEqual(text.count(MARK), times, text)
            self.assertEqual(code, 0, text)
            if seconds < LIMIT:
                break
        self.assertLess(seconds, LIMIT)

    def silent(self, program: str, **more: str) -> None:
        code, text, _ = run(program, **more)
        self.assertEqual((code, text), (0, ""))

    def test_host_copy_acc(self) -> None:
        self.wrong("host_copy_acc", HOST_COPY)
        self.silent("host_copy_acc_right")
        self.silent("host_copy_acc_staged")

    def test_host_copy_omp(self) -> None:
        self.wrong("host_copy_omp", HOST_COPY)
        self.silent("host_copy_omp_right")
        self.silent("host_copy_omp_staged")

    @unittest.skipUnless(shutil.which("gfortran"), "no gfortran")
    def test_host_copy_fortran(self) -> None:
        folder = Path(os.environ["HR_OFFLOAD"])
        cache = folder.parent / "fortran-cache"  # the same directory as that of the Fortran tests
        for variant in ("wrong", "right"):
            command = [folder.parent / "bin/mpifort", "-cpp", "-D" + variant.upper(), "-fopenacc",
                       Path(__file__).with_name("host_copy.f90"), "-o", folder / f"offload_host_copy_f_{variant}"]
            subprocess.run(command, env={**os.environ, "HEADRACE_FORTRAN_CACHE": str(cache)}, check=True, timeout=120)
        self.wrong("host_copy_f", HOST_COPY)
        self.silent("host_copy_f_right")

    def test_other_device(self) -> None:
        self.wrong("other_device", OTHER_DEVICE)
        self.silent("other_device_right")

    def test_default_device(self) -> None:
        self.wrong("default_device", DEFAULT_DEVICE)
        self.silent("default_device_right")

    def test_one_device_is_no_mistake(self) -> None:
        self.silent("default_device_wrong", FAKE_CUDA_DEVICES="1")

    def test_init_after(self) -> None:
        self.wrong("init_after", INIT_AFTER, times=2)  # every rank makes the mistake
        self.silent("init_after_right")

    def test_busy_queue(self) -> None:
        self.wrong("busy_queue", BUSY_QUEUE)
        self.silent("busy_queue_right")

    def test_host_place(self) -> None:
        code, text, _ = run("host_place_wrong", FAKE_CUDA_DEVICES="1")
        self.assertNotEqual(code, 0)
        self.assertIn(HOST_PLACE, text)
        self.silent("host_place_right")

    def test_attach(self) -> None:
        code, text, _ = run("attach_wrong", check="", FAKE_CUDA_DEVICES="1")
        self.assertNotEqual(code, 0)
        self.assertIn(ATTACH, text)
        self.silent("attach_right")

    def test_on_the_host(self) -> None:
        """GCC's own library without a device: directives run on the host, where these mistakes have no effect."""
        for program in ("host_copy_acc", "host_copy_omp", "host_place", "attach", "busy_queue", "init_after"):
            for variant in ("_wrong", "_right"):
                with self.subTest(program + variant):
                    self.silent(program + variant, preload="")

    def test_off_says_nothing(self) -> None:
        for program in ("host_copy_acc", "host_copy_omp", "other_device", "default_device", "init_after"):
            with self.subTest(program):
                self.silent(program + "_wrong", check="types")

    def test_words(self) -> None:
        self.assertIn(OTHER_DEVICE, run("other_device_wrong", check="full")[1])
        self.assertIn(OTHER_DEVICE, run("other_device_wrong", check="types,device")[1])
        self.assertIn('HEADRACE_CHECK has no check "devices"', run("other_device_right", check="devices")[1])

    def test_the_page_shows_them(self) -> None:
        page = (Path(os.environ["HR_SOURCE"]) / "docs/offload.md").read_text(encoding="utf-8")
        page = re.sub(r"0x[0-9a-f]+", "ADDRESS", page.replace("\n> ", " "))  # quotations are wrapped
        for message in (HOST_COPY, OTHER_DEVICE, DEFAULT_DEVICE, INIT_AFTER, BUSY_QUEUE, HOST_PLACE, ATTACH):
            with self.subTest(message):
                self.assertIn(message, page)


if __name__ == "__main__":
    unittest.main()
