"""Before and after: as a table with bars, and as a picture (SVG)."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from headrace.bench import plot
from headrace.bench.figure import number, size_text
from headrace.bench.grid import grid
from headrace.tune.choose import Choice, Group
from headrace.tune.messages import Found

_BAR = 20


def bar(ratio: float) -> str:
    """Returns a bar whose length is the ratio of the new time to the old time."""
    filled = min(max(round(ratio * _BAR), 1), _BAR)
    return "#" * filled + "." * (_BAR - filled)


def collectives(chosen: Mapping[Group, Sequence[Choice]]) -> str:
    """Returns the changes as a table."""
    rows = [[group.operation if first else "", group.memory, group.where(), size_text(choice.bytes), choice.algorithm, number(choice.before),
             number(choice.after), f"{choice.ratio:.2f}", bar(choice.ratio)]
            for group, choices in chosen.items() for first, choice in _changes(choices)]
    if not rows:
        return "Collectives: the built-in choice is the best everywhere."
    return grid(["collective", "memory", "where", "bytes", "instead of the built-in", "us before", "after", "x", ""], rows, False).rstrip()


def _changes(choices: Sequence[Choice]):
    changed = [choice for choice in choices if choice.changes]
    return ((choice is changed[0], choice) for choice in changed)


def messages(found: Sequence[Found]) -> str:
    rows = []
    for each in found:
        as_it_is = each.value is None
        rows.append([each.trial.knob, each.trial.peers.text(), each.trial.memory, each.trial.span(), "as it is" if as_it_is else str(each.value),
                     number(each.before), "" if as_it_is else number(each.after), "" if as_it_is else f"{each.ratio:.2f}",
                     "" if as_it_is else bar(each.ratio)])
    return grid(["limit", "between", "memory", "messages of", "value", "us before", "after", "x", ""], rows, False).rstrip()


def picture(chosen: Mapping[Group, Sequence[Choice]], found: Sequence[Found]) -> str:
    """Returns a picture with a panel for each changed collective, and one for changed message limits. Empty if
    nothing changes."""
    panels = []
    for group, choices in chosen.items():
        if any(choice.changes for choice in choices):
            before = plot.Line("before", [(choice.bytes or 1, choice.before) for choice in choices], dashed=True)
            after = plot.Line("after", [(choice.bytes or 1, choice.after) for choice in choices])
            panels.append(plot.svg(f"{group.operation}, {group.where()}, {group.memory} memory", "microseconds", [before, after]))
    changed = [each for each in found if each.value is not None]
    panels = [panel for panel in panels if panel]  # a single size yields no line
    if changed:
        panels.append(_bars(changed))
    if not panels:
        return ""
    rows = -(-len(panels) // 2)
    width, height = plot.WIDTH * min(len(panels), 2), plot.HEIGHT * rows
    placed = [panel.replace("<svg ", f'<svg x="{plot.WIDTH * (place % 2)}" y="{plot.HEIGHT * (place // 2)}" ', 1)
              for place, panel in enumerate(panels)]
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
                      *placed, "</svg>", ""])


def _bars(found: Sequence[Found]) -> str:
    """Draws bars of the old time (grey, the full width) and the new time."""
    left, wide = 20, plot.WIDTH - 60
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{plot.WIDTH}" height="{plot.HEIGHT}" viewBox="0 0 {plot.WIDTH} {plot.HEIGHT}" '
           'font-family="sans-serif" font-size="12">', f'<rect width="{plot.WIDTH}" height="{plot.HEIGHT}" fill="white"/>',
           f'<text x="{left}" y="22" font-size="15">Limits of messages: time before (grey) and after</text>']
    step = min(48, (plot.HEIGHT - 40) // len(found))
    for place, each in enumerate(found):
        top = 40 + place * step
        label = html.escape(f"{each.trial.text()} = {each.value}: {number(each.after)} us instead of {number(each.before)}, {each.ratio:.2f} of the time")
        bar_ = f'x="{left}" y="{top + 18}" height="{max(step - 28, 6)}"'
        out.append(f'<text x="{left}" y="{top + 13}">{label}</text><rect {bar_} width="{wide}" fill="#cccccc"/>'
                   f'<rect {bar_} width="{wide * each.ratio:.1f}" fill="{plot.COLOURS[0]}"/>')
    return "\n".join([*out, "</svg>", ""])
