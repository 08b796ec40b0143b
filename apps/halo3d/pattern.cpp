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
  // The device's own numbering has precedence: step 2 of the host series is step 4 on a device.
  for (const bool own_number : {true, false}) {
    for (const PatternRecord* record : all_patterns()) {
      if (record->step(on_device) == kNone) continue;
      const std::string number = std::to_string(record->step(on_device == own_number));
      if (name == record->name || name == "step" + number || (name == number && name[0] != '-')) return record;
    }
  }
  return nullptr;
}

}  // namespace halo3d
