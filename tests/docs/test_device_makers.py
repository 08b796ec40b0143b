"""No file of the library names a device maker, except in the maker's own folder; a short list of names that users or
other libraries see is allowed."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("src", "launcher")
MAKERS = re.compile(r"(?i:cuda|nvidia|\brocm|\bhip(?:_|\b))|\bcu[A-Z]\w+|\bhip[A-Z]")
FOLDERS = ("src/mem/cuda/", "src/mem/hip/")

# Names of one maker that users or other libraries see, and the one place that chooses the maker.
ALLOWED = {
    "src/mem/CMakeLists.txt": ("cuda/driver.cpp", "hip/chunks.cpp", "hip/driver.cpp", "hip/runtime.cpp", "hip/pointer.cpp", "hip/contexts.cpp"),
    "src/mem/device/maker_list.cpp": ("mem/cuda/maker.hpp", "cuda::kMaker", "mem/hip/maker.hpp", "hip::kMaker"),
    "src/bind/impl/extension.cpp": ("MPIX_Query_cuda_support", "MPIX_Query_hip_support", "MPIX_Query_rocm_support", "MPIX_GPU_SUPPORT_CUDA", "MPIX_GPU_SUPPORT_HIP"),
    "src/mpich/extension.cpp": ("MPIX_Query_cuda_support", "MPIX_Query_hip_support"),
    "src/enqueue/stream.hpp": ("cudaStream_t",),
    "src/enqueue/stream.cpp": ("cudaStream_t",),
    "src/base/counters_text.cpp": ("CUDA_VISIBLE_DEVICES",),
    "launcher/words/option_table.cpp": ("CUDA_VISIBLE_DEVICES",),
    "src/transport/ucx/maker_names.hpp": ("UCS_MEMORY_TYPE_CUDA", "^cuda,rocm,ze", "^rocm,ze", "^shm,cuda_ipc,rocm_ipc"),
    "src/topo/read_machine.cpp": ('"cuda"', "kNvidia"),
    "src/topo/machine.hpp": ('"cuda0"',),
    "src/topo/devices.hpp": ("GPU cuda0",),
    "src/base/machine.cpp": ("/proc/driver/nvidia/gpus",),
    "src/base/machine.hpp": ("NVIDIA's kernel module", "NVIDIA H200"),
    "src/coll/select/tuning_file.hpp": ('"NVIDIA H200"',),
}


def named(text, allowed=()):
    """The makers' names in `text`, with the numbers of their lines, after the allowed names have been removed."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for name in allowed:
            line = line.replace(name, "")
        found += [f"{number}: {match.group()}" for match in MAKERS.finditer(line)]
    return found


def files():
    for place in PLACES:
        for path in sorted((ROOT / place).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.is_file() and path.suffix in (".cpp", ".hpp", ".h", ".c", ".txt", ".json") and not name.startswith(FOLDERS):
                yield name, path.read_text(encoding="utf-8")


class DeviceMakers(unittest.TestCase):
    def test_tree(self):
        for name, text in files():
            with self.subTest(file=name):
                self.assertEqual(named(text, ALLOWED.get(name, ())), [],
                                 "call the interface (src/mem/device.hpp), or let the maker's folder give the name")

    def test_list_holds_nothing_old(self):
        """Every allowed name still occurs."""
        for name, words in ALLOWED.items():
            text = (ROOT / name).read_text(encoding="utf-8")
            for word in words:
                with self.subTest(file=name, word=word):
                    self.assertIn(word, text)

    def test_names_are_found(self):
        for line in ("mem::cuda::Context", "the CUDA driver", "cuMemAlloc failed", "HR_CUDA(x)", "// a GPU of NVIDIA", "hipMalloc(x)"):
            with self.subTest(line=line):
                self.assertTrue(named(line))
        for line in ("the current ship", "cut_ins and customers", "mem::device::Context", "sigprocmask"):
            with self.subTest(line=line):
                self.assertFalse(named(line))


if __name__ == "__main__":
    unittest.main()
