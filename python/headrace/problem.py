"""Describes a problem to a user: one sentence, without the system's error number."""

from __future__ import annotations


def sentence(problem: Exception) -> str:
    """Returns the sentence for a system error: the file, if known, and the reason."""
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.filename}: {problem.strerror}" if problem.filename is not None else problem.strerror
    return str(problem)
