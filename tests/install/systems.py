#!/usr/bin/env python3
"""The wheel on other systems: root file systems of Debian releases without a compiler, and an ordinary user in them.

  systems.py --wheel W --work DIRECTORY [--sdist S] [--again] [SUITE ...]   all of SUITES; prints one line per step, then the totals

With --sdist the source distribution is built as well, in a namespace without a network, by the environment of this Python.

Resumable: DIRECTORY records the steps that have passed with the same files in the wheel or the source distribution;
they are not repeated, but count in the totals. --again repeats everything.

`debootstrap` makes each system once, from this machine's package sources; DIRECTORY keeps it. mpi4py's wheel and its tests are
fetched here, so that nothing inside needs a network. Each system runs in separate namespaces, with its own /dev/shm and processes,
which end with it. Skipped, with the reason, where this is not root or has no debootstrap.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import venv
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITES = {"bullseye": "3.9", "bookworm": "3.11", "trixie": "3.13"}  # Debian 11, 12 and 13, and their Python
MPI4PY = "4.1.2"
USER = 12345  # number of a user that does not exist here
SECONDS = 1200


def run(*command: str | Path, **keywords) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], check=True, stdin=subprocess.DEVNULL, **keywords)


def why_not() -> str:
    """Returns why this machine cannot run the tests; empty if it can."""
    if os.geteuid() != 0:
        return "a system in a directory needs root"
    missing = [program for program in ("debootstrap", "unshare", "chroot", "apt-get") if shutil.which(program) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    tried = subprocess.run(["unshare", "-mp", "--fork", "true"], capture_output=True, text=True, check=False)
    return f"no namespaces: {tried.stderr.strip()}" if tried.returncode else ""


def mirror() -> str:
    """Returns the source of this machine's packages: of all its sources, the one that offers the distribution's main part."""
    told = run("apt-get", "indextargets", "--format", "$(SITE) $(REPO_URI) $(ORIGIN) $(SUITE) $(COMPONENT)", "Created-By: Packages",
               capture_output=True, text=True).stdout
    rows = [line.split() for line in told.splitlines()]
    found = [row[1] for row in rows if "Debian" in row and row[-1] == "main" and "security" not in row[1]]
    if not found:
        raise SystemExit("systems.py: apt on this machine has no source of Debian's packages")
    return found[0]


def make(suite: str, work: Path) -> Path:
    """Returns the system's directory, with Python and without a compiler. Until it is complete, it has another name."""
    root = work / suite
    if root.exists():
        return root
    part = work / f"{suite}.part"
    shutil.rmtree(part, ignore_errors=True)
    packages = work / "packages"
    packages.mkdir(exist_ok=True)
    log = work / f"{suite}.txt"
    with open(log, "w", encoding="utf-8") as out:
        done = subprocess.run(["debootstrap", f"--cache-dir={packages}", "--variant=minbase", "--include=python3-venv", suite, str(part),
                               mirror()], check=False, stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.STDOUT)
    if done.returncode:
        raise SystemExit(f"systems.py: debootstrap {suite} failed: " + log.read_text(encoding="utf-8", errors="replace")[-600:])
    shutil.rmtree(part / "var/cache/apt/archives", ignore_errors=True)
    part.rename(root)
    return root


def fetch(work: Path) -> Path:
    """Returns a directory with mpi4py's wheel for each Python, and its unpacked sources, which contain its tests."""
    to = work / "wheels"
    if (to / "ready").exists() and (work / "others").is_dir():
        return to
    to.mkdir(parents=True, exist_ok=True)
    venv.create(work / "tools", with_pip=True, clear=True)
    pip = [work / "tools/bin/python", "-m", "pip", "-q", "--disable-pip-version-check"]
    run(*pip, "install", "setuptools>=61", "wheel")
    for python in SUITES.values():
        run(*pip, "download", "--no-deps", "--only-binary", ":all:", "--python-version", python, "--platform", "manylinux_2_5_x86_64",
            "-d", to, f"mpi4py=={MPI4PY}")
    run(*pip, "download", "--no-binary", ":all:", "--no-deps", "--no-build-isolation", "-d", work / "tools", f"mpi4py=={MPI4PY}")
    run(*pip, "download", "--no-deps", "-d", work / "others", "mpich==5.0.*")
    with tarfile.open(work / f"tools/mpi4py-{MPI4PY}.tar.gz") as archive:
        archive.extractall(work / "tools")
    (to / "ready").touch()
    return to


