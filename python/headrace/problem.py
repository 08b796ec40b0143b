"""Text of a problem for a user: one sentence, without the system's number."""

from __future__ import annotations


def sentence(problem: Exception) -> str:
    """The sentence for a refusal of the system: the file, if one is known, and why."""
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.filename}: {problem.strerror}" if problem.filename is not None else problem.strerror
    return str(problem)
