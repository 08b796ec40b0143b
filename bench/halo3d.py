#!/usr/bin/env python3
"""Steps of halo3d with and without the exchange, from a source tree: `bench/halo3d.py --build BUILD_DIR`; the default is build/pip."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from headrace.bench import halo3d  # noqa: E402 (the path comes first)

sys.exit(halo3d.main(default_build=ROOT / "build/pip"))
