// A rank's part of the grid: some complete rows, which follow those of the previous rank.
//
// A strip is stored as rows + 2 lines of nx + 2 points. Lines 0 and rows + 1 are the halo, or a wall at the ends of the
// grid; the first and the last point of a line are walls. Walls stay zero. Trivially copyable; the caller of
// make_strip() owns the communicator.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

namespace diffusion2d {

struct Strip {
  MPI_Comm comm = MPI_COMM_NULL;
  int ranks = 1, rank = 0;
  int nx = 0, ny = 0;                                  // points of the whole grid
  int rows = 0, first = 0;                             // number of own rows, and global index of the first one
  int previous = MPI_PROC_NULL, next = MPI_PROC_NULL;  // ranks with the rows before and after; none beyond walls

  std::size_t line() const { return static_cast<std::size_t>(nx) + 2; }
  std::size_t points() const { return line() * (static_cast<std::size_t>(rows) + 2); }
  // Returns the index of the first point of line `row` that is not a wall. Lines 0 and rows + 1 are the halo.
  std::size_t at(int row) const { return static_cast<std::size_t>(row) * line() + 1; }
  std::size_t row_bytes() const { return static_cast<std::size_t>(nx) * sizeof(double); }
};

// True if ny rows can be split into equal strips; if not, `message` suggests numbers that can.
[[nodiscard]] bool divides(int ny, int ranks, std::string& message);
// Creates the calling rank's strip; ny must be divisible by the number of ranks.
Strip make_strip(MPI_Comm comm, int nx, int ny);

}  // namespace diffusion2d
