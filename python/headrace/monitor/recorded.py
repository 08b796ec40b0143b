"""Creates the history of a synthetic run: `python -m headrace.monitor.recorded FILE --ranks 256 --seconds 600`. For
tests and measurements."""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from headrace.monitor.history import History
from headrace.monitor.synthetic import Job, Synthetic


def record(path: Path, job: Job, seconds: int, details: int = 10, machine: bool = True) -> None:
    """Records `seconds` of the job's life, with details every `details` seconds, thinned like a collector's. The job then ends."""
    source, history = Synthetic(job), History(path, most_bytes=1 << 40)
    noise = random.Random(job.seed)
    for second in range(1, seconds + 1):
        source.time = job.began + second
        ended = second >= min(seconds, job.seconds)
        figures = {"cpu.busy": round(0.6 + 0.3 * noise.random(), 3), "net.eth0.rx": noise.randrange(10 ** 8)}
        if job.device:
            figures.update({f"gpu.{gpu}.busy": round(0.7 + 0.25 * noise.random(), 2) for gpu in range(8)})
        history.write(source.sweep(second % details == 0 or ended), {"synthetic": figures} if machine else {})
        if second % 10 == 0:
            history.tidy(source.time)
    history.tidy(source.time)
    history.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--seconds", type=int, default=600)
    args = parser.parse_args()
    record(args.file, Job(ranks=args.ranks, seconds=args.seconds), args.seconds)


if __name__ == "__main__":
    main()
