// Counts and displacements: 64 bits everywhere below bind/ (MPI_Count, MPI_Aint and MPI_Offset of the ABI).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hr {

using Count = std::int64_t;

// A read-only view of an argument array whose elements are `int` in a function's plain form and 64 bits wide in its _c
// form, so that one implementation serves both without a copy. Does not own the array.
class CountArray {
 public:
  constexpr CountArray() noexcept = default;
  constexpr explicit(false) CountArray(const int* values) noexcept : narrow_(values) {}
  constexpr explicit(false) CountArray(const std::int64_t* values) noexcept : wide_(values) {}

  constexpr Count operator[](std::size_t index) const noexcept {
    return wide_ != nullptr ? wide_[index] : static_cast<Count>(narrow_[index]);
  }
  [[nodiscard]] constexpr bool is_null() const noexcept { return narrow_ == nullptr && wide_ == nullptr; }

 private:
  const int* narrow_ = nullptr;
  const std::int64_t* wide_ = nullptr;
};

}  // namespace hr
