#include "words/settings.hpp"

#include <cstdio>
#include <string>

#include "base/knobs.hpp"

namespace hr::launcher {
namespace {

const char* origin_text(KnobOrigin origin) {
  switch (origin) {
    case KnobOrigin::kTuned:
      return "tuned";
    case KnobOrigin::kFile:
      return "file";
    case KnobOrigin::kEnvironment:
      return "environment";
    case KnobOrigin::kTool:
      return "tool";
    case KnobOrigin::kJob:
      return "job";
    case KnobOrigin::kDefault:
      break;
  }
  return "default";
}

}  // namespace

void print_settings() {
  std::printf("%-20s %-14s %-12s %-12s %s\n", "name", "value", "origin", "default", "effect");
  const auto records = knob_records();
  for (std::size_t index = 0; index < records.size(); ++index) {
    const KnobRecord& record = records[index];
    std::printf("%-20s %-14s %-12s %-12s %s\n", record.name, knob_text(index).c_str(), origin_text(knob_origin(index)),
                record.default_text, record.sentence);
  }
  std::printf(
      "\nSet one by the environment variable HEADRACE_<NAME> (HEADRACE_VERBOSE=1), or by a line \"name = value\"\n"
      "in the file that HEADRACE_CONFIG_FILE names, else in ~/.config/headrace.conf.\n");
  if (const TunedKnobs& tuned = tuned_knobs(); !tuned.left_out.empty()) {
    std::printf("tuned messages are left out: %s\n", tuned.left_out.c_str());
  } else if (!tuned.values.empty() || !tuned.of_peers.empty()) {
    std::printf("tuned messages: %s\n", tuned.path.c_str());
    for (const TunedForPeers& each : tuned.of_peers)
      std::printf("  %s is %s for messages with %s\n", each.name.c_str(), each.text.c_str(), each.peers.c_str());
  }
}

}  // namespace hr::launcher
