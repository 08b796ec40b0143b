// MPI_Status and what the layers below know of a completed operation.
//
// Use of MPI_internal (opaque to programs): [0], [1] the low and high half of the 64-bit count of received bytes,
// [2] flags. Everything is plain data, so that a status may be copied, also by Fortran (MPI 5.0 section 20.3.1).
#pragma once

#include <cstdint>

#include "mpi.h"
#include "p2p/request.hpp"

namespace hr::bind {

inline constexpr int kStatusCancelled = 1;

inline std::uint64_t status_bytes(const MPI_Status& status) noexcept {
  return static_cast<std::uint32_t>(status.MPI_internal[0]) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(status.MPI_internal[1])) << 32;
}

inline void set_status_bytes(MPI_Status& status, std::uint64_t bytes) noexcept {
  status.MPI_internal[0] = static_cast<int>(static_cast<std::uint32_t>(bytes));
  status.MPI_internal[1] = static_cast<int>(static_cast<std::uint32_t>(bytes >> 32));
}

inline bool status_cancelled(const MPI_Status& status) noexcept {
  return (status.MPI_internal[2] & kStatusCancelled) != 0;
}

inline void set_status_cancelled(MPI_Status& status, bool cancelled) noexcept {
  status.MPI_internal[2] = cancelled ? kStatusCancelled : 0;
}

// Everything but MPI_ERROR, which functions that return a single status leave alone (section 3.2.5).
inline void fill_status(MPI_Status& status, const p2p::Completion& completion) noexcept {
  status.MPI_SOURCE = completion.source;
  status.MPI_TAG = completion.tag;
  set_status_bytes(status, completion.bytes);
  set_status_cancelled(status, completion.cancelled);
}

// The same where the program may have passed MPI_STATUS_IGNORE.
inline void fill_status(MPI_Status* status, const p2p::Completion& completion) noexcept {
  if (status != MPI_STATUS_IGNORE) fill_status(*status, completion);
}

// The way back, for generalized requests, whose status the program fills in.
inline p2p::Completion completion_of(const MPI_Status& status) noexcept {
  return {status.MPI_SOURCE, status.MPI_TAG, status_bytes(status), status_cancelled(status), kOk};
}

// "Empty" as of section 3.7.3: any source, any tag, no data, no error.
inline void set_empty(MPI_Status& status) noexcept {
  fill_status(status, p2p::Completion());
  status.MPI_ERROR = MPI_SUCCESS;
}

}  // namespace hr::bind
