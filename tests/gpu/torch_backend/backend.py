"""Operations of the torch.distributed backend `headrace`, every element checked. Run it under mpiexec on 2 ranks or more:

    backend.py cuda|cpu [asynchronous] [no-graphs]

With PyTorch and GPUs, or with the stub beside this file on the fake driver.
"""

import sys

import headrace.torch
import torch
import torch.distributed as dist

COUNT = 1000


def expect(found, wanted, what):
    if found.is_cuda:
        torch.cuda.current_stream().synchronize()
    found = found.tolist()
    if found != list(wanted):
        at = next(i for i, (one, other) in enumerate(zip(found, wanted)) if one != other)
        raise SystemExit(f"rank {dist.get_rank()}: {what}: element {at} is {found[at]}, not {wanted[at]}")


def values(device, first, count=COUNT, dtype=torch.float32):
    return torch.arange(first, first + count, dtype=dtype, device=device)


def collectives(device, rank, size):
    everyone = range(size)
    for dtype in (torch.float32, torch.float64, torch.int32, torch.int64):
        tensor = values(device, rank, dtype=dtype)
        dist.all_reduce(tensor)
        expect(tensor, [size * i + sum(everyone) for i in range(COUNT)], f"all_reduce of {dtype}")
    tensor = values(device, rank)
    dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
    expect(tensor, [i + size - 1 for i in range(COUNT)], "all_reduce, max")
    for root in everyone:
        tensor = values(device, 100 * rank)
        dist.broadcast(tensor, src=root)
        expect(tensor, [100 * root + i for i in range(COUNT)], "broadcast")
    together = torch.empty(size * COUNT, dtype=torch.float32, device=device)
    dist.all_gather_into_tensor(together, values(device, 7 * rank))
    expect(together, [7 * other + i for other in everyone for i in range(COUNT)], "all_gather_into_tensor")
    own = torch.empty(COUNT, dtype=torch.float32, device=device)
    dist.reduce_scatter_tensor(own, values(device, rank, size * COUNT))
    expect(own, [size * (rank * COUNT + i) + sum(everyone) for i in range(COUNT)], "reduce_scatter_tensor")
    dist.barrier()


def messages(device, rank, size):
    right, left = (rank + 1) % size, (rank - 1) % size
    own, got = values(device, 10 * rank), torch.empty(COUNT, dtype=torch.float32, device=device)
    work = dist.isend(own, right, tag=3)
    dist.recv(got, left, tag=3)
    work.wait()
    expect(got, [10 * left + i for i in range(COUNT)], "isend and recv")
    if rank % 2 == 0 and rank + 1 < size:
        dist.send(own, rank + 1)
    elif rank % 2 == 1:
        dist.recv(got, rank - 1)
        expect(got, [10 * (rank - 1) + i for i in range(COUNT)], "send and recv")


def subgroups(device, rank, size):
    """A group of the odd ranks and one of the others."""
    groups = [dist.new_group([other for other in range(size) if other % 2 == part]) for part in range(2)]
    members = [other for other in range(size) if other % 2 == rank % 2]
    tensor = values(device, rank)
    dist.all_reduce(tensor, group=groups[rank % 2])
    expect(tensor, [len(members) * i + sum(members) for i in range(COUNT)], "all_reduce in a group")


