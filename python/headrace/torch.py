"""Backend `headrace` of torch.distributed: operations in the current CUDA stream, also while it is captured.

    import headrace.torch
    headrace.torch.init()                       # under mpiexec; one rank for each GPU
    torch.distributed.all_reduce(tensor)        # later work of the stream sees the result

Serves all_reduce, all_gather_into_tensor, all_gather, reduce_scatter_tensor, reduce_scatter, broadcast, barrier, send, recv, isend and
irecv. Each CUDA stream gets a communicator at its first use, which all ranks of the group must make in the same order, and before a
capture: use a stream once before you capture it. What is captured (torch.cuda.graph) runs at every launch until the group is destroyed.

A call returns when the operation is over, outside captures; for isend and irecv, wait() does. init(asynchronous=True) leaves that out:
then the stream alone waits, and the program must synchronise it before it reads a tensor (item(), cpu(), tolist()), because the driver
would wait for the stream and keep the library's thread out. After the launch of a graph, too.

wait() orders the stream that is then current behind the operation. Call it in the same capture as the operation, or both outside
captures: it raises RuntimeError otherwise.
"""

from __future__ import annotations

import atexit
import ctypes
from collections import deque
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from headrace.installation import prefix

# Values of the standard ABI (include/mpi.h, include/mpi-ext.h).
_WORLD, _INFO_NULL, _REQUEST_NULL, _ERRORS_RETURN, _IN_PLACE = 0x101, 0x130, 0x180, 0x143, 1
_SHARED, _MULTIPLE, _ERROR_TEXT = 221, 4096, 512
_TYPES = {torch.float32: 0x210, torch.float64: 0x214, torch.complex64: 0x212, torch.complex128: 0x216, torch.float16: 0x2F8,
          torch.bfloat16: 0x2F9, torch.int8: 0x240, torch.uint8: 0x241, torch.int16: 0x248, torch.int32: 0x250, torch.int64: 0x258,
          torch.bool: 0x241}
_OPS = {dist.ReduceOp.SUM: 0x21, dist.ReduceOp.AVG: 0x21, dist.ReduceOp.MIN: 0x22, dist.ReduceOp.MAX: 0x23, dist.ReduceOp.PRODUCT: 0x24,
        dist.ReduceOp.BAND: 0x28, dist.ReduceOp.BOR: 0x29, dist.ReduceOp.BXOR: 0x2A}
_Pointer = ctypes.c_void_p


class _Library:
    """Calls functions of MPI; handles and addresses are numbers. An error is a RuntimeError with MPI's text."""

    def __init__(self) -> None:
        self._functions = ctypes.CDLL(str(prefix() / "lib" / "libmpi_abi.so.1"))
        flag = ctypes.c_int()
        self("MPI_Initialized", ctypes.byref(flag))
        if not flag.value:
            self("MPI_Init_thread", None, None, _MULTIPLE, ctypes.byref(ctypes.c_int()))
            atexit.register(self._finalize)

    def __call__(self, name: str, *arguments: Any) -> None:
        code = getattr(self._functions, name)(*arguments)
        if code:
            text, length = ctypes.create_string_buffer(_ERROR_TEXT), ctypes.c_int()
            self._functions.MPI_Error_string(code, text, ctypes.byref(length))
            raise RuntimeError(f"{name}: {text.value.decode(errors='replace')}")

    def number(self, name: str, *arguments: Any) -> int:
        """Calls a function whose last argument is an int that it returns."""
        value = ctypes.c_int()
        self(name, *arguments, ctypes.byref(value))
        return value.value

    def handle(self, name: str, *arguments: Any) -> _Pointer:
        """Calls a function whose last argument is a handle that it returns."""
        value = _Pointer()
        self(name, *arguments, ctypes.byref(value))
        return value

    def _finalize(self) -> None:
        for group in list(_groups):
            group.shutdown()
        self("MPI_Finalize")


_BaseWork = getattr(dist, "Work", None) or dist.distributed_c10d.Work
_library: _Library | None = None
_asynchronous = False  # streams alone wait, not the host
_groups: list[ProcessGroup] = []


def _mpi() -> _Library:
    global _library  # noqa: PLW0603
    if _library is None:
        _library = _Library()
    return _library


def _is_captured(stream: torch.cuda.Stream) -> bool:
    with torch.cuda.stream(stream):
        return torch.cuda.is_current_stream_capturing()


