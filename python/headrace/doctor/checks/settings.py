"""Checks HEADRACE_ variables. The library itself lists its settings and reports invalid values."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from headrace.bench.child import Failed
from headrace.doctor.facts import Facts, is_file
from headrace.doctor.finding import Finding, note, ok, warning

# Variables that are read, but are not settings of the library.
_OTHERS = ("HEADRACE_CONFIG_FILE", "HEADRACE_CC", "HEADRACE_CXX", "HEADRACE_FC", "HEADRACE_PYTHON", "HEADRACE_FORTRAN_CACHE")
_SECONDS = 5
_SAYS = "[headrace] "


def look(facts: Facts) -> Iterator[Finding]:
    set_ = sorted(name for name in facts.environment if name.startswith("HEADRACE_"))
    mpiexec = facts.prefix / "bin" / "mpiexec" if facts.prefix else None
    if mpiexec is None or not is_file(mpiexec):
        yield note("settings.unknown-installation", "mpiexec is not installed beside this command: settings were not looked at",
                   "", "headrace doctor --build DIR names a build or an installation")
        return
    try:
        text = facts.run([str(mpiexec), "--config"], _SECONDS, {name: facts.environment[name] for name in set_})
    except Failed as failed:
        yield warning("settings.mpiexec-fails", f"{mpiexec} --config: {failed}", "no job starts with it",
                      "install again (ldd shows libraries that are missing)")
        return
    complaints = [line.removeprefix(_SAYS) for line in text.splitlines() if line.startswith(_SAYS)]
    for line in complaints:
        renamed = "is called" in line
        yield (note("settings.renamed", line, "", "use the new name") if renamed else
               warning("settings.refused", line, "the setting is not in force", "correct it; headrace config lists all"))
    names = re.findall(r"^([a-z][a-z0-9_]+) ", text, re.MULTILINE)
    known = {f"HEADRACE_{name.upper()}" for name in names if name != "name"} | set(_OTHERS)
    told = set(re.findall(r"HEADRACE_\w+", " ".join(complaints)))
    wrong = [name for name in set_ if name not in known | told]
    for name in wrong:
        near = difflib.get_close_matches(name, known, 1)
        yield warning("settings.no-such", f"{name} is set; there is no such setting", "it has no effect",
                      f"is {near[0]} meant?" if near else "headrace config lists the settings")
    if not wrong and not complaints:
        yield ok("settings.known", f"{', '.join(set_)}: known, with possible values" if set_ else "no HEADRACE_ variable is set")
