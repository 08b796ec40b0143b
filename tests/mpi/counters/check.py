"""Compares the counter pages with the programs' own records: check.py <mpiexec> <known> <case> [<program>]."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import json
import os
import signal
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "python"))
from headrace import counters  # noqa: E402
from headrace.monitor import durations  # noqa: E402

MPIEXEC, KNOWN = sys.argv[1], sys.argv[2]


def until(condition, what: str, seconds: float = 60):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise SystemExit(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.01)
    return found


def same(what: str, found, wanted) -> None:
    if found != wanted:
        raise SystemExit(f"{what}: the page says {found}, the program {wanted}")


def pages_of(process: subprocess.Popen, ranks: int) -> list[counters.Page]:
    """Returns the pages of the ranks that this mpiexec started."""
    def found():
        mine = [page for page in counters.look().pages if is_below(page.about["pid"], process.pid)]
        return mine if len(mine) == ranks else None
    return sorted(until(found, "pages"), key=lambda page: page.rank)


def is_below(pid: int, above: int) -> bool:
    while pid > 1:
        if pid == above:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            return False
    return False


def classes(table: dict) -> dict[int, int]:
    """Returns the table indexed by class number."""
    return {int(label.split("-")[0] or 0).bit_length() - 1 if not label.startswith("0-") else 0: value
            for label, value in table.items()}


def compare(page: counters.Page, known: dict) -> None:
    now, rank = page.read(), f"rank {page.rank}"
    whole = {key: {int(k): v for k, v in known[key].items()} for key in ("messages", "bytes", "sizes")}
    same(f"{rank}, messages", now.table("peer.messages"), whole["messages"])
    same(f"{rank}, bytes", now.table("peer.bytes"), whole["bytes"])
    if not now.value("peer.internal_messages"):
        same(f"{rank}, sizes", classes(now.table("sent.sizes")), whole["sizes"])
        same(f"{rank}, memory", now.table("sent.memory_messages"), known["memory"])
        same(f"{rank}, bytes by memory", now.table("sent.memory_bytes"), known["memory_bytes"])
    calls = now.table("function.calls")
    for name, number in known["calls"].items():
        same(f"{rank}, {name}", calls.get(name), number)
    same(f"{rank}, MPI_Init", calls.get("MPI_Init", 0) + calls.get("MPI_Init_thread", 0), 1)
    same(f"{rank}, all bytes", now.value("sent.all_bytes"), now.value("peer.bytes") + now.value("peer.internal_bytes"))
    same(f"{rank}, all sizes", now.value("sent.sizes"), now.value("peer.messages") + now.value("peer.internal_messages"))
    same(f"{rank}, queues", [now.value("posted.now"), now.value("unexpected.now"), now.value("unexpected.bytes")], [0, 0, 0])
    same(f"{rank}, marks", [now.value("phase.marks"), now.values("phase.level")[:3]], [3, [1, 2, 3]])
    same(f"{rank}, state", now.state, "running")
    if not now.value("posted.most") or not now.value("collective.calls"):
        raise SystemExit(f"{rank}: no receive was ever posted, or no collective operation carried out")


def buffers(page: counters.Page) -> dict[str, int]:
    """Returns the communication buffers that are in use now, by the part of the library that keeps them."""
    return page.read().table("buffer.now")


def allocated(pids: list[int]) -> int | None:
    """Returns the memory that the system has allocated for the files that the ranks share; None if this user may not see that."""
    found = {}
    try:
        for file in (file for pid in pids for file in Path(f"/proc/{pid}/map_files").iterdir()):
            if os.readlink(file).startswith("/dev/shm/"):
                status = file.stat()
                found[status.st_ino] = status.st_blocks * 512
    except PermissionError:
        return None
    return sum(found.values())


def segment(pages: list[counters.Page], kept: list[dict[str, int]]) -> None:
    """Compares what the ranks say with the system's figure, which includes doorbells and shared words, and whole pages."""
    said, real = sum(of.get("shm", 0) + of.get("collectives", 0) for of in kept), allocated([page.about["pid"] for page in pages])
    least = 1 if real else 0  # ranks on separate hosts share nothing
    if real is not None and not least <= said <= real <= said + (len(pages) ** 2 + 8) * 4096 + 65536:
        raise SystemExit(f"ranks keep {said} bytes of shared memory, and the system has allocated {real}: {kept}")


