"""A report: the readings of one host's collector as JSON, and the conversion back. The format, length and range of received reports
are checked."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace import stack
from headrace.monitor import model
from headrace.monitor.model import COMMAND_MOST, KINDS, PEERS, REPORT_MOST, Brief, Count, Details, Mark, Origin, Rank, Reading, clean
from headrace.monitor.stacks import Part, few

_SUM_MOST = 1 << 62
_RANKS_MOST = 1 << 16
_NAMES_MOST = 1 << 13  # maximum number of counters of one kind in one rank
_KINDS_MOST = 64
_MARKS_MOST = 1024
_MACHINE_MOST = 4096
_REPORTS_MOST = 128
_GROUPS_MOST = 64
_FRAMES_MOST = 64
_PARTS = (15, 16, 18)  # number of a rank's fields; collectors of older versions do not send its origin, or the checker's reports and whether it died


class Wrong(Exception):
    """A few words: what is wrong with a report."""


@dataclass
class Report:
    place: str  # identifies this host
    host: str
    time: float  # time by that host's clock
    readings: list[Reading] = field(default_factory=list)
    machine: dict[str, float] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    last: bool = False  # the collector is ending normally
    stacks: tuple[int, Part] | None = None  # number of the request, and the answer


def pack(report: Report) -> dict:
    return {"place": report.place, "host": report.host, "time": report.time, "last": report.last, "machine": report.machine,
            "remarks": report.remarks, "ranks": [_pack(reading) for reading in report.readings], **({"stacks": _pack_stacks(*report.stacks)} if report.stacks else {})}


def _pack_stacks(number: int, part: Part) -> dict:
    """Ranks with equal stacks share the frames of the first one."""
    groups = [[[each.rank for each in group], [each.now for each in group], group[0].frames, group[0].python, group[0].threads, group[0].why] for group in few(stack.groups(part.stacks))]
    return {"number": number, "size": part.size, "here": part.here, "groups": groups, "problem": part.problem}


def _unpack_stacks(said: object) -> tuple[int, Part]:
    said = _table(said, 16)
    if not {"number", "size", "here", "groups", "problem"} <= said.keys():
        raise Wrong("parts are missing")
    found = []
    for group in _list(said["groups"], _GROUPS_MOST):
        ranks, nows, frames, python, threads, why = _list(group, 6, 6)
        ranks = [_whole(rank, 1 << 31) for rank in _list(ranks, _RANKS_MOST)]
        nows = [_text(now) for now in _list(nows, _RANKS_MOST, len(ranks))]
        frames, python = ([_text(frame, 200) for frame in _list(each, _FRAMES_MOST)] for each in (frames, python))
        found += [stack.Stack(rank, 0, frames, python, _whole(threads, 1 << 20), now, _text(why, 300)) for rank, now in zip(ranks, nows)]
    return _whole(said["number"]), Part(_whole(said["size"], 1 << 31), _whole(said["here"], _RANKS_MOST), found, _text(said["problem"], 300))


def _pack(reading: Reading) -> list:
    who = reading.rank
    details = reading.details and {kind: {key: list(count) for key, count in counts.items()} for kind, counts in reading.details.items() if counts}
    return [who.job, who.rank, who.size, who.pid, who.host, who.program, who.began, who.cpus, who.gpu, list(reading.brief), reading.ended,
            reading.function, reading.waits_for, details, [list(mark) for mark in reading.marks], list(who.origin), [list(report) for report in reading.reports], reading.died]


def _whole(value: object, most: int = _SUM_MOST, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= most:
        raise Wrong("a number out of its range")
    return value


def _real(value: object) -> float:
    if type(value) not in (int, float) or not -1e18 <= value <= 1e18:
        raise Wrong("a number out of its range")
    return float(value)


def _text(value: object, most: int = 120) -> str:
    if type(value) is not str:
        raise Wrong("a name that is none")
    return clean(value, most)


def _list(value: object, most: int, length: int | None = None) -> list:
    if type(value) is not list or len(value) > most or length is not None and len(value) != length:
        raise Wrong("a list of another length")
    return value


def _table(value: object, most: int) -> dict:
    if type(value) is not dict or len(value) > most:
        raise Wrong("a table of another form")
    return value


def unpack(said: object) -> Report:
    """Checks and unpacks a report. Raises Wrong."""
    said = _table(said, 16)
    if not {"place", "host", "time", "last", "machine", "remarks", "ranks"} <= said.keys():
        raise Wrong("parts are missing")
    return Report(_text(said["place"]), _text(said["host"]), _real(said["time"]), [_unpack(one) for one in _list(said["ranks"], _RANKS_MOST)],
                  {_text(name): _real(value) for name, value in _table(said["machine"], _MACHINE_MOST).items()},
                  [_text(one, 300) for one in _list(said["remarks"], 64)], said["last"] is True, _unpack_stacks(said["stacks"]) if "stacks" in said else None)


def _unpack(one: object) -> Reading:
    parts = _list(one, _PARTS[-1])
    if len(parts) not in _PARTS:
        raise Wrong("a list of another length")
    job, rank, size, pid, host, program, began, cpus, gpu, brief, ended, function, waits_for, details, marks, *later = parts
    who = Rank(_text(job), _whole(rank, 1 << 31), _whole(size, 1 << 31), _whole(pid, 1 << 31), _text(host), _text(program), _real(began),
               _text(cpus), _text(gpu), _origin(later[0]) if later else Origin())
    figures = Brief(*map(_whole, _list(brief, len(Brief._fields), len(Brief._fields))))
    return Reading(who, figures, ended is True, None if details is None else _details(details), _text(function),
                   None if waits_for is None else _whole(waits_for, 1 << 31),
                   tuple(Mark(_whole(number), _real(time), _whole(level, 1 << 31, -(1 << 31)))
                         for number, time, level in (_list(mark, 3, 3) for mark in _list(marks, _MARKS_MOST))),
                   len(later) > 1 and later[2] is True,
                   tuple(model.Report(_whole(number, 1 << 31), _real(time), _whole(times), _text(text, REPORT_MOST))
                         for number, time, times, text in (_list(report, 4, 4) for report in (_list(later[1], _REPORTS_MOST) if len(later) > 1 else ()))))


def _origin(said: object) -> Origin:
    return Origin(*(_text(text, COMMAND_MOST) for text in _list(said, len(Origin._fields), len(Origin._fields))))


def _details(said: object) -> Details:
    found: Details = {}
    for kind, counts in _table(said, _KINDS_MOST).items():
        if kind not in KINDS:  # the collector is of a newer version
            continue
        found[kind] = {_key(kind, key): Count(*map(_whole, _list(count, 3, 3))) for key, count in _table(counts, _NAMES_MOST).items()}
    return found


def _key(kind: str, key: str) -> str:
    if kind in PEERS and not (key.isascii() and key.isdecimal() and len(key) < 10):
        raise Wrong("a peer that is not a rank")
    return _text(key)
