"""Cost of headrace monitor: python bench/monitor.py [--ranks 256] [--page FILE.hrc]

- The size of a day's history: spans are written at the resolution that thinning would have left after a day, so the file has the
  size of a day's history although no day has passed.
- The collector's share of a core: one round per second over pages of counters. --page is a file of mpiexec --save-counters, whose
  first page is used for every rank; without it, the rounds use a synthetic source, which reads no pages.
- --hosts N: the monitor's share of a core while N collectors report a synthetic job to it, each --ranks / N ranks per second.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from headrace import counters  # noqa: E402
from headrace.counters.page import HEAD, Page  # noqa: E402
from headrace.counters.saved import load  # noqa: E402
from headrace.monitor.collector import Collector  # noqa: E402
from headrace.monitor.history import History  # noqa: E402
from headrace.monitor.host import Host  # noqa: E402
from headrace.monitor.hosts import report  # noqa: E402
from headrace.monitor.hosts.gather import Gather  # noqa: E402
from headrace.monitor.listen import listen  # noqa: E402
from headrace.monitor.model import Sweep  # noqa: E402
from headrace.monitor.pages import Pages  # noqa: E402
from headrace.monitor.schema import CHANGES, SAMPLES  # noqa: E402
from headrace.monitor.synthetic import Job, Synthetic  # noqa: E402
from headrace.monitor.thin import Limits  # noqa: E402

_DAY = 86400
_DETAILS = 10  # seconds between two readings of all counters, before thinning


def _resolution(age: float, levels: tuple[tuple[float, float], ...], finest: float) -> tuple[int, float]:
    """Returns the (level, seconds of a span) of history that is `age` old."""
    level, seconds = 0, finest
    for number, (limit, next_seconds) in enumerate(levels):
        if age > limit:
            level, seconds = number + 1, next_seconds
    return level, seconds


def day(folder: Path, ranks: int) -> tuple[float, int, int]:
    """Returns the megabytes of a day's history, and its spans of both kinds."""
    job, limits = Job(ranks=ranks), Limits()
    source, history = Synthetic(job), History(folder / "day.sqlite", most_bytes=1 << 40)
    now, details = 0.0, 0.0
    while now < _DAY:
        age = _DAY - now
        now += _resolution(age, limits.samples, 1)[1]
        source.time = job.began + now
        asked = now >= details
        if asked:
            details = now + _resolution(age, limits.changes, _DETAILS)[1]
        figures = {"cpu.busy": 0.5, **{f"net.eth{number}.{way}": now for number in range(2) for way in ("rx", "tx")},
                   **{f"gpu.{gpu}.{what}": now for gpu in range(8) for what in ("busy", "memory", "nvlink_tx", "nvlink_rx")}}
        history.write(source.sweep(asked), {"host": figures})
    count = {what: history.db.execute("SELECT count(*) FROM spans WHERE what = ?", (what,)).fetchone()[0] for what in (SAMPLES, CHANGES)}
    used = history.used()
    history.close()
    return used / 1e6, count[SAMPLES], count[CHANGES]


def clones(file: Path, ranks: int, folder: Path) -> None:
    """Makes the files of a job in which every rank has the first page of `file`."""
    raw = load(file)[0].raw()
    text_at, length = HEAD.unpack_from(raw)[4:6]
    described = json.loads(raw[text_at:text_at + length])
    started = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    for rank in range(ranks):
        described["about"] = {**described["about"], "job": "headrace_bench", "rank": rank, "size": ranks, "pid": os.getpid(), "pid_started": int(started)}
        text = json.dumps(described).encode()
        head = list(HEAD.unpack_from(raw))
        head[2], head[5] = 1, len(text)
        behind = described["durations"]["functions"]  # the details keep their places
        (folder / f"headrace.headrace_bench.counters.{rank}").write_bytes((HEAD.pack(*head) + raw[HEAD.size:text_at] + text).ljust(behind, b"\0") + raw[behind:])


def _advance(folder: Path, pages: list[Page]) -> None:
    """Advances the counters as in ranks that communicate: each word that is not 0 grows."""
    for page in pages:
        with open(folder / f"headrace.headrace_bench.counters.{page.rank}", "r+b", buffering=0) as file:
            raw = page.raw()
            for name in ("function.calls", "function.time", "peer.messages", "peer.bytes", "received.messages", "received.bytes", "wait.time"):
                place = page.places(name)
                for at in range(place.start, place.stop, place.step):
                    value = int.from_bytes(raw[8 * at:8 * at + 8], "little")
                    if value:
                        file.seek(8 * at)
                        file.write((value + 100).to_bytes(8, "little"))


