#include "p2p/wait/shared_cpus.hpp"

#include <algorithm>
#include <atomic>
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

// Time for which a result is valid: other processes change their CPUs at any time.
constexpr double kHolds = 20e-3;
// The same until all processes have reported their CPUs.
constexpr double kHoldsAtStart = 100e-6;

// Returns a nonzero number that identifies a set of CPUs.
std::uint64_t number_of(const topo::CpuSet& cpus) noexcept {
  const std::uint64_t number = fnv1a(cpus);
  return number == 0 ? 1 : number;
}

transport::Transport::CpuSharers sharers(const topo::CpuSet& cpus) noexcept {
  transport::Transport::CpuSharers most;
  const std::uint64_t number = number_of(cpus);
  for (transport::Transport* each : engine()->transports) {
    const auto [processes, all_reported] = each->tell_cpus(number);
    most.processes = std::max(most.processes, processes);
    most.all_reported = most.all_reported && all_reported;
  }
  return most;
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
  const auto [processes, all_reported] = cpus.empty() ? transport::Transport::CpuSharers{} : sharers(cpus);
  found.until = now + (all_reported ? kHolds * progress.patience : kHoldsAtStart);
  const bool outnumbered = processes > static_cast<int>(cpus.size());
  std::atomic_ref(found.outnumbered).store(outnumbered, std::memory_order_relaxed);
  if (outnumbered) note(cpus, processes);
  return outnumbered;
}

}  // namespace hr::p2p::shared_cpus