def messages(ranks: int, seed: int, count: int, devices: bool, environment: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        command = [MPIEXEC, "--timeout", "100", "-n", str(ranks), KNOWN, directory, str(seed), str(count)]
        process = subprocess.Popen(command + (["device"] if devices else []), env={**os.environ, **environment})
        try:
            files = [Path(directory) / f"{rank}.json" for rank in range(ranks)]
            until(lambda: process.poll() is not None or all(file.exists() for file in files), "the ranks' files", 100)
            pages = pages_of(process, ranks)
            for page, file in zip(pages, files):
                compare(page, json.loads(file.read_text()))
            # In the sums over all ranks, everything sent was received.
            snapshots = [page.read() for page in pages]
            total = lambda *names: sum(snapshot.value(name) for snapshot in snapshots for name in names)
            same("all messages received", total("received.messages"), total("peer.messages", "peer.internal_messages"))
            same("all bytes received", total("received.bytes"), total("peer.bytes", "peer.internal_bytes"))
            kept = [buffers(page) for page in pages]
            if not environment and ranks > 1:
                segment(pages, kept)
            if "HEADRACE_AS_HOSTS" in environment and not all({"tcp", "ucx", "ofi"} & of.keys() for of in kept):
                raise SystemExit(f"some rank keeps no buffer for the network: {kept}")
            (Path(directory) / "go").touch()
            if process.wait(60) != 0:
                raise SystemExit("the job has failed")
            same("state after the end", {page.read().state for page in pages}, {"finalized"})
            for page, of in zip(pages, kept):
                same(f"rank {page.rank}, buffers after the end", buffers(page), {})
                most = page.read().table("buffer.most")
                if any(most.get(name, 0) < now for name, now in of.items()):
                    raise SystemExit(f"rank {page.rank} has kept at most {most}, and {of} at one time")
            same("alive", [page.alive() for page in pages], [False] * ranks)
            same("pages that are left", [page.place for page in counters.look(job=pages[0].job).pages], [])
        finally:
            process.kill() if process.poll() is None else None
            process.wait()


def alone() -> None:
    """A process without mpiexec: a memory file, which vanishes with the process even if that is killed."""
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen([KNOWN, directory, "1", "64"])
        until((Path(directory) / "0.json").exists, "the file")
        page = pages_of(process, 1)[0]
        same("place", page.place.startswith(f"/proc/{process.pid}/fd/"), True)
        compare(page, json.loads((Path(directory) / "0.json").read_text()))
        process.send_signal(signal.SIGKILL)
        process.wait()
        same("alive", page.alive(), False)
        same("its last state", page.read().state, "running")
        same("pages that are left", counters.look(job=page.job).pages, [])


def unseen() -> None:
    """With counters switched off, there is no page, and nothing is saved."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "go").touch()
        run = Path(directory) / "run.hrc"
        subprocess.run([MPIEXEC, "--save-counters", str(run), "-n", "1", KNOWN, directory, "1", "16"], timeout=60, check=True,
                       env={**os.environ, "HEADRACE_COUNTERS": "off"})
        same("pages", counters.load(run), [])


def without_mpiexec() -> None:
    """Nothing remains of a job whose mpiexec is killed."""
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen([MPIEXEC, "-n", "2", KNOWN, directory, "1", "16"], stderr=subprocess.DEVNULL)
        pages = pages_of(process, 2)
        process.kill()
        process.wait()
        until(lambda: not any(page.alive() for page in pages), "the ranks' end")
        same("pages that are left", counters.look(job=pages[0].job).pages, [])
        # The guard of the job removes them once all processes have ended.
        until(lambda: not any(pages[0].job in name for name in os.listdir("/dev/shm")), "no files are left")


def saved() -> None:
    """Pages saved by --save-counters: those of ranks that end normally, and those of a killed job."""
    with tempfile.TemporaryDirectory() as directory:
        run = Path(directory) / "run.hrc"
        (Path(directory) / "go").touch()
        command = [MPIEXEC, "--save-counters", str(run), "-n", "3", KNOWN, directory, "3", "200"]
        same("exit code", subprocess.run(command, timeout=60, check=False).returncode, 0)
        pages = counters.load(run)
        same("pages", [page.rank for page in pages], [0, 1, 2])
        for page in pages:
            same("state", page.read().state, "finalized")
            same("messages", sum(page.read().table("peer.messages").values()),
                 sum(json.loads((Path(directory) / f"{page.rank}.json").read_text())["messages"].values()))
        (Path(directory) / "go").unlink()
        (Path(directory) / "0.json").unlink()
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        until((Path(directory) / "0.json").exists, "the file")
        # mpiexec keeps the page of a killed rank.
        os.kill(pages_of(process, 3)[1].about["pid"], signal.SIGKILL)
        same("exit code", process.wait(60), 128 + signal.SIGKILL)
        same("states after a death", {page.read().state for page in counters.load(run)}, {"running"})
        command[2] = directory + "/none/run.hrc"
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        same("exit code without a directory", (done.returncode, "--save-counters: cannot write" in done.stderr), (1, True))
        same("what is left", [name for name in os.listdir(directory) if name.startswith("run.hrc.")], [])


def sums(ranks: int, *command: str) -> list[tuple[int, int]]:
    """Returns the messages and bytes that each rank of the program has sent."""
    with tempfile.TemporaryDirectory() as directory:
        run = Path(directory) / "run.hrc"
        subprocess.run([MPIEXEC, "--save-counters", str(run), "--timeout", "60", "-n", str(ranks), *command], check=True,
                       stdout=subprocess.DEVNULL)
        return [(now.value("peer.messages"), now.value("peer.bytes")) for now in map(counters.Page.read, counters.load(run))]


def more(few: list[tuple[int, int]], many: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(after[0] - before[0], after[1] - before[1]) for before, after in zip(few, many)]


def halo3d(program: str) -> None:
    """Additional steps send six faces each."""
    for pattern in ("packed", "isend-irecv", "overlap"):
        run = lambda steps: sums(4, program, "--device", "host", "--local", "8,16,32", "--procs", "2,2,1", "--pattern", pattern,
                                 "--steps", str(steps))
        faces = 2 * 3 * 4 * (8 * 16 + 16 * 32 + 8 * 32)  # three fields of floats
        found = more(run(5), run(15))
        same(f"halo3d {pattern}, bytes of ten steps", [each[1] for each in found], [10 * faces] * 4)


def latency(program: str) -> None:
    run = lambda count: sums(2, program, "--sizes", "8,1000", "--iters", str(count), "--warmup", "10", "--reps", "7",
                             "--seconds", "1000")
    same("latency, 7 times 50 messages of two sizes", more(run(100), run(150)), [(2 * 350, 350 * 1008)] * 2)


def threads(number: int) -> None:
    """Threads on channels: the counters are exact after the threads have ended, and current while a rank is outside MPI
    or waits in a call on a channel."""
    one = os.environ.get("HEADRACE_CHANNELS") == "1"
    with tempfile.TemporaryDirectory() as directory:
        run = Path(directory) / "run.hrc"
        rounds = 20 if number > 10 else 60
        process = subprocess.Popen([MPIEXEC, "--save-counters", str(run), "--timeout", "100", "-n", "2", KNOWN, directory, str(number), str(rounds)])
        try:
            pages = pages_of(process, 2)
            files = {end: [Path(directory) / f"{rank}.{end}" for rank in range(2)] for end in ("half", "json")}

            def calls_after(end: str) -> int:
                until(lambda: process.poll() is not None or all(file.exists() for file in files[end]), f"the files .{end} of the ranks", 100)
                same("the job's end, too early", process.poll(), None)
                return pages[0].read().value("function.calls")
            half = calls_after("half")
            (Path(directory) / "on").touch()
            whole = calls_after("json")
            if not 0 < half < whole:
                raise SystemExit(f"rank 0 had made {half} calls after half of its messages, and {whole} after all")
            for page, file in zip(pages, files["json"]):
                compare_threads(page, json.loads(file.read_text()), one)
            until(lambda: pages[1].read().value("now.waiting_since"), "a long wait of rank 1")
            waits = pages[1].read()
            same("the function in which rank 1 waits", waits.page.labels("function.calls")[waits.value("now.function")], "MPI_Recv")
            same("the process that rank 1 waits for", waits.value("now.waiting_for"), 1)
            same("the function that rank 0 is in", pages[0].read().value("now.function"), 0)
            total = lambda *names: sum(page.read().value(name) for page in pages for name in names)
            same("all messages received", total("received.messages"), total("peer.messages", "peer.internal_messages"))
            same("all bytes received", total("received.bytes"), total("peer.bytes", "peer.internal_bytes"))
            before = waits.value("wait.times"), waits.table("peer.wait")[0], waits.table("function.wait").get("MPI_Recv", 0)
            (Path(directory) / "go").touch()
            same("exit code", process.wait(60), 0)
            after = pages[1].read()
            if not all(later > earlier for later, earlier in zip((after.value("wait.times"), after.table("peer.wait")[0], after.table("function.wait")["MPI_Recv"]), before)):
                raise SystemExit("the wait of rank 1 was not counted")
            same("the saved pages", [page.read().table("peer.messages") for page in counters.load(run)], [page.read().table("peer.messages") for page in pages])
            if run.stat().st_size > (8 << 20):
                raise SystemExit(f"the saved pages have {run.stat().st_size} bytes")
        finally:
            process.kill() if process.poll() is None else None
            process.wait()


def lengths(*words: str) -> None:
    """Calls by duration, and their 99th percentile: long calls by the clock of the program, which includes the library's."""
    calls, late, long = 2000, 40, 1 << 21
    with tempfile.TemporaryDirectory() as directory:
        run = Path(directory) / "run.hrc"
        done = subprocess.run([MPIEXEC, "--save-counters", str(run), "--timeout", "60", "-n", "2", KNOWN, str(calls), str(late), *words], check=True, capture_output=True, text=True)
        page = counters.load(run)[1]
    over, far_over = map(int, done.stdout.split())
    same("calls", page.read().table("function.calls")["MPI_Recv"], calls)
    classes = durations.by_function((f"MPI_Recv {label}", count) for label, count in page.durations()["MPI_Recv"].items())["MPI_Recv"]
    above = lambda least: sum(count for begin, count in classes.items() if begin >= least)
    # A rank that lost its core before its wait became long counts as short.
    if not above(long) <= over or above(long // 2) < far_over - 2 or above(long) < late // 2:
        raise SystemExit(f"long calls: {over} and {far_over} by the program, by the page {classes}")
    if sum(classes.values()) > calls + 1024:  # one timed call stands for that many
        raise SystemExit(f"{calls} calls, and by duration {sum(classes.values())}: {classes}")
    whole = durations.whole(classes, calls)
    if not durations.quantile(whole, 0.5) < long < durations.quantile(whole, 0.99) < 1e9:
        raise SystemExit(f"median {durations.quantile(whole, 0.5)}, 99th percentile {durations.quantile(whole, 0.99)} ns: {whole}")


def compare_threads(page: counters.Page, known: dict, one: bool) -> None:
    now, rank = page.read(), f"rank {page.rank}"
    numbers = lambda name: {int(key): value for key, value in known[name].items() if value}
    same(f"{rank}, messages", now.table("peer.messages"), numbers("messages"))
    same(f"{rank}, bytes", now.table("peer.bytes"), numbers("bytes"))
    if not now.value("peer.internal_messages"):
        same(f"{rank}, sizes", classes(now.table("sent.sizes")), numbers("sizes"))
    same(f"{rank}, all sizes", now.value("sent.sizes"), now.value("peer.messages") + now.value("peer.internal_messages"))
    same(f"{rank}, all bytes", now.value("sent.all_bytes"), now.value("peer.bytes") + now.value("peer.internal_bytes"))
    calls, sent = now.table("function.calls"), now.table("function.bytes")
    for name, number in known["calls"].items():
        # Rank 1 is in one more MPI_Recv.
        same(f"{rank}, {name}", calls.get(name, 0) - (page.rank == 1 and name == "MPI_Recv" and calls.get(name, 0) > number), number)
    same(f"{rank}, accesses", now.table("access.calls"), known["accesses"])
    same(f"{rank}, bytes of accesses", now.table("access.bytes"), known["accessed"])
    for name, number in known["sent_in"].items():
        same(f"{rank}, bytes sent in {name}", sent.get(name, 0), number)
    if not one:
        same(f"{rank}, parts are there", now.page.raw().__len__() > now.page.description["parts"]["at"], True)
        same(f"{rank}, queues", [now.value("posted.now") * (1 - page.rank), now.value("unexpected.now"), now.value("unexpected.bytes")], [0, 0, 0])
        if not now.value("unexpected.messages") or not now.value("function.time"):
            raise SystemExit(f"{rank}: no message was ever unexpected, or no time was measured")


def main(case: str) -> None:
    hosts = {"HEADRACE_AS_HOSTS": "2"}
    if case == "host":
        for ranks in (1, 2, 3, 4, 5):
            messages(ranks, ranks, 300, False, {})
        messages(2, 9, 300, False, {"HEADRACE_SHM_SINGLE_COPY": "off"})
    elif case == "hosts":
        messages(4, 6, 300, False, hosts)
    elif case == "device":
        messages(2, 7, 300, True, {})
        messages(3, 8, 200, True, hosts)
    elif case == "alone":
        alone()
        unseen()
        without_mpiexec()
    elif case in ("halo3d", "latency"):
        globals()[case](sys.argv[4])
    elif case == "threads":
        threads(int(sys.argv[4]))
    elif case == "durations":
        lengths(*sys.argv[4:])
    elif case == "saved":
        saved()
    print("ok")


main(sys.argv[3])
