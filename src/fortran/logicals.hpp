// LOGICAL arguments: the program's compiler determines their size and the value of .TRUE. (compiler.hpp).
#pragma once

#include "fortran/compiler.hpp"
#include "fortran/handles.hpp"

namespace hr::fortran {

inline void* logical_at(const void* logicals, std::size_t i) noexcept {
  static const auto size = static_cast<std::size_t>(hr_f_logical_size());
  return const_cast<char*>(static_cast<const char*>(logicals)) + i * size;
}

class Logicals {
 public:
  explicit Logicals(long count) : values_(count) {}
  Logicals(const void* logicals, long count) : values_(count) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = hr_f_is_true(logical_at(logicals, i));
  }
  [[nodiscard]] int* data() noexcept { return values_.data(); }
  void store(void* logicals, long count) noexcept {
    for (std::size_t i = 0; i < values_.size() && static_cast<long>(i) < count; ++i) {
      hr_f_set_logical(logical_at(logicals, i), values_[i]);
    }
  }

 private:
  Elements<int> values_;
};

}  // namespace hr::fortran
