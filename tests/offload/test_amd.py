#!/usr/bin/env python3
"""OpenMP offloading to AMD GPUs: the programs of this folder compile for gfx90a and gfx942 with clang. Nothing is run.

HR_CLANG: clang++ with which the build compiles kernels for AMD GPUs, or empty; HR_BUILD: the build directory.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ["HR_BUILD"])
PROGRAMS = ("host_copy_omp.c", "default_device.c")
PROCESSORS = ("gfx90a", "gfx942")
BITCODE = b"BC\xc0\xde"
DEVICE_LIBRARIES = (Path("/opt/rocm/amdgcn/bitcode"), Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"))
PACKAGES = "apt install clang-tools-19 libomp-19-dev rocm-device-libs"


class Amd(unittest.TestCase):
    def setUp(self):
        compiler = os.environ.get("HR_CLANG", "")
        if not compiler:
            self.skipTest("the build has no compiler for AMD GPUs (apt install clang-19 lld-19)")
        self.clang = compiler.replace("clang++", "clang")
        self.include = [f"-I{BUILD}/include"]
        work = tempfile.TemporaryDirectory(prefix="offload-amd-")
        self.addCleanup(work.cleanup)
        self.output = Path(work.name) / "output"
        if subprocess.run([self.clang, "-fopenmp", "-E", "-x", "c", "-"], input=b"#include <omp.h>\n", capture_output=True, check=False,
                          timeout=60).returncode != 0:
            # Clang's omp.h is in a package of its own, and GCC's has attributes that clang rejects.
            Path(work.name, "omp.h").write_text("int omp_get_num_devices(void);\nvoid omp_set_default_device(int);\n", encoding="utf-8")
            self.include += ["-idirafter", work.name]

    def file_of(self, name):
        found = subprocess.run([self.clang, f"-print-file-name={name}"], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
        return Path(found) if Path(found).is_absolute() else None

    def compile(self, program, processor, *options):
        said = subprocess.run([self.clang, "-O2", "-DRIGHT", "-fopenmp", f"--offload-arch={processor}", *self.include, *options, "-o",
                               str(self.output), str(HERE / program)], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(said.returncode, 0, said.stderr)
        return self.output.read_bytes()

    def test_device_code(self):
        for program in PROGRAMS:
            for processor in PROCESSORS:
                with self.subTest(program=program, processor=processor):
                    self.assertTrue(self.compile(program, processor, "-nogpulib", "--offload-device-only", "-c").startswith(BITCODE))

    def test_programs(self):
        binaries = Path(shutil.which(self.clang) or self.clang).resolve().parent
        missing = [name for name in ("clang-offload-packager", "clang-linker-wrapper") if not (binaries / name).exists()]
        missing += [name for name in (f"libomptarget-amdgpu-{processor}.bc" for processor in PROCESSORS) if not self.file_of(name)]
        folder = next((each for each in DEVICE_LIBRARIES if (each / "ockl.bc").exists()), None)
        if missing or folder is None:
            self.skipTest(f"no {', '.join(missing or ['ockl.bc'])} ({PACKAGES})")
        # Debian 12's libraries (ROCm 5.2) know gfx90a, and not gfx942, which is newer.
        known = [each for each in PROCESSORS if (folder / f"oclc_isa_version_{each.removeprefix('gfx')}.bc").exists()]
        self.assertIn("gfx90a", known)
        for program in PROGRAMS:
            for processor in known:
                with self.subTest(program=program, processor=processor):
                    made = self.compile(program, processor, f"--rocm-device-lib-path={folder}", f"-L{BUILD}/lib", "-lmpi_abi")
                    self.assertIn(processor.encode(), made)
        print(f"complete programs for {', '.join(known)}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
