"""The sections of the GPU set: the programs that each one runs, and the figures that it derives from their reports.

A section consists of a function that returns its commands, and one that turns their reports into figures. Goals are those of
docs/performance/h200.md, for two GPUs joined by NVLink.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.bench import shared_gpu
from headrace.bench.figure import Figure, size_text
from headrace.bench.limits import Limits
from headrace.bench.programs import Programs

SMALL = (8, 64, 512, 4096)
COLLECTIVE_SIZES = (8, 32, 128, 512, 2048, 8192, 32768, 131072, 524288, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20)
NCCL_OPERATIONS = ("allreduce", "allgather", "alltoall", "reduce_scatter_block", "bcast")
IN_FLIGHT = 4  # number of messages in flight, as in "x4" of gpu_limits


@dataclass(frozen=True)
class Scale:
    """Scale of the measurement: everything, or the minimum that still runs every part."""

    largest: int = 256 << 20
    edge: int = 258
    random: int = 65536
    local: int = 300
    steps: int = 200
    samples: tuple[str, ...] = ("--reps", "5", "--seconds", "1")

    def sizes(self, wanted) -> str:
        return ",".join(str(size) for size in wanted if size <= self.largest)

    def faces(self) -> list[str]:
        return ["--edge", str(self.edge), "--random", str(self.random)]


FULL = Scale()
QUICK = Scale(largest=70000, edge=24, random=999, local=12, steps=3,
              samples=("--reps", "2", "--iters", "2", "--warmup", "1"))


@dataclass
class Measured:
    """Results of the runs: the reports of each command of a section, one per run; and the limits."""

    reports: list[list[dict]]
    bare: Limits
    nccl: Limits

    def rows(self, command: int) -> dict[tuple[str, int], list[float]]:
        """Returns medians by label and size, one per run."""
        found: dict[tuple[str, int], list[float]] = {}
        for report in self.reports[command]:
            for row in report["rows"]:
                found.setdefault((row.get("label", ""), row["bytes"]), []).append(row["median"])
        return found


@dataclass(frozen=True)
class Section:
    name: str
    sentence: str
    commands: Callable[[Programs, Scale], list[list[str]]]
    figures: Callable[[Measured], list[Figure]]


def _program(name: str, *arguments: str, sizes=None, mem: str = "cuda") -> Callable[[Programs, Scale], list[str]]:
    def command(programs: Programs, scale: Scale) -> list[str]:
        chosen = ["--sizes", scale.sizes(sizes)] if sizes else []
        return programs.ranks(2, name, *scale.samples, *chosen, "--mem", mem, *arguments)
    return command


def _one(command) -> Callable[[Programs, Scale], list[list[str]]]:
    return lambda programs, scale: [command(programs, scale)]


def _latency(measured: Measured) -> list[Figure]:
    figures = []
    for (_, size), values in measured.rows(0).items():
        small = size <= 4096
        limit = measured.bare.microseconds("peer copy", 8 if small else size)
        # Both sides of such a message are processes, so the limit is the fastest of the methods without MPI.
        between = [time for way in ("get", "put", "pinned") if (time := measured.bare.microseconds(f"two processes, {way}", size))]
        figures.append(Figure("latency", f"one-way latency, {size_text(size)}", "us", values, limit,
                              f"peer copy of {size_text(8 if small else size)}", 1.25 if small else 1.2,
                              note=f"two processes without MPI {min(between):.3g} us" if between else ""))
    return figures


def _stream(name: str, what: str, limit: str, ways: int, goal: float) -> Callable[[Measured], list[Figure]]:
    def figures(measured: Measured) -> list[Figure]:
        made = []
        for (_, size), values in measured.rows(0).items():
            time = measured.bare.microseconds(limit, size)
            bare = ways * IN_FLIGHT * size / time * 1e-3 if time else None
            copies = "copies both ways" if ways == 2 else "peer copies"
            made.append(Figure(name, f"{what}, {size_text(size)}", "GB/s", [value * 1e-3 for value in values], bare,
                               f"bare {copies}, {IN_FLIGHT} in flight", goal if size >= 64 << 20 else None,
                               more_is_better=True))
        return made
    return figures


def _faces(measured: Measured) -> list[Figure]:
    figures = []
    for (shape, size), values in measured.rows(0).items():
        indexed = shape == "indexed"
        what = "random single floats" if indexed else f"face, {shape}"
        copy = measured.bare.microseconds(f"{shape}, pitched copy", size)
        figures.append(Figure("faces", f"{what}, {size_text(size)}", "us", values,
                              measured.bare.microseconds(shape, size), f"best bare kernel: {measured.bare.note(shape)}",
                              2.0 if indexed else 1.3, below=25 if shape == "elements" else None,
                              note=f"bare pitched copy {copy:.3g} us" if copy else ""))
    return figures


def _allreduce(measured: Measured) -> list[Figure]:
    figures = []
    for (_, size), values in measured.rows(0).items():
        goal = 0.65 if size <= 1 << 20 else 0.85 if size >= 64 << 20 else None
        figures.append(Figure("allreduce", f"allreduce float, {size_text(size)}", "us", values,
                              measured.nccl.microseconds("allreduce nccl_sync", size), _NCCL, goal,
                              note=_in_a_graph(measured.nccl, "allreduce", size)))
    return figures


_NCCL = "NCCL and a synchronisation"


def _in_a_graph(nccl: Limits, op: str, size: int) -> str:
    """Returns the other baseline: NCCL without the host's work, which a blocking call cannot avoid."""
    time = nccl.microseconds(f"{op} nccl_graph", size)
    return f"NCCL in a graph {time:.3g} us" if time else ""


