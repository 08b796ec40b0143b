#!/usr/bin/env python3
"""NCCL's times for the collectives and messages of bench/, through torch.distributed, as a limit for comparison.

    bench/nccl_limits.py [--ranks N] [--ops LIST] [--sizes LIST] [--json FILE]

One process per GPU. Each call is followed by torch.cuda.synchronize(), as an MPI program waits for each of its calls.
A sample is the longest time among the ranks, and a figure is the median over the samples, in microseconds. Sizes are
those of the larger of a rank's two buffers, in bytes. NVLS (NVLink multicast) stays off.

Exit code 5, with a sentence, if PyTorch with CUDA and NCCL, or the GPUs, are missing.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

OPERATIONS = ("allreduce", "allgather", "alltoall", "reduce_scatter_block", "bcast", "sendrecv")
SIZES = "8,32,128,512,2K,8K,32K,128K,512K,1M,4M,16M,64M,256M"
NOT_HERE = 5


def parse_size(text):
    shift = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper())
    return int(text[:-1]) << shift if shift else int(text)


def repetitions(seconds, args):
    """Returns as many samples as fit into the time of a figure, between the least and the most."""
    return max(args.least, min(args.most, int(args.milliseconds * 1e-3 / max(seconds, 1e-7))))


def make_call(torch, dist, op, size, rank, ranks):
    """Returns the call of one rank, and the bytes of its larger buffer."""
    blocks = ranks if op in ("allgather", "alltoall", "reduce_scatter_block") else 1
    block = max(1, size // 4 // blocks)
    small = torch.ones(block, device="cuda")
    large = torch.ones(block * blocks, device="cuda")
    other = torch.empty_like(large)
    calls = {
        "allreduce": lambda: dist.all_reduce(small),
        "allgather": lambda: dist.all_gather_into_tensor(large, small),
        "alltoall": lambda: dist.all_to_all_single(other, large),
        "reduce_scatter_block": lambda: dist.reduce_scatter_tensor(small, large),
        "bcast": lambda: dist.broadcast(small, 0),
    }
    if op != "sendrecv":
        return calls[op], 4 * block * blocks

    def one_way_and_back():  # ranks above 1 take no part
        if rank > 1:
            return
        first, second = (dist.send, dist.recv) if rank == 0 else (dist.recv, dist.send)
        first(small, 1 - rank)
        torch.cuda.synchronize()
        second(small, 1 - rank)

    return one_way_and_back, 4 * block


def rank_main(args):
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(args.rank)
    dist.init_process_group("nccl", init_method=f"file://{args.meeting}", rank=args.rank, world_size=args.ranks)
    agreed = torch.empty(1, dtype=torch.int64, device="cuda")
    rows = []
    for op in args.ops.split(","):
        for size in map(parse_size, args.sizes.split(",")):
            call, bytes_ = make_call(torch, dist, op, size, args.rank, args.ranks)

            def once():
                start = time.perf_counter()
                call()
                torch.cuda.synchronize()
                return time.perf_counter() - start

            for _ in range(3):
                once()
            agreed.fill_(repetitions(min(once() for _ in range(3)), args))
            dist.broadcast(agreed, 0)
            count = int(agreed.item())
            samples = []
            for _ in range(count):
                samples.append(once() * 1e6 / (2 if op == "sendrecv" else 1))
            rows.append({"label": op, "bytes": bytes_, "samples": samples})
    version = ".".join(map(str, torch.cuda.nccl.version()))
    result = {"nccl": version, "torch": torch.__version__, "device": torch.cuda.get_device_name(), "rows": rows}
    pathlib.Path(args.out).write_text(json.dumps(result))
    dist.destroy_process_group()


def merged(results):
    """Combines the ranks' rows into one each: the slowest rank of each sample, then the median."""
    rows = []
    for parts in zip(*(result["rows"] for result in results)):
        if parts[0]["label"] == "sendrecv":
            parts = parts[:1]  # the rank that leads
        samples = [max(times) for times in zip(*(part["samples"] for part in parts))]
        rows.append({"label": parts[0]["label"], "bytes": parts[0]["bytes"], "samples": len(samples),
                     "best": min(samples), "median": statistics.median(samples), "worst": max(samples)})
    return {"benchmark": "nccl_limits", "unit": "us", "less_is_better": True, "ranks": len(results),
            **{key: results[0][key] for key in ("nccl", "torch", "device")}, "rows": rows}


