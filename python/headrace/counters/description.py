"""Parses and checks a page's description of itself: format, offsets, and how much memory it may cost a reader."""

from __future__ import annotations

import functools
import json
import re

TEXT_MOST = 1 << 18  # bytes; the library reserves 48 KiB
_COUNTERS_MOST = 4096
_NAME_MOST = 256  # characters
_NUMBER_MOST = 1 << 31
_RANGES_MOST = 256
_KINDS = ("sum", "level", "high_water")
_BEGIN, _COMMA = re.compile(r'\s*{\s*"about"\s*:\s*'), re.compile(r"\s*,")


def _whole(value: object, name: str, most: int = _NUMBER_MOST) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{name} is not a number from 0 to {most}")
    return value


def printable(text: str) -> str:
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _name(value: object, name: str) -> str:
    if type(value) is not str or not 0 < len(value) <= _NAME_MOST or not value.isprintable():
        raise ValueError(f"{name} is not a name")
    return value


def _about(about: dict) -> None:
    """Checks that every value has the type that readers expect, even if a page lacks some."""
    for name, value in about.items():
        if type(value) is str:
            about[name] = printable(value)
    _name(about["job"], "job")
    _whole(about["rank"], "rank")
    _whole(about["size"], "size")
    for name in ("host", "program", "library", "cores", "gpus"):
        if type(about.setdefault(name, "")) is not str:
            raise ValueError(f"{name} is not text")
    for name in ("pid", "host_number", "user"):
        _whole(about.setdefault(name, 0), name, 1 << 32)
    _whole(about.setdefault("pid_started", 0), "pid_started", 1 << 63)


def _dimension(name: str, dimension: dict, words: int) -> None:
    length = _whole(dimension["length"], f"the length of {name}", words)
    labels, others = dimension.get("labels", []), dimension.get("others", {})
    if type(labels) is not list or len(labels) > length or any(type(label) is not str for label in labels):
        raise ValueError(f"the labels of {name} are none")
    if type(others) is not dict or len(others) > length or not all(
            place.isascii() and place.isdecimal() and len(place) < 10 and int(place) < length and type(label) is str for place, label in others.items()):
        raise ValueError(f"the labels of {name} are none")
    labels[:] = map(printable, labels)
    if name == "operation_size":
        operations, sizes = dimension["operations"], _whole(dimension["sizes"], "sizes", 64)
        if type(operations) is not list or any(type(each) is not str for each in operations) or sizes < 1 or labels:
            raise ValueError("the operations are none")
        operations[:] = map(printable, operations)


def _counter(counter: dict, dimensions: dict, limit: int) -> int:
    """Returns the number of values of the counter."""
    name = _name(counter["name"], "the name of a counter")
    if counter.setdefault("kind", "sum") not in _KINDS:
        raise ValueError(f"{name} is of no kind")
    at, stride = (_whole(value, f"a place of {name}", 1 << 63) for value in (counter["at"], counter.get("stride", 8)))
    length = dimensions[counter["dimension"]]["length"] if "dimension" in counter else 1
    if length < 1 or at % 8 or stride % 8 or stride < 8 or at + stride * (length - 1) + 8 > limit:
        raise ValueError(f"{name} lies outside")
    return length


def _rest(counter: dict, counters: dict[str, dict], dimensions: dict) -> None:
    rest = counter.get("rest")
    if rest is None:
        return
    length = dimensions[counter["dimension"]]["length"] if "dimension" in counter else 1
    if _whole(rest["place"], f"the rest of {counter['name']}") >= length or "rest" in counters[rest["of"]]:
        raise ValueError(f"the rest of {counter['name']} is none")


def _range(range_: list, stride: int, limit: int) -> int:
    """Returns the number of counters in a range of parts."""
    in_part, in_page, count, part_stride, page_stride = (_whole(value, "a range of parts", 1 << 40) for value in range_)
    if not count or any(value % 8 for value in (in_part, in_page, part_stride, page_stride)) or min(part_stride, page_stride) < 8:
        raise ValueError("a range of parts is none")
    if in_part + part_stride * (count - 1) + 8 > stride or in_page + page_stride * (count - 1) + 8 > limit:
        raise ValueError("a range of parts lies outside")
    return count


def _parts(parts: dict, limit: int) -> None:
    at, stride = _whole(parts["at"], "the place of parts"), _whole(parts["stride"], "the length of a part")
    if at < limit or at % 8 or stride % 8 or stride < 8:
        raise ValueError("its parts lie outside")
    ranges = parts["sum"] + parts["most"] + [parts["now"]]
    if len(ranges) > _RANGES_MOST or sum(_range(each, stride, limit) for each in ranges) > 2 * (stride // 8) or parts["now"][2:] != [3, 8, 8]:
        raise ValueError("its parts cannot be added up")


@functools.lru_cache(maxsize=8)
def _layout(text: str, limit: int) -> dict:
    """Parses and checks what follows "about" in a description. Processes of one program have it in common, so the last ones are kept."""
    said = json.loads(text)
    dimensions, entries = said["dimensions"], said["counters"]
    for name, dimension in dimensions.items():
        _dimension(_name(name, "a dimension"), dimension, limit // 8)
    if type(entries) is not list or len(entries) > _COUNTERS_MOST:
        raise ValueError(f"no list of at most {_COUNTERS_MOST} counters")
    places = sum(_counter(entry, dimensions, limit) for entry in entries)
    if places > 2 * (limit // 8):
        raise ValueError("its counters have more places than the page")
    counters = {entry["name"]: entry for entry in entries}
    if len(counters) != len(entries):
        raise ValueError("a counter is there twice")
    for entry in entries:
        _rest(entry, counters, dimensions)
    for name, dimension in (("peer.process", "peer"), ("collective.sizes", "operation_size")):
        if name in counters and (counters[name].get("dimension") != dimension or "rest" in counters[name]):
            raise ValueError(f"{name} is not a table of {dimension}")
    if "parts" in said:
        _parts(said["parts"], limit)
    if "peer.process" not in counters and any(entry.get("dimension") == "peer" for entry in entries):
        raise ValueError("peers have no names")
    return said


def read(text: bytes, limit: int) -> dict:
    """`limit`: number of bytes of the page that contain counters. Descriptions share their parts, which must not be changed. Raises
    ValueError, KeyError, TypeError, AttributeError, RecursionError."""
    if len(text) > TEXT_MOST:
        raise ValueError(f"a text of {len(text)} bytes; {TEXT_MOST} are the most")
    said = text.decode()
    begin = _BEGIN.match(said)
    if begin is None:
        raise ValueError('a text that does not begin with "about"')
    about, end = json.JSONDecoder().raw_decode(said, begin.end())
    _about(about)
    comma = _COMMA.match(said, end)
    if comma is None:
        raise ValueError('a text that ends after "about"')
    return {**_layout("{" + said[comma.end():], limit), "about": about}
