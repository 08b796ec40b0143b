#include "p2p/wait/loaded_core.hpp"

#include <string>
#include <string_view>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/ranges.hpp"
#include "base/statistics.hpp"
#include "boot/spare_cpus.hpp"
#include "topo/allowed_cpus.hpp"

namespace hr::p2p {
namespace {

constexpr double kWithinSeconds = 1;
// Limit of the lost time: more than the system's own work occasionally takes.
constexpr double kTooLongSeconds = 5e-3;

struct Core {
  LostTime lost;
  bool left = false;  // true if the thread has left its core, or has no other core to move to
};
Core core;

// Binds this thread to all CPUs that mpiexec's ranks may use.
void leave() {
  const char* const told = environment(boot::kSpareCpus);
  if (told == nullptr || !knobs().leave_loaded_core) return;
  const std::string_view text = told;
  const std::size_t middle = text.find('/');
  if (middle == std::string_view::npos) return;
  const topo::CpuSet own = topo::cpus_listed(std::string(text.substr(0, middle)));
  const topo::CpuSet all = topo::cpus_listed(std::string(text.substr(middle + 1)));
  if (topo::allowed_cpus() != own || !topo::use_cpus(all)) return;
  add(Statistic::loaded_cores_left);
  log::write(log::Level::kNote,
             "another program keeps CPU %s busy, so this rank may now run on CPUs %s (HEADRACE_LEAVE_LOADED_CORE=off "
             "keeps it there)",
             as_ranges(own).c_str(), as_ranges(all).c_str());
}

}  // namespace

bool LostTime::add(double seconds, double now) noexcept {
  if (since_ < 0 || now - since_ > kWithinSeconds) {
    since_ = now;
    lost_ = 0;
  }
  lost_ += seconds;
  return lost_ >= kTooLongSeconds;
}

void loaded_core::note_lost(double seconds, double now) {
  if (core.left || !core.lost.add(seconds, now)) return;
  core.left = true;
  leave();
}

}  // namespace hr::p2p
