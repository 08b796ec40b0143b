// Checks arguments as far as one process can, and creates views of them; for arguments*.cpp.
#pragma once

#include "coll/call.hpp"

namespace hr::coll {

[[nodiscard]] inline bool is_in_place(const void* buffer) noexcept {
  return reinterpret_cast<std::uintptr_t>(buffer) == static_cast<std::uintptr_t>(abi::kInPlace);
}

// Returns MPI_ERR_BUFFER for MPI_IN_PLACE where the standard does not allow it. `argument`: its name, such as
// "sendbuf". The address of an empty buffer is ignored: in some clients it equals MPI_IN_PLACE (Rust's empty slices).
Status refuse_in_place(const char* argument);
inline Status not_in_place(const void* buffer, Count count, const char* argument) {
  return is_in_place(buffer) && count != 0 ? refuse_in_place(argument) : kOk;
}
Status not_in_place(const void* buffer, CountArray counts, int length, const char* argument);
[[nodiscard]] bool none_counted(CountArray counts, int length);
// Returns MPI_ERR_BUFFER for an intercommunicator, where MPI_IN_PLACE is not allowed (section 6.2.3).
Status in_place_allowed(const comm::Communicator& comm);

// Returns MPI_ERR_COUNT for a negative entry. `argument`: its name, such as "recvcounts".
Status check_counts(CountArray counts, int length, const char* argument);

// Returns MPI_ERR_BUFFER if both are the same data (section 6.2: no aliasing); a program must pass MPI_IN_PLACE
// instead.
Status refuse_aliased(const layout::View& recv);
inline Status not_aliased(const layout::View& send, const layout::View& recv) {
  return send.data() == recv.data() && send.packed != 0 && recv.packed != 0 ? refuse_aliased(recv) : kOk;
}

// Creates uniform blocks: `blocks` times `count` elements.
Status uniform_blocks(const void* buffer, Count count, layout::Datatype& type, int blocks, Blocks* result);

// Computes the sum of the counts, in elements. Errors: MPI_ERR_COUNT if the sum or its size in bytes is out of range.
Status total_count(CountArray counts, int length, const layout::Datatype& type, Count* total);

}  // namespace hr::coll
