"""The standard in Fortran: functions, their arguments, and the sorts of these (docs/adr/0021-fortran.md).

A sort determines the way of an argument from Fortran to C. It depends on the parameter's kind, never on the function's
name; facts that are not in the tables are in api/fortran.yaml.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .model import Function, Parameter, Tables, load, matches

HANDLES = ("MPI_Comm", "MPI_Datatype", "MPI_Errhandler", "MPI_File", "MPI_Group", "MPI_Info", "MPI_Message", "MPI_Op",
           "MPI_Request", "MPI_Session", "MPI_Win")
# Sorts that need a Fortran procedure between the program and C: not interoperable (Fortran 2018, section 18).
NOT_INTEROPERABLE = ("logical", "text", "texts", "text_matrix", "function")
# Kinds that are a sort of their own, by name.
OWN_SORTS = ("logical", "index", "result_length", "buffer_length", "error_code", "weight", "attribute",
             "small_attribute", "extra_state", "small_extra_state", "base_address", "detached", "logical_value",
             "f_status", "f08_status")
BY_ROLE = {"buffer": "choice", "string": "text", "status": "status", "function": "function"}
BY_KIND = {"string_array": "texts", "string_matrix": "text_matrix"}
# Kinds whose presence implies that a buffer is one message, rather than blocks for several ranks.
ONE_MESSAGE = ("dest", "source", "target_rank", "file", "size", "external_size")


@dataclass(frozen=True)
class Argument:
    parameter: Parameter
    sort: str
    c_value: str = ""  # of an absent argument

    @property
    def name(self) -> str:
        return self.parameter.name

    @property
    def is_array(self) -> bool:
        return self.parameter.is_array

    @property
    def direction(self) -> str:
        return self.parameter.direction

    def c_type(self, large: bool) -> str:
        return self.parameter.c_type(large)


class Procedure:
    """A function in its plain or its large form, as Fortran sees it."""

    def __init__(self, function: Function, large: bool, rules: dict):
        self.function, self.large, self.rules = function, large, rules
        self.name = function.form(large)
        self.stem = self.name.removeprefix("MPI_").lower()
        everything = [Argument(p, *self.sort_of(p)) for p in function.parameters_of(large)]
        self.c_arguments = everything
        self.arguments = [a for a in everything if a.sort != "absent"]
        self.returns = function.returns.c if function.returns else None
        self.has_error = self.returns is None and not matches(function.name, rules["no_error"])
        self.in_f08 = not matches(function.name, rules["not_f08"])
        self.in_mpif = not matches(function.name, rules["not_mpif"]) and not large
        self.initialises = matches(function.name, rules["initialise"])
        self.abandons = matches(function.name, rules["abandon"])
        self.persistent = matches(function.name, rules["persistent"])
        self.has_c_pointer_variant = matches(function.name, rules["c_pointer_variants"])

    def sort_of(self, parameter: Parameter) -> tuple[str, str]:
        kind, rules = parameter.kind, self.rules
        mine = rules["absent_arguments"].get(self.function.name, {})
        if parameter.name in mine:
            return "absent", mine[parameter.name]
        if kind.name in rules["absent"]:
            return "absent", rules["absent"][kind.name]
        if kind.name in OWN_SORTS:
            return kind.name, ""
        if kind.name in rules["choice"]:
            return "choice", ""
        if kind.name in BY_KIND:
            return BY_KIND[kind.name], ""
        if kind.role in BY_ROLE:
            return BY_ROLE[kind.role], ""
        return ("handle" if kind.c in HANDLES else "integer"), ""

    def has(self, *sorts: str) -> bool:
        return any(a.sort in sorts for a in self.arguments)

    def has_kind(self, *kinds: str) -> bool:
        return any(p.kind.name in kinds for p in self.function.parameters)

    @cached_property
    def choices(self) -> list[Argument]:
        return [a for a in self.arguments if a.sort == "choice"]

    @property
    def interoperable(self) -> bool:
        """True if the program can call C itself."""
        return not self.has(*NOT_INTEROPERABLE)

    @cached_property
    def makes_request(self) -> bool:
        return any(a.parameter.kind.name == "request" and a.direction == "out" for a in self.arguments)

    # --- buffers ---

    def companions(self, choice: Argument) -> list[Argument]:
        """Returns the arguments up to the next buffer."""
        after = self.arguments[self.arguments.index(choice) + 1:]
        found = []
        for argument in after:
            if argument.sort == "choice":
                break
            found.append(argument)
        return found

    def counted_by(self, choice: Argument) -> Argument | None:
        return next((a for a in self.companions(choice) if a.parameter.kind.name in ("count", "count64")), None)

    def typed_by(self, choice: Argument) -> Argument | None:
        return next((a for a in self.companions(choice)
                     if a.parameter.kind.name == "datatype" and a.direction == "in"), None)

    def section_way(self, choice: Argument) -> str:
        """Returns the treatment of an array section: a method of hr::fortran::Section, or "base" for its address."""
        if not self.has_kind("datatype"):
            return "storage" if choice.parameter.kind.name == "storage" else "base"
        count, datatype = self.counted_by(choice), self.typed_by(choice)
        reduction = self.has_kind("op") and not self.has_kind("win")
        if reduction or datatype is None or datatype.is_array:
            return "copy"
        if count is None or count.is_array:
            return "elements"
        one_message = len(self.choices) == 1 or self.has_kind(*ONE_MESSAGE)
        return "message" if one_message else "elements"

    def is_asynchronous(self, argument: Argument) -> bool:
        """True if it is still used after the call (MPI 5.0 section 19.1.16)."""
        kind, parameter = argument.parameter.kind.name, argument.parameter
        if argument.sort == "choice":
            split = self.has_kind("file") and not self.has_kind("status")
            return self.makes_request or split or self.has_kind("win") or not self.has_kind("datatype")
        if not self.makes_request:
            return False
        if parameter.length in ("peers", "sources", "destinations"):
            return True
        return kind == "comm" and argument.direction == "out"

    def has_intent(self, argument: Argument) -> bool:
        """False for arguments that may be sentinels, and for those that only begin something longer."""
        if argument.sort == "choice":
            return argument.direction == "in" and self.has_kind("datatype", "file") \
                and argument.parameter.kind.name != "storage"
        return not (argument.sort in ("status", "error_code", "weight", "logical_value") and argument.direction == "out")

    def intent_of(self, argument: Argument) -> str:
        only_read = self.rules["only_read"].get(self.function.name, [])
        return "in" if argument.name in only_read else argument.direction

    def length_of(self, argument: Argument) -> str | None:
        """Returns the argument that gives the length of an array; None: not an argument of this form."""
        names = [a.name for a in self.arguments]
        return argument.parameter.length if argument.parameter.length in names else None


def same_arguments(function: Function) -> bool:
    """True if the plain and the large form cannot be told apart by their arguments (MPI 5.0 section 19.1.5)."""
    integers = {"MPI_Aint": 8, "MPI_Count": 8, "MPI_Offset": 8}
    plain, large = function.parameters_of(False), function.parameters_of(True)
    def kind(parameter: Parameter, wide: bool):
        c_type = parameter.c_type(wide)
        return "function" if parameter.kind.role == "function" else integers.get(c_type, c_type)
    return [kind(p, False) for p in plain] == [kind(p, True) for p in large]


class Bindings:
    """All procedures, by chapter."""

    def __init__(self, tables: Tables, api: Path):
        self.rules = load(api / "fortran.yaml")
        self.tables = tables
        self.functions = [f for f in tables.functions if not matches(f.name, self.rules["only_c"])]

    def plain(self) -> list[Procedure]:
        return [Procedure(f, False, self.rules) for f in self.functions]

    def procedures(self) -> list[Procedure]:
        forms = []
        for function in self.functions:
            forms.append(Procedure(function, False, self.rules))
            if function.has_large:
                forms.append(Procedure(function, True, self.rules))
        return forms

    def constants(self):
        """(name, value, handle type or None)"""
        for category, body in self.tables.constants.items():
            if category in self.rules["not_constants"]:
                continue
            for name, entry in body["values"].items():
                value, c_type = (entry["value"], entry["type"]) if isinstance(entry, dict) else (entry, body["type"])
                if category in self.rules["one_less"]:
                    value -= 1
                yield name, value, c_type if c_type in HANDLES else None
