"""Checks a wheel and names it: finish.py <wheel> <platform> <directory>

auditwheel determines the systems on which its files run, by the symbol versions of the C and C++ libraries that they need. A wheel is
refused if it needs more than `platform`, is too large, or needs a library that systems may lack.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

MOST = 15 * 1000 * 1000  # bytes


def refuse(why: str) -> None:
    raise SystemExit(f"finish.py: {why}")


def old_enough(tag: str, platform: str) -> bool:
    """True if all systems of `platform` are systems of `tag`; linux_x86_64, a tag without C library, has none."""
    found, wanted = (re.fullmatch(r"manylinux_(\d+)_(\d+)_(\w+)", each) for each in (tag, platform))
    return bool(found and wanted) and found[3] == wanted[3] and (int(found[1]), int(found[2])) <= (int(wanted[1]), int(wanted[2]))


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
