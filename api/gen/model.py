"""The standard as objects: functions, parameters and kinds, read from the tables in api/ (api/README.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml

DIRECTIONS = ("in", "out", "inout")
FLAGS = ("in_place", "root_only", "optional", "kept")
FUNCTION_FLAGS = ("any time", "deprecated", "unlocked", "tests", "collective", "channel")

# The forms of a collective operation (MPI 5.0 sections 6.12 and 6.13): its name, the parameters after those of the
# blocking form, and the function of coll/coll.hpp that executes it.
COLLECTIVE_FORMS = (("{}", "", "run"),
                    ("I{}", ", out request request", "start"),
                    ("{}_init", ", info info, out request request", "init"))


class TableError(Exception):
    """A table in api/ contains something that the generator does not understand."""


def load(path: Path):
    with open(path, encoding="utf-8") as file:
        return yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@dataclass(frozen=True)
class Kind:
    name: str
    c: str
    role: str
    large: str | None = None
    internal: str | None = None
    check: str | None = None
    error: str = "MPI_ERR_ARG"
    narrow: str | None = None
    object: str | None = None
    null_handle: str | None = None
    nullable: bool = False
    by_value: bool = False
    array: bool = False


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: Kind
    direction: str = "in"
    const: bool = False
    large_only: bool = False
    length: str | None = None  # the text in the brackets; None: not an array
    inner: str = ""            # a fixed second dimension: "[3]"
    flags: frozenset[str] = frozenset()

    @property
    def is_array(self) -> bool:
        return self.length is not None

    @property
    def is_out(self) -> bool:
        return self.direction != "in"

    def c_type(self, large: bool) -> str:
        return self.kind.large if large and self.kind.large else self.kind.c

    def declare(self, large: bool) -> str:
        """Returns this parameter as C code."""
        kind, const = self.kind, "const " if self.const else ""
        if kind.role == "varargs":
            return "..."
        if kind.role in ("buffer", "string", "status"):
            const = "const " if self.direction == "in" else ""
            if self.is_array:
                return f"{const}{self.c_type(large)} {self.name}[]"
            return join(const + self.c_type(large), self.name, "" if kind.role == "buffer" else "*")
        if self.is_array or kind.array:
            return f"{const}{join(self.c_type(large), self.name)}[]{self.inner}"
        stars = "*" if self.is_out and not kind.by_value else ""
        return const + join(self.c_type(large), self.name, stars)


def join(c_type: str, name: str, stars: str = "") -> str:
    return f"{c_type}{stars}{name}" if c_type.endswith("*") else f"{c_type} {stars}{name}"


@dataclass(frozen=True)
class Function:
    name: str
    chapter: str
    parameters: tuple[Parameter, ...]
    returns: Kind | None = None  # None: an error code
    flags: frozenset[str] = frozenset()
    implemented: bool = False
    direct: bool = False         # arguments go to impl unchecked, its result is returned as it is
    needs_form: bool = False     # impl gets the form that was called
    with_revoked: bool = False   # its communicator may have been revoked
    operation: str = ""          # of a collective: the name of its blocking form
    entered_by: str = ""         # of a collective: the function of coll/coll.hpp that makes this form of it

    @property
    def has_large(self) -> bool:
        return any(p.kind.large for p in self.parameters)

    @property
    def unlocked(self) -> bool:
        return "unlocked" in self.flags

    @property
    def channel(self) -> bool:
        """True if a channel other than 0 may carry the call out, under its own lock (bind/channel_calls.hpp)."""
        return "channel" in self.flags

    @property
    def tests(self) -> bool:
        """True if it only tests requests for completion: the body decides on taking the lock."""
        return "tests" in self.flags

    @property
    def any_time(self) -> bool:
        return "any time" in self.flags

    @property
    def impl_name(self) -> str:
        return self.name.removeprefix("MPI_").lower()

    @property
    def has_buffer(self) -> bool:
        return any(p.kind.role == "buffer" for p in self.parameters)

    def form(self, large: bool) -> str:
        return self.name + ("_c" if large else "")

    def parameters_of(self, large: bool) -> list[Parameter]:
        return [p for p in self.parameters if large or not p.large_only]

    def return_type(self) -> str:
        return self.returns.c if self.returns else "int"

    def prototype(self, large: bool, prefix: str = "") -> str:
        parameters = ", ".join(p.declare(large) for p in self.parameters_of(large)) or "void"
        return f"{self.return_type()} {prefix}{self.form(large)}({parameters})"


@dataclass
class Tables:
    kinds: dict[str, Kind]
    functions: list[Function]
    callbacks: list[Function]
    constants: dict
    errors: dict[str, str]
    knobs: list[dict]
    overlay: dict
    mpich: dict
    chapters: dict[str, str] = field(default_factory=dict)
    removed: dict = field(default_factory=dict)  # api/removed.yaml


WORDS = re.compile(r"^(?P<before>.*?)(?P<name>\.\.\.|\w+)(?:\[(?P<length>[^\]]*)\])?(?P<inner>\[\d+\])?$")


def parse_parameter(text: str, kinds: dict[str, Kind], where: str) -> Parameter:
    words = text.split()
    flags = set()
    while words and words[-1] in FLAGS:
        flags.add(words.pop())
    match = WORDS.match(words.pop()) if words else None
    if not match:
        raise TableError(f"{where}: cannot read the parameter '{text}'")
    const = large_only = False
    direction = "in"
    while len(words) > 1:
        word = words.pop(0)
        if word == "const":
            const = True
        elif word == "large":
            large_only = True
        elif word in DIRECTIONS:
            direction = word
        else:
            raise TableError(f"{where}: unknown word '{word}' in '{text}'")
    if not words or words[0] not in kinds:
        raise TableError(f"{where}: '{text}' has no kind that api/kinds.yaml knows")
    return Parameter(match["name"], kinds[words[0]], direction, const, large_only, match["length"],
                     match["inner"] or "", frozenset(flags))


def parse_function(name: str, text: str, chapter: str, kinds: dict[str, Kind]) -> Function:
    text, _, words = text.partition(";")
    text, arrow, returns = text.partition("->")
    parameters = tuple(parse_parameter(part.strip(), kinds, name) for part in text.split(",") if part.strip())
    flags = frozenset(flag.strip() for flag in words.split(",") if flag.strip())
    if unknown := sorted(flags.difference(FUNCTION_FLAGS)):
        raise TableError(f"{name}: '{unknown[0]}' after the parameters is none of {', '.join(FUNCTION_FLAGS)}")
    return Function(name, chapter, parameters, kinds[returns.strip()] if arrow else None, flags)


def parse_entry(name: str, text: str, chapter: str, kinds: dict[str, Kind]) -> list[Function]:
    """Returns the functions of one entry of a table: three for a collective operation."""
    function = parse_function(name, text, chapter, kinds)
    if "collective" not in function.flags:
        return [function]
    forms = []
    for pattern, more, entered_by in COLLECTIVE_FORMS:
        form = "MPI_" + pattern.format(name.removeprefix("MPI_")).capitalize()
        added = tuple(parse_parameter(part.strip(), kinds, form) for part in more.split(",") if part.strip())
        forms.append(replace(function, name=form, parameters=function.parameters + added, operation=name,
                             entered_by=entered_by))
    return forms


def matches(name: str, patterns: list[str]) -> bool:
    """`*` in a pattern of the overlay stands for any characters."""
    return any(re.fullmatch(pattern.replace("*", ".*"), name) for pattern in patterns)


def with_overlay(function: Function, overlay: dict) -> Function:
    rule = overlay["implemented"].get(function.chapter, {})
    implemented = matches(function.name, rule.get("functions", [])) and not matches(function.name, rule.get("but", []))
    direct = function.chapter in overlay["direct_chapters"] or function.returns is not None
    needs_form = function.has_large and matches(function.name, overlay["needs_form"])
    return replace(function, implemented=implemented, direct=direct, needs_form=needs_form,
                   with_revoked=matches(function.name, overlay["with_revoked"]))


def title_of(path: Path) -> str:
    """Returns a chapter's title, the first line of its file."""
    with open(path, encoding="utf-8") as file:
        return file.readline().removeprefix("# ").split(" Notation:")[0].strip().rstrip(".")


def read(root: Path) -> Tables:
    kinds = {name: Kind(name, **body) for name, body in load(root / "kinds.yaml").items()}
    overlay = load(root / "overlay.yaml")
    functions, chapters = [], {}
    for path in sorted((root / "functions").glob("*.yaml")):
        chapters[path.stem] = title_of(path)
        entries = [parse_entry(name, text, path.stem, kinds) for name, text in load(path).items()]
        chapter = sorted((function for forms in entries for function in forms), key=lambda function: function.name)
        functions += [with_overlay(function, overlay) for function in chapter]
    callbacks = [parse_function(name, text, "callbacks", kinds) for name, text in load(root / "callbacks.yaml").items()]
    return Tables(kinds, functions, callbacks, load(root / "constants.yaml"), load(root / "errors.yaml"),
                  load(root / "knobs.yaml"), overlay, load(root / "mpich.yaml"), chapters, load(root / "removed.yaml"))