def streams(rank, size, graphs):
    """In streams other than the current one, many times, so that requests are used again; and in a graph."""
    side = torch.cuda.Stream()
    own, got = values("cuda", rank), torch.empty(size * COUNT, dtype=torch.float32, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        for _ in range(300):
            dist.all_gather_into_tensor(got, own)
        side.synchronize()
        expect(got, [other + i for other in range(size) for i in range(COUNT)], "in a stream of its own")
        if not graphs:
            return
        total = values("cuda", rank)
        side.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            dist.all_reduce(total)
            dist.broadcast(own, src=0)
        for _ in range(3):
            graph.replay()
        side.synchronize()
    times = size**2
    expect(total, [times * (size * i + sum(range(size))) for i in range(COUNT)], "in a graph, launched three times")
    expect(own, list(range(COUNT)), "a broadcast in a graph")


def together():
    """All ranks call this. Only the host waits."""
    dist.all_reduce(values("cpu", 0))


def other_streams(rank, size, asynchronous):
    """The stream in which wait() is called comes behind the operation, which another stream executes."""
    lane, other = torch.cuda.Stream(), torch.cuda.Stream()
    own, got, seen, poison = values("cuda", rank), *(values("cuda", -5 * size * COUNT, size * COUNT) for _ in range(3))
    got_one, seen_one, poison_one = (values("cuda", -5 * COUNT) for _ in range(3))
    torch.cuda.synchronize()
    with torch.cuda.stream(lane):
        dist.all_gather_into_tensor(got, own)
        lane.synchronize()
    # Rank 0 then copies what it has received before the others begin.
    early = asynchronous and rank == 0

    def copy_behind(operation, received, copied, before):
        if not early:
            together()
        with torch.cuda.stream(lane):
            received.copy_(before)
            work = operation()
        with torch.cuda.stream(other):
            work.wait()
            copied.copy_(received)
        if early:
            together()
        other.synchronize()
        lane.synchronize()

    for _ in range(10):
        copy_behind(lambda: dist.all_gather_into_tensor(got, own, async_op=True), got, seen, poison)
        expect(seen, [one + i for one in range(size) for i in range(COUNT)], "all_gather_into_tensor, waited for in another stream")
        if rank == 0:
            copy_behind(lambda: dist.irecv(got_one, 1, tag=4), got_one, seen_one, poison_one)
            expect(seen_one, [1 + i for i in range(COUNT)], "irecv, waited for in another stream")
        elif rank == 1:
            copy_behind(lambda: dist.isend(own, 0, tag=4), got_one, seen_one, poison_one)
        else:
            together()


def across_captures(rank, size):
    """An operation and its wait() belong to the same capture, or both to none. A refused wait() leaves a capture valid."""
    right, left = (rank + 1) % size, (rank - 1) % size
    side = torch.cuda.Stream()
    total, outside, own, got = values("cuda", rank), values("cuda", rank), values("cuda", rank), values("cuda", -5 * COUNT)
    torch.cuda.synchronize()

    def refuse(work, text):
        try:
            work.wait()
        except RuntimeError as error:
            if text in str(error):
                return
            raise
        raise SystemExit(f"wait() returned: {text}")

    with torch.cuda.stream(side):
        before = dist.all_reduce(outside, async_op=True)
        messages = [dist.irecv(got, left, tag=5), dist.isend(own, right, tag=5)]
        side.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            for work in (before, *messages):
                refuse(work, "called before it")
            inside = dist.all_reduce(total, async_op=True)
            inside.wait()
        refuse(inside, "outside the capture")
        for work in (before, *messages):
            work.wait()
        graph.replay()
        side.synchronize()
    expect(outside, [size * i + sum(range(size)) for i in range(COUNT)], "all_reduce before a capture")
    expect(got, [left + i for i in range(COUNT)], "irecv before a capture")
    expect(total, [size * i + sum(range(size)) for i in range(COUNT)], "all_reduce in a capture")


def errors(device):
    for call in (lambda: dist.all_gather_into_tensor(values(device, 0), values(device, 0)),
                 lambda: dist.all_reduce(values(device, 0), op=dist.ReduceOp.PREMUL_SUM)):  # PyTorch itself may refuse its type
        try:
            call()
        except (TypeError, ValueError, RuntimeError):
            continue
        raise SystemExit("a wrong call returned")


def main():
    device = sys.argv[1]
    rank, size = headrace.torch.init(asynchronous="asynchronous" in sys.argv)
    collectives(device, rank, size)
    messages(device, rank, size)
    subgroups(device, rank, size)
    errors(device)
    if device == "cuda":
        other_streams(rank, size, "asynchronous" in sys.argv)
        streams(rank, size, "no-graphs" not in sys.argv)
        if "no-graphs" not in sys.argv:
            across_captures(rank, size)
    dist.destroy_process_group()
    print(f"rank {rank} of {size} passed on {device}, torch {torch.__version__}", flush=True)


main()
