"""As much of PyTorch as headrace.torch and backend.py use, on the driver that is loaded. For the tests only."""

import array
import ctypes
import sys
import types

__version__ = "stub"
float32, float64, int32, int64, uint8, int8, int16, bool = "f", "d", "i", "q", "B", "b", "h", "?"
float16, bfloat16, complex64, complex128 = "float16", "bfloat16", "complex64", "complex128"
_driver = None


def _call(name, *arguments):
    global _driver
    if _driver is None:
        _driver = ctypes.CDLL("libcuda.so.1")
        _driver.cuInit(0)
    code = getattr(_driver, name)(*arguments)
    if code:
        raise RuntimeError(f"{name}: error {code}")


def _stream():
    return ctypes.c_void_p(cuda.current.cuda_stream)


class _Device(str):
    index = 0


class Tensor:
    def __init__(self, content, device):
        self.content, self.dtype, self.is_cuda = content, content.typecode, device == "cuda"  # content: on the CPU
        self.device, self.bytes = _Device(device), len(content) * content.itemsize
        self.address = ctypes.c_uint64()
        if self.is_cuda and self.bytes:
            _call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(self.bytes))
            _call("cuMemcpyHtoD_v2", self.address, ctypes.c_void_p(content.buffer_info()[0]), ctypes.c_size_t(self.bytes))

    def data_ptr(self):
        return self.address.value if self.is_cuda else self.content.buffer_info()[0]

    def numel(self):
        return len(self.content)

    def is_contiguous(self):
        return True

    def copy_(self, source):
        """In the current stream, between tensors on the device."""
        _call("cuMemcpyAsync", self.address, source.address, ctypes.c_size_t(self.bytes), _stream())

    def tolist(self):
        if self.is_cuda:
            _call("cuStreamSynchronize", _stream())
            _call("cuMemcpyDtoH_v2", ctypes.c_void_p(self.content.buffer_info()[0]), self.address, ctypes.c_size_t(self.bytes))
        return self.content.tolist()


def arange(first, last, dtype, device):
    return Tensor(array.array(dtype, range(first, last)), device)


def empty(count, dtype=float32, device="cpu"):
    return Tensor(array.array(dtype, [0] * count), device)


class _Event:
    def __init__(self):
        self.handle = ctypes.c_void_p()
        _call("cuEventCreate", ctypes.byref(self.handle), 2)  # without times

    def __del__(self):
        _call("cuEventDestroy_v2", self.handle)

    def synchronize(self):
        _call("cuEventSynchronize", self.handle)


class _Stream:
    device = "cuda:0"

    def __init__(self, default=False):
        handle = ctypes.c_void_p()
        if not default:
            _call("cuStreamCreate", ctypes.byref(handle), 1)
        self.cuda_stream = handle.value or 0

    def synchronize(self):
        _call("cuStreamSynchronize", ctypes.c_void_p(self.cuda_stream))

    def record_event(self):
        event = _Event()
        _call("cuEventRecord", event.handle, ctypes.c_void_p(self.cuda_stream))
        return event

    def wait_event(self, event):
        _call("cuStreamWaitEvent", ctypes.c_void_p(self.cuda_stream), event.handle, 0)


class _Current:
    """A context manager that makes a stream current."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        self.before, cuda.current = cuda.current, self.stream

    def __exit__(self, *_):
        cuda.current = self.before


class _CUDAGraph:
    def __init__(self):
        self.executable = ctypes.c_void_p()

    def replay(self):
        _call("cuGraphLaunch", self.executable, _stream())


class _Capture(_Current):
    def __init__(self, graph, stream):
        super().__init__(stream)
        self.graph = graph

    def __enter__(self):
        super().__enter__()
        _call("cuStreamBeginCapture_v2", _stream(), 0)

    def __exit__(self, *_):
        made = ctypes.c_void_p()
        _call("cuStreamEndCapture", _stream(), ctypes.byref(made))
        _call("cuGraphInstantiateWithFlags", ctypes.byref(self.graph.executable), made, ctypes.c_ulonglong(0))
        super().__exit__()


class _Cuda(types.ModuleType):
    Stream, CUDAGraph, stream, graph = _Stream, _CUDAGraph, _Current, _Capture
    current, selected = _Stream(default=True), None

    def is_available(self):
        return self.device_count() > 0

    def is_initialized(self):
        return self.selected is not None

    def device_count(self):
        count = ctypes.c_int()
        _call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def set_device(self, index):
        context = ctypes.c_void_p()
        _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), index)
        _call("cuCtxSetCurrent", context)
        self.selected = index

    def device(self, _index):
        return _Current(self.current)

    def current_stream(self, _device=None):
        return self.current

    def is_current_stream_capturing(self):
        status = ctypes.c_int()
        if self.current.cuda_stream:
            _call("cuStreamIsCapturing", _stream(), ctypes.byref(status))
        return status.value != 0

    def synchronize(self):
        _call("cuCtxSynchronize")


cuda = _Cuda("torch.cuda")
sys.modules["torch.cuda"] = cuda
