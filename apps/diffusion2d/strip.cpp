#include "strip.hpp"

namespace diffusion2d {

bool divides(int ny, int ranks, std::string& message) {
  if (ranks > ny) {
    message = "--grid: " + std::to_string(ranks) + " ranks want a row each, but there are " + std::to_string(ny) +
              " rows; at most " + std::to_string(ny) + " ranks, or " + std::to_string(ranks) + " rows, would do";
    return false;
  }
  if (ny % ranks == 0) return true;
  const int fewer = ny / ranks * ranks;
  message = "--grid: " + std::to_string(ny) + " rows do not divide into " + std::to_string(ranks) + " equal strips; " +
            std::to_string(fewer) + " or " + std::to_string(fewer + ranks) + " rows would";
  return false;
}

Strip make_strip(MPI_Comm comm, int nx, int ny) {
  Strip strip;
  strip.comm = comm;
  MPI_Comm_size(comm, &strip.ranks);
  MPI_Comm_rank(comm, &strip.rank);
  strip.nx = nx;
  strip.ny = ny;
  strip.rows = ny / strip.ranks;
  strip.first = strip.rank * strip.rows;
  if (strip.rank > 0) strip.previous = strip.rank - 1;
  if (strip.rank < strip.ranks - 1) strip.next = strip.rank + 1;
  return strip;
}

}  // namespace diffusion2d
