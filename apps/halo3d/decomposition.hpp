// The ranks, their positions in the domain, and their neighbours.
//
// Owns a Cartesian communicator (periodic, not reordered) and frees it; must be destroyed before MPI_Finalize.
#pragma once

#include <mpi.h>

#include <array>
#include <string>

#include "options.hpp"
#include "shape.hpp"

namespace halo3d {

class Decomposition {
 public:
  Decomposition() = default;
  ~Decomposition();
  Decomposition(const Decomposition&) = delete;
  Decomposition& operator=(const Decomposition&) = delete;

  // Returns false, with the reason, if the ranks or points cannot be divided as the options require. Collective over
  // MPI_COMM_WORLD; the result is the same on every rank.
  [[nodiscard]] bool create(const Options& options, std::string& message);

  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const Shape& shape() const { return shape_; }
  const std::array<int, kAxes>& procs() const { return procs_; }
  const std::array<int, kAxes>& size() const { return size_; }
  // Returns the zero-based global coordinate of this rank's first own point along an axis.
  int first_point(int axis) const { return coordinates_[axis] * shape_.points[axis]; }
  // Returns the destination of a message going `way` along `axis`; its source is neighbour(axis, 1 - way).
  int neighbour(int axis, int way) const { return neighbours_[axis][way]; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, ranks_ = 1;
  Shape shape_{};
  std::array<int, kAxes> procs_{}, size_{}, coordinates_{};
  std::array<std::array<int, kWays>, kAxes> neighbours_{};
};

}  // namespace halo3d
