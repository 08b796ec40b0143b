#include "p2p/wait/shared_cpus.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <string>

#include "base/clock.hpp"
#include "base/fnv.hpp"
#include "base/log.hpp"
#include "base/ranges.hpp"
#include "boot/boot.hpp"
#include "p2p/core/engine.hpp"
#include "p2p/progress.hpp"
#include "topo/allowed_cpus.hpp"
#include "transport/transport.hpp"

namespace hr::p2p::shared_cpus {
namespace {

using transport::Transport;

// Time for which a result is valid: other processes change their CPUs at any time.
constexpr double kHolds = 20e-3;
// The same until all processes have reported their CPUs.
constexpr double kHoldsAtStart = 100e-6;

// Returns a nonzero number that identifies a set of CPUs.
std::uint64_t number_of(const topo::CpuSet& cpus) noexcept {
  const std::uint64_t number = fnv1a(cpus);
  return number == 0 ? 1 : number;
}

Transport::CpuBits bits_of(const topo::CpuSet& cpus) noexcept {
  Transport::CpuBits bits{};
  constexpr std::size_t kBits = 64;
  if (cpus.empty() || cpus.back() >= kBits * bits.size()) {
    bits.fill(~std::uint64_t{0});
    return bits;
  }
  for (const unsigned cpu : cpus) bits[cpu / kBits] |= std::uint64_t{1} << (cpu % kBits);
  return bits;
}

// Returns 0 if the number is not known.
int number_in(const Transport::CpuBits& bits) noexcept {
  std::size_t number = 0;
  for (const std::uint64_t word : bits) number += static_cast<std::size_t>(std::popcount(word));
  return number == 64 * bits.size() ? 0 : static_cast<int>(number);
}

Transport::CpuSharers tell(const topo::CpuSet& cpus) noexcept {
  Transport::CpuSharers found;
  const std::uint64_t number = number_of(cpus);
  const Transport::CpuBits bits = bits_of(cpus);
  for (Transport* each : engine()->transports) {
    const auto [processes, all_reported, all] = each->tell_cpus(number, bits);
    found.processes = std::max(found.processes, processes);
    found.all_reported = found.all_reported && all_reported;
    found.all += all;
  }
  if (cpus.empty()) found.processes = 1;
  return found;
}

// Compares the processes with the CPUs that they may use together, and sets the pace of waits accordingly.
void count_all() noexcept {
  int processes = engine()->processes_on_node;
  int cpus = online_cores();
  for (Transport* each : engine()->transports) {
    const Transport::CpusTogether together = each->cpus_together();
    const int usable = number_in(together.cpus);
    if (usable == 0 || static_cast<long>(together.processes) * cpus <= static_cast<long>(processes) * usable) continue;
    processes = together.processes;
    cpus = usable;
  }
  progress.shared_cpus.crowded = processes > cpus;
  count_cores(processes, cpus);
}

// Reports, in one process on the node, ranks that share CPUs although the node has one for each.
void note(const topo::CpuSet& cpus, int processes) {
  static bool noted = false;
  if (noted || engine()->oversubscribed || !boot::processes().first_on_host()) return;
  noted = true;
  log::write(log::Level::kNote,
             "%d ranks of this host may run only on CPU %s and take turns there; if this is not intended, look at the "
             "binding that the batch system or the program has set (mpiexec --report-bindings shows mpiexec's)",
             processes, as_ranges(cpus).c_str());
}

}  // namespace

bool outnumbered() noexcept {
  return std::atomic_ref(progress.shared_cpus.outnumbered).load(std::memory_order_relaxed);
}

bool look() noexcept {
  Found& found = progress.shared_cpus;
  const double now = now_seconds();
  if (engine() == nullptr || now < found.until) return found.outnumbered;
  const topo::CpuSet cpus = topo::allowed_cpus();
  const Transport::CpuSharers sharers = tell(cpus);
  found.all_reported = sharers.all_reported;
  if (sharers.all_reported && sharers.all != found.all) {
    found.all = sharers.all;
    count_all();
  }
  found.until = now + (sharers.all_reported ? kHolds * progress.patience : kHoldsAtStart);
  const bool confined = sharers.processes > 1 && sharers.processes > static_cast<int>(cpus.size());
  if (confined) note(cpus, sharers.processes);
  const bool outnumbered = confined || found.crowded;
  if (outnumbered != found.outnumbered) {
    std::atomic_ref(found.outnumbered).store(outnumbered, std::memory_order_relaxed);
    set_spin_limits();
  }
  return outnumbered;
}

bool look_again() noexcept {
  if (!progress.shared_cpus.all_reported) progress.shared_cpus.until = 0;
  return look();
}

}  // namespace hr::p2p::shared_cpus