def collector(folder: Path, ranks: int, page: Path | None, rounds: int) -> tuple[float, float]:
    """Returns the (share of a core, size of all pages in MB) of a collector that reads them every second."""
    history = History(folder / "live.sqlite")
    if page:
        clones(page, ranks, folder)
        os.environ["HEADRACE_SHM_DIR"] = str(folder)
        source, pages = Pages(), counters.look(job="headrace_bench").pages
    else:
        source, pages = Synthetic(Job(ranks=ranks)), []
    subject, used = Collector(source, history, Host()), 0.0
    subject.round()
    for _ in range(rounds):
        _advance(folder, pages)
        begin, wall = time.thread_time(), time.monotonic()
        if not page:
            source.time += 1
        subject.round()
        used += time.thread_time() - begin
        time.sleep(max(0.0, 1 - (time.monotonic() - wall)))
    history.close()
    return used / rounds, sum(len(each.raw()) for each in pages) / 1e6


class _Part:
    """One host's ranks of a synthetic job, in real time."""

    def __init__(self, ranks: int, job_ranks: int, host: int):
        self.made, self.first, self.count, self.host = Synthetic(Job(ranks=job_ranks, began=time.time())), host * ranks, ranks, f"host{host}"

    def sweep(self, details: bool) -> Sweep:
        self.made.time = time.time()
        found = self.made.sweep(details)
        found.readings = [dataclasses.replace(reading, rank=dataclasses.replace(reading.rank, host=self.host))
                          for reading in found.readings[self.first:self.first + self.count]]
        return found

    def close(self) -> None:
        pass


def _report(port: int, ranks: int, job_ranks: int, host: int) -> None:
    report.place = lambda: f"host{host}"
    report.Reporter(Collector(_Part(ranks, job_ranks, host), None), ("127.0.0.1", port), b"benchmark" * 4, lambda _: None).run()


class _Nothing:
    def sweep(self, details: bool) -> Sweep:
        return Sweep(time.time())

    def close(self) -> None:
        pass


def several_hosts(folder: Path, hosts: int, ranks: int, seconds: int) -> tuple[float, int]:
    """Returns the (share of a core, ranks seen) of a monitor to which that many collectors report."""
    listener = listen("127.0.0.1", 0)
    children = [multiprocessing.Process(target=_report, args=(listener.getsockname()[1], ranks // hosts, ranks, host), daemon=True) for host in range(hosts)]
    for child in children:
        child.start()
    history = History(folder / "hosts.sqlite")
    gather = Gather(_Nothing(), listener, b"benchmark" * 4, lambda _: None)
    gather.collector = Collector(gather, history, Host())
    gather.start()
    gather.collector.start()
    limit = time.monotonic() + 60
    while len(gather.collector.state.sweep.readings) < ranks // hosts * hosts:
        if time.monotonic() > limit:
            raise SystemExit("not all hosts have reported within 60 s")
        time.sleep(0.05)
    begin, wall = time.process_time(), time.monotonic()
    time.sleep(seconds)
    share, seen = (time.process_time() - begin) / (time.monotonic() - wall), len(gather.collector.state.sweep.readings)
    gather.collector.stop()
    for child in children:
        child.terminate()
        child.join()
    gather.close()
    history.close()
    return share, seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--rounds", type=int, default=60, help="seconds of collecting (%(default)s)")
    parser.add_argument("--hosts", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hr-bench-monitor-") as name:
        folder = Path(name)
        if args.hosts:
            share, seen = several_hosts(folder, args.hosts, args.ranks, args.rounds)
            print(f"monitor, {args.hosts} hosts with {args.ranks // args.hosts} ranks each: {share:.1%} of a core ({seen} ranks in its last look)")
            return
        size, samples, changes = day(folder, args.ranks)
        print(f"history of a day, {args.ranks} ranks: {size:.1f} MB ({samples} spans of samples, {changes} of counters)", flush=True)
        share, pages = collector(folder, args.ranks, args.page, args.rounds)
        print(f"collector, {args.ranks} ranks, 1 s: {share:.1%} of a core" + (f" (pages: {pages:.0f} MB)" if pages else " (made-up source)"))


if __name__ == "__main__":
    main()
