#include "topo/level.hpp"

namespace hr::topo {
namespace {

struct Word {
  std::string_view word;
  Level level;
};

// Words for levels, as used by Open MPI and Hydra.
constexpr Word kWords[] = {
    {"hwthread", Level::kThread}, {"hwt", Level::kThread},     {"core", Level::kCore},       {"l1cache", Level::kL1},
    {"l1dcache", Level::kL1},     {"l1icache", Level::kL1},    {"l1ucache", Level::kL1},     {"l2cache", Level::kL2},
    {"l2dcache", Level::kL2},     {"l2ucache", Level::kL2},    {"l3cache", Level::kL3},      {"l3dcache", Level::kL3},
    {"l3ucache", Level::kL3},     {"cache", Level::kCache},    {"numa", Level::kNuma},       {"numanode", Level::kNuma},
    {"socket", Level::kSocket},   {"package", Level::kSocket}, {"machine", Level::kMachine},
};

}  // namespace

const char* name_of(Level level) noexcept {
  switch (level) {
    case Level::kThread:
      return "hardware thread";
    case Level::kCore:
      return "core";
    case Level::kL1:
      return "L1 cache";
    case Level::kL2:
      return "L2 cache";
    case Level::kL3:
      return "L3 cache";
    case Level::kCache:
      return "cache";
    case Level::kNuma:
      return "NUMA domain";
    case Level::kSocket:
      return "socket";
    case Level::kMachine:
      break;
  }
  return "machine";
}

std::optional<Level> find_level(std::string_view word) noexcept {
  for (const Word& each : kWords) {
    if (each.word == word) return each.level;
  }
  return std::nullopt;
}

}  // namespace hr::topo
