"""Generates the C source of a counting library: the common parts, then a function MPI_X for each PMPI_X."""

from __future__ import annotations

from pathlib import Path

from headrace.monitor.pmpi.prototypes import Function

_SENDS = {"Send", "Bsend", "Ssend", "Rsend", "Isend", "Ibsend", "Issend", "Irsend"}
_BOTH = {"Sendrecv", "Isendrecv"}
_INITS = {"Send_init", "Bsend_init", "Ssend_init", "Rsend_init"}
_FROM = {"Recv", "Probe", "Mprobe", "Sendrecv", "Sendrecv_replace"}  # wait for their `source`
# Functions in which a rank waits for others, among other things.
_WAITS = _FROM | {
    "Ssend", "Mrecv", "Wait", "Waitall", "Waitany", "Waitsome", "Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather",
    "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan",
    "Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv", "Neighbor_alltoallw", "Win_fence", "Win_start",
    "Win_complete", "Win_wait", "Win_lock", "Win_unlock", "Win_flush", "Win_flush_all", "Finalize", "Init", "Init_thread"}


def _before(function: Function, plain: str) -> list[str]:
    lines = []
    if plain in _SENDS and function.has("count", "datatype", "dest", "comm"):
        lines.append("hr_sent(&call, dest, (long long)count, datatype, comm);")
    elif plain in _BOTH and function.has("sendcount", "sendtype", "dest", "comm"):
        lines.append("hr_sent(&call, dest, (long long)sendcount, sendtype, comm);")
    elif plain in ("Sendrecv_replace", "Isendrecv_replace") and function.has("count", "datatype", "dest", "comm"):
        lines.append("hr_sent(&call, dest, (long long)count, datatype, comm);")
    elif plain == "Start" and function.has("request"):
        lines.append("hr_started(&call, 1, request);")
    elif plain == "Startall":
        lines.append(f"hr_started(&call, {function.arguments[0]}, {function.arguments[1]});")
    elif plain == "Request_free":
        lines.append(f"hr_forget({function.arguments[0]});")
    if plain in _FROM and function.has("source", "comm"):
        lines.append("hr_waits_for(&call, source, comm);")
    return lines


def _after(function: Function, plain: str) -> list[str]:
    if plain in ("Init", "Init_thread"):
        return ["if (code == MPI_SUCCESS) hr_publish();"]
    if plain == "Finalize":
        return ["hr_finalized();"]
    if plain in _INITS and function.has("count", "datatype", "dest", "comm", "request"):
        return ["if (code == MPI_SUCCESS) hr_remember(request, dest, (long long)count, datatype, comm);"]
    return []


def _wrapper(number: int, function: Function) -> str:
    plain = function.name.removesuffix("_c")
    lines = ["  struct hr_call call;", f"  hr_begin(&call, {number}, {int(plain in _WAITS)});", *(f"  {line}" for line in _before(function, plain)),
             f"  int code = PMPI_{function.name}({', '.join(function.arguments)});", *(f"  {line}" for line in _after(function, plain)),
             "  hr_end(&call);", "  return code;"]
    return f"int MPI_{function.name}({', '.join(function.declarations) or 'void'}) {{\n" + "\n".join(lines) + "\n}\n"


def write(functions: list[Function], parts: list[Path]) -> str:
    """Writes the wrapper of a function; a function and its large-count form count as one."""
    numbers: dict[str, int] = {}
    for function in functions:
        numbers.setdefault(function.name.removesuffix("_c"), len(numbers) + 1)
    numbers.setdefault("Pcontrol", len(numbers) + 1)
    names = ",\n".join(f'  "MPI_{name}"' for name in numbers)
    return "\n".join([f"#define HR_FUNCTIONS {len(numbers) + 1}", f"#define HR_PCONTROL {numbers['Pcontrol']}", *(part.read_text(encoding="utf-8") for part in parts),
                      f'static const char *const hr_names[HR_FUNCTIONS] = {{\n  "none",\n{names}}};\n',
                      *(_wrapper(numbers[function.name.removesuffix("_c")], function) for function in functions)])
