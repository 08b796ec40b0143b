// Algorithm: one way to carry out an operation, and the list of all of them.
//
// An algorithm is one file <operation>/<algorithm>.cpp that defines its record, and one line in registry.cpp. Its
// probe is pure: it looks at facts that are the same on every process of the communicator, so that all choose alike.
// Owner: static records, immutable.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "coll/call.hpp"
#include "p2p/task.hpp"

namespace hr::coll {

// Memory that the processes of a communicator share (shared/area.hpp); each includes the ones before it.
enum class Sharing : std::uint8_t { kNone, kCells, kSlots };

// Facts that a choice may depend on: the same on every process.
struct Query {
  Operation operation = Operation::kBarrier;
  std::size_t bytes = 0;  // Call::bytes
  int ranks = 1;          // of the local group
  bool commutative = true;
  bool inter = false;
  bool in_place = false;  // operations where it is the same everywhere (section 6.2.1): not for rooted ones
  // Reductions: memory that the vector and one element take, with the holes of its type.
  std::size_t span = 0;
  std::size_t element = 0;
  Sharing sharing = Sharing::kNone;  // memory that the processes share
  std::size_t slot = 0;              // bytes of one slot, if they share slots
  bool oversubscribed = false;       // processes outnumber the cores
  int hosts = 1;                     // number of hosts that they are spread over
  int ranks_per_host = 1;            // the most on one host
  bool hosts_in_order = true;        // the ranks of each host are consecutive
  bool devices = false;              // all of them have agreed to use their GPUs (device/buffers.hpp)
};

struct Algorithm {
  const char* name;
  std::uint32_t operations;              // serves(...)
  bool (*probe)(const Query&) noexcept;  // true if it applies
  p2p::Task (*run)(const Call& call);    // `call` outlives the task
  Sharing needs = Sharing::kNone;        // what Call::area must have
  bool devices = false;                  // works on device buffers itself
  bool composes = false;                 // calls algorithms of other levels (compose/)
};

template <class... Operations>
[[nodiscard]] constexpr std::uint32_t serves(Operations... operations) noexcept {
  return ((std::uint32_t{1} << static_cast<unsigned>(operations)) | ...);
}

// Common probes.
[[nodiscard]] constexpr bool always(const Query&) noexcept { return true; }
[[nodiscard]] constexpr bool intra(const Query& query) noexcept { return !query.inter; }
[[nodiscard]] constexpr bool intra_commutative(const Query& query) noexcept {
  return !query.inter && query.commutative;
}

[[nodiscard]] constexpr bool has_cells(const Query& query) noexcept { return query.sharing >= Sharing::kCells; }
[[nodiscard]] constexpr bool has_slots(const Query& query) noexcept { return query.sharing >= Sharing::kSlots; }
// True if a slot has room for something from each process.
[[nodiscard]] constexpr bool has_wide_slots(const Query& query) noexcept {
  return has_slots(query) && query.slot / static_cast<std::size_t>(query.ranks) >= 128;
}

[[nodiscard]] constexpr bool on_devices(const Query& query) noexcept { return query.devices; }

// Every algorithm. The first applicable one of an operation is taken if selection names none.
[[nodiscard]] std::span<const Algorithm* const> algorithms() noexcept;
// Null if the operation has none of that name.
[[nodiscard]] const Algorithm* find_algorithm(Operation operation, std::string_view name) noexcept;

}  // namespace hr::coll
