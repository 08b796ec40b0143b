#!/usr/bin/env python3
"""The generator: reads the tables in api/, writes what the build and the repository need from them.

  generate.py build DIR    internal headers and entry points, into a build directory (CMake calls this)
  generate.py man DIR      the manual pages of section 3 (CMake calls this)
  generate.py repo [DIR]   the committed files: include/, docs/conformance.md, docs/knobs.md, docs/mpix.md (DIR: another root)
"""

from __future__ import annotations

import sys
from pathlib import Path

API = Path(__file__).resolve().parent
sys.path.insert(0, str(API))

from gen import build, man, model, repo  # noqa: E402


def main(arguments: list[str]) -> int:
    match arguments:
        case ["build", directory]:
            build.write(model.read(API), API, Path(directory))
        case ["man", directory]:
            man.write(model.read(API), API, Path(directory))
        case ["repo"]:
            repo.write(model.read(API), API, API.parent)
        case ["repo", directory]:
            repo.write(model.read(API), API, Path(directory))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
