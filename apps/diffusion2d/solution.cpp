#include "solution.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "stencil.hpp"

namespace diffusion2d {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Returns the fraction of its amplitude that wave k loses in a step.
double loss_of(int k, int nx, int ny) {
  const double x = std::sin(k * kPi / (2.0 * (nx + 1))), y = std::sin(k * kPi / (2.0 * (ny + 1)));
  return 4 * kRatio * (x * x + y * y);
}
double rate_of(int k, int nx, int ny) {
  const double x = k * kPi / (nx + 1), y = k * kPi / (ny + 1);
  return kRatio * (x * x + y * y);
}

// Hashes all bits of a value together with its position, so that the sum of hashes is independent of the order.
std::uint64_t mixed(double value, std::uint64_t place) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits ^= place * 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 33)) * 0xff51afd7ed558ccdu;
  bits = (bits ^ (bits >> 33)) * 0xc4ceb9fe1a85ec53u;
  return bits ^ (bits >> 33);
}

}  // namespace

Solution::Solution(const Strip& strip) : strip_(strip) {
  for (int k = 1; k <= 2; ++k) {
    Wave wave{1.0 / k, loss_of(k, strip.nx, strip.ny), rate_of(k, strip.nx, strip.ny), {}, {}};
    for (int x = 0; x < strip.nx; ++x) wave.along_x.push_back(std::sin(k * kPi * (x + 1) / (strip.nx + 1)));
    for (int y = 0; y < strip.rows; ++y) {
      wave.along_y.push_back(std::sin(k * kPi * (strip.first + y + 1) / (strip.ny + 1)));
    }
    waves_.push_back(std::move(wave));
  }
}

int Solution::most_steps(int nx, int ny) {
  constexpr double kLeast = -600;  // logarithm of the smallest amplitude that must remain
  return static_cast<int>(std::min(kLeast / std::log1p(-loss_of(1, nx, ny)), 1e9));
}

double Solution::value(std::size_t x, std::size_t y, const std::vector<double>& amplitudes) const {
  double sum = 0;
  for (std::size_t k = 0; k < waves_.size(); ++k) sum += amplitudes[k] * waves_[k].along_x[x] * waves_[k].along_y[y];
  return sum;
}

void Solution::fill(std::vector<double>& field) const {
  std::fill(field.begin(), field.end(), 0.0);
  std::vector<double> amplitudes;
  for (const Wave& wave : waves_) amplitudes.push_back(wave.amplitude);
  for (int row = 1; row <= strip_.rows; ++row) {
    double* line = field.data() + strip_.at(row);
    for (std::size_t x = 0; x < static_cast<std::size_t>(strip_.nx); ++x) {
      line[x] = value(x, static_cast<std::size_t>(row) - 1, amplitudes);
    }
  }
}

Verdict Solution::check(const std::vector<double>& field, int steps) const {
  std::vector<double> exact, equation;
  for (const Wave& wave : waves_) {
    exact.push_back(wave.amplitude * std::exp(steps * std::log1p(-wave.loss)));
    equation.push_back(wave.amplitude * std::exp(-steps * wave.rate));
  }
  const double scale = exact[0];  // amplitude of the slowest wave; rounding errors decay at least as fast
  Verdict verdict;
  verdict.tolerance = 4.0 * (steps + 16) * std::numeric_limits<double>::epsilon() / 2;
  double largest[2] = {0, 0};
  for (int row = 1; row <= strip_.rows; ++row) {
    const double* line = field.data() + strip_.at(row);
    const auto y = static_cast<std::size_t>(row) - 1;
    for (std::size_t x = 0; x < static_cast<std::size_t>(strip_.nx); ++x) {
      const double wanted = value(x, y, exact);
      double error = std::abs(line[x] - wanted) / scale;
      if (!(error <= verdict.tolerance)) {  // also true for NaN
        if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
        if (verdict.difference.empty()) {
          char text[160];
          std::snprintf(text, sizeof text, "point %zu, %d is %.17g after %d steps, not %.17g", x,
                        strip_.first + row - 1, line[x], steps, wanted);
          verdict.difference = text;
        }
      }
      largest[0] = std::max(largest[0], error);
      largest[1] = std::max(largest[1], std::abs(line[x] - value(x, y, equation)) / scale);
      verdict.checksum +=
          mixed(line[x], (static_cast<std::uint64_t>(strip_.first) + y) * static_cast<std::uint64_t>(strip_.nx) + x);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPI_DOUBLE, MPI_MAX, strip_.comm);
  MPI_Allreduce(MPI_IN_PLACE, &verdict.checksum, 1, MPI_UINT64_T, MPI_SUM, strip_.comm);
  verdict.error = largest[0];
  verdict.equation = largest[1];
  verdict.valid = verdict.error <= verdict.tolerance;
  return verdict;
}

}  // namespace diffusion2d
