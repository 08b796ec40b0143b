// The levels of a machine on which ranks are placed, and the words for them.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace hr::topo {

enum class Level {
  kThread,  // hardware thread
  kCore,
  kL1,
  kL2,
  kL3,
  kCache,  // the outermost cache of this machine
  kNuma,   // NUMA domain
  kSocket,
  kMachine,  // the host, as one part
};
inline constexpr int kLevels = 9;
inline constexpr std::array<Level, kLevels> kAllLevels = {Level::kThread, Level::kCore,   Level::kL1,
                                                          Level::kL2,     Level::kL3,     Level::kCache,
                                                          Level::kNuma,   Level::kSocket, Level::kMachine};

// Returns the name of a level for messages: "core", "NUMA domain".
const char* name_of(Level level) noexcept;

// Returns the level that a word on the command line names ("hwthread", "l3cache", "package"); nullopt for other words.
std::optional<Level> find_level(std::string_view word) noexcept;

}  // namespace hr::topo
