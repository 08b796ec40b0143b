"""Turns roles of api/kinds.yaml into parts of the declarations of hr::bind::impl (docs/adr/0001-entry-points.md)."""

from __future__ import annotations

from .model import Function, Parameter, join


def pointer(c_type: str) -> str:
    return join(c_type, "").rstrip() + "*"


def as_in_c(parameter: Parameter, large: bool = False) -> str:
    """Returns the C type with an array as a pointer, for parameters that are passed on untouched."""
    kind = parameter.kind
    if kind.role in ("buffer", "string", "status"):
        stars = "" if kind.role == "buffer" else "*"
        const = "const " if parameter.direction == "in" else ""
        return const + join(parameter.c_type(large), "", stars).replace(" *", "*").strip()
    const = "const " if parameter.const and (parameter.is_array or kind.array) else ""
    c_type = parameter.c_type(large).replace(" *", "*")
    if parameter.inner:
        return f"{const}{c_type} (*){parameter.inner}"
    if parameter.is_array or kind.array or (parameter.is_out and not kind.by_value):
        return f"{const}{c_type}*"
    return c_type


def is_count_array(parameter: Parameter) -> bool:
    return bool(parameter.kind.large) and parameter.is_array and parameter.direction == "in"


def is_object_array(parameter: Parameter) -> bool:
    """True for an array of handles that the entry point looks up (arrays of infos stay as they are)."""
    kind = parameter.kind
    return kind.role == "handle" and parameter.is_array and parameter.direction == "in" and not kind.nullable


def may_be_null(parameter: Parameter) -> bool:
    return "optional" in parameter.flags or (parameter.kind.nullable and parameter.direction == "in")


def base_type(parameter: Parameter) -> str:
    kind = parameter.kind
    if kind.large:
        return "Count"
    if kind.internal and not (parameter.is_out and kind.internal == "bool"):
        return kind.internal
    return kind.c


def integer_type(parameter: Parameter) -> str:
    if is_count_array(parameter):
        return "CountArray"
    if parameter.is_array:
        return as_in_c(parameter)
    return base_type(parameter) + ("&" if parameter.is_out else "")


def handle_type(parameter: Parameter) -> str:
    object_type = parameter.kind.object
    if is_object_array(parameter):
        return f"std::span<{object_type}* const>"
    if parameter.is_array:
        return as_in_c(parameter)
    if parameter.direction == "out":
        return f"Ref<{object_type}>&"
    return object_type + ("*" if may_be_null(parameter) else "&")


def engine_object_type(parameter: Parameter) -> str:
    if parameter.direction == "out" and not parameter.is_array:
        return f"{parameter.kind.object}*&"
    return as_in_c(parameter)


def impl_type(parameter: Parameter, large: bool) -> str:
    role = parameter.kind.role
    if role == "integer":
        return integer_type(parameter)
    if role == "handle":
        return handle_type(parameter)
    if role in ("request", "message"):
        return engine_object_type(parameter)
    return as_in_c(parameter, large)


def own_large_impl(function: Function) -> bool:
    """True if the two forms take different callbacks and so have an impl function each."""
    return any(p.kind.role == "function" and p.kind.large for p in function.parameters)


def declare_pointer(c_type: str, name: str) -> str:
    return c_type.replace("(*)", f"(*{name})") if "(*)" in c_type else f"{c_type} {name}"


def impl_parameters(function: Function, large: bool) -> list[Parameter]:
    return [p for p in function.parameters if p.kind.role != "varargs"]


def impl_prototype(function: Function, large: bool = False) -> str:
    """Returns the declaration of the body, without the semicolon."""
    wide = large and own_large_impl(function)
    declared = []
    for parameter in impl_parameters(function, large):
        kind = as_in_c(parameter, wide) if function.direct else impl_type(parameter, wide)
        declared.append(declare_pointer(kind, parameter.name))
    if function.needs_form:
        declared.append("bool large")
    if function.tests:
        declared.append("TestGuard& guard")
    returns = function.return_type() if function.direct else "Status"
    return f"{returns} {function.impl_name}{'_c' if wide else ''}({', '.join(declared)})"


def impl_prototypes(function: Function) -> list[str]:
    forms = [impl_prototype(function)]
    if function.has_large and own_large_impl(function):
        forms.append(impl_prototype(function, large=True))
    return forms
