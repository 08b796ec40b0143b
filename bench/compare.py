#!/usr/bin/env python3
"""`headrace bench` from a source tree; the default build is build/pip."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from headrace.bench import cli  # noqa: E402 (the path comes first)

sys.exit(cli.main(sys.argv[1:], default_build=ROOT / "build/pip"))
