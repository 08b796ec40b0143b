// resident_copy: a kernel that stays on the device and waits for copies to perform, so that they need not be launched.
//
// The first block reads entries from the mailbox in host memory and passes them to the others through device memory
// (two blocks that read host memory concurrently take twice as long). Each block performs its share of the copy and
// reports its completion. The kernel exits when an entry requests it, or after `idle_nanoseconds` without work, so a
// forgotten kernel costs little.
#include "copy_mailbox.hpp"
#include "coresident.hpp"

namespace {

using hr::kernels::CopyEntry;
using hr::kernels::CopyMailbox;
using hr::kernels::CopyRelay;
using hr::kernels::kEntryBytes;
using hr::kernels::kEntryNumberShift;
using hr::kernels::kEntrySource;
using hr::kernels::kEntryTarget;
using hr::kernels::kEntryValueMask;
using hr::kernels::kEntryWords;
using hr::kernels::kMailboxEntries;
using hr::kernels::kResidentUnroll;

struct alignas(16) ResidentBytes16 {
  std::uint64_t low, high;
};

// Waits for an entry and stores it in `words`; false if none arrived within `idle_nanoseconds` (0: no limit). Called by
// all lanes together.
HR_DEVICE bool wait_for_entry(const CopyEntry* slot, std::uint32_t number, std::uint64_t idle_nanoseconds,
                              std::uint64_t* words) {
  const std::uint64_t begun = hr_nanoseconds();
  while (true) {
    bool numbered = true;
    for (unsigned i = hr_thread(); i < kEntryWords; i += hr_warp_threads()) {
      words[i] = hr_load_acquire(&slot->words[i]);
      numbered = numbered && words[i] >> kEntryNumberShift == (number & 0xffff);
    }
    if (hr_all(numbered)) return true;
    // The lanes decide this jointly, too, as they do not read the clock at the same time.
    if (idle_nanoseconds != 0 && !hr_all(hr_nanoseconds() - begun <= idle_nanoseconds)) break;
    hr_pause();
  }
  return false;
}

template <class Element>
HR_DEVICE void copy_elements(std::uint64_t source, std::uint64_t target, std::uint32_t count) {
  const auto* from = reinterpret_cast<const Element*>(source);
  auto* to = reinterpret_cast<Element*>(target);
  const std::uint32_t step = gridDim.x * hr_block_threads();
  HR_NO_UNROLL
  for (std::uint32_t n = blockIdx.x * hr_block_threads() + hr_thread(); n < count; n += step * kResidentUnroll) {
    Element values[kResidentUnroll];
    HR_UNROLL
    for (unsigned k = 0; k < kResidentUnroll; ++k) {
      if (n + k * step < count) values[k] = from[n + k * step];
    }
    HR_UNROLL
    for (unsigned k = 0; k < kResidentUnroll; ++k) {
      if (n + k * step < count) to[n + k * step] = values[k];
    }
  }
}

// Copies in the widest elements that both addresses allow, and byte by byte before and after these.
HR_DEVICE void copy_bytes(std::uint64_t source, std::uint64_t target, std::uint32_t bytes) {
  const auto apart = static_cast<std::uint32_t>(source ^ target) & 15;
  const std::uint32_t width = apart == 0 ? 16 : apart & (0 - apart);
  std::uint32_t before = (0 - static_cast<std::uint32_t>(target)) & (width - 1);
  if (before > bytes) before = bytes;
  const std::uint32_t after = (bytes - before) & (width - 1);
  const std::uint32_t count = (bytes - before) / width;
  switch (width) {
    case 16:
      copy_elements<ResidentBytes16>(source + before, target + before, count);
      break;
    case 8:
      copy_elements<std::uint64_t>(source + before, target + before, count);
      break;
    case 4:
      copy_elements<std::uint32_t>(source + before, target + before, count);
      break;
    case 2:
      copy_elements<std::uint16_t>(source + before, target + before, count);
      break;
    default:
      copy_elements<std::uint8_t>(source + before, target + before, count);
      break;
  }
  if (blockIdx.x != 0) return;
  const auto* from = reinterpret_cast<const std::uint8_t*>(source);
  auto* to = reinterpret_cast<std::uint8_t*>(target);
  HR_NO_UNROLL
  for (std::uint32_t n = hr_thread(); n < before + after; n += hr_block_threads()) {
    const std::uint32_t at = n < before ? n : bytes - after + (n - before);
    to[at] = from[at];
  }
}

}  // namespace

HR_CORESIDENT_KERNEL(hr_resident_copy, (std::uint64_t mailbox_address, std::uint64_t relay_address, std::uint32_t first,
                                        std::uint32_t launch, std::uint32_t idle_nanoseconds)) {
  auto* mailbox = reinterpret_cast<CopyMailbox*>(mailbox_address);
  auto* relay = reinterpret_cast<CopyRelay*>(relay_address);
  const bool leads = blockIdx.x == 0;
  HR_SHARED std::uint64_t words[kEntryWords];
  if (hr_thread() == 0) hr_store_release_system(&mailbox->running[blockIdx.x], launch);
  HR_NO_UNROLL
  for (std::uint32_t number = first;; ++number) {
    if (hr_thread() < hr_warp_threads()) {
      const unsigned slot = number % kMailboxEntries;
      const bool found = leads ? wait_for_entry(&mailbox->entries[slot], number, idle_nanoseconds, words)
                               : wait_for_entry(&relay->entries[slot], number, 0, words);
      for (unsigned i = hr_thread(); i < kEntryWords; i += hr_warp_threads()) {
        if (!found) words[i] = std::uint64_t{number & 0xffff} << kEntryNumberShift;  // makes the block exit
        if (leads) hr_store_release(&relay->entries[slot].words[i], words[i]);
      }
    }
    hr_barrier();
    const std::uint64_t source = words[kEntrySource] & kEntryValueMask;
    const std::uint64_t target = words[kEntryTarget] & kEntryValueMask;
    const auto bytes = static_cast<std::uint32_t>(words[kEntryBytes] & kEntryValueMask);
    if (bytes == 0) break;
    copy_bytes(hr_translate(source), hr_translate(target), bytes);
    hr_barrier();
    if (hr_thread() == 0) hr_store_release_system(&mailbox->done[blockIdx.x], number);
  }
  if (hr_thread() == 0) hr_store_release_system(&mailbox->exited[blockIdx.x], launch);
}
