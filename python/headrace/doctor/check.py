"""Check: a function that examines facts and yields findings; and the runner of all checks, within one time limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headrace.bench.child import Failed
from headrace.doctor.facts import Facts
from headrace.doctor.finding import Finding, warning

SECONDS = 9.0


@dataclass(frozen=True)
class Check:
    name: str  # prefix of the ids of its findings
    group: str  # their heading
    sentence: str
    look: Callable[[Facts], Iterable[Finding]]


def _failed(check: Check, why: str) -> Finding:
    return warning(f"{check.name}.check-failed", f"the check itself failed: {why}",
                   "what it looks for is not known to be in order", "tell the maintainers, with this line")


def _look(check: Check, facts: Facts) -> list[Finding]:
    found = []
    try:
        for finding in check.look(facts):
            found.append(finding)
    except Failed as failed:
        found.append(_failed(check, str(failed)))
    except Exception as problem:  # any error, because the other findings are still worth showing
        found.append(_failed(check, f"{type(problem).__name__}: {problem}"))
    return found


def run_all(checks: Iterable[Check], facts: Facts, seconds: float = SECONDS) -> list[tuple[Check, list[Finding]]]:
    """Runs all checks at once. A check that has not ended in time is reported as failed, and abandoned."""
    results: dict[str, list[Finding]] = {}
    checks = list(checks)
    threads = []
    end = time.monotonic() + seconds
    for check in checks:
        thread = threading.Thread(target=lambda check=check: results.update({check.name: _look(check, facts)}), daemon=True)
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    late = f"it did not end within {seconds:g} s"
    return [(check, results[check.name] if check.name in results else [_failed(check, late)]) for check in checks]
