// Translates arguments that are neither handles nor plain enumerations: in() from MPICH's value to the standard's,
// out() back.
#pragma once

#include "mpich/handles.hpp"
#include "mpich/values.hpp"

// MPICH's constants, defined in this library as variables, because their values are addresses. mpi.h has macros of
// these names.
extern "C" {
extern __attribute__((visibility("default"))) int* const mpich_unweighted __asm__("MPI_UNWEIGHTED");
extern __attribute__((visibility("default"))) int* const mpich_weights_empty __asm__("MPI_WEIGHTS_EMPTY");
extern __attribute__((visibility("default"))) void* const mpich_all_handles __asm__("MPI_T_PVAR_ALL_HANDLES");
}

namespace hr::mpich {

// MPICH's (void*)-1 and -2.
inline void* const kInPlace = reinterpret_cast<void*>(std::intptr_t{value::kInPlace});
inline void* const kAutomatic = reinterpret_cast<void*>(std::intptr_t{value::kBufferAutomatic});

// A negative number without a meaning must not become a constant of the standard (whose MPI_ROOT is -4), and out() must
// restore it, as statuses hold values that the program has set.
inline constexpr int kMeaningless = 1 << 30;
constexpr int meaningless_in(int number) noexcept { return number > -kMeaningless ? number - kMeaningless : kNoValue; }
constexpr int meaningless_out(int number) noexcept {
  return number < -kMeaningless / 2 ? number + kMeaningless : number;
}

struct Rank {
  static constexpr int in(int rank) noexcept {
    if (rank >= 0) [[likely]]
      return rank;
    switch (rank) {
      case value::kProcNull:
        return MPI_PROC_NULL;
      case value::kAnySource:
        return MPI_ANY_SOURCE;
      case value::kRoot:
        return MPI_ROOT;
      default:
        return meaningless_in(rank);
    }
  }
  static constexpr int out(int rank) noexcept {
    if (rank >= 0) [[likely]]
      return rank;
    switch (rank) {
      case MPI_PROC_NULL:
        return value::kProcNull;
      case MPI_ANY_SOURCE:
        return value::kAnySource;
      case MPI_ROOT:
        return value::kRoot;
      default:
        return meaningless_out(rank);  // MPI_UNDEFINED is the same in both
    }
  }
};

struct Tag {
  static constexpr int in(int tag) noexcept {
    if (tag >= 0) [[likely]]
      return tag;
    return tag == value::kAnyTag ? MPI_ANY_TAG : meaningless_in(tag);
  }
  static constexpr int out(int tag) noexcept {
    if (tag >= 0) [[likely]]
      return tag;
    return tag == MPI_ANY_TAG ? value::kAnyTag : meaningless_out(tag);
  }
};

// A code of libmpi_abi.so.1: an error class in the low 16 bits, and above it the slot of its error text
// (bind/error_codes.hpp). Classes and codes that the program added are above MPI_ERR_LASTCODE in both ABIs; in MPICH's,
// bit 30 is set. A number that is not a code is translated to its complement.
struct ErrorCode {
  static constexpr int kAdded = 1 << 30;
  static_assert(value::kErrLastcode == kAdded - 1);

  static int out(int code) noexcept { return code == MPI_SUCCESS ? MPI_SUCCESS : other_out(code); }
  static int in(int code) noexcept { return code == MPI_SUCCESS ? MPI_SUCCESS : other_in(code); }

 private:
  static int other_out(int code) noexcept;
  static int other_in(int code) noexcept;
};

// The standard ABI's MPI_IN_PLACE is an ordinary address here, which an empty buffer may have; such a buffer becomes
// null.
inline void* buffer_in(void* buffer) noexcept {
  return buffer == kInPlace ? MPI_IN_PLACE : buffer == MPI_IN_PLACE ? nullptr : buffer;
}
inline const void* buffer_in(const void* buffer) noexcept { return buffer_in(const_cast<void*>(buffer)); }

inline void* automatic_in(void* buffer) noexcept { return buffer == kAutomatic ? MPI_BUFFER_AUTOMATIC : buffer; }
// `buffer_addr` is the address of a pointer.
inline void automatic_out(void* buffer_addr) noexcept {
  auto* const buffer = static_cast<void**>(buffer_addr);
  if (buffer != nullptr && *buffer == MPI_BUFFER_AUTOMATIC) *buffer = kAutomatic;
}

template <class Int>
Int* weights_in(Int* weights) noexcept {
  if (weights == mpich_unweighted) return MPI_UNWEIGHTED;
  return weights == mpich_weights_empty ? MPI_WEIGHTS_EMPTY : weights;
}

inline MPI_T_pvar_handle tool_handle_in(MPI_T_pvar_handle handle) noexcept {
  return handle == mpich_all_handles ? MPI_T_PVAR_ALL_HANDLES : handle;
}

// Casts a callback passed to a function that libmpi_abi.so.1 does not support. It is never called.
template <class Function, class Theirs>
Function uncalled(Theirs* function) noexcept {
  return reinterpret_cast<Function>(reinterpret_cast<void*>(function));
}

inline MPI_File file_in(File file) noexcept { return file == nullptr ? MPI_FILE_NULL : static_cast<MPI_File>(file); }
inline File file_out(MPI_File file) noexcept { return file == MPI_FILE_NULL ? nullptr : static_cast<File>(file); }

}  // namespace hr::mpich
