// Statistics: numbers about the library's work, which tools read as performance variables (MPI 5.0 section 15.3.7).
//
// Each line of the list below names a statistic: the code that changes it, MPI_T and docs/settings.md use that name. A
// level is an amount in use now; a counter only increases. Both begin at 0 with the process. Owner: process-wide.
// Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/counters.hpp"

// X(name, kind, sentence)
#define HR_STATISTICS(X)                                                                                              \
  X(device_ipc_mappings, kLevel, "Allocations of other processes' GPU memory that are mapped now.")                   \
  X(device_ipc_mapped_bytes, kLevel, "Bytes of other processes' GPU memory that are mapped now.")                     \
  X(device_ipc_hits, kCounter, "Uses of other processes' GPU memory that found it mapped.")                           \
  X(device_ipc_misses, kCounter, "Uses of other processes' GPU memory that had to map it.")                           \
  X(device_ipc_evictions, kCounter, "Mappings given up to make room for others (HEADRACE_DEVICE_IPC_MAPPINGS).")      \
  X(device_ipc_revocations, kCounter, "Mappings given up because the memory was freed by its owner.")                 \
  X(device_ipc_chunks, kCounter, "Uses of other processes' GPU memory that is put together from chunks (VMM).")       \
  X(device_resident_copies, kCounter,                                                                                 \
    "Messages copied by a kernel that waited on the GPU for them (HEADRACE_DEVICE_RESIDENT_COPY_BYTES).")             \
  X(device_staged, kCounter, "Messages received that went through staging memory on their way to or from a GPU.")     \
  X(device_copy_launches, kCounter, "Kernels launched to move data of derived types or several pieces at once.")      \
  X(coll_device, kCounter, "Collective operations executed with this process's GPU instead of by messages.")          \
  X(coll_through_pinned, kCounter,                                                                                    \
    "Collective operations of device buffers that ran on copies of them in pinned memory.")                           \
  X(enqueued_pending, kLevel, "Operations that a stream has not reached yet, or waits for (in graphs that run now).") \
  X(enqueued_done, kCounter, "Operations that a stream started and that this process has executed.")                  \
  X(enqueued_by_streams, kCounter,                                                                                    \
    "Starts of matched operations, which streams execute without the host (MPIX_Matchall; in a graph: when "          \
    "captured).")                                                                                                     \
  X(single_copies, kCounter,                                                                                          \
    "Long messages received by copies directly from the sender's memory or into the receiver's.")                     \
  X(rma_by_system, kCounter, "Puts and gets of windows that the system copied from or to another process's memory.")  \
  X(rma_by_network, kCounter, "Puts and gets of windows that the network executed without the target's process.")     \
  X(rma_by_message, kCounter, "Operations on windows that were sent to the target's process.")                        \
  X(waits_spun, kCounter, "Rounds that waits have polled before they offered their core to others, or slept.")        \
  X(waits_yielded, kCounter, "Times that a wait, or a call that polls in vain, offered its core to others.")          \
  X(waits_slept, kCounter, "Times that a wait, or a call that polls in vain, slept.")                                 \
  X(loaded_cores_left, kCounter,                                                                                      \
    "Times that this process gave up its binding to a core that another program kept busy.")                          \
  X(messages_dropped, kCounter,                                                                                       \
    "Messages dropped because their sender was unknown to this process, or because they were malformed.")

namespace hr {

enum class Statistic : std::uint8_t {
#define HR_STATISTIC_ENUMERATOR(name, kind, sentence) name,
  HR_STATISTICS(HR_STATISTIC_ENUMERATOR)
#undef HR_STATISTIC_ENUMERATOR
};

struct StatisticRecord {
  enum Kind : std::uint8_t { kLevel, kCounter };
  const char* name;
  Kind kind;
  const char* sentence;
};

// In the order of Statistic.
inline constexpr StatisticRecord kStatistics[] = {
#define HR_STATISTIC_RECORD(name, kind, sentence) {#name, StatisticRecord::kind, sentence},
    HR_STATISTICS(HR_STATISTIC_RECORD)
#undef HR_STATISTIC_RECORD
};

static_assert(std::size(kStatistics) <= counters::kStatisticPlaces);

inline void add(Statistic statistic, std::uint64_t amount = 1) noexcept {
  counters::page.statistics[static_cast<std::size_t>(statistic)] += amount;
}
inline void subtract(Statistic statistic, std::uint64_t amount = 1) noexcept {
  counters::page.statistics[static_cast<std::size_t>(statistic)] -= amount;
}
// Returns the value of kStatistics[index].
[[nodiscard]] inline std::uint64_t value_of(std::size_t index) noexcept { return counters::page.statistics[index]; }

}  // namespace hr
