#include "mpich/conversions.hpp"

#include "mpi-ext.h"

namespace hr::mpich {
namespace {

constexpr int kClassMask = 0xffff;

// True for the error classes of mpi-ext.h, which have the same numbers in MPICH.
constexpr bool is_extension(int error_class) noexcept {
  return error_class >= MPIX_ERR_PROC_FAILED && error_class <= MPIX_ERR_REVOKED;
}

}  // namespace

int ErrorCode::other_out(int code) noexcept {
  if (code < 0) return ~code;
  const int error_class = code & kClassMask;
  if (error_class == MPI_ERR_LASTCODE) return value::kErrLastcode;
  if (error_class > MPI_ERR_LASTCODE) return code | kAdded;
  if (is_extension(error_class)) return code;
  return (code & ~kClassMask) | ErrorClass::out(error_class);
}

int ErrorCode::other_in(int code) noexcept {
  if (code < 0) return ~code;
  if (code == value::kErrLastcode) return MPI_ERR_LASTCODE;
  if ((code & kAdded) != 0) return code & ~kAdded;
  if (is_extension(code & kClassMask)) return code;
  const int error_class = ErrorClass::in(code & kClassMask);
  return error_class == kNoValue ? ~code : (code & ~kClassMask) | error_class;
}

}  // namespace hr::mpich
