"""Cost to jobs of a monitor that watches them: python bench/monitor_overhead.py --build build/pip --ranks 16 --rounds 20

Measures the message rate of 8 B, the latency of 8 B and halo3d's time with `headrace monitor` attached (its collector and its history,
one reading per second), without it, and without it once more, in changing order. The loss is the median over the rounds of how much
worse a run with the monitor is than the run without it, with its 95 % confidence interval; that of the second run without it shows the
noise of the machine. The verdict compares the interval with --limit; the exit code is 1 if a loss is certainly larger, 2 if the interval
contains the limit: then more rounds, or a quieter machine, are needed. Keep a core free for the monitor: otherwise the figure includes
the time that it takes from the ranks.
"""

from __future__ import annotations

import argparse
import json
import math
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

# Modes: without a monitor, twice, and with one that watches the job.
MODES = ("without", "again", "attached")


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
        """Returns the CPU seconds that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()


def programs(build: Path, seconds: float, ranks: int) -> dict[str, tuple[list[str], Callable[[str], float], str, bool]]:
    """Returns by name: command, its figure, unit, True if more is better."""
    two, all_, repetitions = [build / "bin/mpiexec", "-n", "2"], [build / "bin/mpiexec", "-n", str(ranks)], str(max(5, round(seconds * 100)))
    median = lambda text: json.loads(text)["rows"][0]["median"]  # noqa: E731
    small = ["--sizes", "8", "--reps", repetitions, "--seconds", str(max(1, round(2 * seconds))), "--json", "-"]
    halo = ["--local", "48", "--device", "host", "--pattern", "step1", "--steps", str(round(seconds * 9000)), "--no-identity-check"]
    return {"message rate, 8 B": ([*all_, build / "bin/message_rate", *small], median, "million/s", True),
            "latency, 8 B": ([*two, build / "bin/latency", *small], median, "us", False),
            "halo3d": ([*all_, build / "bin/halo3d", *halo], lambda text: float(re.search(r"pattern .*: ([\d.]+) s", text)[1]), "s", False)}


def loss(with_it: float, without: float, more_is_better: bool) -> float:
    return without / with_it - 1 if more_is_better else with_it / without - 1


def interval(values: list[float]) -> tuple[float, float, float]:
    """Returns the median, and the bounds of its 95 % confidence interval by the ranks of the values, whatever their distribution. With fewer
    than six values, the bounds are those of all values."""
    ordered, count = sorted(values), len(values)
    below, place = 0.0, 0
    while place < count // 2 and below + math.comb(count, place) / 2 ** count <= 0.025:
        below += math.comb(count, place) / 2 ** count
        place += 1
    place = max(0, place - 1)
    return statistics.median(ordered), ordered[place], ordered[-1 - place]


def verdict(low: float, high: float, limit: float, rounds: int) -> str:
    if rounds < 6:
        return "undecided"
    return "met" if high <= limit else "missed" if low > limit else "undecided"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/pip")
    parser.add_argument("--ranks", type=int, default=2, help="of message_rate and halo3d (%(default)s)")
    parser.add_argument("--limit", type=float, default=0.01, help="the largest loss (%(default)s)")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=4, help="that each run takes, about (%(default)s)")
    parser.add_argument("--only", default="", help="a part of a benchmark's name")
    parser.add_argument("--json", type=Path, help="write all figures there")
    args = parser.parse_args()
    environment = {**os.environ, "HEADRACE_OVERSUBSCRIBE": "quiet"}
    kept: dict[str, dict[str, list[float]]] = {}
    verdicts = set()
    print(f"{'benchmark':<18} {'without':>9} {'attached':>9} {'unit':<9} {'loss':>7} {'95 % interval':>17} {'noise':>7} {'95 % interval':>17} {'monitor':>8}  limit {args.limit:.1%}")
    for name, (command, figure, unit, more) in programs(args.build, args.seconds, args.ranks).items():
        if args.only not in name:
            continue
        found, used = {mode: [] for mode in MODES}, []
        for each in range(args.rounds):
            for mode in (MODES[(place + each) % len(MODES)] for place in range(len(MODES))):
                if mode != "attached":
                    found[mode].append(figure(_run(command, environment)))
                    continue
                with tempfile.TemporaryDirectory(prefix="hr-bench-monitor-") as folder, Monitor(Path(folder)) as monitor:
                    before, wall = monitor.seconds(), os.times().elapsed
                    found[mode].append(figure(_run(command, environment)))
                    used.append((monitor.seconds() - before) / (os.times().elapsed - wall))
        lost, noise = (interval([loss(other, without, more) for other, without in zip(found[mode], found["without"])]) for mode in ("attached", "again"))
        said = verdict(*lost[1:], args.limit, args.rounds)
        verdicts.add(said)
        print(f"{name:<18} {statistics.median(found['without']):>9.4g} {statistics.median(found['attached']):>9.4g} {unit:<9} {lost[0]:>7.2%} {f'{lost[1]:.2%} to {lost[2]:.2%}':>17} "
              f"{noise[0]:>7.2%} {f'{noise[1]:.2%} to {noise[2]:.2%}':>17} {statistics.mean(used):>8.1%}  {said}", flush=True)
        kept[name] = found
    if args.json:
        args.json.write_text(json.dumps(kept, indent=1))
    return 1 if "missed" in verdicts else 2 if "undecided" in verdicts else 0


if __name__ == "__main__":
    raise SystemExit(main())
