#!/usr/bin/env python3
"""Arrays of CuPy, PyTorch and JAX through mpi4py: every allocator that they offer, point-to-point and collectives, each
element checked.

  frameworks.py --list                  the pairs of framework and allocator, one per line
  mpiexec -n 2 frameworks.py F A        the cases of framework F with allocator A; rank 0 prints one line per case

Frameworks that cannot be imported are skipped, with the reason. Nothing here waits for a device before a call if the framework
works on the legacy default stream (CuPy, PyTorch): MPI is ordered after that. tests/gpu/frameworks.sh runs all of it.
"""

from __future__ import annotations

import os
import sys

import numpy as np

SIZES = (1, 1000, 600_003)
DTYPES = ("float32", "float64", "int32", "int64", "complex64")


class Numpy:
    """Host arrays: to try this program without a GPU."""

    allocators = ("host",)

    def __init__(self, allocator: str, local_rank: int) -> None:
        self.name = "numpy"

    def from_host(self, array: np.ndarray):
        return array.copy()

    def empty(self, size: int, dtype: str):
        return np.full(size, 99, dtype)

    def to_host(self, array) -> np.ndarray:
        return np.asarray(array)

    def computed(self, size: int, dtype: str, rank: int):
        """Returns a result on which the device may still be working: values(size, dtype, rank)."""
        return self.from_host(values(size, dtype, rank))

    def sender(self, array):
        """Returns the object through which mpi4py reads the array."""
        return array

    def receiver(self, array):
        """Returns the object through which mpi4py writes the array."""
        return array


class Cupy(Numpy):
    allocators = ("pool", "plain", "managed", "async")

    def __init__(self, allocator: str, local_rank: int) -> None:
        import cupy

        self.cupy = cupy
        cupy.cuda.Device(local_rank % cupy.cuda.runtime.getDeviceCount()).use()
        if allocator == "plain":
            cupy.cuda.set_allocator(None)
        elif allocator == "managed":
            cupy.cuda.set_allocator(cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc)
        elif allocator == "async":
            cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)

    def from_host(self, array):
        return self.cupy.asarray(array)

    def empty(self, size, dtype):
        return self.cupy.full(size, 99, dtype)

    def to_host(self, array):
        return self.cupy.asnumpy(array)

    def computed(self, size, dtype, rank):
        return (self.cupy.arange(size) % 31 + rank).astype(dtype)


class Torch(Numpy):
    allocators = ("default", "async", "expandable")

    def __init__(self, allocator: str, local_rank: int) -> None:
        settings = {"async": "backend:cudaMallocAsync", "expandable": "expandable_segments:True"}
        if allocator in settings:  # the older and the newer name
            os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = settings[allocator]
        import torch

        if not torch.cuda.is_available():
            raise ImportError("torch sees no CUDA device")
        self.torch = torch
        torch.cuda.set_device(local_rank % torch.cuda.device_count())

    def from_host(self, array):
        return self.torch.from_numpy(np.ascontiguousarray(array)).cuda()

    def empty(self, size, dtype):
        return self.torch.full((size,), 99, dtype=getattr(self.torch, dtype), device="cuda")

    def to_host(self, array):
        return array.cpu().numpy()

    def computed(self, size, dtype, rank):
        return (self.torch.arange(size, device="cuda") % 31 + rank).to(getattr(self.torch, dtype))


