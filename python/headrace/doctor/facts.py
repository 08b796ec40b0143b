"""Facts: all data about the machine that checks may use. Tests replace them with a directory for "/", an environment,
limits, programs."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headrace import own_files
from headrace.bench import child
from headrace.doctor import amd, gpu, interfaces, single_copy

_CPUS_MOST = 1 << 16
_RDMA = "/sys/class/infiniband"
_VERBS = "/sys/class/infiniband_verbs"
UNLIMITED = resource.RLIM_INFINITY


@dataclass(frozen=True)
class Space:
    """Bytes of a file system."""

    size: int
    free: int


def space_of(path: Path) -> Space:
    state = os.statvfs(path)
    return Space(state.f_blocks * state.f_frsize, state.f_bavail * state.f_frsize)


def affinity_of_this() -> frozenset[int] | None:
    try:
        return frozenset(os.sched_getaffinity(0))
    except OSError:  # a sandbox refuses the call
        return None


@dataclass
class Facts:
    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    asked_affinity: frozenset[int] | None = field(default_factory=affinity_of_this)  # None: refused
    affinity: frozenset[int] = frozenset()  # asked_affinity, or else all CPUs
    user: int = field(default_factory=os.getuid)
    locked: tuple[int, int] = field(default_factory=lambda: resource.getrlimit(resource.RLIMIT_MEMLOCK))  # soft, hard
    files: tuple[int, int] = field(default_factory=lambda: resource.getrlimit(resource.RLIMIT_NOFILE))
    address_space: tuple[int, int] = field(default_factory=lambda: resource.getrlimit(resource.RLIMIT_AS))
    file_size: tuple[int, int] = field(default_factory=lambda: resource.getrlimit(resource.RLIMIT_FSIZE))
    stack: tuple[int, int] = field(default_factory=lambda: resource.getrlimit(resource.RLIMIT_STACK))
    space: Callable[[Path], Space] = space_of
    prefix: Path | None = None  # prefix of this installation or build of Headrace
    # Runs a command and returns its output if it succeeds: command, seconds, additional environment. Raises Failed with
    # a reason.
    run: Callable[..., str] = child.run
    try_single_copy: Callable[[], str] = single_copy.attempt  # empty, or the reason why it failed
    interfaces: Callable[[], list[interfaces.Interface]] = interfaces.every
    try_gpus: Callable[[], dict] = gpu.ask  # see gpu.py
    try_amd: Callable[[], dict] = amd.ask  # see amd.py

    def __post_init__(self) -> None:
        self.affinity = self.affinity or self.asked_affinity or self.cpus_online()

    def path(self, path: str | Path) -> Path:
        """Returns the location of this absolute path. A relative path does not belong to the machine."""
        return self.root / str(path).lstrip("/")

    def read(self, path: str) -> str | None:
        """Returns the text of a small file, stripped; None if it cannot be read."""
        try:
            return own_files.read_bytes(self.path(path)).decode(errors="replace").strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        try:
            return int(self.read(path) or "")
        except ValueError:
            return None

    def names(self, path: str) -> list[str]:
        """Returns the names in a directory; none if it cannot be read."""
        try:
            return sorted(os.listdir(self.path(path)))
        except OSError:
            return []

    def directories(self, variable: str) -> list[str]:
        """Returns the absolute directories in a variable such as PATH."""
        return [name for name in self.environment.get(variable, "").split(":") if name.startswith("/")]

    def programs(self, name: str) -> list[Path]:
        """Returns all programs of that name in PATH, in order."""
        places = (self.path(directory) / name for directory in self.directories("PATH"))
        return [place for place in places if is_file(place) and os.access(place, os.X_OK)]

    def cpus_online(self) -> frozenset[int]:
        return cpu_list(self.read("/sys/devices/system/cpu/online") or "")

    # Adapters of networks, as in src/transport/network/rdma.cpp.
    def rdma_devices(self) -> list[str]:
        """Returns the devices with an active port that this process can use."""
        return [name for name in self._active_rdma_devices() if not self._why_not(self._rdma_file(name))]

    def cxi_devices(self) -> list[str]:
        return [name for name in self._cxi_devices() if not self._why_not(f"/dev/{name}")]

    def unusable_device(self) -> str:
        """Returns why this process cannot use another adapter; empty if there is none."""
        there = [(name, f"/dev/{name}") for name in self._cxi_devices()] + [(name, self._rdma_file(name)) for name in self._active_rdma_devices()]
        return next((f"{name} cannot be used: {why}" for name, file in there if (why := self._why_not(file))), "")

    def _cxi_devices(self) -> list[str]:
        return [name for name in self.names("/sys/class/cxi") if name.startswith("cxi")]

    def _active_rdma_devices(self) -> list[str]:
        return [name for name in self.names(_RDMA) if any(self._is_active(name, port) for port in self.names(f"{_RDMA}/{name}/ports"))]

    def _rdma_file(self, name: str) -> str:
        if name.startswith("hfi1"):
            return f"/dev/{name}"
        return next((f"/dev/infiniband/{verbs}" for verbs in self.names(_VERBS) if self.read(f"{_VERBS}/{verbs}/ibdev") == name), "")

    def _why_not(self, file: str) -> str:
        """Returns why the device file cannot be opened; empty if it can."""
        if not file:
            return f"there is no device file for it in {_VERBS}"
        try:
            os.close(os.open(self.path(file), os.O_RDWR | os.O_CLOEXEC))
        except OSError as failure:
            return f"{file} cannot be opened: {failure.strerror}"
        return ""

    def _is_active(self, device: str, port: str) -> bool:
        return (self.read(f"{_RDMA}/{device}/ports/{port}/state") or "").startswith("4:")


def is_file(path: Path) -> bool:
    """False also for an inaccessible path, for which Path.is_file raises an exception."""
    return os.path.isfile(path)


def cpu_list(text: str) -> frozenset[int]:
    """Parses the kernel's notation: 0-3,8. Raises ValueError."""
    found: set[int] = set()
    for part in filter(None, text.replace(" ", "").split(",")):
        first, _, last = part.partition("-")
        begin, end = int(first), int(last or first)
        if not 0 <= begin <= end < _CPUS_MOST:
            raise ValueError(f"{part[:40]} is not a range of CPUs")
        found.update(range(begin, end + 1))
    return frozenset(found)


def ranges(numbers: Iterable[int]) -> list[str]:
    """Formats ranges in ascending order: 0-3, 8."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return [str(first) if first == last else f"{first}-{last}" for first, last in runs]


def size(number: int) -> str:
    """Formats a size: 1536 is 1.5 KiB."""
    value = float(number)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" or value == int(value) else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"
