// Expected value of every element of every field after any number of steps.
//
// The values are moved but never changed, so the result is known exactly: field f is its initial field, moved along
// axis f. There are two initial fields. kSine, for measurements, is one sine period along each axis of each block, the
// same on all ranks. kIdentity gives every element of the domain a different value (up to 2^24 of them), so that a
// plane from the wrong rank, field or direction is detected.
#pragma once

#include <string>
#include <vector>

#include "decomposition.hpp"

namespace halo3d {

enum class Initial { kSine, kIdentity };

class Reference {
 public:
  // `way`: direction in which the fields move.
  Reference(const Decomposition& decomposition, Initial initial, int way);

  // Fills this rank's own points with the initial fields, and the halos with a value that occurs nowhere else.
  void fill(void* fields) const;
  // Compares each of this rank's own points and every face of the halo, bit for bit. Returns the first difference;
  // empty if all values are correct.
  std::string compare(const void* fields, int steps) const;

 private:
  template <class Real>
  void fill_fields(Real* fields) const;
  template <class Real>
  std::string compare_fields(const Real* fields, int steps) const;
  template <class Real>
  std::string compare_box(const Real* field, int index, const Box& box, int steps) const;
  // Computes the row of values that starts at (i, j, k) of field `index`.
  template <class Real>
  void expected_row(std::vector<Real>& row, int index, int i, int j, int k, int steps) const;
  int origin(int axis, int coordinate, int moved) const;

  const Decomposition& decomposition_;
  Shape shape_;
  Initial initial_;
  int way_;
  std::array<std::vector<double>, kAxes> sine_;
};

}  // namespace halo3d
