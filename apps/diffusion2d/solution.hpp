// Initial temperature and its exact value after any number of steps.
//
// The initial state consists of two waves: sin(pi x) sin(pi y) and half of sin(2 pi x) sin(2 pi y), with x and y from 0
// to 1 between the walls. Each is an eigenvector of the stencil: a step multiplies it by 1 - 4 kRatio (sin^2(k pi /
// 2(nx + 1)) + the same in y), so the field is known after any number of steps, up to rounding. The second wave
// makes the two ends of the grid differ, so that rows from the wrong side are detected.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strip.hpp"

namespace diffusion2d {

// Result of check(); except for `difference`, the same on all ranks of the strip's communicator.
struct Verdict {
  bool valid = false;
  double error = 0;            // largest difference from the exact solution, relative to the largest value
  double tolerance = 0;        // four rounding errors per step
  double equation = 0;         // largest difference from the differential equation's solution: discretisation error
  std::uint64_t checksum = 0;  // checksum of every bit of every point, the same however the grid is split
  std::string difference;      // first wrong point of this rank
};

class Solution {
 public:
  explicit Solution(const Strip& strip);

  // Fills all lines of the strip.
  void fill(std::vector<double>& field) const;
  Verdict check(const std::vector<double>& field, int steps) const;

  // Returns the number of steps after which too little heat remains for a comparison.
  static int most_steps(int nx, int ny);

 private:
  struct Wave {
    double amplitude, loss, rate;  // loss: fraction lost per step; rate: decay exponent of the equation
    std::vector<double> along_x, along_y;
  };
  double value(std::size_t x, std::size_t y, const std::vector<double>& amplitudes) const;

  const Strip strip_;
  std::vector<Wave> waves_;
};

}  // namespace diffusion2d
