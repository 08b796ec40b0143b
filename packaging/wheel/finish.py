"""Checks a wheel and names it: finish.py <wheel> <platform> <directory>

auditwheel determines the systems on which its files run, by the symbol versions of the C and C++ libraries that they need. A wheel is
refused if it needs more than `platform`, is too large, needs a library that systems may lack, or lacks kernels for a generation of GPUs of
NVIDIA or AMD.
"""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

MOST = 15 * 1000 * 1000  # bytes
# Kernels for NVIDIA's GPUs: code for compute capabilities 8.0 to 8.9, 9.0, 10.0 to 10.3, 12.0 and 12.1; PTX for all others from 9.0 on.
KERNELS = {("code", 80), ("code", 90), ("code", 100), ("code", 120), ("PTX", 90)}
# Kernels for AMD's GPUs: MI200 and MI300 (HR_AMD_ARCHITECTURES in cmake/HrKernels.cmake).
CODE_OBJECTS = {"gfx90a", "gfx942"}
BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
ELF = b"\x7fELF\x02"


def refuse(why: str) -> None:
    raise SystemExit(f"finish.py: {why}")


def old_enough(tag: str, platform: str) -> bool:
    """True if all systems of `platform` are systems of `tag`; linux_x86_64, a tag without C library, has none."""
    found, wanted = (re.fullmatch(r"manylinux_(\d+)_(\d+)_(\w+)", each) for each in (tag, platform))
    return bool(found and wanted) and found[3] == wanted[3] and (int(found[1]), int(found[2])) <= (int(wanted[1]), int(wanted[2]))


def kernels(library: bytes) -> set[tuple[str, int]]:
    """Returns the kind and the compute capability of each image of kernels in a library (fatbinaries, as nvcc writes them)."""
    found = set()
    for start in re.finditer(re.escape(struct.pack("<IHH", 0xBA55ED50, 1, 16)), library):
        size, = struct.unpack_from("<Q", library, start.end())
        at, end = start.start() + 16, start.start() + 16 + size
        while at < end <= len(library):
            kind, _, header, length = struct.unpack_from("<HHIQ", library, at)
            capability, = struct.unpack_from("<I", library, at + 28)
            found.add(({1: "PTX", 2: "code"}.get(kind, str(kind)), capability))
            at += header + length
    return found


def code_objects(library: bytes) -> set[str]:
    """Returns the processors for which a library has code objects (clang's bundle; cmake/fatbin.S.in)."""
    found = set()
    for start in re.finditer(re.escape(BUNDLE), library):
        at = start.end() + 8
        for _ in range(struct.unpack_from("<Q", library, start.end())[0]):
            offset, size, length = struct.unpack_from("<QQQ", library, at)
            name = library[at + 24:at + 24 + length].decode(errors="replace")
            at += 24 + length
            if size > len(ELF) and library.startswith(ELF, start.start() + offset):
                found.add(name.rpartition("--")[2])
    return found


def main(wheel: Path, platform: str, to: Path) -> None:
    told = subprocess.run([sys.executable, "-m", "auditwheel", "show", "--json", wheel], capture_output=True, text=True, check=False)
    if told.returncode != 0:
        refuse(f"auditwheel: {told.stdout}{told.stderr}")
    verdict = json.loads(told.stdout)
    print(json.dumps(verdict, indent=1))
    if verdict["external_libs"]:
        refuse(f"systems may lack {', '.join(sorted(verdict['external_libs']))}")
    if not old_enough(verdict["overall_tag"], platform):
        refuse(f"auditwheel says {verdict['overall_tag']}, and the wheel is to be {platform}")
    with zipfile.ZipFile(wheel) as opened:
        library = next(name for name in opened.namelist() if name.endswith("/lib/libmpi_abi.so.1"))
        content = opened.read(library)
    if missing := KERNELS - kernels(content):
        refuse(f"no kernels in {library}: {sorted(missing)}")
    if missing := CODE_OBJECTS - code_objects(content):
        refuse(f"no kernels for AMD GPUs in {library}: {', '.join(sorted(missing))} (clang-19, lld-19)")
    size = wheel.stat().st_size
    if size > MOST:
        refuse(f"{wheel.name} has {size} bytes, and {MOST} are the most")
    done = subprocess.run([sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", platform, wheel], capture_output=True,
                          text=True, check=True)
    named = wheel.with_name(done.stdout.split()[-1])
    for old in to.glob("headrace-*.whl"):
        old.unlink()
    named.rename(to / named.name)
    print(f"{to / named.name}: {size / 1e6:.1f} MB, {len(zipfile.ZipFile(to / named.name).namelist())} files")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
