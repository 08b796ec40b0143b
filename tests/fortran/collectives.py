"""Writes collectives.F90: every collective operation in its blocking, non-blocking and persistent form, through any of
the three interfaces, and in mpi_f08 with both kinds of counts. `#n` is a count, `@x` an array of counts, `&x` an array
of displacements."""

import re
import sys

# name: (arguments before the communicator, condition that must hold afterwards)
OPERATIONS = {
    "Barrier": ("", ".true."),
    "Bcast": ("x, #3, MPI_INTEGER, 0", "all(x(1:3) == 1)"),
    "Gather": ("mine, #2, MPI_INTEGER, got, #2, MPI_INTEGER, 0",
               "rank /= 0 .or. all(got(1:2*n) == [((i, j = 1, 2), i = 1, n)])"),
    "Gatherv": ("mine, #1, MPI_INTEGER, got, @ones, &evens, MPI_INTEGER, 0",
                "rank /= 0 .or. all(got(1:2*n:2) == [(i, i = 1, n)]) .and. all(got(2:2*n:2) == -1)"),
    "Scatter": ("every, #1, MPI_INTEGER, x, #1, MPI_INTEGER, 0", "x(1) == 10 * (rank + 1) .and. x(4) == -1"),
    "Scatterv": ("every, @ones, &numbers, MPI_INTEGER, x, #1, MPI_INTEGER, 0", "x(1) == 10 * (rank + 1)"),
    "Allgather": ("mine, #1, MPI_INTEGER, got, #1, MPI_INTEGER", "all(got(1:n) == [(i, i = 1, n)]) .and. got(n+1) == -1"),
    "Allgatherv": ("mine, #1, MPI_INTEGER, got, @ones, &evens, MPI_INTEGER", "all(got(1:2*n:2) == [(i, i = 1, n)])"),
    "Alltoall": ("every, #1, MPI_INTEGER, got, #1, MPI_INTEGER", "all(got(1:n) == 10 * (rank + 1))"),
    "Alltoallv": ("every, @ones, &numbers, MPI_INTEGER, got, @ones, &evens, MPI_INTEGER",
                  "all(got(1:2*n:2) == 10 * (rank + 1))"),
    "Alltoallw": ("every, @ones, &bytes, types, got, @ones, &bytes, types", "all(got(1:n) == 10 * (rank + 1))"),
    "Reduce": ("mine, x, #2, MPI_INTEGER, MPI_SUM, 0", "rank /= 0 .or. all(x(1:2) == n * (n + 1) / 2)"),
    "Allreduce": ("mine, x, #2, MPI_INTEGER, MPI_MAX", "all(x(1:2) == n)"),
    "Scan": ("mine, x, #1, MPI_INTEGER, MPI_SUM", "x(1) == (rank + 1) * (rank + 2) / 2"),
    "Exscan": ("mine, x, #1, MPI_INTEGER, MPI_SUM", "rank == 0 .or. x(1) == rank * (rank + 1) / 2"),
    "Reduce_scatter": ("every, x, @ones, MPI_INTEGER, MPI_SUM", "x(1) == 10 * (rank + 1) * n"),
    "Reduce_scatter_block": ("every, x, #1, MPI_INTEGER, MPI_SUM", "x(1) == 10 * (rank + 1) * n"),
    "Neighbor_allgather": ("mine, #1, MPI_INTEGER, got, #1, MPI_INTEGER", "all(got(1:2) == beside)"),
    "Neighbor_allgatherv": ("mine, #1, MPI_INTEGER, got, @ones, &evens, MPI_INTEGER", "all(got(1:3:2) == beside)"),
    "Neighbor_alltoall": ("mine, #1, MPI_INTEGER, got, #1, MPI_INTEGER", "all(got(1:2) == beside)"),
    "Neighbor_alltoallv": ("mine, @ones, &numbers, MPI_INTEGER, got, @ones, &evens, MPI_INTEGER",
                           "all(got(1:3:2) == beside)"),
    "Neighbor_alltoallw": ("mine, @ones, %bytes, types, got, @ones, %bytes, types", "all(got(1:2) == beside)"),
}

HEAD = """\
! Written by collectives.py.
#include "interfaces.h"
program collectives
  USE_MPI
  use checks
  implicit none
  INCLUDE_MPI
  integer, parameter :: most = 16
  integer :: e, rank, n, i, j, x(4), mine(4), got(2 * most), every(most), beside(2)
  integer :: ones(most), numbers(most), evens(most), bytes(most)
  integer(MPI_COUNT_KIND) :: ones_c(most)
  integer(MPI_ADDRESS_KIND) :: numbers_c(most), evens_c(most), bytes_c(most)
  HANDLE(MPI_Datatype) :: types(most)
  HANDLE(MPI_Comm) :: comm, ring
  HANDLE(MPI_Request) :: request
  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, n, e)
  comm = MPI_COMM_WORLD
  call MPI_Cart_create(comm, 1, [n], [.true.], .false., ring, e)
  beside = [mod(rank - 1 + n, n), mod(rank + 1, n)] + 1
  ones = 1
  numbers = [(i - 1, i = 1, most)]
  evens = 2 * numbers
  bytes = 4 * numbers
  ones_c = ones
  numbers_c = numbers
  evens_c = evens
  bytes_c = bytes
  every = 10 * [(i, i = 1, most)]
  types = MPI_INTEGER
"""

TAIL = """\
  call MPI_Comm_free(ring, e)
  call report(rank)
  call MPI_Finalize(e)
contains
  subroutine reset()
    mine = rank + 1
    x = -1
    got = -1
    if (rank == 0) x(1:3) = 1
  end subroutine
end program
"""


def arguments(text, large):
    text = re.sub(r"#(\d)", r"\1_MPI_COUNT_KIND" if large else r"\1", text)
    text = re.sub(r"[@&](\w+)", r"\1_c" if large else r"\1", text)
    return re.sub(r"%(\w+)", r"\1_c", text)  # MPI_Aint in both forms


def forms(name, text, holds, large):
    comm = "ring" if name.startswith("Neighbor") else "comm"
    given = arguments(text, large)
    given = (given + ", " if given else "") + comm
    if name == "Bcast":
        holds = "all(x(1:3) == 1)"
    what = f"MPI_{name}" + (" with large counts" if large else "")
    for form, call in (
            (name, f"call MPI_{name}({given}, e)"),
            ("I" + name[0].lower() + name[1:], f"call MPI_I{name[0].lower() + name[1:]}({given}, request, e)"),
            (name + "_init", f"call MPI_{name}_init({given}, MPI_INFO_NULL, request, e)")):
        yield "  call reset()"
        yield f"  {call}"
        if form != name:
            if form.endswith("_init"):
                yield "  call MPI_Start(request, e)"
            yield "  call MPI_Wait(request, MPI_STATUS_IGNORE, e)"
        if form.endswith("_init"):
            yield "  call MPI_Request_free(request, e)"
        yield f"  call check({holds}, '{what.replace(name, form)}')"


def main():
    lines = [HEAD]
    for large in (False, True):
        if large:
            lines.append("#ifdef F08\n")
        for name, (text, holds) in OPERATIONS.items():
            if large and not re.search("[#@]", text):
                continue
            lines += [line + "\n" for line in forms(name, text, holds, large)]
    lines.append("#endif\n" + TAIL)
    print("".join(lines), end="", file=open(sys.argv[1], "w", encoding="ascii"))


if __name__ == "__main__":
    main()
