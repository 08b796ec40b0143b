#!/usr/bin/env python3
"""Pages of counters, saved runs and files of a topology, mutated: readers get a sentence or figures, soon and within some memory.

  fuzz_files.py [--seconds 4] [--seed N] [--only pages|files|runs|topology]

The seed is printed; the same seed makes the same inputs. A failing input is kept next to this process's directory, as found-... """

import argparse
import copy
import faulthandler
import json
import os
import random
import resource
import sqlite3
import struct
import sys
import tempfile
import time
from pathlib import Path

import support  # noqa: F401  (the source tree's modules)
import test_topology
from headrace import counters
from headrace.bench.child import Failed
from headrace.counters import page as form
from headrace.doctor import job as doctor_job
from headrace.doctor.check import run_all
from headrace.doctor.job import facts as job_facts
from headrace.monitor import pages as monitor_pages
from headrace.monitor import topology
from headrace.monitor.answers import ANSWERS, LISTS, Place, answer
from headrace.monitor.history import Unreadable, check
from headrace.monitor.query import Wrong
from headrace.monitor.recorded import record
from headrace.monitor.synthetic import Job
from headrace.tune import explain
from test_pages import Maker

MEMORY = 384 << 20  # bytes more than at the start
SLOW = 5.0  # seconds of the processor for one input
ODD = (None, True, -1, 0, 1, 7, 8, 255, 1 << 31, 1 << 32, 1 << 53, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 80, 0.5, 1e300, -1e300, "", "x", "\x1b[2J\n", "\ud800", "9" * 300,
       "0-99999999", "a" * 5000, [], {}, [[]], ["x"] * 40, {"place": 0, "of": "wait.time"}, {"length": 3}, list(range(100)))
TAIL_AT = 1 << 14  # place of the durations and reports of a page
TAIL = struct.pack("=2Q6Q2QQQ16sQQ16s", 1, 2, 5, 0, 3, 1, 1, 1 << 40, 3, 2, 10 ** 9, 1, b"leak", 2 * 10 ** 9, 2, b"type: \xff")
WORDS = (0, 1, 8, 0xFF, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 58) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


class Rich(Maker):
    """A maker with all kinds of counters that any reader uses."""

    SCALARS = (*Maker.SCALARS, "phase.marks", "library.device_ipc_hits")

    def description(self):
        found, dimensions, at = super().description()
        dimensions.update(mark={"length": 4}, operation_size={"length": 12, "sizes": 4, "operations": ["bcast", "reduce"]})
        for name, dimension in (("phase.time", "mark"), ("phase.level", "mark"), ("collective.sizes", "operation_size")):
            found.append({"name": name, "unit": "", "kind": "sum", "sentence": "", "at": at, "dimension": dimension, "stride": 8})
            at += 8 * dimensions[dimension]["length"]
        found.append({**found[-1], "name": "collective.rest", "rest": {"place": 0, "of": "wait.time"}})
        return found, dimensions, at


def seed_page(number):
    maker = Rich(rank=number % 4, size=4, pid=os.getpid(), pid_started=1)
    maker.values = {"function.calls": [0, 5, 7, number], "function.time": [0, 50, 70, 1], "wait.time": 60, "peer.process": [3, 2, 0], "peer.messages": [4, 1, 9],
                    "peer.bytes": [400, 100, 900], "peer.wait": [60, 0, 0], "received.messages": [6, 1], "posted.now": 2, "unexpected.most": 8, "now.function": 2,
                    "now.waiting_for": 3, "now.waiting_since": 1, "phase.marks": 6, "phase.time": [5, 6, 3, 4], "phase.level": [1, 2, 3, (1 << 64) - 1],
                    "library.device_ipc_hits": 9, "collective.sizes": [3, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0]}
    head, words, said = split(bytes(maker.bytes()))
    said["durations"] = {"functions": TAIL_AT, "at": TAIL_AT + 16, "rows": 2, "classes": 3, "shortest": 64}
    said["reports"] = {"all": TAIL_AT + 64, "kept": TAIL_AT + 72, "at": TAIL_AT + 80, "length": 2, "stride": 32}
    return join(head, words, said)


def split(data):
    """(head, words, description)"""
    head = form.HEAD.unpack_from(data)
    return list(head), data[form.HEAD.size:head[4]], json.loads(data[head[4]:head[4] + head[5]])


