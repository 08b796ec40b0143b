"""Runs a chapter's steps, in rounds, and compares the results with the published figures."""

from __future__ import annotations

import os
import shlex
import statistics
from dataclasses import dataclass, field

from headrace.bench.child import Failed, run, run_json
from headrace.bench.programs import Programs
from headrace.bench.progress import Progress
from headrace.course.chapter import Chapter, Step

NEEDS_GPU = "needs a GPU"
IMPOSSIBLE = 4  # exit code of a program if the GPUs here cannot execute the step
LEFT_OUT = "left out"
# Directives on the host use one thread per rank, as the other ranks use the other cores.
ONE_THREAD = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}


@dataclass
class Row:
    """A step with its time on this machine and its published time."""

    step: Step
    command: str  # command as a reader would type it
    published: float | None  # milliseconds per step
    note: str = ""  # why there is no figure for this machine
    samples: list[float] = field(default_factory=list)  # milliseconds per step
    device: str = ""

    @property
    def here(self) -> float | None:
        return statistics.median(self.samples) if self.samples else None


def without_gpu(chapter: Chapter, programs: Programs, timeout: int) -> str:
    """Returns the programs' own reason why they do not run on a GPU here; empty if they do."""
    for program in chapter.programs():
        step = next((step for step in chapter.steps if step.program == program and step.device != "host"), None)
        if step is None:
            continue
        command = [str(programs.mpiexec), "-n", "1", str(programs.find(program)), *chapter.sizes["quick"],
                   *step.arguments, "--device", "cuda"]
        try:
            run(command, timeout, programs.environment())
        except Failed as failed:
            reasons = [str(failed)]
        else:
            continue
        # Only in its debug output does GCC's run-time library report that it cannot use the driver, and why.
        try:
            run(command, timeout, {**programs.environment(), "GOMP_DEBUG": "1"})
        except Failed as failed:
            reasons += [line.strip() for line in failed.said.splitlines() if "Disabling " in line or "while loading" in line]
        return f"{program}: {'; '.join(dict.fromkeys(reasons))}"
    return ""


@dataclass
class Lesson:
    chapter: Chapter
    programs: Programs
    on_gpu: bool
    why_no_gpu: str = ""  # reason why there is no GPU, if one was looked for
    quick: bool = False
    runs: int = 3
    timeout: int = 300
    rows: list[Row] = field(default_factory=list)

    def run(self) -> None:
        """Runs every step once per round, so that a change in the machine affects all equally. For a step that fails,
        or that the GPUs here cannot execute, records the reason."""
        runs = 1 if self.quick else self.runs
        self.rows = [self._row(step) for step in self.chapter.steps]
        here = [row for row in self.rows if not row.note]
        progress = Progress([row.step.label for row in here] * runs)
        try:
            for _ in range(runs):
                for row in here:
                    progress.step(row.step.label)
                    if not row.note:
                        self._measure(row)
        finally:
            progress.finish()

    def failed(self) -> list[Row]:
        return [row for row in self.rows if row.note.startswith("failed")]

    def left_out(self) -> list[Row]:
        return [row for row in self.rows if row.note.startswith(LEFT_OUT)]

    def speeds(self) -> list[tuple[float | None, float | None]]:
        """Returns speedups over the first step that has both a measured and a published figure: measured, and published."""
        pairs = [(row.here, row.step.published) for row in self.rows]
        both = next((pair for pair in pairs if None not in pair), None)
        columns = []
        for column, values in enumerate(zip(*pairs)):
            first = both[column] if both else next((value for value in values if value is not None), None)
            columns.append([None if value is None else first / value for value in values])
        return list(zip(*columns))

    def _arguments(self, step: Step) -> list[str]:
        on_gpu = self.on_gpu and step.device != "host"
        sizes = self.chapter.sizes["quick" if self.quick else "gpu" if on_gpu else "host"]
        return [*sizes, *step.arguments, "--device", "cuda" if on_gpu else "host"]

    def _row(self, step: Step) -> Row:
        words = ["mpiexec", "-n", str(step.ranks), step.program, *self._arguments(step)]
        note = NEEDS_GPU if step.device == "gpu" and not self.on_gpu else ""
        return Row(step, shlex.join(words), self.chapter.published(step), note)

    def _measure(self, row: Row) -> None:
        command = [str(self.programs.mpiexec), "-n", str(row.step.ranks), str(self.programs.find(row.step.program)),
                   *self._arguments(row.step)]
        try:
            report = run_json(command, self.timeout, {**ONE_THREAD, **self.programs.environment()})
            result = report["results"][0]
            row.samples.append(1e3 * result["seconds"] / report["steps"])
            row.device = report.get("device_name", report["device"])
        except Failed as failed:
            impossible = failed.code == IMPOSSIBLE
            row.note = f"{LEFT_OUT}: {str(failed).partition(': ')[2]}" if impossible else f"failed: {failed}"
            row.samples = []
