"""Paths, and the content of include/mpi.h, read without the generator."""

import json
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
API = ROOT / "api"
HEADER = ROOT / "include/mpi.h"
sys.path.insert(0, str(API))


def standard(name):
    """Returns a table of the Forum as a dictionary; None if it is not beside this checkout."""
    candidates = [os.environ.get("HR_STANDARD", ""), ROOT / "shared/standard", ROOT.parent / "shared/standard"]
    for directory in candidates:
        path = Path(directory) / name
        if str(directory) and path.exists():
            return json.loads(path.read_text(encoding="utf-8"))
    return None


ABSENT = "the Forum's tables (shared/standard) are not beside this checkout"


def header_text():
    """mpi.h without its comments, and without the names that are declared only so that their use fails to compile."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.S)
    before, mark, rest = text.partition("#if defined(__has_attribute)")
    return before + rest.partition("#undef MPI_HR_REMOVED\n#endif\n")[2] if mark else text


def spaceless(text):
    return re.sub(r"\s+", "", text)


def parameter_types(text):
    """The types of a parameter list, without names and blanks: "const void *buf, int n[]" -> (constvoid*, int[])."""
    types = []
    for part in text.split(","):
        part = part.strip()
        if part not in ("void", "..."):
            part = re.sub(r"\b\w+((?:\[\w*\])*)$", r"\1", part)
        types.append(spaceless(part))
    return tuple(types)


PROTOTYPE = re.compile(r"^([A-Za-z_][\w \*]*?)\b(P?MPI_\w+)\(([^;]*)\);", re.M)
FUNCTION_TYPE = re.compile(r"^typedef (int|void)\((MPI_\w+)\)\(([^;]*)\);", re.M)


def header_prototypes():
    """name -> (return type, parameter types), of functions."""
    found = PROTOTYPE.finditer(header_text())
    return {match[2]: (spaceless(match[1]), parameter_types(match[3])) for match in found if "typedef" not in match[1]}


def header_function_types():
    return {match[2]: (match[1], parameter_types(match[3])) for match in FUNCTION_TYPE.finditer(header_text())}
