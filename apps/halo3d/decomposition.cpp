#include "decomposition.hpp"

namespace halo3d {

Decomposition::~Decomposition() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

bool Decomposition::create(const Options& options, std::string& message) {
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  procs_ = options.procs;
  if (procs_[0] == 0) {
    MPI_Dims_create(ranks_, kAxes, procs_.data());
  } else if (static_cast<long>(procs_[0]) * procs_[1] * procs_[2] != ranks_) {
    message = "--procs " + std::to_string(procs_[0]) + "," + std::to_string(procs_[1]) + "," +
              std::to_string(procs_[2]) + " is not the number of ranks, " + std::to_string(ranks_);
    return false;
  }
  shape_.element_bytes = options.double_precision ? 8 : 4;
  for (int axis = 0; axis < kAxes; ++axis) {
    if (options.size[axis] == 0) {
      shape_.points[axis] = options.local[axis];
    } else if (options.size[axis] % procs_[axis] == 0) {
      shape_.points[axis] = options.size[axis] / procs_[axis];
    } else {
      message = "--size: " + std::to_string(options.size[axis]) + " points along " + kAxisNames[axis] +
                " do not divide into " + std::to_string(procs_[axis]) + " equal blocks";
      return false;
    }
    size_[axis] = shape_.points[axis] * procs_[axis];
  }
  if (shape_.points[0] < 2 || shape_.points[1] < 2 || shape_.points[2] < 2) {
    message = "each rank needs at least two points along every axis";
    return false;
  }
  const std::array<int, kAxes> periodic = {1, 1, 1};
  MPI_Cart_create(MPI_COMM_WORLD, kAxes, procs_.data(), periodic.data(), 0, &comm_);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Cart_coords(comm_, rank_, kAxes, coordinates_.data());
  for (int axis = 0; axis < kAxes; ++axis) {
    MPI_Cart_shift(comm_, axis, 1, &neighbours_[axis][1], &neighbours_[axis][0]);
  }
  return true;
}

}  // namespace halo3d
