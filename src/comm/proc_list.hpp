// ProcList: an ordered list of processes (indices into boot::processes()). Equally spaced processes, such as all
// processes of a job, take no memory.
//
// A view: it does not own its table and must not outlive it. Threads: immutable.
#pragma once

#include <cstddef>

#include "base/abi.hpp"

namespace hr::comm {

class ProcList {
 public:
  constexpr ProcList() = default;
  // Creates a list of the first `size` entries of a table.
  constexpr ProcList(const int* table, int size) noexcept : table_(table), size_(size) {}
  // Creates the list first, first + stride, ...
  static constexpr ProcList range(int first, int stride, int size) noexcept {
    ProcList list;
    list.first_ = first;
    list.stride_ = size > 1 ? stride : 1;
    list.size_ = size;
    return list;
  }

  [[nodiscard]] constexpr int size() const noexcept { return size_; }
  [[nodiscard]] constexpr int operator[](int rank) const noexcept {
    if (table_ == nullptr) [[likely]]
      return first_ + rank * stride_;
    return table_[rank];
  }
  // True if the entries are computed; two such lists are equal only if their fields are equal.
  [[nodiscard]] constexpr bool is_range() const noexcept { return table_ == nullptr; }
  [[nodiscard]] constexpr ProcList front(int count) const noexcept {
    return is_range() ? range(first_, stride_, count) : ProcList(table_, count);
  }
  // Returns the rank of a process; MPI_UNDEFINED if it is not in the list. O(1) in a range, O(size) in a table.
  [[nodiscard]] constexpr int rank_of(int proc) const noexcept {
    if (is_range()) {
      const int offset = proc - first_;
      const int rank = offset / stride_;
      return offset % stride_ == 0 && rank >= 0 && rank < size_ ? rank : abi::kUndefined;
    }
    for (int rank = 0; rank < size_; ++rank) {
      if (table_[rank] == proc) return rank;
    }
    return abi::kUndefined;
  }

  class Iterator {
   public:
    using value_type = int;
    using difference_type = std::ptrdiff_t;
    constexpr Iterator() = default;
    constexpr Iterator(const ProcList* list, int rank) noexcept : list_(list), rank_(rank) {}
    constexpr int operator*() const noexcept { return (*list_)[rank_]; }
    constexpr Iterator& operator++() noexcept {
      ++rank_;
      return *this;
    }
    constexpr Iterator operator++(int) noexcept {
      const Iterator before = *this;
      ++rank_;
      return before;
    }
    constexpr bool operator==(const Iterator& other) const noexcept { return rank_ == other.rank_; }

   private:
    const ProcList* list_ = nullptr;
    int rank_ = 0;
  };
  [[nodiscard]] constexpr Iterator begin() const noexcept { return {this, 0}; }
  [[nodiscard]] constexpr Iterator end() const noexcept { return {this, size_}; }

 private:
  const int* table_ = nullptr;  // null: a range
  int first_ = 0;
  int stride_ = 1;  // not 0
  int size_ = 0;
};

}  // namespace hr::comm
