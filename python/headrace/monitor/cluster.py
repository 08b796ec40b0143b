"""Sums over hosts, links and GPUs, for the views of the cluster, its nodes, links and GPUs; also of a saved run.

A figure is the mean over the chosen time, or over the last minute before its end; for errors and utilisation, the
highest value is given as well. A host without figures in that time is listed as silent if ranks run on it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import lru_cache

from headrace.monitor.model import KINDS, Origin
from headrace.monitor.query import has
from headrace.monitor.schema import CHANGES

RECENT = 60.0  # seconds that count as now
_HOSTS_MOST = 4096
_LINKS_MOST = 20_000
_JOBS_MOST = 8  # limit of the jobs named for a node or a link
_USERS_MOST = 200  # limit of the ranks listed for a link
_TRAFFIC_JOBS_MOST = 500  # limit of the jobs whose bytes are read, the newest ones
_RANK_SPANS_MOST = 40_000  # limit of ranks times samples that are read for one answer; samples are evenly spread
_GPU = ("busy", "memory", "throttled", "temperature", "power", "nvlink_tx", "nvlink_rx", "pcie_tx", "pcie_rx")
_GPU_RANKS_MOST = 8  # limit of the ranks named for a GPU
_OF_NODES = ("cpu.busy", "memory.used", "gpu.*.busy", "net.*.[rt]x", "link.*")  # figures from which those of a node are made
_LINK = ("rx", "tx", "packets", "waits", "discards", "errors", "retries", "congestion", "speed")
_NO_FIGURES = dict.fromkeys(_LINK)

Figures = dict[str, tuple[float, float]]  # mean and highest value, by name
Traffic = tuple[float, float]  # bytes per second that ranks received from other hosts and sent to them


def window(db: sqlite3.Connection, began: float | None, ended: float | None) -> tuple[float, float]:
    """Returns the averaging interval: at most the last minute of a range without a start."""
    last = db.execute("SELECT max(time) FROM machine WHERE time <= ?", (int(ended) if ended is not None else 1 << 60,)).fetchone()[0]
    seen = db.execute("SELECT max(seen) FROM jobs").fetchone()[0]
    until = ended if ended is not None else max(float(last or 0), float(seen or 0))
    return (began if began is not None else until - RECENT), until


def means(db: sqlite3.Connection, begin: float, end: float, host: str = "", names: tuple[str, ...] = ("*",)) -> dict[str, Figures]:
    """Returns the figures of all hosts, or of `host`, whose names match one of the patterns `names`."""
    found: dict[str, Figures] = {}
    chosen = ("AND host = ?", (host,)) if host else ("", ())
    wanted = dict(db.execute(f"SELECT id, name FROM names WHERE {' OR '.join(['name GLOB ?'] * len(names))}", names))
    some = f"AND what IN ({', '.join(map(str, wanted))})" if names != ("*",) else ""
    for name, what, mean, most in db.execute(f"SELECT host, what, avg(value), max(value) FROM machine WHERE time >= ? AND time <= ? {some} {chosen[0]} "
                                             "GROUP BY host, what", (int(begin), int(end) + 1, *chosen[1])):
        found.setdefault(name, {})[wanted[what]] = (mean, most)
    return found


@lru_cache(maxsize=16_384)
def _of_link(what: str) -> tuple[str, str, str] | None:
    """Returns the kind of a link, its name and the figure that a name such as `link.infiniband.mlx5_0:1.rx` stands for."""
    first, _, rest = what.partition(".")
    kind, _, rest = rest.partition(".")
    name, _, figure = rest.rpartition(".")
    return (kind, name, figure) if first == "link" else None


def _links(figures: Figures) -> Iterator[dict]:
    made: dict[tuple[str, str], dict] = {}
    for what, (mean, most) in figures.items():
        if (parts := _of_link(what)) is None:
            continue
        kind, name, figure = parts
        link = made.get((kind, name))
        if link is None:
            link = made[kind, name] = {"kind": kind, "link": name, "up": None, "use": None, "use_most": None, "errors_most": None, **_NO_FIGURES}
        if figure == "up":
            link["up"] = mean
        elif figure == "use":
            link["use"], link["use_most"] = round(mean, 5), most
        elif figure in _LINK:
            link[figure] = round(mean, 3)
            if figure == "errors":
                link["errors_most"] = most
    yield from made.values()


def links(db: sqlite3.Connection, began: float | None, ended: float | None, host: str = "") -> list[dict]:
    """Returns all links: first those that are down, then the busiest. `up` is the share of readings in which the link was up. `jobs`: those with ranks
    on its host, by key (see _named)."""
    begin, end = window(db, began, ended)
    placed, traffic = _placed(db, begin, end), _traffic_by_host(db, begin, end, host)
    rows = [{"host": name, **link, **_named(placed.get(name, ({}, 0))[0], traffic.get(name, {}), (link["rx"] or 0) > (link["tx"] or 0))}
            for name, figures in means(db, begin, end, host).items() for link in _links(figures)]
    rows.sort(key=lambda row: (row["up"] is None or row["up"] == 1.0, -(row["errors"] or 0), -(row["use"] or 0), row["host"], row["link"]))
    return rows[:_LINKS_MOST]


def _placed(db: sqlite3.Connection, begin: float, end: float) -> dict[str, tuple[dict[str, int], int]]:
    """Returns for each host: the jobs that ran in that time with their ranks there, and the number of ranks."""
    found: dict[str, tuple[dict[str, int], int]] = {}
    for host, key, count in db.execute("SELECT host, jobs.key, count(*) FROM ranks JOIN jobs ON jobs.id = ranks.job "
                                       "WHERE jobs.began <= ? AND jobs.seen >= ? GROUP BY host, jobs.id", (end, begin)):
        there, ranks = found.get(host, ({}, 0))
        found[host] = ({**there, key: count}, ranks + count)
    return found


def _order(traffic: Traffic | None, receives: bool) -> tuple[float, float]:
    """Returns a key that sorts by bytes in the busier direction, then by those in the other one, the largest first. `receives`: more is received than sent."""
    received, sent = traffic or (-1.0, -1.0)
    return (-received, -sent) if receives else (-sent, -received)


def _named(jobs: dict[str, int], traffic: dict[str, Traffic], receives: bool) -> dict:
    """Returns the jobs of a host, those with most bytes in the busier direction first, and these bytes per second; None for a job whose counters by peer
    were not read."""
    chosen = sorted(jobs, key=lambda key: (*_order(traffic.get(key), receives), key))[:_JOBS_MOST]
    return {"jobs": chosen, "more_jobs": max(0, len(jobs) - _JOBS_MOST), "traffic": [None if key not in traffic else [round(rate) for rate in traffic[key]] for key in chosen]}


def _gpus(figures: Figures) -> list[float]:
    return [mean for what, (mean, _) in figures.items() if what.startswith("gpu.") and what.endswith(".busy")]


def _on_gpus(db: sqlite3.Connection, begin: float, end: float, host: str) -> dict[tuple[str, int], list[dict]]:
    """Returns the ranks that may use each GPU, by the numbers in their CUDA_VISIBLE_DEVICES."""
    found: dict[tuple[str, int], list[dict]] = {}
    chosen = ("AND host = ?", (host,)) if host else ("", ())
    for there, said, job, key, rank in db.execute("SELECT host, gpu, jobs.id, jobs.key, rank FROM ranks JOIN jobs ON jobs.id = ranks.job WHERE gpu != '' "
                                                  f"AND jobs.began <= ? AND jobs.seen >= ? {chosen[0]} ORDER BY jobs.id, rank", (end, begin, *chosen[1])):
        numbers = [int(word) for word in said.split(",") if word.strip().isdecimal() and len(word) < 6]
        for number in numbers:
            found.setdefault((there, number), []).append({"id": job, "job": key, "rank": rank, "alone": len(numbers) == 1})
    return found


def gpus(db: sqlite3.Connection, began: float | None, ended: float | None, host: str = "") -> list[dict]:
    """Returns all GPUs: first those that are throttled, then the busiest. `throttled` is the share of readings in which it was."""
    begin, end = window(db, began, ended)
    on = _on_gpus(db, begin, end, host)
    rows = []
    for name, figures in means(db, begin, end, host).items():
        devices: dict[int, dict] = {}
        for what, (mean, most) in figures.items():
            _, _, rest = what.partition("gpu.")
            number, _, figure = rest.partition(".")
            if number.isdecimal() and figure in _GPU:
                row = devices.setdefault(int(number), {"host": name, "gpu": int(number), **dict.fromkeys(_GPU), "busy_most": None, "memory_most": None})
                row[figure] = round(mean, 4)
                if figure in ("busy", "memory"):
                    row[f"{figure}_most"] = most
        for number, row in devices.items():
            ranks = on.get((name, number), [])
            rows.append({**row, "ranks": ranks[:_GPU_RANKS_MOST], "more_ranks": max(0, len(ranks) - _GPU_RANKS_MOST)})
    rows.sort(key=lambda row: (-(row["throttled"] or 0), -(row["busy"] or 0), row["host"], row["gpu"]))
    return rows[:_LINKS_MOST]


def inside(db: sqlite3.Connection, host: str, began: float | None, ended: float | None) -> dict:
    """Returns the NUMA nodes of a host with their ranges of CPUs, and the node of each GPU and link."""
    found: dict = {"numa": {}, "gpus": {}, "links": {}}
    for what, (value, _) in means(db, *window(db, began, ended), host).get(host, {}).items():
        _, _, rest = what.partition("inside.")
        kind, _, name = rest.partition(".")
        if kind == "numa" and len(words := name.split(".")) == 3 and words[0].isdecimal() and words[2].isdecimal():
            found["numa"].setdefault(int(words[0]), []).append((int(words[2]), round(value)))
        elif kind in ("gpu", "link"):
            found[f"{kind}s"][name] = round(value)
    return {**found, "numa": [{"number": number, "cpus": sorted(cpus)} for number, cpus in sorted(found["numa"].items())]}


def _node(name: str, figures: Figures, jobs: dict[str, int], ranks: int, traffic: dict[str, Traffic]) -> dict:
    there = list(_links(figures))
    worst = max((link for link in there if link["use"] is not None), key=lambda link: link["use"], default=None)
    gpus = _gpus(figures)
    rated = {direction: [link[direction] for link in there if link[direction] is not None] for direction in ("rx", "tx")}
    if not rated["rx"] or not rated["tx"]:
        others = [(what, mean) for what, (mean, _) in figures.items() if what.startswith("net.") and not what.startswith("net.lo.")]
        rated = {direction: rated[direction] or [mean for what, mean in others if what.endswith(f".{direction}")] for direction in ("rx", "tx")}
    moved = {direction: sum(rated[direction]) for direction in ("rx", "tx")}
    return {"host": name, "silent": not figures, "cpu": figures.get("cpu.busy", (None,))[0], "memory": figures.get("memory.used", (None,))[0], "gpus": len(gpus), "gpu": sum(gpus) / len(gpus) if gpus else None,
            **moved, "links": len(there),
            "down": sum(link["up"] is not None and link["up"] < 1 for link in there), "use": worst and worst["use"], "busiest": worst["link"] if worst else "",
            "errors": sum(link["errors"] or 0 for link in there), "discards": sum(link["discards"] or 0 for link in there), "ranks": ranks, **_named(jobs, traffic, moved["rx"] > moved["tx"])}


def nodes(db: sqlite3.Connection, began: float | None, ended: float | None) -> dict:
    """Returns all nodes with their sums and worst figures, and the interval that these describe."""
    begin, end = window(db, began, ended)
    found, placed, traffic = means(db, begin, end, names=_OF_NODES), _placed(db, begin, end), _traffic_by_host(db, begin, end)
    names = sorted(found.keys() | placed.keys())
    rows = [_node(name, found.get(name, {}), *placed.get(name, ({}, 0)), traffic.get(name, {})) for name in names[:_HOSTS_MOST]]
    return {"from": begin, "to": end, "left_out": max(0, len(names) - _HOSTS_MOST), "nodes": rows}


def users(db: sqlite3.Connection, host: str, began: float | None, ended: float | None) -> list[dict]:
    """Returns the ranks on a host that ran in that time, with the bytes per second that they received from other hosts and sent to them: those share the
    host's links. First those with most bytes in the direction in which all of them together have more. `received` and `sent` are None if no counters by peer
    were read in that time."""
    begin, end = window(db, began, ended)
    origins = {number: Origin(*said) for number, *said in db.execute("SELECT job, user, command, batch, batch_job, batch_name FROM origins")} if has(db, "origins") else {}
    rows: list[dict] = []
    for job, key, program, size in db.execute("SELECT DISTINCT jobs.id, key, program, size FROM jobs JOIN ranks ON ranks.job = jobs.id "
                                              "WHERE host = ? AND began <= ? AND jobs.seen >= ?", (host, end, begin)).fetchall():
        here = db.execute("SELECT rank, cpus, gpu FROM ranks WHERE job = ? AND host = ? ORDER BY rank", (job, host)).fetchall()
        rates = _traffic(db, job, begin, end, _RANK_SPANS_MOST // max(1, size))
        origin = origins.get(job, Origin())
        rows += [{"id": job, "job": key, "program": program, "user": origin.user, "batch": f"{origin.batch} {origin.batch_job}".strip(), "rank": rank, "cpus": cpus, "gpu": gpu,
                  **{name: None if rates is None else round(rates.get(rank, (0.0, 0.0))[place]) for place, name in enumerate(("received", "sent"))}} for rank, cpus, gpu in here]
    sums = [sum(row[name] or 0 for row in rows) for name in ("received", "sent")]
    rows.sort(key=lambda row: (*_order(None if row["sent"] is None else (row["received"], row["sent"]), sums[0] > sums[1]), row["job"], row["rank"]))
    return rows[:_USERS_MOST]


def _traffic(db: sqlite3.Connection, job: int, begin: float, end: float, most: int) -> dict[int, Traffic] | None:
    """Returns the traffic of each rank with other hosts, by the senders' counters of peers; None if none were read in that time. `most`: maximum number of
    samples that are read."""
    spans = db.execute("SELECT id, began, ended FROM spans WHERE job = ? AND what = ? AND ended > ? AND began < ? ORDER BY ended DESC", (job, CHANGES, begin, end)).fetchall()
    read = spans[::-(-len(spans) // max(1, most)) or 1]
    if not read:
        return None
    where = dict(db.execute("SELECT rank, host FROM ranks WHERE job = ?", (job,)))
    seconds = max(1e-3, sum(ended - began for _, began, ended in read))
    found: dict[int, Traffic] = {}
    for rank, peer, count in db.execute(f"SELECT rank, key, sum(bytes) FROM changes WHERE span IN ({', '.join(str(span) for span, _, _ in read)}) "
                                        f"AND kind IN ({KINDS['sent_to']}, {KINDS['internal_to']}) GROUP BY rank, key"):
        here, there = where.get(rank), where.get(peer)
        if here is not None and there is not None and here != there:
            received, sent = found.get(rank, (0.0, 0.0))
            found[rank] = received, sent + count / seconds
            received, sent = found.get(peer, (0.0, 0.0))
            found[peer] = received + count / seconds, sent
    return found


def _traffic_by_host(db: sqlite3.Connection, begin: float, end: float, host: str = "") -> dict[str, dict[str, Traffic]]:
    """Returns the traffic of each job's ranks on each host, or on `host`, with other hosts."""
    chosen = ("AND EXISTS (SELECT 1 FROM ranks WHERE ranks.job = jobs.id AND host = ?)", (host,)) if host else ("", ())
    jobs = db.execute(f"SELECT id, key, size FROM jobs WHERE began <= ? AND seen >= ? {chosen[0]} ORDER BY seen DESC, id DESC LIMIT {_TRAFFIC_JOBS_MOST}", (end, begin, *chosen[1])).fetchall()
    most = _RANK_SPANS_MOST // max(1, sum(size for _, _, size in jobs))
    found: dict[str, dict[str, Traffic]] = {}
    for job, key, _ in jobs:
        rates = _traffic(db, job, begin, end, most)
        if rates is None:
            continue
        for rank, name in db.execute("SELECT rank, host FROM ranks WHERE job = ?", (job,)):
            of_job = found.setdefault(name, {})
            of_job[key] = tuple(old + new for old, new in zip(of_job.get(key, (0.0, 0.0)), rates.get(rank, (0.0, 0.0))))
    return found
