// Handles: integers in Fortran, pointers in C (MPI 5.0 sections 20.3.2, 20.4.5). Constants have the same value in both.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "mpi.h"

namespace hr::fortran {

inline constexpr int kFirstNumber = 0x1000;  // smaller numbers are constants of the ABI

#define HR_HANDLE(Type, stem)                                                                          \
  inline int number_of(Type handle) noexcept {                                                         \
    const auto value = reinterpret_cast<std::uintptr_t>(handle);                                       \
    return value < kFirstNumber ? static_cast<int>(value) : PMPI_##stem##_toint(handle);               \
  }                                                                                                    \
  inline void handle_from(int number, Type* handle) noexcept {                                         \
    *handle = static_cast<unsigned>(number) < kFirstNumber                                             \
                  ? reinterpret_cast<Type>(static_cast<std::uintptr_t>(static_cast<unsigned>(number))) \
                  : PMPI_##stem##_fromint(number);                                                     \
  }
HR_HANDLE(MPI_Comm, Comm)
HR_HANDLE(MPI_Errhandler, Errhandler)
HR_HANDLE(MPI_File, File)
HR_HANDLE(MPI_Group, Group)
HR_HANDLE(MPI_Info, Info)
HR_HANDLE(MPI_Message, Message)
HR_HANDLE(MPI_Op, Op)
HR_HANDLE(MPI_Request, Request)
HR_HANDLE(MPI_Session, Session)
HR_HANDLE(MPI_Datatype, Type)
HR_HANDLE(MPI_Win, Win)
#undef HR_HANDLE

template <class Handle>
Handle handle(int number) noexcept {
  Handle made;
  handle_from(number, &made);
  return made;
}

// Memory for `count` elements: inside the object if they fit, as in most calls, else on the heap.
template <class T, std::size_t kHere = 64>
class Elements {
 public:
  explicit Elements(long count) : count_(count < 0 ? 0 : static_cast<std::size_t>(count)) {
    if (count_ > kHere) heap_ = std::make_unique<T[]>(count_);
  }
  [[nodiscard]] T* data() noexcept { return heap_ ? heap_.get() : here_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  T& operator[](std::size_t i) noexcept { return data()[i]; }

 private:
  std::size_t count_;
  T here_[kHere];
  std::unique_ptr<T[]> heap_;
};

// An array of handles for one call.
template <class Handle>
class Handles {
 public:
  Handles(const int* numbers, long count) : handles_(numbers == nullptr ? 0 : count) {
    for (std::size_t i = 0; i < handles_.size(); ++i) handle_from(numbers[i], &handles_[i]);
  }
  // For results. Entries that the call does not set stay null pointers, which are not handles.
  explicit Handles(long count) : handles_(count) { std::memset(handles_.data(), 0, handles_.size() * sizeof(Handle)); }
  [[nodiscard]] Handle* data() noexcept { return handles_.data(); }
  void store(int* numbers) noexcept {
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      if (handles_[i] != nullptr) numbers[i] = number_of(handles_[i]);
    }
  }

 private:
  Elements<Handle> handles_;
};

}  // namespace hr::fortran