class _Mark:
    """The end of an operation in the stream of a lane. Other streams can be ordered behind it."""

    def __init__(self, stream: torch.cuda.Stream) -> None:
        self._stream, self._captured = stream, _is_captured(stream)
        self._event: torch.cuda.Event | None = None

    def set(self) -> None:
        """Places the mark behind the stream's present work."""
        self._event = self._stream.record_event()

    def check(self) -> None:
        """Raises RuntimeError if a capture begins or ends between the operation and the current stream."""
        if self._captured and not _is_captured(self._stream):
            raise RuntimeError("wait() outside the capture in which the operation was called, which runs when the graph is launched: call "
                               "wait() in the same capture, and synchronise the stream after the launch")
        if not self._captured and _is_captured(torch.cuda.current_stream(self._stream.device)):
            raise RuntimeError("wait() in a capture for an operation that was called before it, for which a graph cannot wait: call wait() before "
                               "the capture, or the operation in it")

    def order(self) -> None:
        """Makes the current stream of the lane's device wait for the mark."""
        current = torch.cuda.current_stream(self._stream.device)
        # In a capture, the driver then finds out if the mark belongs to another one.
        if self._event is not None and (self._captured or current.cuda_stream != self._stream.cuda_stream):
            current.wait_event(self._event)

    def synchronize(self) -> None:
        """Waits on the host, unless streams alone shall wait."""
        if self._event is not None and not self._captured and not _asynchronous:
            self._event.synchronize()


class _Work(_BaseWork):
    """Calls of a process group, with the marks behind their operations. end(): makes the lane's stream wait for a message."""

    def __init__(self, result: list[torch.Tensor], marks: list[_Mark], end: Callable[[], None] | None = None) -> None:
        super().__init__()
        self._result, self._marks, self._end = result, marks, end
        if end is None:
            for mark in marks:
                mark.set()

    def wait(self, timeout: Any = None) -> bool:  # noqa: ARG002
        for mark in self._marks:
            mark.check()
        ends = self._end is not None
        if self._end is not None:
            self._end()
            self._end = None
            for mark in self._marks:
                mark.set()
        for mark in self._marks:
            mark.order()
            # A call of a collective operation has returned after the operation.
            if ends:
                mark.synchronize()
        return True

    def is_completed(self) -> bool:
        return self._end is None

    def get_future(self) -> torch.futures.Future:
        if self._end is not None:
            raise RuntimeError("get_future() of a message that may still be under way: call wait() first")
        self.wait()  # the future continues behind the current streams
        devices = list({tensor.device for tensor in self._result if tensor.is_cuda})
        future: torch.futures.Future = torch.futures.Future(devices=devices)
        future.set_result(self._result)
        return future


class _Lane:
    """A communicator: with a CUDA stream, or for tensors on the CPU. Owns the requests that were made on it."""

    def __init__(self, comm: _Pointer, stream: torch.cuda.Stream | None) -> None:
        mpi = _mpi()
        self._enqueues, self._cuda_stream = stream is not None, stream
        self._running: deque[_Pointer] = deque()  # of operations that the stream may not have executed yet, in their order
        self._captured: list[_Pointer] = []  # belong to graphs
        self._stream = _Pointer()
        if stream is None:
            self.comm = mpi.handle("MPI_Comm_dup", comm)
        else:
            info, value = mpi.handle("MPI_Info_create"), _Pointer(stream.cuda_stream)
            mpi("MPI_Info_set", info, b"type", b"cudaStream_t")
            mpi("MPIX_Info_set_hex", info, b"value", ctypes.byref(value), ctypes.sizeof(value))
            self._stream = mpi.handle("MPIX_Stream_create", info)
            mpi("MPI_Info_free", ctypes.byref(info))
            self.comm = mpi.handle("MPIX_Stream_comm_create", comm, self._stream)
        mpi("MPI_Comm_set_errhandler", self.comm, _Pointer(_ERRORS_RETURN))

    def marks(self) -> list[_Mark]:
        return [] if self._cuda_stream is None else [_Mark(self._cuda_stream)]

    def run(self, name: str, *arguments: int | None) -> None:
        """Executes a collective operation. The arguments are those before the communicator."""
        mpi = _mpi()
        captured = self._cuda_stream is not None and _is_captured(self._cuda_stream)
        if not captured and not (self._enqueues and _asynchronous):
            # On the communicator of a stream, the call waits for the stream.
            mpi(name, *map(_argument, arguments), self.comm)
            return
        # A request of an earlier call is never started again: the other processes might make a new one, as their tensors have other
        # addresses, and the operations would not match.
        request = mpi.handle(f"{name}_init", *map(_argument, arguments), self.comm, _Pointer(_INFO_NULL))
        mpi("MPIX_Runall_enqueue", 1, ctypes.byref(request), self.comm)
        if captured:
            self._captured.append(request)
            return
        self._running.append(request)
        while self._running and self._is_over(self._running[0]):
            mpi("MPI_Request_free", ctypes.byref(self._running.popleft()))

    def _is_over(self, request: _Pointer) -> bool:
        flag = ctypes.c_int()
        _mpi()("MPI_Request_get_status", request, ctypes.byref(flag), None)
        return bool(flag.value)

    def message(self, sends: bool, tensor: torch.Tensor, peer: int, tag: int) -> _Work:
        mpi = _mpi()
        kind = "Isend" if sends else "Irecv"
        suffix, wait = ("_enqueue", "MPIX_Wait_enqueue") if self._enqueues else ("", "MPI_Wait")
        request = mpi.handle(f"{'MPIX' if self._enqueues else 'MPI'}_{kind}{suffix}", *map(_argument, _buffer(tensor)), peer, tag,
                             self.comm)

        return _Work([tensor], self.marks(), lambda: mpi(wait, ctypes.byref(request), None))

    def free(self) -> None:
        mpi = _mpi()
        if self._enqueues:
            # The work of its stream is over after this.
            mpi("MPI_Barrier", self.comm)
        for request in [*self._running, *self._captured]:
            mpi("MPI_Request_free", ctypes.byref(request))
        mpi("MPI_Comm_free", ctypes.byref(self.comm))
        if self._enqueues:
            mpi("MPIX_Stream_free", ctypes.byref(self._stream))