def why_not(ranks):
    """Returns the reason why NCCL cannot be measured here, or None. Another process finds out, as that makes a CUDA context."""
    probe = (f"import torch, torch.distributed as d; n = torch.cuda.device_count(); "
             f"print('' if d.is_available() and d.is_nccl_available() and n >= {ranks} else "
             f"f'PyTorch sees {{n}} GPUs, {ranks} are wanted' if n < {ranks} else 'PyTorch has no NCCL')")
    try:
        done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "importing PyTorch takes longer than 120 s"
    if done.returncode != 0:
        return "PyTorch is not there: " + (done.stderr.strip().splitlines() or ["no message"])[-1]
    return done.stdout.strip() or None


def run_ranks(args):
    """Returns the results of all ranks; SystemExit if one fails or takes too long."""
    env = {**os.environ, "NCCL_NVLS_ENABLE": "0"}
    with tempfile.TemporaryDirectory(prefix="nccl-limits-") as work:
        children = [
            subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--rank", str(rank), "--meeting",
                              f"{work}/meeting", "--out", f"{work}/{rank}.json"], env=env, stdout=sys.stderr)
            for rank in range(args.ranks)]
        deadline = time.monotonic() + args.timeout
        try:
            while any(child.poll() is None for child in children):
                failed = next((c for c in children if c.poll() not in (None, 0)), None)
                if failed or time.monotonic() > deadline:
                    sys.exit("nccl_limits.py: " + (f"rank {children.index(failed)} failed with exit code "
                                                   f"{failed.returncode}" if failed
                                                   else f"no result in {args.timeout} s"))
                time.sleep(0.05)
            if bad := [rank for rank, child in enumerate(children) if child.returncode != 0]:
                sys.exit(f"nccl_limits.py: rank {bad[0]} failed with exit code {children[bad[0]].returncode}")
        finally:
            for child in children:
                child.kill()
                child.wait()
        return [json.loads(pathlib.Path(f"{work}/{rank}.json").read_text()) for rank in range(args.ranks)]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--ops", default=",".join(OPERATIONS), help="comma-separated")
    parser.add_argument("--sizes", default=SIZES, help="comma-separated; K, M, G are powers of 1024")
    parser.add_argument("--least", type=int, default=20, help="samples of a figure")
    parser.add_argument("--most", type=int, default=500)
    parser.add_argument("--milliseconds", type=int, default=50, help="about, for a figure between the two")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for all")
    parser.add_argument("--json", metavar="FILE", help="'-': to standard output instead of the table")
    for name in ("--rank", "--meeting", "--out"):  # for a rank that this program has started
        parser.add_argument(name, type=int if name == "--rank" else str, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := set(args.ops.split(",")) - set(OPERATIONS):
        parser.error(f"no such operation: {', '.join(sorted(unknown))}; there are {', '.join(OPERATIONS)}")
    try:
        [parse_size(size) for size in args.sizes.split(",")]
    except ValueError:
        parser.error(f"--sizes: '{args.sizes}' is not a list of sizes")
    return args


def main():
    args = parse_arguments()
    if args.rank is not None:
        return rank_main(args)
    if reason := why_not(args.ranks):
        print(f"nccl_limits.py: not measured: {reason}", file=sys.stderr)
        return NOT_HERE
    report = merged(run_ranks(args))
    if args.json == "-":
        print(json.dumps(report))
        return 0
    print(f"# NCCL {report['nccl']}, PyTorch {report['torch']}, {args.ranks} x {report['device']}, us")
    print(f"{'':20} {'bytes':>12} {'median':>12} {'best':>12} {'worst':>12} {'samples':>8}")
    for row in report["rows"]:
        print(f"{row['label']:20} {row['bytes']:12} {row['median']:12.2f} {row['best']:12.2f} {row['worst']:12.2f} "
              f"{row['samples']:8}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
