// Patterns that handle one axis at a time, with packed messages: pack, MPI, unpack.
#pragma once

#include <array>

#include "patterns/halo_messages.hpp"

namespace halo3d {

class Sequence final : public Pattern {
 public:
  using Calls = std::array<HaloMessages::Call, kAxes>;
  Sequence(const Setup& setup, bool staged, const Calls& calls)
      : Pattern(setup), messages_(setup, staged), calls_(calls) {}

  void exchange() override {
    for (int axis = 0; axis < kAxes; ++axis) {
      messages_.pack(axis);
      messages_.exchange(axis, calls_[axis]);
      messages_.unpack(axis);
    }
  }

 private:
  HaloMessages messages_;
  Calls calls_;
};

}  // namespace halo3d
