#include "reference.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numbers>

namespace halo3d {
namespace {

constexpr double kHaloMark = -1e30;
constexpr std::uint64_t kIdentities = (1u << 24) - 1;  // all of these integers are exact in float

}  // namespace

Reference::Reference(const Decomposition& decomposition, Initial initial, int way)
    : decomposition_(decomposition), shape_(decomposition.shape()), initial_(initial), way_(way) {
  for (int axis = 0; axis < kAxes; ++axis) {
    const int points = shape_.points[axis];
    for (int i = 0; i < points; ++i) sine_[axis].push_back(std::sin(2 * std::numbers::pi * i / points));
  }
}

// Returns the zero-based global coordinate from which the value at a local coordinate has come by moving `moved`
// points.
int Reference::origin(int axis, int coordinate, int moved) const {
  const long size = decomposition_.size()[axis];
  const long global = decomposition_.first_point(axis) + coordinate - 1L - static_cast<long>(moved) * way_step(way_);
  return static_cast<int>((global % size + size) % size);
}

template <class Real>
void Reference::expected_row(std::vector<Real>& row, int index, int i, int j, int k, int steps) const {
  const int x = origin(0, i, index == 0 ? steps : 0);
  const int y = origin(1, j, index == 1 ? steps : 0);
  const int z = origin(2, k, index == 2 ? steps : 0);
  const auto& size = decomposition_.size();
  for (std::size_t n = 0; n < row.size(); ++n) {
    const int here = static_cast<int>((static_cast<std::size_t>(x) + n) % static_cast<std::size_t>(size[0]));
    if (initial_ == Initial::kSine) {
      const double sum = sine_[0][static_cast<std::size_t>(here % shape_.points[0])] +
                         sine_[1][static_cast<std::size_t>(y % shape_.points[1])] +
                         sine_[2][static_cast<std::size_t>(z % shape_.points[2])];
      row[n] = static_cast<Real>((index + 1) * sum);
    } else {
      const std::uint64_t point =
          static_cast<std::uint64_t>(here) +
          static_cast<std::uint64_t>(size[0]) *
              (static_cast<std::uint64_t>(y) + static_cast<std::uint64_t>(size[1]) * static_cast<std::uint64_t>(z));
      row[n] = static_cast<Real>(1 + (point * kFields + static_cast<std::uint64_t>(index)) % kIdentities);
    }
  }
}

template <class Real>
void Reference::fill_fields(Real* fields) const {
  std::vector<Real> row(static_cast<std::size_t>(shape_.points[0]));
  for (int index = 0; index < kFields; ++index) {
    Real* field = fields + static_cast<std::size_t>(index) * shape_.volume();
    for (std::size_t n = 0; n < shape_.volume(); ++n) field[n] = static_cast<Real>(kHaloMark);
    for (int k = 1; k <= shape_.points[2]; ++k) {
      for (int j = 1; j <= shape_.points[1]; ++j) {
        expected_row(row, index, 1, j, k, 0);
        std::memcpy(field + shape_.at(1, j, k), row.data(), row.size() * sizeof(Real));
      }
    }
  }
}

template <class Real>
std::string Reference::compare_box(const Real* field, int index, const Box& box, int steps) const {
  std::vector<Real> row(static_cast<std::size_t>(box.extent(0)));
  for (int k = box.lo[2]; k < box.hi[2]; ++k) {
    for (int j = box.lo[1]; j < box.hi[1]; ++j) {
      expected_row(row, index, box.lo[0], j, k, steps);
      const Real* found = field + shape_.at(box.lo[0], j, k);
      if (std::memcmp(found, row.data(), row.size() * sizeof(Real)) == 0) continue;
      std::size_t n = 0;
      while (std::memcmp(found + n, row.data() + n, sizeof(Real)) == 0) ++n;
      char text[200];
      std::snprintf(text, sizeof text,
                    "rank %d, after %d steps: field %d at (%d, %d, %d) of a block of %d x %d x %d (0 is a halo) is "
                    "%.9g, not %.9g",
                    decomposition_.rank(), steps, index + 1, box.lo[0] + static_cast<int>(n), j, k, shape_.points[0],
                    shape_.points[1], shape_.points[2], static_cast<double>(found[n]), static_cast<double>(row[n]));
      return text;
    }
  }
  return {};
}

template <class Real>
std::string Reference::compare_fields(const Real* fields, int steps) const {
  for (int index = 0; index < kFields; ++index) {
    const Real* field = fields + static_cast<std::size_t>(index) * shape_.volume();
    std::string difference = compare_box(field, index, interior(shape_), steps);
    for (int face = 0; difference.empty() && face < kAxes * kWays; ++face) {
      difference = compare_box(field, index, receive_box(shape_, face / kWays, face % kWays), steps);
    }
    if (!difference.empty()) return difference;
  }
  return {};
}

void Reference::fill(void* fields) const {
  if (shape_.element_bytes == 4) {
    fill_fields(static_cast<float*>(fields));
  } else {
    fill_fields(static_cast<double*>(fields));
  }
}

std::string Reference::compare(const void* fields, int steps) const {
  if (shape_.element_bytes == 4) return compare_fields(static_cast<const float*>(fields), steps);
  return compare_fields(static_cast<const double*>(fields), steps);
}

}  // namespace halo3d
