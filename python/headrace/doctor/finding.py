"""Finding: one result of a check. Its id never changes; programs rely on it."""

from __future__ import annotations

from dataclasses import dataclass

LEVELS = ("ok", "note", "warning", "error")


@dataclass(frozen=True)
class Finding:
    id: str  # "shm.small": the check and its result
    level: str  # one of LEVELS
    evidence: str  # the observation, and its source
    cost: str = ""  # cost to a job, in plain words
    remedy: str = ""  # steps that fix it


def ok(id_: str, evidence: str) -> Finding:
    return Finding(id_, "ok", evidence)


def note(id_: str, evidence: str, cost: str = "", remedy: str = "") -> Finding:
    return Finding(id_, "note", evidence, cost, remedy)


def warning(id_: str, evidence: str, cost: str, remedy: str) -> Finding:
    return Finding(id_, "warning", evidence, cost, remedy)


def error(id_: str, evidence: str, cost: str, remedy: str) -> Finding:
    return Finding(id_, "error", evidence, cost, remedy)


def exit_code(findings: list[Finding]) -> int:
    """0: nothing wrong, 1: warnings, 2: errors."""
    levels = {finding.level for finding in findings}
    return 2 if "error" in levels else 1 if "warning" in levels else 0
