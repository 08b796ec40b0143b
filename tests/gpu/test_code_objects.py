#!/usr/bin/env python3
"""The library's code objects for AMD GPUs: one for each processor, with all kernels, none of which spills vector registers. Prints their
registers; docs/adr/0049-amd-gpus.md has a table of them.

It reads ELF and the notes itself, since the library contains a bundle, which llvm-readelf does not open, and Debian's clang-19 and lld-19
do not bring llvm-readelf (package llvm-19): the test runs wherever the kernels are compiled. The figures are those of
`llvm-readelf --notes build/pip/kernels/headrace.gfx90a.co`.

HR_LIBRARY: libmpi_abi.so. HR_CLANG: the compiler that the build found; empty: it found none, and the bundle is empty.
"""

import os
import re
import struct
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
PROCESSORS = {"gfx90a": 0x3F, "gfx942": 0x4C}  # the low byte of e_flags (LLVM's guide for AMDGPU)
AMD_GPU = 224  # e_machine
METADATA = 32  # NT_AMDGPU_METADATA
MOST_SCRATCH = 256  # bytes per thread


def bundle(library: bytes) -> dict[str, bytes]:
    """Returns the code objects, by processor, of the bundle that the library's own name follows."""
    start = library.find(MAGIC)
    (count,) = struct.unpack_from("<Q", library, start + len(MAGIC))
    at = start + len(MAGIC) + 8
    found = {}
    for _ in range(count):
        offset, size, length = struct.unpack_from("<QQQ", library, at)
        name = library[at + 24:at + 24 + length].decode()
        at += 24 + length
        if not name.startswith("host"):
            found[name.rsplit("--", 1)[1]] = library[start + offset:start + offset + size]
    return found


def unpack(data: bytes, at: int = 0):
    """Returns a value of MessagePack and the offset of its end; supports the kinds that compilers write."""
    kind = data[at]
    at += 1

    def sequence(count, at):
        values = []
        for _ in range(count):
            value, at = unpack(data, at)
            values.append(value)
        return values, at

    def text(length, at):
        return data[at:at + length].decode(), at + length

    def mapping(count, at):
        values, at = sequence(2 * count, at)
        return dict(zip(values[::2], values[1::2])), at

    if kind < 0x80:
        return kind, at
    if kind < 0x90:
        return mapping(kind & 15, at)
    if kind < 0xA0:
        return sequence(kind & 15, at)
    if kind < 0xC0:
        return text(kind & 31, at)
    if kind in (0xC2, 0xC3):
        return kind == 0xC3, at
    numbers = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q"}
    sized = {0xD9: (">B", text), 0xDA: (">H", text), 0xDC: (">H", sequence), 0xDD: (">I", sequence), 0xDE: (">H", mapping)}
    if kind in numbers:
        return struct.unpack_from(numbers[kind], data, at)[0], at + struct.calcsize(numbers[kind])
    form, read = sized[kind]
    return read(struct.unpack_from(form, data, at)[0], at + struct.calcsize(form))


def metadata(code: bytes) -> dict:
    (offset,) = struct.unpack_from("<Q", code, 32)  # offset of the program headers
    size, count = struct.unpack_from("<HH", code, 54)
    for i in range(count):
        kind, _, begin, _, _, length = struct.unpack_from("<IIQQQQ", code, offset + i * size)
        if kind != 4:  # PT_NOTE
            continue
        name, described, note = struct.unpack_from("<III", code, begin)
        if note == METADATA:
            start = begin + 12 + (name + 3) // 4 * 4
            return unpack(code[start:start + described])[0]
    raise AssertionError("no metadata")


def kernels_of_sources() -> set[str]:
    """Returns the names of the kernels: those written out, and those of macros, which define one or several for each name."""
    text = "".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "kernels").glob("*.cu")))
    found = set(re.findall(r"^HR_(?:CORESIDENT_)?KERNEL\((\w+),", text, re.M))
    for macro, body in re.findall(r"^#define (HR_\w+_KERNEL)\(name\b((?:.*\\\n)*.*)", text, re.M):
        prefixes = re.findall(r"KERNEL\((\w+)##name\b", body)
        found |= {prefix + name for prefix in prefixes for name in re.findall(rf"^{macro}\((\w+),", text, re.M)}
    return found


class CodeObjects(unittest.TestCase):
    def setUp(self):
        self.objects = bundle(Path(os.environ["HR_LIBRARY"]).read_bytes())
        if not os.environ.get("HR_CLANG"):
            self.assertEqual(self.objects, {})
            self.skipTest("the build has no compiler for AMD GPUs (apt install clang-19 lld-19)")

    def test_processors(self):
        self.assertEqual(set(self.objects), set(PROCESSORS))
        for processor, code in self.objects.items():
            with self.subTest(processor):
                self.assertEqual(code[:5], b"\x7fELF\x02")
                self.assertEqual(struct.unpack_from("<H", code, 18)[0], AMD_GPU)
                self.assertEqual(struct.unpack_from("<I", code, 48)[0] & 0xFF, PROCESSORS[processor])

    def test_kernels(self):
        wanted = kernels_of_sources()
        self.assertGreater(len(wanted), 30)
        for processor, code in self.objects.items():
            found = metadata(code)["amdhsa.kernels"]
            self.assertEqual({kernel[".name"] for kernel in found}, wanted, processor)
            for kernel in found:
                with self.subTest(processor, kernel=kernel[".name"]):
                    print(f"{processor} {kernel['.name']}: {kernel['.vgpr_count']} vector and {kernel['.sgpr_count']} scalar registers, "
                          f"{kernel['.private_segment_fixed_size']} bytes of scratch")
                    self.assertEqual(kernel[".wavefront_size"], 64)
                    self.assertEqual(kernel[".vgpr_spill_count"], 0)
                    self.assertLessEqual(kernel[".private_segment_fixed_size"], MOST_SCRATCH)


if __name__ == "__main__":
    unittest.main()
