"""The bare limits between two hosts: ucx_perftest of the UCX installation that Headrace uses, in the rounds of the
benchmark."""

from __future__ import annotations

import itertools
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

from headrace.bench.child import Failed, run
from headrace.bench.suite import Benchmark

TIMEOUT = 60           # seconds
START_SECONDS = 10     # time limit for the server to start listening
# The tests of ucx_perftest for each benchmark, of which the better one counts, and the column of the figure in the last line.
TESTS = {"latency": (("tag_lat", "ucp_am_lat"), 1), "bandwidth": (("tag_bw", "ucp_am_bw"), 5)}
SECONDS_A_RUN = 0.05   # about
BYTES_A_SECOND, MESSAGES_A_SECOND = 2e9, 50e3
# The settings that Headrace passes to UCX: processes on two hosts share no memory.
SETTINGS = {"UCX_TLS": "^shm,cuda_ipc,rocm_ipc", "UCX_LOG_LEVEL": "error", "UCX_WARN_UNUSED_ENV_VARS": "n"}


class Perftest:
    """Runs between this host, which is the first one, and the second, over ssh. Figures: microseconds, megabytes per second."""

    def __init__(self, program: Path, hosts: tuple[str, ...], sizes: str | None,
                 wrap: tuple[str, ...] = ()):
        self._program, self._hosts, self._sizes, self._wrap = program, hosts, sizes, wrap
        self._figures: dict[tuple[str, int, str], list[float]] = {}  # indexed by benchmark, bytes and test
        self._failed = False

    def knows(self, benchmark: Benchmark) -> bool:
        return benchmark.name in TESTS

    def measure(self, benchmark: Benchmark) -> None:
        """Performs one more measurement. A limit that cannot be measured is reported once and omitted."""
        if self._failed or not self.knows(benchmark):
            return
        tests, column = TESTS[benchmark.name]
        sizes = [_bytes(size) for size in (self._sizes or benchmark.sizes or "8").split(",")]
        for bytes_, test in itertools.product(sizes, tests):
            try:
                figure = self._one(test, bytes_, column)
            except Failed as failed:
                self._failed = True
                print(f"headrace bench: no bare limits: {failed}", file=sys.stderr)
                return
            self._figures.setdefault((benchmark.name, bytes_, test), []).append(figure)

    def _one(self, test: str, bytes_: int, column: int) -> float:
        port = str(random.randrange(20000, 30000))
        library = self._program.parent.parent / "lib"
        env = {**SETTINGS, "LD_LIBRARY_PATH": f"{library}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        count = max(int(SECONDS_A_RUN * min(MESSAGES_A_SECOND, BYTES_A_SECOND / max(bytes_, 1))), 20)
        # The server has a time limit because it would otherwise wait for a client forever.
        waiting = subprocess.Popen(["timeout", str(TIMEOUT), *self._wrap, self._program, "-p", port], env={**os.environ, **env},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        try:
            _until_it_listens(int(port), waiting)
            words = [*(f"{name}={value}" for name, value in env.items()), *self._wrap, str(self._program), "-p", port, self._hosts[0],
                     "-t", test, "-s", str(bytes_), "-n", str(count), "-w", str(count // 5 + 1), "-f"]
            said = run(["ssh", "-o", "BatchMode=yes", self._hosts[1], "timeout", str(TIMEOUT), "env", *words], TIMEOUT)
        finally:
            try:
                waiting.wait(timeout=5)
            except subprocess.TimeoutExpired:
                waiting.kill()
                waiting.wait()
        try:
            return float(said.strip().splitlines()[-1].split()[column])
        except (IndexError, ValueError):
            raise Failed(f"ucx_perftest says {said[-200:]!r}") from None

    def distances(self) -> list[float]:
        return []

    def of(self, benchmark: str, bytes_: int) -> float | None:
        """Returns the better of the benchmark's tests, each as the median of its runs; None if nothing was measured."""
        medians = [statistics.median(figures) for (name, size, _), figures in self._figures.items()
                   if (name, size) == (benchmark, bytes_)]
        return (min if benchmark == "latency" else max)(medians, default=None)


def _bytes(text: str) -> int:
    return int(text.rstrip("KMGkmg")) << {"K": 10, "M": 20, "G": 30}.get(text[-1].upper(), 0)


def _until_it_listens(port: int, child: subprocess.Popen) -> None:
    wanted = f":{port:04X}"
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and child.poll() is None:
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            try:
                lines = Path(table).read_text().splitlines()
            except OSError:
                continue
            if any(line.split()[1].endswith(wanted) and line.split()[3] == "0A" for line in lines[1:]):
                return
        time.sleep(0.02)
    raise Failed("ucx_perftest does not listen")
