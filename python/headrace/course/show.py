"""Output of a lesson: a table, bars as text, the same bars as a PNG (with matplotlib), and JSON."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

from headrace.course.lesson import NEEDS_GPU, Lesson, Row

WIDTH = 40  # width of the longest bar


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _speed(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _published(row: Row) -> str:
    if row.published is None and row.step.published is not None:
        return f"{_figure(row.step.published)} s"  # the number of steps is unknown
    return _figure(row.published)


def heading(lesson: Lesson) -> str:
    chapter = lesson.chapter
    lines = [f"{chapter.name}: {chapter.title}", "", *textwrap.wrap(chapter.sentence, 100), ""]
    devices = list(dict.fromkeys(row.device for row in lesson.rows if row.device))
    lines.append(f"Ran on: {', '.join(devices) or 'nothing'}.")
    if not lesson.on_gpu:
        lines.append("No GPU is used. What MPI gets is host memory here; the published figures are of GPUs, but where it "
                     "says otherwise.")
    if lesson.why_no_gpu:
        lines += textwrap.wrap(f"Why no GPU: {lesson.why_no_gpu}", 100)
    if gpus := list(dict.fromkeys(row.step.name for row in lesson.rows if row.note == NEEDS_GPU)):
        lines.append(f"{' and '.join(gpus)}: for a GPU only, so that there are only the published figures.")
    most, cores = max(row.step.ranks for row in lesson.rows), len(os.sched_getaffinity(0))
    if most > cores and not lesson.on_gpu:
        lines.append(f"{cores} core{'' if cores == 1 else 's'} here for {most} ranks: more ranks than cores gain nothing.")
    if lesson.quick:
        lines.append("Quick look: tiny sizes that show that all of it runs. The figures mean nothing.")
    return "\n".join(lines)


def table(lesson: Lesson) -> str:
    head = ("step", "ranks", "here, ms/step", "speed", "published, ms/step", "speed", "what changes")
    body = []
    for row, (ours, theirs) in zip(lesson.rows, lesson.speeds()):
        here = _figure(row.here) if row.here is not None else row.note.partition(":")[0]
        body.append((row.step.name, str(row.step.ranks), here, _speed(ours), _published(row), _speed(theirs),
                     row.step.change))
    widths = [max(len(line[column]) for line in (head, *body)) for column in range(len(head))]
    right = {1, 2, 3, 4, 5}
    lines = ["  ".join(cell.rjust(width) if column in right else cell.ljust(width)
                       for column, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in (head, *body)]
    lines.insert(1, "-" * max(map(len, lines)))
    lines.append("(milliseconds a step; speed: times that of the first step with both figures. Published: "
                 f"{lesson.chapter.source}.)")
    lines += [f"{row.step.label}: {row.note}" for row in (*lesson.left_out(), *lesson.failed())]
    return "\n".join(lines)


def bars(lesson: Lesson) -> str:
    """Draws measured (#) and published (o) speeds on one scale."""
    speeds = lesson.speeds()
    longest = max((value for pair in speeds for value in pair if value is not None), default=0)
    if longest == 0:
        return ""
    width = max(len(row.step.label) for row in lesson.rows)
    lines = ["Speed against the first step: here #, published o"]
    for row, pair in zip(lesson.rows, speeds):
        for value, sign in zip(pair, "#o"):
            if value is not None:
                name = row.step.label if sign == "#" or pair[0] is None else ""
                lines.append(f"{name:<{width}} |{sign * max(1, round(WIDTH * value / longest))} {value:.2f}")
    return "\n".join(lines)


def has_matplotlib() -> bool:
    try:
        import matplotlib  # noqa: F401 (tests only whether it is installed)
    except ImportError:
        return False
    return True


def png(lesson: Lesson, path: Path) -> None:
    """Draws the bars as a picture; needs matplotlib. Raises OSError if the file cannot be written."""
    from matplotlib.figure import Figure  # needs no display

    figure = Figure(figsize=(8, 1.5 + 0.45 * len(lesson.rows)), layout="constrained")
    axes = figure.add_subplot()
    for column, (name, colour) in enumerate((("here", "#0b6e4f"), ("published", "#c84c09"))):
        places = [index + 0.4 * column for index in range(len(lesson.rows))]
        values = [pair[column] or 0 for pair in lesson.speeds()]
        axes.bar_label(axes.barh(places, values, 0.38, label=name, color=colour),
                       labels=[f"{value:.2f}" if value else "" for value in values], padding=3, fontsize=8)
    axes.set_yticks([index + 0.2 for index in range(len(lesson.rows))], [row.step.label for row in lesson.rows])
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel("times the speed of the first step")
    axes.set_title(f"{lesson.chapter.name}: {lesson.chapter.title}", fontsize=11)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150, format="png")


def exercises(lesson: Lesson) -> str:
    lines = ["Exercises"] if lesson.chapter.exercises else []
    for number, exercise in enumerate(lesson.chapter.exercises, 1):
        lines += textwrap.wrap(exercise.question, 100, initial_indent=f"  {number}. ", subsequent_indent="     ")
    return "\n".join([*lines, f"Text, solutions: {lesson.chapter.page}"])


def as_json(lesson: Lesson) -> dict:
    rows = []
    for row, (ours, theirs) in zip(lesson.rows, lesson.speeds()):
        rows.append({"step": row.step.name, "ranks": row.step.ranks, "change": row.step.change, "command": row.command,
                     "device": row.device, "ms_a_step": row.here, "samples": row.samples, "speed": ours,
                     "published_ms_a_step": row.published, "published_seconds": row.step.published,
                     "published_speed": theirs, "note": row.note})
    return {"chapter": lesson.chapter.name, "title": lesson.chapter.title, "quick": lesson.quick, "on_gpu": lesson.on_gpu,
            "published": lesson.chapter.source, "rows": rows}
