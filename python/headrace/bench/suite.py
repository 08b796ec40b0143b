"""The host benchmarks by name: the program and sizes of each, and those that run by default."""

from __future__ import annotations

from dataclasses import dataclass

SOURCES = ("latency", "bandwidth", "bibw", "message_rate", "collective", "overlap", "matching", "datatypes", "threads",
           "startup", "spawn", "one_sided", "files")

COLLECTIVES = ("barrier", "bcast", "reduce", "allreduce", "reduce_scatter_block", "reduce_scatter", "scan", "exscan",
               "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv",
               "alltoallw", "neighbor_allgather", "neighbor_alltoall")


@dataclass(frozen=True)
class Benchmark:
    name: str
    program: str
    sizes: str | None = None  # None: the program's own sizes
    arguments: tuple[str, ...] = ()
    pairs: bool = True   # needs an even number of ranks
    times_job: bool = False  # the launcher's total time is a figure, too

    @property
    def touches(self) -> bool:
        """True if the program supports --touch."""
        return self.program in ("latency", "collective")


_MESSAGES = "1,8,64,512,1K,2K,4K,16K,64K,256K,1M,4M"
_BLOCKS = "8,64,512,4K,32K,256K,1M"

BENCHMARKS = {b.name: b for b in (
    Benchmark("latency", "latency", _MESSAGES),
    Benchmark("bandwidth", "bandwidth", "2K,4K,16K,64K,256K,1M,4M"),
    Benchmark("bibw", "bibw", "2K,4K,16K,64K,256K,1M,4M"),
    Benchmark("message_rate", "message_rate", "8,512,4K"),
    *(Benchmark(op, "collective", _BLOCKS, ("--op", op), pairs=False) for op in COLLECTIVES),
    Benchmark("overlap", "overlap", "16,4K,64K,1M"),
    Benchmark("matching", "matching"),
    Benchmark("datatypes", "datatypes", "1K,16K,256K,4M", pairs=False),
    Benchmark("threads", "threads", "8,4K"),
    Benchmark("one_sided", "one_sided", "8,512,4K,64K,1M"),
    Benchmark("startup", "startup", pairs=False, times_job=True),
    Benchmark("startup_collectives", "startup", arguments=("--collectives",), pairs=False, times_job=True),
    Benchmark("spawn", "spawn", pairs=False),
    Benchmark("files", "files", "1M,64M", pairs=False),
)}

DEFAULT = ("latency", "bandwidth", "bibw", "message_rate", "barrier", "bcast", "allreduce", "allgather", "alltoall",
           "overlap", "matching", "datatypes", "threads", "startup")
GROUPS = {"all": tuple(BENCHMARKS), "collectives": COLLECTIVES,
          "p2p": ("latency", "bandwidth", "bibw", "message_rate")}


def expand(names: list[str]) -> list[Benchmark]:
    """Returns benchmarks in the order given, each once. Raises ValueError, which names the unknown ones."""
    wanted = [one for name in names for one in GROUPS.get(name, (name,))]
    if unknown := sorted({name for name in wanted if name not in BENCHMARKS}):
        raise ValueError(f"no such benchmark: {', '.join(unknown)}; there are {', '.join((*GROUPS, *BENCHMARKS))}")
    return [BENCHMARKS[name] for name in dict.fromkeys(wanted)]


def parse_sizes(text: str) -> str:
    """Returns the text if it is a list of sizes; raises ValueError otherwise."""
    for part in text.split(","):
        if not part.rstrip("KMGkmg").isdigit() or len(part.rstrip("KMGkmg")) < len(part) - 1:
            raise ValueError(f"'{part}' is not a size; sizes are like 8, 4K, 1M")
    return text
