#include "coll/check.hpp"

#include <limits>

namespace hr::coll {

Status not_in_place(const void* buffer, CountArray counts, int length, const char* argument) {
  return !is_in_place(buffer) || none_counted(counts, length) ? kOk : refuse_in_place(argument);
}

bool none_counted(CountArray counts, int length) {
  for (int i = 0; i < length; ++i) {
    if (counts[static_cast<std::size_t>(i)] != 0) return false;
  }
  return true;
}

Status refuse_in_place(const char* argument) {
  return fail(Errc::kBuffer, "%s is MPI_IN_PLACE, which has no meaning for this argument on this process", argument);
}

Status in_place_allowed(const comm::Communicator& comm) {
  if (!comm.is_inter()) return kOk;
  return fail(Errc::kBuffer, "MPI_IN_PLACE has no meaning in a collective on an intercommunicator");
}

Status check_counts(CountArray counts, int length, const char* argument) {
  for (int i = 0; i < length; ++i) {
    const Count count = counts[static_cast<std::size_t>(i)];
    if (count < 0) {
      return fail(Errc::kCount, "%s[%d] is %lld; counts cannot be negative", argument, i,
                  static_cast<long long>(count));
    }
  }
  return kOk;
}

Status refuse_aliased(const layout::View& recv) {
  return fail(Errc::kBuffer, "send and receive buffer are the same memory (%p); pass MPI_IN_PLACE as the send buffer",
              static_cast<const void*>(recv.address));
}

Status uniform_blocks(const void* buffer, Count count, layout::Datatype& type, int blocks, Blocks* result) {
  Count all = 0;
  if (__builtin_mul_overflow(count, static_cast<Count>(blocks), &all)) {
    return fail(Errc::kCount, "%lld elements for each of %d processes are more than this library can count",
                static_cast<long long>(count), blocks);
  }
  return layout::make_view(buffer, all, type, result->set_uniform(count, type));
}

Status total_count(CountArray counts, int length, const layout::Datatype& type, Count* total) {
  Count sum = 0;
  for (int i = 0; i < length; ++i) {
    if (__builtin_add_overflow(sum, counts[static_cast<std::size_t>(i)], &sum)) {
      return fail(Errc::kCount, "the sum of the counts exceeds %lld",
                  static_cast<long long>(std::numeric_limits<Count>::max()));
    }
  }
  Count bytes = 0;
  if (__builtin_mul_overflow(sum, type.size(), &bytes)) {
    return fail(Errc::kCount, "%lld elements of %lld bytes exceed the address space", static_cast<long long>(sum),
                static_cast<long long>(type.size()));
  }
  *total = sum;
  return kOk;
}

}  // namespace hr::coll
