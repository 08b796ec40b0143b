#!/usr/bin/env python3
"""MPI on device buffers compared with NCCL from C++, from a source tree: `bench/nccl.py --build BUILD_DIR`; the default is build/pip."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from headrace.bench import nccl  # noqa: E402 (the path comes first)

sys.exit(nccl.main(default_build=ROOT / "build/pip"))
