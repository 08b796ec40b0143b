"""Writes include/mpi.h from api/templates/mpi.h and the tables."""

from __future__ import annotations

from pathlib import Path

from .model import Tables

# Categories of api/constants.yaml that exist in Fortran only.
FORTRAN_ONLY = ("fortran_support_method_constants", "status_array_size_and_index_fortran",
                "variable_addr_size_fortran")
# C types of constants that are enumerations in C.
ENUMS = ("MPI_T_cb_safety", "MPI_T_source_order")


def constants_of(constants: dict):
    """Yields (category, name, value, C type) of every constant that C has."""
    for category, body in constants.items():
        if category in FORTRAN_ONLY:
            continue
        for name, entry in body["values"].items():
            value, c_type = (entry["value"], entry["type"]) if isinstance(entry, dict) else (entry, body["type"])
            yield category, name, value, c_type


def literal(value: int, c_type: str) -> str:
    if c_type == "int":
        return f"({value})" if value < 0 else str(value)
    return f"(({c_type.replace(' *', '*')}){value:#x})"


def constants(tables: Tables) -> str:
    lines, current = [], None
    for category, name, value, c_type in constants_of(tables.constants):
        if c_type in ENUMS:
            continue
        if category != current:
            lines.append(f"\n/* {category.replace('_', ' ')} */\n")
            current = category
        lines.append(f"#define {name:<40} {literal(value, c_type)}\n")
    return "".join(lines)


def enums(tables: Tables) -> str:
    lines = []
    for enum in ENUMS:
        found = [(name, value) for _, name, value, c_type in constants_of(tables.constants) if c_type == enum]
        values = [f"  {name} = {value:#x}" for name, value in found]
        lines.append(f"typedef enum {enum} {{\n" + ",\n".join(values) + f"\n}} {enum};\n")
    return "\n".join(lines)


def callbacks(tables: Tables) -> str:
    lines = []
    for function in tables.callbacks:
        for large in (False, True) if function.has_large else (False,):
            parameters = ", ".join(p.declare(large) for p in function.parameters)
            lines.append(f"typedef {function.return_type()}({function.form(large)})({parameters});\n")
    return "".join(lines)


def prototypes(tables: Tables, prefix: str) -> str:
    lines, current = [], None
    for function in tables.functions:
        if function.chapter != current:
            lines.append(f"\n/* {tables.chapters[function.chapter]} */\n")
            current = function.chapter
        for large in (False, True) if function.has_large else (False,):
            lines.append(function.prototype(large, prefix) + ";\n")
    return "".join(lines)


def removed(tables: Tables, kinds: tuple[str, ...]) -> str:
    """Declarations whose use is a compile error that names the replacement. A name that the program defines as a macro stays the
    program's."""
    declarations = []
    for kind, text in (("functions", "int {name}({what})"), ("types", "typedef {what}"),
                       ("constants", "extern const {what} {name}")):
        if kind in kinds:
            declarations += [(name, text.format(name=name, what=what), instead)
                             for name, (what, instead) in tables.removed[kind].items()]
    return "".join(f"#ifndef {name}\n{text} MPI_HR_REMOVED(\"{instead}\");\n#endif\n"
                   for name, text, instead in declarations)


def render(tables: Tables, template: Path) -> str:
    text = template.read_text(encoding="utf-8")
    for mark, body in (("ENUMS", enums(tables)), ("CALLBACKS", callbacks(tables)), ("CONSTANTS", constants(tables)),
                       ("FUNCTIONS", prototypes(tables, "")), ("PROFILING", prototypes(tables, "P")), ("REMOVED_FUNCTIONS", removed(tables, ("functions",))),
                       ("REMOVED_VALUES", removed(tables, ("types", "constants")))):
        text = text.replace(f"@{mark}@", body)
    return text
