"""How a problem is said to a user: one sentence, without the system's number."""

from __future__ import annotations


def sentence(problem: Exception) -> str:
    """Of what the system refuses: the file, where one is known, and why."""
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.filename}: {problem.strerror}" if problem.filename is not None else problem.strerror
    return str(problem)
