"""Work: the measurements of a run, each performed once, shown in the progress bar, and written to the journal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from headrace.bench.progress import Progress
from headrace.tune.journal import Journal

Result = TypeVar("Result")


class Work:
    def __init__(self, journal: Journal, progress: Progress | None = None):
        self.journal, self.progress = journal, progress or Progress(())
        self.repeated = 0  # measurements taken from the journal
        self.failures: list[str] = []

    def do(self, name: str, key: str, measure: Callable[[], Result]) -> Result:
        """Performs one measurement. `name`: steps with the same name take equally long. `key`: identifies this
        measurement, also in later runs. The result of measure() is written and read back as JSON. Failed propagates to
        the caller and is not written."""
        if key in self.journal.found:
            self.progress.skip(name)
            self.repeated += 1
            return self.journal.found[key]
        self.progress.step(name)
        value = measure()
        self.journal.put(key, value)
        return value

    def left_out(self, name: str) -> None:
        """Counts a step that is skipped because a similar one has failed."""
        self.progress.skip(name)
