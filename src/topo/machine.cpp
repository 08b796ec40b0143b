#include "topo/machine.hpp"

namespace hr::topo {

std::vector<CpuSet> Machine::parts(Level level) const {
  const std::vector<CpuSet>* whole = &all(level);
  if (whole->empty() && level == Level::kCore) whole = &all(Level::kThread);
  std::vector<CpuSet> found;
  for (const CpuSet& part : *whole) {
    CpuSet usable = common(part, allowed);
    if (!usable.empty()) found.push_back(std::move(usable));
  }
  const bool is_cache = level >= Level::kL1 && level <= Level::kCache;
  if (whole->empty() && !is_cache && !allowed.empty()) found.push_back(allowed);
  return found;
}

}  // namespace hr::topo
