#include "pattern.hpp"

namespace halo3d {

void Pattern::step() {
  exchange();
  const Stopwatch watch(setup_.times.update);
  setup_.backend.update(setup_.way, Part::kAll);
  setup_.backend.wait();
  setup_.backend.finish_step();
}

const PatternRecord* find_pattern(const std::string& name, bool on_device) {
  for (const PatternRecord* record : all_patterns()) {
    const int step = record->step(on_device);
    if (step != kNone && (name == record->name || name == "step" + std::to_string(step))) return record;
  }
  return nullptr;
}

}  // namespace halo3d
