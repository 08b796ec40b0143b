"""Estimates the size of the wheel from this build, since `make wheel` takes too long for every change: the files that
the install rules put into a wheel, compressed as in one, and what the wheel has in addition."""

import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HR_BUILD"])
sys.path.insert(0, str(ROOT / "packaging/wheel"))

from finish import CODE_OBJECTS, MOST, code_objects  # noqa: E402 (the path comes first)

# Compressed bytes of what only the wheel has. Compare the estimate with the size that `make wheel` prints, and correct
# them by the difference.
KERNELS = 2_200_000  # NVIDIA's kernels: those for compute capability 8.0 and PTX were compressed as in a wheel, the others scaled like 8.0
# libstdc++ and hwloc in mpiexec, and as much assumed in libmpi_abi.so.1; the shared libstdc++ of the benchmarks; licences; the archive's directory, assumed
STATIC = 2 * 755_000 + 806_000 + 25_000 + 200_000

IMAGE = re.compile(re.escape(struct.pack("<IHH", 0xBA55ED50, 1, 16)))  # a fatbinary with its header of 16 bytes
BUNDLE, NAME = b"__CLANG_OFFLOAD_BUNDLE__", b"HRKERNEL"  # cmake/fatbin.S.in
SMALL = 1 << 18  # bytes of the kernels of a benchmark; the library's have more


def packed(data):
    """Bytes in a wheel, which compresses each file by itself."""
    return len(zlib.compress(data, 6))


def images(data):
    """Returns the intervals of NVIDIA's kernels in a file, and the bytes of those for AMD's GPUs."""
    nvidia = [(found.start(), found.end() + 8 + struct.unpack_from("<Q", data, found.end())[0]) for found in IMAGE.finditer(data) if found.end() + 8 <= len(data)]
    amd = sum(max(0, data.find(NAME, found.end()) - found.start()) for found in re.finditer(re.escape(BUNDLE), data))
    return nvidia, amd


def estimate(data):
    """Returns the compressed bytes of a file in a wheel, where NVIDIA's kernels are for more generations of GPUs."""
    nvidia, _ = images(data)
    large = [(begin, end) for begin, end in nvidia if end - begin >= SMALL]
    rest, at = bytearray(), 0
    for begin, end in large:
        rest += data[at:begin]
        at = end
    return packed(bytes(rest) + data[at:]) + KERNELS * len(large)


class Size(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="wheel-size-")
        cls.addClassCleanup(place.cleanup)
        done = subprocess.run([os.environ.get("HR_CMAKE", "cmake"), "--install", BUILD], env={**os.environ, "DESTDIR": place.name}, capture_output=True, text=True, timeout=100, check=False)
        if done.returncode:
            raise AssertionError(f"cmake --install {BUILD}: {done.stderr}")
        # The wheel takes the Python package from the source tree. It has no symbolic links.
        installed = [file for file in Path(place.name).rglob("*") if file.is_file() and not file.is_symlink() and "/headrace/python/" not in str(file)]
        programs = [str(file) for file in installed if file.parent.name == "bench" and file.read_bytes()[:4] == b"\x7fELF"]
        subprocess.run(["strip", *programs], check=True)  # as hr_install_bench does in a wheel
        cls.files = {str(file.relative_to(place.name)): file.read_bytes() for file in installed}
        cls.files.update({f"python/{file.relative_to(ROOT / 'python')}": file.read_bytes() for file in (ROOT / "python/headrace").rglob("*") if file.is_file() and "__pycache__" not in str(file)})

    def test_it_is_below_the_limit(self):
        sizes = {name: estimate(data) for name, data in self.files.items()}
        total = sum(sizes.values()) + STATIC
        largest = "\n".join(f"{size:10,} {name}" for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:10])
        print(f"about {total / 1e6:.1f} MB in {len(sizes)} files; the largest, in bytes:\n{largest}")
        self.assertGreater(len(sizes), 500)
        self.assertLess(total, MOST, f"the wheel would have about {total} bytes, and {MOST} are the most (make wheel); the largest files:\n{largest}")

    def test_the_kernels_are_in_one_library(self):
        found = {}
        for name, data in self.files.items():
            nvidia, amd = images(data)
            if (size := sum(end - begin for begin, end in nvidia) + amd) >= SMALL:
                found[name.rpartition("/")[2]] = size
        self.assertLessEqual(found.keys(), {"libmpi_abi.so.1"}, f"{found}: hr_without_kernels() keeps them out of a program that launches none")

    def test_an_image_counts_as_in_the_wheel(self):
        image = IMAGE.pattern.replace(b"\\", b"") + struct.pack("<Q", SMALL) + bytes(SMALL)
        self.assertEqual(images(b"x" * 100 + image + b"y"), ([(100, 116 + SMALL)], 0))
        self.assertEqual(estimate(b"x" * 100 + image + b"y") - packed(b"x" * 100 + b"y"), KERNELS)
        self.assertEqual(images(b"--" + BUNDLE + b"code" + NAME), ([], len(BUNDLE) + 4))

    def test_code_objects_are_found(self):
        """`make wheel` refuses a wheel without code for each of AMD's processors."""
        text = (ROOT / "cmake/HrKernels.cmake").read_text(encoding="utf-8")
        self.assertEqual(CODE_OBJECTS, set(re.search(r"set\(HR_AMD_ARCHITECTURES ([\w ]+)\)", text)[1].split()))
        for library in (data for name, data in self.files.items() if name.endswith("libmpi_abi.so.1")):
            self.assertIn(code_objects(library), (set(), CODE_OBJECTS))  # none: this build has no clang
            self.assertEqual(code_objects(library) == set(), library[library.find(BUNDLE) + len(BUNDLE)] == 0)
        entries, names = b"", (b"host-x86_64-unknown-linux--", b"hipv4-amdgcn-amd-amdhsa--gfx90a", b"hipv4-amdgcn-amd-amdhsa--gfx942")
        places = ((0, 0), (512, 64), (640, 64))
        for name, place in zip(names, places):
            entries += struct.pack("<QQQ", *place, len(name)) + name
        bundle = bytearray((BUNDLE + struct.pack("<Q", len(names)) + entries).ljust(1024, b"\0"))
        bundle[512:517] = b"\x7fELF\x02"
        self.assertEqual(code_objects(b"x" * 10 + bundle), {"gfx90a"})  # the other entry leads to no code
        bundle[640:645] = b"\x7fELF\x02"
        self.assertEqual(code_objects(b"x" * 10 + bundle), CODE_OBJECTS)
        self.assertEqual(code_objects(BUNDLE + struct.pack("<Q", 0)), set())


if __name__ == "__main__":
    unittest.main()