def join(head, words, said):
    text = said if isinstance(said, bytes) else json.dumps(said).encode()
    head[4], head[5] = form.HEAD.size + len(words), len(text)
    body = words + text
    if form.HEAD.size + len(body) <= TAIL_AT:
        body = body.ljust(TAIL_AT - form.HEAD.size, b"\0") + TAIL
    head[3] = form.HEAD.size + len(body)
    return form.HEAD.pack(*head) + body


def nodes(value, found):
    """All places in a value of JSON: (container, key)."""
    for key in (value if isinstance(value, dict) else range(len(value))):
        found.append((value, key))
        if isinstance(value[key], (dict, list)):
            nodes(value[key], found)
    return found


def change_json(chance, said):
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        places = nodes(said, [])
        if not places:
            break
        container, key = chance.choice(places)
        what = chance.randrange(5)
        if what == 0 and isinstance(container, dict):
            del container[key]
        elif what == 1 and isinstance(container, dict):
            container[chance.choice(("rest", "dimension", "others", "labels", "stride", "length", "at", "x"))] = copy.deepcopy(chance.choice(ODD))
        elif what == 2:
            other, name = chance.choice(places)
            container[key] = json.loads(json.dumps(other[name], skipkeys=True)) if len(json.dumps(other[name])) < 20_000 else None
        else:
            container[key] = copy.deepcopy(chance.choice(ODD))
    return said


def change_bytes(chance, data):
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 32))):
        what, at = chance.randrange(7), chance.randrange(len(data) + 1)
        if what == 0 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif what == 1 and at < len(data):
            data[at] = chance.choice((0, 255, 0x7F, 0x80, 0x5B, 0x7B))
        elif what == 2:
            del data[at:at + chance.choice((1, 8, 100, 4096))]
        elif what == 3:
            data[at:at] = chance.choice((b"\0" * 8, b"[" * 3000, b'{"a":' * 3000, b"9" * 5000, b"\xff" * 9, chance.randbytes(16)))
        elif what == 4 and len(data) >= 8:
            struct.pack_into("=Q", data, min(at, len(data) - 8), chance.choice(WORDS))
        elif what == 5:
            del data[at:]
        else:
            start = chance.randrange(len(data) + 1)
            data[at:at] = data[start:start + chance.choice((8, 64, 4096))]
        if not data:
            break
    return bytes(data)


