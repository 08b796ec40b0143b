// Use of MPI_internal in MPI_Status (opaque to programs): [0], [1] the low and high half of the 64-bit count of
// received bytes, [2] flags. All of it is plain data, so that a status may be copied, even by Fortran (MPI 5.0 section
// 20.3.1).
#pragma once

#include <cstdint>

#include "mpi.h"

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

}  // namespace hr::bind
