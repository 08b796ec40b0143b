"""Measures what a monitor costs the jobs that it watches: python bench/monitor_overhead.py --build build/dev [--rounds
20]

Measures the message rate of 8 B, the latency of 8 B and halo3d's time, alternately with `headrace monitor` attached
(its collector and its history, one sample per second) and without it, in changing order. Each figure is the median over
the rounds, and the ratio is the median of the rounds' ratios. If the monitor has no core besides those of the ranks,
the figure includes the time that it takes from them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

# Modes: without a monitor, and with one that watches the job.
MODES = ("without", "attached")


def _run(words: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, env=environment, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr.strip()[-1000:]}")
    return done.stdout


class Monitor:
    """`headrace monitor`, started as a user starts it, for as long as one run takes."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __enter__(self) -> Monitor:
        self.process = subprocess.Popen([sys.executable, "-m", "headrace", "monitor", "--port", "0", "--history", str(self.folder / "history.sqlite")],
                                        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        if "http" not in self.process.stdout.readline():
            raise SystemExit("headrace monitor does not start; pip install 'headrace[monitor]'")
        return self

    def seconds(self) -> float:
        """Returns the CPU seconds that the monitor has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()


def programs(build: Path, seconds: float) -> dict[str, tuple[list[str], Callable[[str], float], str, bool]]:
    """Returns for each name: command, figure, unit, True if more is better."""
    mpiexec, repetitions = [build / "bin/mpiexec", "-n", "2"], str(max(5, round(seconds * 100)))
    median = lambda text: json.loads(text)["rows"][0]["median"]  # noqa: E731
    small = ["--sizes", "8", "--reps", repetitions, "--seconds", str(max(1, round(2 * seconds))), "--json", "-"]
    halo = ["--local", "48", "--device", "host", "--pattern", "step1", "--steps", str(round(seconds * 9000)), "--no-identity-check"]
    return {"message rate, 8 B": ([*mpiexec, build / "bin/message_rate", *small], median, "million/s", True),
            "latency, 8 B": ([*mpiexec, build / "bin/latency", *small], median, "us", False),
            "halo3d": ([*mpiexec, build / "bin/halo3d", *halo], lambda text: float(re.search(r"pattern .*: ([\d.]+) s", text)[1]), "s", False)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=4, help="that each run takes, about (%(default)s)")
    parser.add_argument("--only", default="", help="a part of a benchmark's name")
    parser.add_argument("--json", type=Path, help="write all figures there")
    args = parser.parse_args()
    environment = {**os.environ, "HEADRACE_OVERSUBSCRIBE": "quiet"}
    kept: dict[str, dict[str, list[float]]] = {}
    print(f"{'benchmark':<20} {'without':>10} {'attached':>10} {'unit':<10} {'attached/without':>16} {'quartiles':>16} {'monitor':>8}")
    for name, (command, figure, unit, _) in programs(args.build, args.seconds).items():
        if args.only not in name:
            continue
        found, used = {mode: [] for mode in MODES}, []
        for each in range(args.rounds):
            for mode in MODES if each % 2 == 0 else reversed(MODES):
                if mode == "without":
                    found[mode].append(figure(_run(command, environment)))
                    continue
                with tempfile.TemporaryDirectory(prefix="hr-bench-monitor-") as folder, Monitor(Path(folder)) as monitor:
                    before, wall = monitor.seconds(), os.times().elapsed
                    found[mode].append(figure(_run(command, environment)))
                    used.append((monitor.seconds() - before) / (os.times().elapsed - wall))
        ratios = sorted(with_it / without for with_it, without in zip(found["attached"], found["without"]))
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        print(f"{name:<20} {statistics.median(found['without']):>10.4g} {statistics.median(found['attached']):>10.4g} {unit:<10} "
              f"{middle:>16.4f} {f'{low:.4f}-{high:.4f}':>16} {statistics.mean(used):>7.1%}", flush=True)
        kept[name] = found
    if args.json:
        args.json.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