class Jax(Numpy):
    allocators = ("default", "platform", "async")

    def __init__(self, allocator: str, local_rank: int) -> None:
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # ranks may share a GPU
        settings = {"platform": "platform", "async": "cuda_async"}
        if allocator in settings:
            os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"] = settings[allocator]
        import jax

        jax.config.update("jax_enable_x64", True)
        devices = [device for device in jax.devices() if device.platform in ("gpu", "cuda")]
        if not devices:
            raise ImportError("jax sees no CUDA device")
        self.jax = jax
        self.device = devices[local_rank % len(devices)]

    # JAX uses its own streams, for which no other code can wait.
    def from_host(self, array):
        return self.jax.device_put(array, self.device).block_until_ready()

    def empty(self, size, dtype):
        return self.from_host(np.full(size, 99, dtype))

    def to_host(self, array):
        return np.asarray(self.jax.numpy.copy(array))  # not a copy cached earlier

    def computed(self, size, dtype, rank):
        with self.jax.default_device(self.device):
            return (self.jax.numpy.arange(size) % 31 + rank).astype(dtype).block_until_ready()

    def sender(self, array):
        """mpi4py prefers DLPack, which it requests with stream=-1 (no need to wait); JAX takes that for a stream."""
        return self.receiver(array)

    def receiver(self, array):
        """Arrays of JAX are immutable; their memory is not."""
        interface = dict(array.__cuda_array_interface__)
        interface["data"] = (interface["data"][0], False)
        return type("Memory", (), {"__cuda_array_interface__": interface, "array": array})()


FRAMEWORKS = {"numpy": Numpy, "cupy": Cupy, "torch": Torch, "jax": Jax}


def values(size: int, dtype: str, rank: int) -> np.ndarray:
    return (np.arange(size) % 31 + rank).astype(dtype)


class Cases:
    """Each method is one case: it calls MPI and returns pairs of received and expected values."""

    def __init__(self, framework, comm) -> None:
        self.framework, self.comm = framework, comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.next, self.previous = (self.rank + 1) % self.size, (self.rank - 1) % self.size

    def send_receive(self, count, dtype):
        fw = self.framework
        send, receive = fw.computed(count, dtype, self.rank), fw.empty(count, dtype)
        request = self.comm.Isend(fw.sender(send), dest=self.next, tag=1)
        self.comm.Recv(fw.receiver(receive), source=self.previous, tag=1)
        request.Wait()
        yield receive, values(count, dtype, self.previous)

    def exchange_of_a_part(self, count, dtype):
        fw = self.framework
        if fw.__class__ is Jax or count < 3:
            return
        send, receive = fw.computed(count, dtype, self.rank), fw.empty(count, dtype)
        self.comm.Sendrecv(send[1:-1], dest=self.next, recvbuf=receive[1:-1], source=self.previous)
        expected = np.full(count, 99, dtype)
        expected[1:-1] = values(count, dtype, self.previous)[1:-1]
        yield receive, expected

    def column_of_a_matrix(self, count, dtype):
        from mpi4py import MPI
        from mpi4py.util.dtlib import from_numpy_dtype

        fw = self.framework
        rows = count // 10
        if rows < 2:
            return
        element = from_numpy_dtype(np.dtype(dtype))
        column = element.Create_vector(rows, 1, 10).Commit()
        send, receive = fw.computed(rows * 10, dtype, self.rank), fw.empty(rows * 10, dtype)
        self.comm.Sendrecv([fw.sender(send), 1, column], dest=self.next, recvbuf=[fw.receiver(receive), 1, column],
                           source=self.previous, status=MPI.Status())
        column.Free()
        expected = np.full(rows * 10, 99, dtype)
        expected[::10] = values(rows * 10, dtype, self.previous)[::10]
        yield receive, expected

    def allreduce(self, count, dtype):
        fw = self.framework
        send, receive = fw.computed(count, dtype, self.rank), fw.empty(count, dtype)
        self.comm.Allreduce(fw.sender(send), fw.receiver(receive))
        yield receive, sum(values(count, dtype, rank) for rank in range(self.size)).astype(dtype)

    def allreduce_in_place(self, count, dtype):
        from mpi4py import MPI

        buffer = self.framework.computed(count, dtype, self.rank)
        self.comm.Allreduce(MPI.IN_PLACE, self.framework.receiver(buffer))
        yield buffer, sum(values(count, dtype, rank) for rank in range(self.size)).astype(dtype)

    def bcast(self, count, dtype):
        fw = self.framework
        root = self.size - 1
        buffer = fw.computed(count, dtype, 7) if self.rank == root else fw.empty(count, dtype)
        self.comm.Bcast(fw.receiver(buffer), root=root)
        yield buffer, values(count, dtype, 7)

    def alltoall(self, count, dtype):
        fw = self.framework
        send, receive = fw.computed(count * self.size, dtype, self.rank), fw.empty(count * self.size, dtype)
        self.comm.Alltoall(fw.sender(send), fw.receiver(receive))
        mine = slice(self.rank * count, (self.rank + 1) * count)
        yield receive, np.concatenate([values(count * self.size, dtype, rank)[mine] for rank in range(self.size)])

    def allgather(self, count, dtype):
        fw = self.framework
        send, receive = fw.computed(count, dtype, self.rank), fw.empty(count * self.size, dtype)
        self.comm.Allgather(fw.sender(send), fw.receiver(receive))
        yield receive, np.concatenate([values(count, dtype, rank) for rank in range(self.size)])

    def from_and_to_the_host(self, count, dtype):
        fw = self.framework
        on_host = values(count, dtype, self.rank)
        receive, back = fw.empty(count, dtype), np.zeros(count, dtype)
        self.comm.Sendrecv(on_host, dest=self.next, recvbuf=fw.receiver(receive), source=self.previous)
        yield receive, values(count, dtype, self.previous)
        self.comm.Sendrecv(fw.sender(receive), dest=self.previous, recvbuf=back, source=self.next)
        assert np.array_equal(back, on_host), "what came back is not what was sent"

    def many_short_lives(self, count, dtype):
        """Allocators reuse addresses."""
        fw = self.framework
        for turn in range(20 if count <= 1000 else 4):
            send, receive = fw.computed(count, dtype, self.rank + turn), fw.empty(count, dtype)
            request = self.comm.Irecv(fw.receiver(receive), source=self.previous, tag=turn)
            self.comm.Send(fw.sender(send), dest=self.next, tag=turn)
            request.Wait()
            yield receive, values(count, dtype, self.previous + turn)
            del send, receive


