#!/usr/bin/env python3
"""The GPU benchmarks from a source tree: `bench/gpu.py --build BUILD_DIR`, the same as `headrace bench --gpu`."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from headrace.bench import gpu  # noqa: E402 (the path comes first)

sys.exit(gpu.main(default_build=ROOT / "build/pip"))
