"""Module files for an installation: `headrace info --modulefile lua` (Lmod) and `--modulefile tcl` (Environment Modules)."""

from __future__ import annotations

import re
from pathlib import Path

KINDS = ("lua", "tcl")
_PATHS = (("PATH", "bin"), ("LD_LIBRARY_PATH", "lib"), ("MANPATH", "share/man"), ("PKG_CONFIG_PATH", "lib/pkgconfig"),
          ("CMAKE_PREFIX_PATH", ""))
_TEXT = "Headrace, a GPU-first MPI library with the standard ABI"
_OTHERS = ("openmpi", "mpich", "mvapich2", "mvapich", "impi", "intel-mpi", "intelmpi", "cray-mpich")


def _lua(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _tcl(text: str) -> str:
    return '"' + re.sub(r'([\\"\[\]$])', r"\\\1", text) + '"'


def _directories(prefix: Path) -> list[tuple[str, str]]:
    return [(variable, str(prefix / below)) for variable, below in _PATHS if not below or (prefix / below).is_dir()]


def lua(prefix: Path, version: str) -> str:
    lines = [f"-- Module file of Headrace {version} for Lmod: put it at <modules>/headrace/{version}.lua.",
             f"whatis({_lua('Name: Headrace')})", f"whatis({_lua('Version: ' + version)})", f"whatis({_lua('Description: ' + _TEXT)})",
             f"help({_lua(_TEXT + '. headrace doctor says what of this machine gets in the way of a job.')})",
             "-- One MPI at a time: loading another one swaps this one out.", 'family("mpi")']
    lines += [f"prepend_path({_lua(variable)}, {_lua(path)})" for variable, path in _directories(prefix)]
    lines.append(f"setenv(\"MPI_HOME\", {_lua(str(prefix))})")
    return "\n".join(lines) + "\n"


def tcl(prefix: Path, version: str) -> str:
    lines = ["#%Module1.0", f"# Module file of Headrace {version}: put it at <modules>/headrace/{version}.",
             f"proc ModulesHelp {{ }} {{ puts stderr {_tcl(_TEXT)} }}", f"module-whatis {_tcl(_TEXT + ', version ' + version)}",
             "# One MPI at a time.", "conflict " + " ".join(_OTHERS)]
    lines += [f"prepend-path {variable} {_tcl(path)}" for variable, path in _directories(prefix)]
    lines.append(f"setenv MPI_HOME {_tcl(str(prefix))}")
    return "\n".join(lines) + "\n"


def text(kind: str, prefix: Path, version: str) -> str:
    return lua(prefix, version) if kind == "lua" else tcl(prefix, version)