# Mounts that only this process sees; then the switch to the user, without root privileges.
INSIDE = """set -e
mount --make-rprivate /
mount -t proc proc "$ROOT/proc"
mount --rbind /sys "$ROOT/sys"
mount --rbind /dev "$ROOT/dev"
mount -t tmpfs -o mode=1777 tmpfs "$ROOT/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$ROOT/tmp"
exec chroot --userspec="$USER_ID:$USER_ID" "$ROOT" /usr/bin/env -i HOME=/home/tester PATH=/usr/bin:/bin LANG=C.UTF-8 \
  /bin/sh /given/in_system.sh /given/wheels /given/mpi4py work
"""


def test(suite: str, wheel: Path, work: Path) -> tuple[int, int]:
    """Steps that passed and failed."""
    root = make(suite, work)
    wheels = fetch(work)
    given, home = root / "given", root / "home/tester"
    for place in (given, home):
        shutil.rmtree(place, ignore_errors=True)
    home.mkdir(parents=True)
    os.chown(home, USER, USER)
    shutil.copytree(wheels, given / "wheels")
    shutil.copy(wheel, given / "wheels")
    shutil.copytree(work / f"tools/mpi4py-{MPI4PY}/test", given / "mpi4py/test")
    shutil.copy(HERE / "in_system.sh", given)
    child = subprocess.Popen(["unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "sh", "-c", INSIDE], text=True,
                             env={"PATH": os.environ["PATH"], "ROOT": str(root), "USER_ID": str(USER)}, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = child.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()  # ends everything in its process namespace
        output, _ = child.communicate()
        output += f"systems.py: no end within {SECONDS} s\nstep time-limit {SECONDS} failed\n"
    print(f"--- {suite}\n{output}", flush=True)
    verdicts = re.findall(r"^step \S+ \S+ (ok|failed)$", output, re.MULTILINE)
    lost = [] if verdicts and child.returncode in (0, 1) and "step uninstall" in output else ["failed"]
    verdicts += lost
    for place in (given, home):
        shutil.rmtree(place, ignore_errors=True)
    return verdicts.count("ok"), verdicts.count("failed")


def contents(archive: Path) -> str:
    """Identifies an archive by its files and their contents, regardless of when it was created."""
    found = hashlib.sha256()
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:  # the RECORD contains the names and hashes of all files
            found.update(opened.read(next(name for name in opened.namelist() if name.endswith(".dist-info/RECORD"))))
    else:
        with tarfile.open(archive) as opened:
            for member in sorted(opened.getmembers(), key=lambda member: member.name):
                if member.isfile():
                    found.update(member.name.encode())
                    found.update(opened.extractfile(member).read())
    return found.hexdigest()


class Kept:
    """Totals of the passed steps, by name, each with the identity of the tested archive."""

    def __init__(self, path: Path, again: bool):
        self.path = path
        self.steps = {} if again or not path.exists() else json.loads(path.read_text(encoding="utf-8"))
        scripts = (HERE / name for name in ("systems.py", "in_system.sh", "test_wrappers.py", "bad_input.py"))
        self.scripts = hashlib.sha256(b"".join(script.read_bytes() for script in scripts)).hexdigest()

    def passed(self, name: str, of: str) -> int:
        step = self.steps.get(name)
        return step["passed"] if step and step["of"] == [of, self.scripts] else 0

    def keep(self, name: str, of: str, passed: int) -> None:
        self.steps[name] = {"of": [of, self.scripts], "passed": passed}
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.steps, indent=1), encoding="utf-8")
        part.rename(self.path)


def build_without_network(sdist: Path, work: Path) -> bool:
    """Builds and installs a wheel from the source distribution: its mpiexec runs, and eight ranks of halo3d verify
    their own result."""
    place = work / "sdist"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    with open(work / "sdist.txt", "w", encoding="utf-8") as log:
        # The flags of make's builds, so that ccache can reuse unchanged objects.
        for command in (["unshare", "--net", sys.executable, "-m", "pip", "wheel", "--no-index", "--no-build-isolation", "--no-deps",
                         "-C", "cmake.define.HEADRACE_WERROR=ON", "-w", place, sdist],
                        [sys.executable, "-m", "venv", place / "env"],
                        ["sh", "-c", f"{place}/env/bin/python -m pip install --no-index {place}/*.whl"],
                        [place / "env/bin/mpiexec", "--timeout", "120", "-n", "8", place / "env/lib/headrace/bench/halo3d"]):
            done = subprocess.run([str(word) for word in command], check=False, stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=subprocess.STDOUT, timeout=7200)
            if done.returncode:
                print((work / "sdist.txt").read_text(encoding="utf-8", errors="replace")[-3000:])
                return False
    valid = "valid" in (work / "sdist.txt").read_text(encoding="utf-8", errors="replace").lower()
    shutil.rmtree(place)
    return valid


