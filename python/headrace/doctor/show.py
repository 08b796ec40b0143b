"""Findings as text for people and as JSON for programs."""

from __future__ import annotations

import textwrap
from itertools import groupby

from headrace.doctor.check import Check
from headrace.doctor.finding import LEVELS, Finding, exit_code

_COLUMNS = 100
_FORMAT = 1  # format of the JSON; changes when a field changes its meaning or is removed
_INDENT = 11


def _lines(word: str, text: str, more: str = "") -> str:
    """Returns the lines of one item, wrapped: a word, followed by its text."""
    return textwrap.fill(text + more, _COLUMNS, initial_indent=f"  {word:<{_INDENT - 2}}", subsequent_indent=" " * _INDENT,
                         break_long_words=False, break_on_hyphens=False)


def _item(finding: Finding) -> list[str]:
    lines = [_lines(finding.level, finding.evidence, "" if finding.level == "ok" else f"  [{finding.id}]")]
    for word, text in (("cost", finding.cost), ("remedy", finding.remedy)):
        if text:
            lines.append(_lines("", f"{word}: {text}"))
    return lines


def summary(findings: list[Finding]) -> str:
    count = {level: sum(finding.level == level for finding in findings) for level in LEVELS}
    if not count["warning"] + count["error"]:
        return "No trouble found."
    parts = [f"{count[level]} {level}{'s' if count[level] > 1 else ''}" for level in ("error", "warning") if count[level]]
    return " and ".join(parts) + "."


def text(results: list[tuple[Check, list[Finding]]], everything: bool) -> str:
    """Returns text by group; without `everything`, findings without problems take at most one line per group, without
    ids."""
    blocks = []
    for group, members in groupby(results, key=lambda result: result[0].group):
        findings = [finding for _, found in members for finding in found]
        shown = sorted((finding for finding in findings if everything or finding.level != "ok"),
                       key=lambda finding: -LEVELS.index(finding.level))
        fine = len(findings) - len(shown)
        lines = [group + (f" ({fine} in order)" if fine and shown else ": in order" if fine else "")]
        for finding in shown:
            lines += _item(finding)
        blocks.append("\n".join(lines))
    return "\n\n".join([*blocks, summary([finding for _, found in results for finding in found])])


def as_json(results: list[tuple[Check, list[Finding]]], version: str, host: str) -> dict:
    findings = [finding for _, found in results for finding in found]
    return {"format": _FORMAT, "headrace": version, "host": host, "exit_code": exit_code(findings), "findings": [
        {"id": finding.id, "check": check.name, "group": check.group, "level": finding.level, "evidence": finding.evidence,
         "cost": finding.cost, "remedy": finding.remedy} for check, found in results for finding in found]}
