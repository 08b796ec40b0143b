// Converts between MPICH's status and the standard's.
//
// If a call leaves a status unchanged, as a whole or in parts, the program's contents must be preserved: reset() marks
// the status, and to_mpich() writes only the fields that the call has set.
#pragma once

#include <cstring>

#include "bind/status_words.hpp"
#include "mpich/conversions.hpp"

namespace hr::mpich {

inline Status* const kStatusIgnore = reinterpret_cast<Status*>(std::intptr_t{value::kStatusIgnore});

inline void reset(MPI_Status& status) noexcept {
  status.MPI_SOURCE = kNoValue;
  status.MPI_ERROR = kNoValue;
}

inline void data_to_mpich(const MPI_Status& from, Status& to) noexcept {
  const std::uint64_t bytes = bind::status_bytes(from);
  to.count_lo = static_cast<int>(static_cast<std::uint32_t>(bytes));
  to.count_hi_and_cancelled =
      static_cast<int>(static_cast<std::uint32_t>(bytes >> 32) << 1 | (bind::status_cancelled(from) ? 1U : 0U));
}

inline void to_mpich(const MPI_Status& from, Status& to) noexcept {
  if (from.MPI_ERROR != kNoValue) to.MPI_ERROR = ErrorCode::out(from.MPI_ERROR);
  if (from.MPI_SOURCE == kNoValue) return;
  to.MPI_SOURCE = Rank::out(from.MPI_SOURCE);
  to.MPI_TAG = Tag::out(from.MPI_TAG);
  data_to_mpich(from, to);
}

inline void to_standard(const Status& from, MPI_Status& to) noexcept {
  to = MPI_Status();
  to.MPI_SOURCE = Rank::in(from.MPI_SOURCE);
  to.MPI_TAG = Tag::in(from.MPI_TAG);
  to.MPI_ERROR = ErrorCode::in(from.MPI_ERROR);
  const auto high = static_cast<std::uint32_t>(from.count_hi_and_cancelled);
  bind::set_status_bytes(to, static_cast<std::uint32_t>(from.count_lo) | static_cast<std::uint64_t>(high >> 1) << 32);
  bind::set_status_cancelled(to, (high & 1) != 0);
}

// Fortran's statuses are the same five integers.
template <class From, class To>
int copy_status(const From* from, To* to) noexcept {
  if (from == nullptr || to == nullptr) return ErrorCode::out(MPI_ERR_ARG);
  std::memcpy(to, from, sizeof(Status));
  return MPI_SUCCESS;
}

}  // namespace hr::mpich
