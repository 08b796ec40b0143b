"""Fortran source: lines of a free-form file, declarations of arguments, and procedures that call the C side."""

from __future__ import annotations

from .fortran import Argument, Procedure

INTEGERS = {"int": "integer", "MPI_Fint": "integer", "MPI_Aint": "integer(kind=MPI_ADDRESS_KIND)",
            "MPI_Count": "integer(kind=MPI_COUNT_KIND)", "MPI_Offset": "integer(kind=MPI_OFFSET_KIND)",
            "double": "double precision"}
LIMIT = 120


def wrapped(line: str) -> str:
    """Free form has 132 columns."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    lines = []
    while len(line) > LIMIT:
        at = line.rfind(", ", 0, LIMIT) + 1
        lines.append(line[:at] + " &")
        line = indent + line[at:].lstrip()
    lines.append(line)
    return "\n".join(lines)


def text(lines: list[str]) -> str:
    return "".join(wrapped(line) + "\n" for line in lines)


def c_name(procedure: Procedure, profiling: bool, section: bool) -> str:
    return f"hr_{'p' if profiling else ''}f_{procedure.stem}{'_s' if section else ''}"


def shape(procedure: Procedure, argument: Argument, style: str) -> str:
    """Returns the part behind the name: the number of elements."""
    parameter = argument.parameter
    if argument.sort == "f_status":
        return "(MPI_STATUS_SIZE)"
    if argument.sort == "status" and style != "f08":
        return "(MPI_STATUS_SIZE, *)" if parameter.is_array else "(MPI_STATUS_SIZE)"
    if argument.sort == "texts":
        return "(*)"
    if argument.sort == "text_matrix":
        count = next(a.name for a in procedure.arguments if a.parameter.kind.name == "length")
        return f"({count}, *)"
    if not parameter.is_array:
        return ""
    length = procedure.length_of(argument) if style == "f08" else None
    inner = parameter.inner.strip("[]") + ", " if parameter.inner else ""
    return f"({inner}{length or '*'})"


def attributes(procedure: Procedure, argument: Argument, style: str) -> str:
    """, intent(in) and the like; those of mpif.h and the module mpi have none."""
    if style != "f08":
        return ""
    found = ""
    if procedure.has_intent(argument):
        found += f", intent({procedure.intent_of(argument)})"
    if procedure.is_asynchronous(argument):
        found += ", asynchronous"
    return found


def type_of(procedure: Procedure, argument: Argument, style: str) -> str:
    sort = argument.sort
    if sort == "handle":
        return f"type({argument.c_type(False)})" if style == "f08" else "integer"
    if sort == "status":
        return "type(MPI_Status)" if style == "f08" else "integer"
    if sort == "f08_status":
        return "type(MPI_Status)"
    if sort in ("attribute", "extra_state"):
        return "integer(kind=MPI_ADDRESS_KIND)"
    if sort in ("small_attribute", "small_extra_state", "f_status"):
        return "integer"
    if sort == "logical":
        return "logical"
    return INTEGERS[argument.c_type(procedure.large)]


def declare(procedure: Procedure, argument: Argument, style: str) -> str:
    """Returns the declaration of a dummy argument. Style: f08, mpi (with descriptors), mpif (addresses)."""
    name, sort = argument.name, argument.sort
    more = attributes(procedure, argument, style)
    if sort in ("choice", "detached"):
        if sort == "detached" and style == "f08":
            return f"type(c_ptr), intent(out) :: {name}"
        if style == "mpif":
            return f"integer :: {name}(*)"
        asynchronous = "" if "asynchronous" in more or not procedure.is_asynchronous(argument) else ", asynchronous"
        return f"type(*), dimension(..){more}{asynchronous} :: {name}"
    if sort == "logical_value":
        return f"integer :: {name}" if style == "mpif" else f"type(*){more} :: {name}"
    if sort == "base_address":
        return f"type(c_ptr), intent(out) :: {name}" if style == "f08" else f"integer(kind=MPI_ADDRESS_KIND) :: {name}"
    if sort == "function":
        kind = argument.c_type(procedure.large).removesuffix("*").strip()
        return f"procedure({kind}) :: {name}" if style == "f08" else f"external :: {name}"
    if sort in ("text", "texts", "text_matrix"):
        return f"character(len=*){more} :: {name}{shape(procedure, argument, style)}"
    return f"{type_of(procedure, argument, style)}{more} :: {name}{shape(procedure, argument, style)}"


def result_type(procedure: Procedure) -> str:
    return INTEGERS[procedure.returns]


def names(procedure: Procedure) -> list[str]:
    return [a.name for a in procedure.arguments] + (["ierror"] if procedure.has_error else [])


def declare_error(procedure: Procedure, style: str) -> list[str]:
    if not procedure.has_error:
        return []
    return ["integer, optional, intent(out) :: ierror" if style == "f08" else "integer :: ierror"]


def in_order(procedure: Procedure, style: str) -> list[Argument]:
    """Lengths before the arrays that have them."""
    lengths = {procedure.length_of(a) for a in procedure.arguments}
    lengths |= {a.name for a in procedure.arguments if procedure.has("text_matrix") and a.parameter.kind.name == "length"}
    return sorted(procedure.arguments, key=lambda a: a.name not in lengths)


def head(procedure: Procedure, name: str, bind: str = "") -> str:
    kind = f"{result_type(procedure)} function" if procedure.returns else "subroutine"
    return f"{kind} {name}({', '.join(names(procedure))}){bind}"


def end(procedure: Procedure) -> str:
    return "end function" if procedure.returns else "end subroutine"


def interface_body(procedure: Procedure, name: str, style: str, bind: str = "") -> list[str]:
    """Returns a specific procedure as a module declares it."""
    lines = [head(procedure, name, f' bind(C, name="{bind}")' if bind else ""), "  import"]
    lines += ["  " + declare(procedure, a, style) for a in in_order(procedure, style)]
    lines += ["  " + line for line in declare_error(procedure, style)]
    return lines + [end(procedure)]


# --- procedures of ours between the program and C ---

def c_declare(procedure: Procedure, argument: Argument, style: str) -> list[str]:
    """Returns a dummy argument of the C function."""
    name, sort = argument.name, argument.sort
    if sort == "logical":
        return [f"type(c_ptr), value :: {name}"]
    if sort == "function":
        return [f"type(c_funptr), value :: {name}"]
    if sort == "detached" and style != "f08":
        return [f"type(c_ptr), value :: {name}"]
    if sort in ("text", "texts", "text_matrix"):
        return [f"character(kind=c_char) :: {name}(*)", f"integer(c_int), value :: {name}_length"]
    if argument.is_array and procedure.length_of(argument) and style == "f08" and not argument.parameter.inner:
        return [f"{type_of(procedure, argument, style)} :: {name}(*)"]
    return [declare(procedure, argument, style)]


def c_names(procedure: Procedure) -> list[str]:
    found = []
    for argument in procedure.arguments:
        found.append(argument.name)
        if argument.sort in ("text", "texts", "text_matrix"):
            found.append(argument.name + "_length")
    return found + (["ierror"] if procedure.has_error else [])


def passed(argument: Argument, procedure: Procedure, style: str) -> list[str]:
    name, sort = argument.name, argument.sort
    if sort == "logical":
        return [f"c_loc({name}(1))" if argument.is_array else f"c_loc({name})"]
    if sort == "function":
        return [f"c_funloc({name})"]
    if sort == "detached" and style != "f08":
        return ["c_null_ptr"]
    if sort in ("text", "texts", "text_matrix"):
        return [name, f"len({name})"]
    return [name]


def target(declaration: str, argument: Argument) -> str:
    return declaration.replace(" ::", ", target ::", 1) if argument.sort == "logical" else declaration


def c_interface(procedure: Procedure, bind: str, style: str) -> list[str]:
    kind = f"{result_type(procedure)} function" if procedure.returns else "subroutine"
    lines = ["interface", f'  {kind} to_c({", ".join(c_names(procedure))}) bind(C, name="{bind}")', "    import"]
    for argument in in_order(procedure, style):
        lines += ["    " + line for line in c_declare(procedure, argument, style)]
    lines += ["    " + line for line in declare_error(procedure, style)]
    return lines + ["  " + end(procedure), "end interface"]


def wrapper(procedure: Procedure, name: str, bind: str, style: str, uses: list[str]) -> list[str]:
    """Returns a procedure that passes its arguments on to the C function `bind`."""
    lines = [head(procedure, name)] + ["  " + use for use in uses]
    if uses:
        lines.append("  implicit none")
    lines += ["  " + target(declare(procedure, a, style), a) for a in in_order(procedure, style)]
    lines += ["  " + line for line in declare_error(procedure, style)]
    lines += ["  " + line for line in c_interface(procedure, bind, style)]
    arguments = [value for a in procedure.arguments for value in passed(a, procedure, style)]
    arguments += ["ierror"] if procedure.has_error else []
    call = f"to_c({', '.join(arguments)})"
    lines.append(f"  {name} = {call}" if procedure.returns else f"  call {call}")
    return lines + [end(procedure)]
