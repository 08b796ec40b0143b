"""Writes the manual pages of section 3: one for each function of the standard and of ours, from the tables and api/manual.yaml."""

from __future__ import annotations

import re
from pathlib import Path

from . import fortran_text, mdoc
from .extensions import Extension, Extensions
from .files import put
from .fortran import Bindings, Procedure
from .mdoc import escaped, sentence
from .model import Function, Parameter, Tables, load, matches

DIRECTION = {"in": "input", "out": "output", "inout": "input and output"}


class Manual:
    def __init__(self, tables: Tables, api: Path, version: str):
        self.tables, self.version = tables, version
        self.table = load(api / "manual.yaml")
        self.extensions = Extensions(tables, api)
        bindings = Bindings(tables, api)
        self.rules = bindings.rules
        self.in_fortran = {function.name for function in bindings.functions}
        self.by_name = {name: (number, text) for number, functions in self.table["sections"].items() for name, text in functions.items()}

    # --- facts about a function ---

    def place(self, function: Function) -> tuple[str, str]:
        """(section of the standard, purpose)"""
        name = function.operation or function.name
        number, purpose = self.by_name.get(name) or next(found for pattern, found in self.by_name.items() if matches(name, [pattern]))
        if function.operation and function.entered_by in self.table["forms"]:
            form = self.table["forms"][function.entered_by]
            return f'{form[function.chapter]}.{self.table["form_parts"][name]}', form["words"].format(purpose)
        return number, purpose

    def meaning(self, parameter: Parameter) -> str:
        by_name, by_kind = self.table["names"], self.table["kinds"]
        found = by_name.get(parameter.name) or by_kind.get(parameter.kind.name)
        if not found and parameter.kind.role == "function":
            found = f"function of type {parameter.kind.c.rstrip(' *')}"
        return found or parameter.name.replace("_", " ")

    def direction(self, function: Function, parameter: Parameter) -> str:
        """What the standard says, which C's type need not show."""
        for pattern, (names, direction) in self.table["directions"].items():
            if parameter.name in names.split() and parameter.direction != "out" and matches(function.name, [pattern]):
                return direction
        return "in" if parameter.kind.role in ("varargs", "function") else parameter.direction

    def errors(self, function: Function) -> dict[str, str]:
        found = {}
        for parameter in function.parameters:
            kind = parameter.kind
            name = None
            if kind.check:
                name = kind.error
            elif kind.c in self.table["handle_errors"] and parameter.direction != "out":
                name = self.table["handle_errors"][kind.c]
            elif kind.role == "buffer":
                name = "MPI_ERR_BUFFER"
            if name:
                found.setdefault(name, self.tables.errors.get(name, ""))
        narrow = [p for p in function.parameters if p.kind.large and p.direction == "out"]
        if narrow and not all(p.kind.narrow for p in narrow):
            found["MPI_ERR_VALUE_TOO_LARGE"] = self.tables.errors["MPI_ERR_VALUE_TOO_LARGE"]
        return found

    def ours(self, function: Function) -> list[str]:
        """Sentences on what Headrace adds, or does in its own way."""
        said = []
        kinds = {p.kind.name for p in function.parameters}
        if "buffer" in kinds and "position" not in kinds:
            said.append("Buffers may be in GPU memory, with any combination of kinds of memory among the processes, for any datatype. "
                        "The call waits for work on the legacy default stream; synchronise other streams first.")
        if function.chapter == "collective" and "comm" in kinds and function.operation:
            said.append("Collectives on GPU buffers within a node are executed by the GPUs.")
        if "deprecated" in function.flags or function.chapter == "deprecated":
            said.append("Deprecated by the standard, but fully supported.")
        if function.with_revoked and "comm" in kinds:
            said.append("May be called with a communicator that was revoked (MPIX_Comm_revoke).")
        elif "comm" in kinds and not function.returns:
            said.append("With a revoked communicator the error is MPIX_ERR_REVOKED; if a process that the call depends on has failed, it is MPIX_ERR_PROC_FAILED.")
        if function.chapter in ("point_to_point", "collective", "one_sided", "topology") and "buffer" in kinds:
            said.append("HEADRACE_CHECK=full finds wrong types, buffers that change too early, and deadlocks at run time.")
        if function.chapter == "tool":
            said.append("The command headrace config lists the control variables, which are Headrace's settings; docs/settings.md describes the performance variables, and docs/events.md the events.")
        return said

    # --- parts of a page ---

    @staticmethod
    def c_synopsis(header: str, returns: str, name: str, arguments: list[str]) -> list[str]:
        lines = [f".Ft {returns}", f".Fo {name}"]
        lines += [f'.Fa "{argument}"' for argument in arguments] or [".Fa void"]
        return lines + [".Fc"]

    def fortran(self, function: Function) -> list[str]:
        if function.name not in self.in_fortran:
            return [".Ss Fortran", "There is no Fortran binding."]
        lines = [".Ss Fortran", ".Bd -literal"]
        plain = Procedure(function, False, self.rules)
        forms = [plain, Procedure(function, True, self.rules)] if function.has_large else [plain]
        for procedure in forms:
            if not procedure.in_f08:
                continue
            body = fortran_text.interface_body(procedure, function.name if not procedure.large else procedure.name, "f08")
            lines += ["use mpi_f08"] if procedure is forms[0] else [""]
            lines += [escaped(part) for line in body if line.strip() != "import" for part in fold(line)]
        if plain.in_mpif:
            arguments = ", ".join(fortran_text.names(plain)).upper()
            lines += ["", *fold(f"use mpi, mpif.h: {plain.name.upper()}({arguments})")]
        return lines + [".Ed"]

    def parameters(self, function: Function, parameters: list[Parameter], meaning) -> list[str]:
        if not parameters:
            return []
        lines = [".Sh PARAMETERS", ".Bl -tag -width Ds"]
        for p in parameters:
            more = []
            if p.length and p.length != "?":
                more.append({"peers": "one for each process", "sources": "one for each source", "destinations": "one for each destination"}
                            .get(p.length, f"array of {p.length}"))
            if "in_place" in p.flags:
                more.append("or MPI_IN_PLACE")
            if "root_only" in p.flags:
                root = "root" if function.chapter in ("collective", "topology") else "local leader"
                more.append(f"significant only at the {root}")
            if "optional" in p.flags:
                more.append("may be null")
            if p.large_only:
                more.append("only in the _c form")
            name = "..." if p.kind.role == "varargs" else p.name
            text = meaning(p) if name != "..." else "arguments for the profiler"
            lines += [f".It Fa {escaped(name)} Pq {DIRECTION[self.direction(function, p)]}", *sentence(", ".join([text, *more]))]
        return lines + [".El"]

    def error_list(self, errors: dict[str, str]) -> list[str]:
        lines = [".Bl -tag -width Ds"]
        for name, text in errors.items():
            lines += [f".It Er {name}", *sentence(text or "the argument is not valid")]
        return lines + [".El"]

    def page(self, function: Function) -> str:
        number, purpose = self.place(function)
        forms = [False, True] if function.has_large else [False]
        lines = mdoc.head([function.form(large) for large in ((False, True) if function.has_large else (False,))], 3, purpose, self.version)
        lines += [".Sh SYNOPSIS", ".In mpi.h"]
        for large in forms:
            lines += self.c_synopsis("mpi.h", function.return_type(), function.form(large), [p.declare(large) for p in function.parameters_of(large)])
        lines += self.fortran(function)
        lines += [".Sh DESCRIPTION", *sentence(purpose)]
        if function.has_large:
            lines += ["The form with", f".Li _c", "takes larger counts and displacements; otherwise it is the same."]
        if function.any_time:
            lines += ["The function may be called before MPI is initialised and after it is finalised."]
        large = function.parameters_of(True)
        lines += self.parameters(function, large, self.meaning)
        if said := self.ours(function):
            lines += [".Sh HEADRACE", *(part for one in said for part in (*sentence(one), ".Pp"))][:-1]
        if function.returns:
            lines += [".Sh RETURN VALUES", f"The function returns a value of type {function.returns.c}."] if function.returns.c != "void" else []
        else:
            lines += [".Sh RETURN VALUES"]
            lines += (["In C, the function returns an error code; in Fortran, the error code is in", ".Fa ierror ."] if function.name in self.in_fortran else
                      ["The function returns an error code."])
            if function.chapter == "tool":
                lines += ["The call returns MPI_SUCCESS or an error class MPI_T_ERR_*; no error handler is called."]
            else:
                by_file = self.tables.overlay["raise_on"].get(function.chapter) == "file"
                lines += ["By default, errors on files are returned." if by_file else
                          "By default, an error ends the job; with MPI_ERRORS_RETURN, the call returns it."]
                if function.name != "MPI_Error_string":
                    lines += [".Xr MPI_Error_string 3", "describes the error and names the argument."]
                lines += self.errors_section(self.errors(function))
        lines += self.see_also(function)
        return mdoc.page([*lines, ".Sh STANDARDS", f"MPI 5.0, {'section' if '.' in number else 'chapter'} {number}."])

    def errors_section(self, errors: dict[str, str]) -> list[str]:
        return [".Sh ERRORS", "These errors in arguments are detected before anything is done:", *self.error_list(errors)] if errors else []

    def see_also(self, function: Function) -> list[str]:
        if function.operation:
            related = [f for f in self.tables.functions if f.operation == function.operation]
        else:
            number = self.place(function)[0]
            related = [f for f in self.tables.functions if not f.operation and f.chapter == function.chapter and self.place(f)[0] == number]
        names = sorted({f.name for f in related if f.name != function.name}, key=str.lower)[:12]
        return mdoc.see_also([("mpiexec", 1), *((name, 3) for name in names)])

    def extension_page(self, extension: Extension) -> str:
        function, body = extension.function, extension.body
        lines = mdoc.head([function.name], 3, body["purpose"], self.version) + [".Sh SYNOPSIS", f".In {extension.header}"]
        lines += self.c_synopsis(extension.header, function.return_type(), function.name, [p.declare(False) for p in function.parameters])
        lines += [".Ss Fortran", "There is no Fortran binding.", ".Sh DESCRIPTION", *sentence(body["purpose"])]
        lines += [*sentence(body["text"])] if "text" in body else []
        group = next(g for g in self.extensions.groups if g["title"] == extension.group)
        lines += [".Pp", *sentence(group["text"])]
        lines += self.parameters(function, list(function.parameters), lambda p: body.get("parameters", {}).get(p.name) or self.meaning(p))
        lines += [".Sh RETURN VALUES"] if function.return_type() != "void" else []
        if "returns" in body:
            lines += sentence("The function returns " + body["returns"])
        elif function.return_type() != "void":
            lines += ["The function returns MPI_SUCCESS or an error code."]
            lines += self.errors_section(body.get("errors", {}) | self.errors(function))
        lines += mdoc.see_also([("mpiexec", 1), *((e.name, 3) for e in self.extensions.all if e.group == extension.group and e.name != function.name)])
        return mdoc.page([*lines, ".Sh STANDARDS", "The function is an extension, which other MPI libraries may lack."])


def fold(line: str, width: int = 76) -> list[str]:
    """A line of Fortran, continued where it is too long."""
    lines, indent = [], " " * (len(line) - len(line.lstrip()) + 4)
    while len(line) > width and (at := line.rfind(", ", len(indent), width - 2)) > 0:
        lines.append(line[:at + 1] + " &")
        line = indent + line[at + 2:]
    return [*lines, line]


def version_of(api: Path) -> str:
    return re.search(r"project\(headrace VERSION ([0-9.]+)", (api.parent / "CMakeLists.txt").read_text(encoding="utf-8"))[1]


def write(tables: Tables, api: Path, root: Path) -> None:
    manual = Manual(tables, api, version_of(api))
    folder = root / "man3"
    for function in tables.functions:
        put(folder / f"{function.name}.3", manual.page(function))
        if function.has_large:
            put(folder / f"{function.form(True)}.3", f".so man3/{function.name}.3\n")
    for extension in manual.extensions.all:
        put(folder / f"{extension.name}.3", manual.extension_page(extension))
