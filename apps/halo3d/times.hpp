// Time that one rank spends in each phase, and its messages.
#pragma once

#include <mpi.h>

#include <array>

#include "shape.hpp"

namespace halo3d {

struct Times {
  std::array<double, kAxes> pack{}, mpi{}, unpack{};  // in seconds, per axis, because each axis is tuned separately
  double update = 0;
  double messages = 0, bytes = 0;  // sent by this rank

  // Number of values, for sums over ranks.
  static constexpr int kValues = 3 * kAxes + 3;
  std::array<double, kValues> values() const {
    return {pack[0],   pack[1],   pack[2],   mpi[0], mpi[1],   mpi[2],
            unpack[0], unpack[1], unpack[2], update, messages, bytes};
  }
  static Times from(const std::array<double, kValues>& v) {
    return {{v[0], v[1], v[2]}, {v[3], v[4], v[5]}, {v[6], v[7], v[8]}, v[9], v[10], v[11]};
  }
};

// Adds the time spent in its scope to a total.
class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total), start_(MPI_Wtime()) {}
  ~Stopwatch() { total_ += MPI_Wtime() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& total_;
  double start_;
};

}  // namespace halo3d