def _bare_schedule(bare: Limits, op: str, size: int) -> float | None:
    """Returns the time of the copies that two ranks cannot avoid, all started at once: halves in both directions, or
    the whole in one."""
    return bare.microseconds("peer copy", size) if op == "bcast" else bare.microseconds("both ways", size // 2)


def _movers(measured: Measured) -> list[Figure]:
    figures = []
    for (op, size), values in measured.rows(0).items():
        nccl, copies = measured.nccl.microseconds(f"{op} nccl_sync", size), _bare_schedule(measured.bare, op, size)
        limit, name = (nccl, _NCCL) if nccl else (copies, "bare copies")
        notes = (f"bare copies {copies:.3g} us" if nccl and copies else "", _in_a_graph(measured.nccl, op, size))
        figures.append(Figure("collectives", f"{op}, {size_text(size)}", "us", values, limit, name, 1.0,
                              note=", ".join(filter(None, notes))))
    return figures


def _halo3d_command(programs: Programs, scale: Scale) -> list[str]:
    return programs.ranks(2, "halo3d", "--device", "cuda", "--local", scale.local, "--steps", scale.steps, "--baseline",
                          "--no-identity-check", "--pattern", "isend-irecv,overlap,overlap-async,overlap-fused")


def _halo3d(measured: Measured) -> list[Figure]:
    steps: dict[str, list[float]] = {}
    alone: dict[str, list[float]] = {}
    for report in measured.reports[0]:
        for result in report["results"]:
            steps.setdefault(result["pattern"], []).append(result["seconds"] / report["steps"] * 1e6)
            alone.setdefault(result["pattern"], []).append(result["alone"] / report["steps"] * 1e6)
    figures = [Figure("halo3d", f"halo3d, {report['local'][0]}^3 a rank, {pattern}, one step", "us", values,
                      sorted(alone[pattern])[len(values) // 2], "the same step without communication")
               for pattern, values in steps.items()]
    if figures:
        best = min(figures, key=lambda figure: figure.ratio)
        best.goal = 1.1
    return figures


def _host_commands(programs: Programs, scale: Scale) -> list[list[str]]:
    plain = _program("latency", sizes=(8,), mem="host")
    return [plain(programs, scale), [*plain(programs, scale), "--cuda-in-use"]]


def _host(measured: Measured) -> list[Figure]:
    plain, in_use = (measured.rows(command) for command in (0, 1))
    figures = []
    for key, values in in_use.items():
        without = sorted(plain[key])[len(plain[key]) // 2]
        figures.append(Figure("host", f"host latency, {size_text(key[1])}, CUDA in use", "us", values, without,
                              "without CUDA", below=without + 0.15, below_text="at most 0.15 us more"))
    return figures


def _mixed_commands(programs: Programs, scale: Scale) -> list[list[str]]:
    return [_program("latency", sizes=(8, 4096, 1 << 20, 64 << 20), mem=mem)(programs, scale)
            for mem in ("cuda,host", "managed", "pool", "vmm")]


def _mixed(measured: Measured) -> list[Figure]:
    names = ("device and host", "managed", "pool", "VMM")
    return [Figure("kinds", f"one-way latency, {name}, {size_text(size)}", "us", values,
                   measured.bare.microseconds("device to host" if command == 0 else "peer copy", size),
                   "pinned copy" if command == 0 else "peer copy")
            for command, name in enumerate(names) for (_, size), values in measured.rows(command).items()]


SECTIONS = (
    Section("latency", "device to device, one way",
            _one(_program("latency", sizes=(*SMALL, 1 << 20))), _latency),
    Section("bandwidth", "device to device, windows of large messages",
            _one(_program("bandwidth", "--window", str(IN_FLIGHT), sizes=(65536, 64 << 20, 256 << 20))),
            _stream("bandwidth", "bandwidth", "peer copy x4", 1, 0.98)),
    Section("bibw", "the same both ways at once",
            _one(_program("bibw", "--window", str(IN_FLIGHT), sizes=(65536, 64 << 20, 256 << 20))),
            _stream("bibw", "both ways", "both ways x4", 2, 0.97)),
    Section("faces", "faces of a cube and random floats as derived types",
            lambda programs, scale: [_program("faces", *scale.faces())(programs, scale)], _faces),
    Section("allreduce", "allreduce of floats",
            _one(_program("collective", "--op", "allreduce", sizes=COLLECTIVE_SIZES)), _allreduce),
    Section("collectives", "allgather, alltoall, reduce_scatter, bcast",
            _one(_program("collective", "--op", "allgather,alltoall,reduce_scatter_block,bcast",
                          sizes=COLLECTIVE_SIZES)),
            _movers),
    Section("halo3d", "halo exchange against the update alone", _one(_halo3d_command), _halo3d),
    Section("host", "host latency with and without CUDA in use", _host_commands, _host),
    Section("kinds", "other kinds of memory", _mixed_commands, _mixed),
    Section("shared", "ranks that share one GPU", shared_gpu.commands, shared_gpu.figures),
)
