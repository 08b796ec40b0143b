"""The build tree, and how tests of this directory run its programs."""

import os
import subprocess
from pathlib import Path

BUILD = Path(os.environ["HR_BUILD"])
BIN = BUILD / "bin"
ROOT = Path(__file__).resolve().parents[2]
# Variables of this shell that name a compiler would answer for the wrappers.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "MPICH_", "I_MPI_", "HEADRACE_"))}


def run(*command, **variables) -> subprocess.CompletedProcess:
    path = variables.pop("cwd", None)
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, check=False, cwd=path,
                          env={**CLEAN, "HEADRACE_OVERSUBSCRIBE": "quiet", **variables})