def change_page(chance, data):
    what = chance.randrange(4)
    if what == 0:
        return change_bytes(chance, data)
    head, words, said = split(data)
    if what == 1:
        return join(head, words, change_json(chance, said))
    if what == 2:
        return join(head, words, change_bytes(chance, json.dumps(said).encode()))
    filled = bytearray(words)
    for _ in range(chance.choice((1, 3, 50))):
        struct.pack_into("=Q", filled, 8 * chance.randrange(len(filled) // 8), chance.choice(WORDS))
    return join(head, bytes(filled), said)


def read_pages(pages):
    """Runs every reader of pages. They may raise only the expected errors."""
    sweep = monitor_pages.Pages(pages).sweep(True)
    assert len(sweep.readings) + len(sweep.remarks) == len(pages), "a page is neither read nor remarked on"
    for remark in sweep.remarks:
        assert remark.isprintable() and "cannot be read (Problem" in remark or "cannot be read (ValueError: it has counted" in remark, remark
    for found in sweep.readings:
        json.dumps(found.brief), max(found.brief)
        assert found.rank.job.isprintable() and max(found.brief) <= 1 << 58
        assert all(report.text.isprintable() and report.times <= 1 << 58 for report in found.reports)
    jobs = job_facts.JobFacts(job_facts._jobs(pages, False, []))
    run_all(doctor_job.CHECKS, jobs)
    for page in pages:
        page.alive()
    try:
        list(explain.queries(explain.Saved("run", pages), 4))
    except Failed:
        pass


def fuzz_page(chance, _):
    data = change_page(chance, seed_page(chance.randrange(4)))
    try:
        page = counters.Page(data, "this page")
    except counters.Problem as problem:
        assert str(problem).isprintable() and len(str(problem)) < 400, problem
        return data, False, None
    return data, True, lambda: read_pages([page])


def fuzz_saved(chance, folder):
    raw = [change_page(chance, seed_page(rank)) if chance.random() < 0.2 else seed_page(rank) for rank in range(3)]
    data = b"HRSAVED1" + b"".join(len(each).to_bytes(8, "little") + each for each in raw)
    if chance.random() < 0.6:
        data = change_bytes(chance, data)
    file = folder / "run.hrc"
    file.write_bytes(data)
    try:
        pages = counters.load(file)
    except counters.Problem as problem:
        assert str(problem).isprintable(), problem
        return data, False, None
    return data, True, lambda: pages and read_pages(pages)


def change_run(chance, data):
    """Changes bytes of a database: mostly of its cells and of its tree, seldom its length."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 2, 8, 64))):
        at = chance.randrange(len(data))
        if chance.random() < 0.5:  # the heads of pages and their lists of cells
            at = min(len(data) - 1, at // 4096 * 4096 + chance.randrange(64))
        data[at] = chance.choice((0, 1, 255, data[at] ^ 1 << chance.randrange(8), chance.randrange(256)))
    if chance.random() < 0.1:
        first, second = (chance.randrange(len(data) // 4096) * 4096 for _ in range(2))
        data[first:first + 4096] = data[second:second + 4096]
    if chance.random() < 0.05:
        del data[chance.randrange(len(data)):]
    return bytes(data)


ANSWERED = (Wrong, Unreadable, sqlite3.Error)
GUARDED = (*ANSWERED, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # the server has a sentence for these


def questions(path, expected):
    """All requests that the page may send, rendered like the server does."""
    for name in ANSWERS:
        for kind in (LISTS if name == "counters" else ("",)):
            for span in ({}, {"from": "1760000001", "to": "1760000003"}):
                try:
                    json.dumps(answer(Place(path), name, {"kind": kind, **span}), ensure_ascii=False, allow_nan=False).encode()
                except expected:
                    pass


def fuzz_run(chance, folder):
    data = change_run(chance, folder.run)
    file = folder / "run.hrrun"
    file.write_bytes(data)
    try:
        check(file, 20)
    except Unreadable:
        if chance.random() < 0.3:
            return data, False, lambda: questions(file, GUARDED)
        return data, False, None
    return data, True, lambda: questions(file, ANSWERED)


def fuzz_topology(chance, folder):
    """Parts of both formats, joined at random, and changed."""
    lines = (test_topology.SLURM + test_topology.FABRIC).splitlines(keepends=True)
    text = "".join(chance.choice(lines) for _ in range(chance.randrange(1, 40)))
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice(("[", "]", "-", ",", "=", '"', "9" * 12, "Nodes=n[0-9]", "[0-9999]", "\\\n", "\0")) * chance.choice((1, 1, 1, 50)) + text[at + chance.randrange(3):]
    file = folder / "topology"
    file.write_text(text)
    try:
        found = topology.read(file)
    except topology.Wrong as wrong:
        assert len(str(wrong)) < 400, wrong
        return text.encode(), False, None
    return text.encode(), True, lambda: json.dumps(found).encode()


class Folder(type(Path())):
    run = b""


def make_run(folder):
    made = folder / "seed.sqlite"
    record(made, Job(ranks=2, seconds=4), 4)
    db = sqlite3.connect(made)
    db.execute("PRAGMA journal_mode = DELETE")
    db.close()
    return made.read_bytes()


def bounded_memory():
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def kept(name, seed, count, data):
    path = Path(f"found-{name}-{seed}-{count}")
    path.write_bytes(data)
    return path.resolve()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--only", choices=("pages", "files", "runs", "topology"))
    args = parser.parse_args()
    faulthandler.enable()
    print(f"seed {args.seed}", flush=True)
    kinds = {"pages": fuzz_page, "files": fuzz_saved, "runs": fuzz_run, "topology": fuzz_topology}
    chosen = [args.only] if args.only else list(kinds)
    with tempfile.TemporaryDirectory(prefix="hr-fuzz-") as name:
        folder = Folder(name)
        folder.run = make_run(folder)
        bounded_memory()
        for kind in chosen:
            chance, end, count, taken = random.Random(f"{args.seed} {kind}"), time.monotonic() + args.seconds / len(chosen), 0, 0
            while time.monotonic() < end:
                data, begin = b"", time.process_time()
                try:
                    data, good, more = kinds[kind](chance, folder)
                    if more:
                        more()
                    took = time.process_time() - begin
                    assert took < SLOW, f"it took {took:.1f} s"
                except BaseException:
                    print(f"{kind}: input {count} of seed {args.seed}, kept as {kept(kind, args.seed, count, data)}", file=sys.stderr)
                    raise
                count, taken = count + 1, taken + good
            print(f"{kind}: {count} inputs, {taken} of which could be read", flush=True)
            assert count > 0


if __name__ == "__main__":
    main()
