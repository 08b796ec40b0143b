"""Peers: kinds of pairs for which message limits are measured, each represented by one pair.

On a host: two cores under one last-level cache and two under different ones, if the CPU has both. Between hosts: pairs grouped by
their delay, within a factor of two.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace import own_files
from headrace.bench.child import Failed, run, run_json
from headrace.bench.programs import Programs

ALIKE = 2.0  # factor within which delays count as similar
MOST_HOSTS = 16  # maximum number of hosts whose pairs are measured; a pair takes one or two tenths of a second
CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Peers:
    """`name`: the kind in the tuned file, "" for all peers. `pairs`: pairs of similar hosts; the first is measured."""

    name: str = ""
    launch: tuple[str, ...] = ()  # options of mpiexec in addition to -n 2
    hosts: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    about: str = ""
    delay: float = 0.0  # time of a short message between hosts, in microseconds

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the names of this kind in the file's lines."""
        return self.pairs or (self.name,)

    def text(self) -> str:
        return self.about or self.name


ALL = Peers()


def last_cache(cpu: int, cpus: Path = CPUS) -> str:
    """Returns the CPUs of a CPU's last-level cache, as the system lists them; "" if it does not report them. Mirrors
    src/base/last_cache.cpp."""
    found: dict[int, str] = {}
    for index in (cpus / f"cpu{cpu}/cache").glob("index*"):
        try:
            found[int((index / "level").read_text())] = (index / "shared_cpu_list").read_text().strip()
        except (OSError, ValueError):
            continue
    return found[max(found)] if found and max(found) >= 2 else ""


def of_this_host(allowed: Sequence[int] | None = None, cpus: Path = CPUS) -> list[Peers]:
    """Returns the kinds "same cache" and "same host" if this host has several last-level caches, otherwise "all"."""
    allowed = sorted(os.sched_getaffinity(0)) if allowed is None else sorted(allowed)
    caches: dict[str, list[int]] = {}
    for cpu in allowed:
        caches.setdefault(last_cache(cpu, cpus), []).append(cpu)
    near = next((members for name, members in caches.items() if name and len(members) > 1), None)
    if len(caches) < 2 or "" in caches:
        return [ALL]
    far = [members[0] for members in caches.values()][:2]
    same_host = Peers("same-host", ("--bind-to", f"user:{far[0]},{far[1]}"), about="two caches of this host")
    if near is None:
        return [same_host]
    # The hardware threads of one core are not adjacent in the list, so the middle one belongs to another core.
    pair = near[0], near[1] if len(near) == 2 else near[len(near) // 2 - 1] if len(near) // 2 > 1 else near[1]
    return [Peers("same-cache", ("--bind-to", f"user:{pair[0]},{pair[1]}"), about="one cache"), same_host]


def names_of_hosts(programs: Programs, hosts: Sequence[str]) -> list[str]:
    """Returns the names of the given hosts; if there are none, those of the allocation, each once, in order."""
    if hosts:
        return list(hosts)
    text = run([str(programs.mpiexec), "--ppn", "1", "sh", "-c", 'echo "headrace-host $(uname -n)"'], 120, programs.environment())
    return list(dict.fromkeys(line.split()[-1] for line in text.splitlines() if "headrace-host " in line))


def one_host(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Returns options that keep mpiexec on one host where it would use several by default."""
    return ("--nodes", "1") if in_allocation(environment) else ()


def in_allocation(environment: Mapping[str, str]) -> bool:
    """True in an allocation of several hosts."""
    if environment.get("SLURM_JOB_ID"):
        return int(environment.get("SLURM_JOB_NUM_NODES") or environment.get("SLURM_NNODES") or "1") > 1
    try:
        return len(set(own_files.read_text(environment["PBS_NODEFILE"], 1 << 24).split())) > 1
    except (KeyError, OSError):
        return False


def delays(programs: Programs, hosts: Sequence[str]) -> dict:
    """Returns the delay of each pair, by the host names that the ranks report: [[one, other, microseconds, place, place], ...];
    places are indices into `hosts`. Raises Failed."""
    used = hosts[:MOST_HOSTS]
    report = run_json([str(programs.mpiexec), "--hosts", ",".join(f"{host}:1" for host in used), "--bind-to", "none", "-n", str(len(used)),
                       str(programs.find("links")), "--sizes", "4096", "--reps", "9"], 300,
                      {**programs.environment(), "HEADRACE_TUNING_FILE": "off", "HEADRACE_OVERSUBSCRIBE": "quiet"}, elsewhere=True)
    names = [str(report.get(f"host {rank}", used[rank])) for rank in range(len(used))]
    found = []
    for row in report["rows"]:
        pair, when = row["label"].split()
        if when == "alone" and "-" in pair:
            one, other = map(int, pair.split("-"))
            found.append([names[one], names[other], float(row["best"]), one, other])
    if not found:
        raise Failed("the delays between the hosts could not be measured")
    return {"pairs": found}


def of_hosts(measured: dict, hosts: Sequence[str]) -> list[Peers]:
    """Returns the kinds of pairs, by ascending delay. A single kind represents all hosts, including those that were not
    measured."""
    kinds: list[list[list]] = []
    for pair in sorted(measured["pairs"], key=lambda each: each[2]):
        if kinds and pair[2] <= ALIKE * kinds[-1][0][2]:
            kinds[-1].append(pair)
        else:
            kinds.append([pair])
    found = []
    for kind in kinds:
        first = kind[len(kind) // 2]
        names = tuple(f"{one},{other}" for one, other, *_ in kind) if len(kinds) > 1 else ()
        found.append(Peers("", (), (hosts[first[3]], hosts[first[4]]), names, f"{first[0]} - {first[1]}, {first[2]:.0f} us", first[2]))
    return found
