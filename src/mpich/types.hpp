// MPICH's types that differ from the standard's. Handles are ints, except those of files.
#pragma once

#include <cstdint>

namespace hr::mpich {

// MPI_Status. The byte count has 63 bits: count_lo, then count_hi_and_cancelled from bit 1 on; bit 0: cancelled.
struct Status {
  int count_lo;
  int count_hi_and_cancelled;
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
};
static_assert(sizeof(Status) == 20);

using File = void*;

}  // namespace hr::mpich