def refusals(wheel: Path, work: Path) -> bool:
    """pip itself rejects another processor, C library or Python, with a message."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    common = ["--no-index", "--no-deps", "--only-binary", ":all:", str(wheel)]
    good = True
    for words, sentence in ((["--platform", "manylinux_2_17_x86_64"], "not a supported wheel on this platform"),
                            (["--platform", "manylinux_2_28_aarch64"], "not a supported wheel on this platform"),
                            (["--platform", "musllinux_1_2_x86_64"], "not a supported wheel on this platform"),
                            (["--python-version", "3.8"], "requires a different Python: 3.8.0 not in '>=3.9'")):
        done = subprocess.run([*pip, "download", "-d", str(work / "nowhere"), *words, *common], capture_output=True, text=True, check=False)
        if done.returncode == 0 or sentence not in done.stderr:
            print(f"pip download {' '.join(words)} says: {done.stdout}{done.stderr}")
            good = False
    return good


def wrappers_here(wheel: Path, work: Path) -> bool:
    """On this machine, which has compilers: the wrappers' tests, in an environment whose name is hard to quote."""
    env = work / "an ünv (1)"
    shutil.rmtree(env, ignore_errors=True)
    venv.create(env, with_pip=True)
    run(env / "bin/python", "-m", "pip", "-q", "--disable-pip-version-check", "install", "--no-index", wheel)
    settings = {name: value for name, value in os.environ.items() if not re.match("LD_|MPI|HEADRACE_", name)}
    done = subprocess.run([env / "bin/python", "-B", "-m", "unittest", "test_wrappers.Environment"], cwd=HERE, stdin=subprocess.DEVNULL,
                          env={**settings, "HR_BUILD": str(env)}, capture_output=True, text=True, check=False, timeout=600)
    print(done.stderr[-3000:] if done.returncode else "", end="")
    shutil.rmtree(env)
    return done.returncode == 0


def bad_input(wheel: Path, work: Path) -> tuple[int, int]:
    """On this machine: environments with faults (bad_input.py)."""
    fetch(work)
    done = subprocess.run([sys.executable, "-B", "-m", "unittest", "-v", "bad_input"], cwd=HERE, stdin=subprocess.DEVNULL, capture_output=True,
                          env={**os.environ, "HR_WHEEL": str(wheel), "HR_OTHERS": str(work / "others")}, text=True, check=False, timeout=1200)
    print(done.stderr, end="")
    passed = done.stderr.count(" ... ok\n")
    return passed, max(int(done.returncode != 0), len(re.findall(r" \.\.\. (?:FAIL|ERROR)$", done.stderr, re.MULTILINE)))


def one(passed: bool) -> tuple[int, int]:
    """Returns the numbers of passed and failed steps, for a single step."""
    return int(passed), int(not passed)


def main() -> int:
    parser = argparse.ArgumentParser(description="The wheel on other systems.")
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sdist", type=Path)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}; all without")
    args = parser.parse_args()
    unknown = set(args.suites) - set(SUITES)
    if unknown:
        parser.error(f"no such system: {', '.join(sorted(unknown))}")
    suites = args.suites or list(SUITES)
    why = why_not()
    if why:
        print(f"skipped: {why}\n0 passed, 0 failed, {len(suites)} skipped")
        return 0
    work = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    passed = failed = 0
    wheel = args.wheel.resolve()
    kept = Kept(work / "passed.json", args.again)
    of_wheel = contents(wheel)
    steps = [("refusals", of_wheel, lambda: one(refusals(wheel, work))), ("wrappers-here", of_wheel, lambda: one(wrappers_here(wheel, work))),
             ("bad-input", of_wheel, lambda: bad_input(wheel, work))]
    if args.sdist:
        sdist = args.sdist.resolve()
        steps.append(("sdist-without-network", contents(sdist), lambda: one(build_without_network(sdist, work))))
    steps += [(suite, of_wheel, lambda suite=suite: test(suite, wheel, work)) for suite in suites]
    for name, of, step in steps:
        good, bad, begun = kept.passed(name, of), 0, time.monotonic()
        if good:
            print(f"step {name} passed before: {good} passed, 0 failed", flush=True)
        else:
            good, bad = step()
            print(f"step {name} {time.monotonic() - begun:.0f} s: {good} passed, {bad} failed", flush=True)
            if not bad:
                kept.keep(name, of, good)
        passed += good
        failed += bad
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
