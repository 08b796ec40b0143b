"""Wraps the prose of generated pages."""

from __future__ import annotations

import re
from textwrap import fill

WIDTH = 120
_SPACE = "\x1f"  # stands for a space inside code, where no line is broken


def filled(text: str) -> str:
    """`text` in lines of at most WIDTH columns, where words and code allow it."""
    whole = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", _SPACE), text)
    return fill(whole, WIDTH, break_long_words=False, break_on_hyphens=False).replace(_SPACE, " ")
