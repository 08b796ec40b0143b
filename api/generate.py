#!/usr/bin/env python3
"""The generator: reads the tables in api/, writes what the build and the repository need from them.

  generate.py build DIR    internal headers and entry points, into a build directory
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from gen import base  # noqa: E402


def load(name: str):
    with open(HERE / name, encoding="utf-8") as file:
        return yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or arguments[0] != "build":
        print(__doc__, file=sys.stderr)
        return 2
    base.write(load("constants.yaml"), load("knobs.yaml"), Path(arguments[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