def run(framework_name: str, allocator: str) -> int:
    # The framework is imported first: some read their settings on import, and GPU memory must not be touched before.
    local_rank = int(os.environ.get("MPI_LOCALRANKID", os.environ.get("PMI_RANK", "0")))
    reason = ""
    try:
        framework = FRAMEWORKS[framework_name](allocator, local_rank)
    except Exception as error:  # pylint: disable=broad-exception-caught
        framework, reason = None, f"{type(error).__name__}: {error}".splitlines()[0]
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    reasons = [text for text in comm.allgather(reason) if text]
    if reasons:
        if comm.Get_rank() == 0:
            print(f"skip {framework_name}/{allocator}: {reasons[0]}", flush=True)
        return 0
    cases = Cases(framework, comm)
    failures = 0
    for name in (name for name in vars(Cases) if not name.startswith("_")):
        wrong = ""
        for dtype in DTYPES:
            for count in SIZES:
                try:
                    for found, expected in getattr(cases, name)(count, dtype):
                        if not np.array_equal(framework.to_host(found), expected):
                            wrong = wrong or f"{count} {dtype}: wrong values"
                except Exception as error:  # pylint: disable=broad-exception-caught
                    print(f"FAIL {framework_name}/{allocator} {name}, {count} {dtype}, rank {comm.Get_rank()}: "
                          f"{type(error).__name__}: {error}", flush=True)
                    comm.Abort(1)
        wrongs = [text for text in comm.allgather(wrong) if text]
        failures += 1 if wrongs else 0
        if comm.Get_rank() == 0:
            print(f"{'FAIL' if wrongs else 'pass'} {framework_name}/{allocator} {name}"
                  f"{': ' + wrongs[0] if wrongs else ''}", flush=True)
    return 1 if failures else 0


def main() -> int:
    if sys.argv[1:] == ["--list"]:
        for name, framework in FRAMEWORKS.items():
            for allocator in framework.allocators if framework is not Numpy else ():
                print(name, allocator)
        return 0
    if len(sys.argv) != 3 or sys.argv[2] not in getattr(FRAMEWORKS.get(sys.argv[1]), "allocators", ()):
        print(__doc__, file=sys.stderr)
        return 2
    return run(sys.argv[1], sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