class _Address(int):
    """An address or a handle among the arguments of a call, as opposed to an int."""


def _argument(value: int | None) -> Any:
    return _Pointer(int(value)) if isinstance(value, _Address) else value


def _place(tensor: torch.Tensor) -> _Address:
    if not tensor.is_contiguous():
        raise ValueError("the tensor is not contiguous: pass tensor.contiguous()")
    return _Address(tensor.data_ptr())


def _type(tensor: torch.Tensor) -> _Address:
    if tensor.dtype not in _TYPES:
        raise TypeError(f"no MPI datatype for {tensor.dtype}")
    return _Address(_TYPES[tensor.dtype])


def _buffer(tensor: torch.Tensor, count: int | None = None) -> tuple[_Address, int, _Address]:
    return _place(tensor), tensor.numel() if count is None else count, _type(tensor)


def _op(operation: Any) -> _Address:
    for known, value in _OPS.items():
        if operation == known:
            return _Address(value)
    raise ValueError(f"{operation} is not supported")


class ProcessGroup(dist.ProcessGroup):
    """A process group of torch.distributed whose operations are carried out by MPI."""

    def __init__(self, rank: int, size: int, global_ranks: list[int]) -> None:
        super().__init__(rank, size)
        mpi = _mpi()
        self._rank, self._size = rank, size
        self._lanes: dict[tuple, _Lane] = {}
        if global_ranks:
            world, numbers = mpi.handle("MPI_Comm_group", _Pointer(_WORLD)), (ctypes.c_int * size)(*global_ranks)
            members = mpi.handle("MPI_Group_incl", world, size, numbers)
            self._comm = mpi.handle("MPI_Comm_create_group", _Pointer(_WORLD), members, 0)
            for group in (world, members):
                mpi("MPI_Group_free", ctypes.byref(group))
        else:
            self._comm = mpi.handle("MPI_Comm_dup", _Pointer(_WORLD))
        _groups.append(self)

    def shutdown(self) -> None:
        if self not in _groups:
            return
        _groups.remove(self)
        for lane in self._lanes.values():
            lane.free()
        self._lanes.clear()
        _mpi()("MPI_Comm_free", ctypes.byref(self._comm))

    abort = shutdown

    def getBackendName(self) -> str:  # noqa: N802
        return "headrace"

    def _lane(self, tensor: torch.Tensor) -> _Lane:
        if not tensor.is_cuda:
            key: tuple = ("cpu",)
            return self._lanes[key] if key in self._lanes else self._lanes.setdefault(key, _Lane(self._comm, None))
        stream = torch.cuda.current_stream(tensor.device)
        key = (tensor.device.index, stream.cuda_stream)
        if key not in self._lanes:
            with torch.cuda.device(tensor.device):
                self._lanes[key] = _Lane(self._comm, stream)
        return self._lanes[key]

    def _run(self, tensor: torch.Tensor, name: str, *arguments: int | None) -> None:
        self._lane(tensor).run(name, *arguments)

    def _work(self, result: list[torch.Tensor], tensors: list[torch.Tensor]) -> _Work:
        """The work of operations on the tensors, in the current streams of their devices."""
        lanes = dict.fromkeys(self._lane(tensor) for tensor in tensors)
        return _Work(result, [mark for lane in lanes for mark in lane.marks()])

    def allreduce(self, tensors: list[torch.Tensor], opts: Any = None) -> _Work:
        opts = opts or dist.AllreduceOptions()
        for tensor in tensors:
            self._run(tensor, "MPI_Allreduce", _Address(_IN_PLACE), *_buffer(tensor), _op(opts.reduceOp))
            self._average(tensor, opts.reduceOp)
        return self._work(tensors, tensors)

    def _average(self, tensor: torch.Tensor, operation: Any) -> None:
        if operation == dist.ReduceOp.AVG:
            tensor /= self._size

    def broadcast(self, tensors: list[torch.Tensor], opts: Any = None) -> _Work:
        root = opts.rootRank if opts is not None else 0
        for tensor in tensors:
            self._run(tensor, "MPI_Bcast", *_buffer(tensor), root)
        return self._work(tensors, tensors)

    def _allgather_base(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> _Work:  # noqa: ARG002
        if output.numel() != self._size * tensor.numel() or output.dtype != tensor.dtype:
            raise ValueError(f"the output must have {self._size} times the elements of the input, of the same type")
        self._run(tensor, "MPI_Allgather", *_buffer(tensor), *_buffer(output, tensor.numel()))
        return self._work([output], [tensor])

    def allgather(self, outputs: list[list[torch.Tensor]], tensors: list[torch.Tensor], opts: Any = None) -> _Work:  # noqa: ARG002
        for output, tensor in zip(outputs, tensors):
            together = tensor.new_empty((self._size, *tensor.shape))
            self._allgather_base(together, tensor)
            for one, part in zip(output, together):
                one.copy_(part)
        return self._work([one for output in outputs for one in output], tensors)

    def _reduce_scatter_base(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> _Work:
        opts = opts or dist.ReduceScatterOptions()
        if tensor.numel() != self._size * output.numel() or output.dtype != tensor.dtype:
            raise ValueError(f"the input must have {self._size} times the elements of the output, of the same type")
        self._run(tensor, "MPI_Reduce_scatter_block", _place(tensor), *_buffer(output), _op(opts.reduceOp))
        self._average(output, opts.reduceOp)
        return self._work([output], [tensor])

    def reduce_scatter(self, outputs: list[torch.Tensor], tensors: list[list[torch.Tensor]], opts: Any = None) -> _Work:
        for output, parts in zip(outputs, tensors):
            self._reduce_scatter_base(output, torch.stack(list(parts)), opts)
        return self._work(outputs, outputs)

    def barrier(self, opts: Any = None) -> _Work:  # noqa: ARG002
        on_device = torch.cuda.is_available() and torch.cuda.is_initialized()
        here = torch.empty(0, device="cuda" if on_device else "cpu")
        self._run(here, "MPI_Barrier")
        return self._work([], [here])

    def send(self, tensors: list[torch.Tensor], peer: int, tag: int = 0) -> _Work:
        return self._lane(tensors[0]).message(True, tensors[0], peer, tag)

    def recv(self, tensors: list[torch.Tensor], peer: int, tag: int = 0) -> _Work:
        return self._lane(tensors[0]).message(False, tensors[0], peer, tag)


def _create(options: Any, _backend_options: Any = None) -> ProcessGroup:
    return ProcessGroup(options.group_rank, options.group_size, list(options.global_ranks_in_group))


dist.Backend.register_backend("headrace", _create, extended_api=True, devices=["cpu", "cuda"])


def init(*, asynchronous: bool = False) -> tuple[int, int]:
    """Makes the default process group of the ranks that mpiexec has started; selects a GPU by the rank on the node.

    Returns rank and size. asynchronous: the host does not wait for operations (see above).
    """
    global _asynchronous  # noqa: PLW0603
    _asynchronous = asynchronous
    mpi = _mpi()
    rank, size = mpi.number("MPI_Comm_rank", _Pointer(_WORLD)), mpi.number("MPI_Comm_size", _Pointer(_WORLD))
    if torch.cuda.is_available():
        node = mpi.handle("MPI_Comm_split_type", _Pointer(_WORLD), _SHARED, 0, _Pointer(_INFO_NULL))
        torch.cuda.set_device(mpi.number("MPI_Comm_rank", node) % torch.cuda.device_count())
        mpi("MPI_Comm_free", ctypes.byref(node))
    dist.init_process_group("headrace", store=dist.HashStore(), rank=rank, world_size=size)
    return rank, size
