"""Text for manual pages, in the language mdoc."""

from __future__ import annotations

import re
import textwrap

# Date of all pages, which man shows at the foot.
DATE = "November 26, 2026"
WIDTH = 78


def escaped(text: str) -> str:
    """Text of one line: no escapes, and no control character at the beginning."""
    text = text.replace("\\", "\\e").replace("`", "").replace("--", "\\-\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def argument(text: str) -> str:
    """A word or several as one argument of a macro."""
    text = escaped(text).replace('"', "\\(dq")
    return f'"{text}"' if re.search(r"[ ]", text) or text in ("|", ".", ",", ";", ":", "(", ")", "[", "]", "?", "!") else text


def lines(text: str) -> list[str]:
    """Running text, filled; each sentence begins a line, as mdoc wants it."""
    found = []
    for sentence in re.split(r"(?<=[.;:]) ", " ".join(text.split())):
        # A break before what looks like a control line would be one.
        found += [escaped(line) for line in textwrap.wrap(sentence, WIDTH - 4, break_long_words=False, break_on_hyphens=False)]
    return found


def sentence(text: str) -> list[str]:
    """The same, as a sentence: a capital, a full stop."""
    return lines(text[:1].upper() + text[1:].rstrip(".") + ".")


def head(names: list[str], section: int, purpose: str, version: str) -> list[str]:
    return [f".Dd {DATE}", f".Dt {names[0].upper()} {section}", f".Os Headrace {version}", ".Sh NAME",
            *(f".Nm {name}{' ,' if name != names[-1] else ''}" for name in names), f".Nd {escaped(purpose)}"]


def literal(text: list[str]) -> list[str]:
    return [".Bd -literal -offset indent", *map(escaped, text), ".Ed"]


def see_also(references: list[tuple[str, int]]) -> list[str]:
    """By section, then by name, as mdoc wants it."""
    ordered = sorted(set(references), key=lambda reference: (reference[1], reference[0].lower()))
    return [".Sh SEE ALSO", *(f".Xr {name} {section}{' ,' if (name, section) != ordered[-1] else ''}" for name, section in ordered)]


def page(parts: list[str]) -> str:
    return "\n".join(parts) + "\n"
