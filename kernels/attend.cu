// attend: a kernel that waits for copies to make, so that they need not be launched.
//
// The first block reads orders from the desk in the host's memory and passes them on through device memory (two blocks
// that read the host's memory at the same time take twice as long); each block carries out its share and says so.
// It goes when it is told to, or has had nothing to do for `patience` nanoseconds: whoever forgets it loses little.
#include "attend_desk.hpp"
#include "team.hpp"

namespace {

using hr::kernels::AttendDesk;
using hr::kernels::AttendOrder;
using hr::kernels::AttendRelay;
using hr::kernels::kAttendBytes;
using hr::kernels::kAttendNumberShift;
using hr::kernels::kAttendOrderWords;
using hr::kernels::kAttendSlots;
using hr::kernels::kAttendSource;
using hr::kernels::kAttendTarget;
using hr::kernels::kAttendUnroll;
using hr::kernels::kAttendValueMask;

struct alignas(16) AttendBytes16 {
  std::uint64_t low, high;
};

// By the lanes together: puts the words of the order into `words`; false when none came for so long.
HR_DEVICE bool await_order(const AttendOrder* slot, std::uint32_t number, std::uint64_t patience,
                           std::uint64_t* words) {
  const std::uint64_t begun = hr_nanoseconds();
  while (true) {
    bool numbered = true;
    for (unsigned i = hr_rank(); i < kAttendOrderWords; i += hr_lanes()) {
      words[i] = hr_load_acquire(&slot->words[i]);
      numbered = numbered && words[i] >> kAttendNumberShift == (number & 0xffff);
    }
    if (hr_all(numbered)) return true;
    // Together, too: the lanes do not read the clock at the same time.
    if (patience != 0 && !hr_all(hr_nanoseconds() - begun <= patience)) break;
    hr_pause();
  }
  return false;
}

template <class Element>
HR_DEVICE void attend_elements(std::uint64_t source, std::uint64_t target, std::uint32_t count) {
  const auto* from = reinterpret_cast<const Element*>(source);
  auto* to = reinterpret_cast<Element*>(target);
  const std::uint32_t step = gridDim.x * hr_team();
  HR_NO_UNROLL
  for (std::uint32_t n = blockIdx.x * hr_team() + hr_rank(); n < count; n += step * kAttendUnroll) {
    Element values[kAttendUnroll];
    HR_UNROLL
    for (unsigned k = 0; k < kAttendUnroll; ++k) {
      if (n + k * step < count) values[k] = from[n + k * step];
    }
    HR_UNROLL
    for (unsigned k = 0; k < kAttendUnroll; ++k) {
      if (n + k * step < count) to[n + k * step] = values[k];
    }
  }
}

// In the widest elements that both addresses allow; what is before and after whole ones byte by byte.
HR_DEVICE void attend_copy(std::uint64_t source, std::uint64_t target, std::uint32_t bytes) {
  const auto apart = static_cast<std::uint32_t>(source ^ target) & 15;
  const std::uint32_t width = apart == 0 ? 16 : apart & (0 - apart);
  std::uint32_t before = (0 - static_cast<std::uint32_t>(target)) & (width - 1);
  if (before > bytes) before = bytes;
  const std::uint32_t after = (bytes - before) & (width - 1);
  const std::uint32_t count = (bytes - before) / width;
  switch (width) {
    case 16:
      attend_elements<AttendBytes16>(source + before, target + before, count);
      break;
    case 8:
      attend_elements<std::uint64_t>(source + before, target + before, count);
      break;
    case 4:
      attend_elements<std::uint32_t>(source + before, target + before, count);
      break;
    case 2:
      attend_elements<std::uint16_t>(source + before, target + before, count);
      break;
    default:
      attend_elements<std::uint8_t>(source + before, target + before, count);
      break;
  }
  if (blockIdx.x != 0) return;
  const auto* from = reinterpret_cast<const std::uint8_t*>(source);
  auto* to = reinterpret_cast<std::uint8_t*>(target);
  HR_NO_UNROLL
  for (std::uint32_t n = hr_rank(); n < before + after; n += hr_team()) {
    const std::uint32_t at = n < before ? n : bytes - after + (n - before);
    to[at] = from[at];
  }
}

}  // namespace

HR_TEAM_KERNEL(hr_attend, (std::uint64_t desk_address, std::uint64_t relay_address, std::uint32_t first,
                           std::uint32_t visit, std::uint32_t patience)) {
  auto* desk = reinterpret_cast<AttendDesk*>(desk_address);
  auto* relay = reinterpret_cast<AttendRelay*>(relay_address);
  const bool leads = blockIdx.x == 0;
  HR_SHARED std::uint64_t words[kAttendOrderWords];
  if (hr_rank() == 0) hr_store_release_system(&desk->here[blockIdx.x], visit);
  HR_NO_UNROLL
  for (std::uint32_t number = first;; ++number) {
    if (hr_rank() < hr_lanes()) {
      const unsigned slot = number % kAttendSlots;
      const bool ordered = leads ? await_order(&desk->orders[slot], number, patience, words)
                                 : await_order(&relay->orders[slot], number, 0, words);
      for (unsigned i = hr_rank(); i < kAttendOrderWords; i += hr_lanes()) {
        if (!ordered) words[i] = std::uint64_t{number & 0xffff} << kAttendNumberShift;  // to leave
        if (leads) hr_store_release(&relay->orders[slot].words[i], words[i]);
      }
    }
    hr_barrier();
    const std::uint64_t source = words[kAttendSource] & kAttendValueMask;
    const std::uint64_t target = words[kAttendTarget] & kAttendValueMask;
    const auto bytes = static_cast<std::uint32_t>(words[kAttendBytes] & kAttendValueMask);
    if (bytes == 0) break;
    attend_copy(hr_reach(source), hr_reach(target), bytes);
    hr_barrier();
    if (hr_rank() == 0) hr_store_release_system(&desk->done[blockIdx.x], number);
  }
  if (hr_rank() == 0) hr_store_release_system(&desk->left[blockIdx.x], visit);
}
