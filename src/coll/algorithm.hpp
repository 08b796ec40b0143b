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

// What a choice may depend on: the same on every process.
struct Query {
  Operation operation = Operation::kBarrier;
  std::size_t bytes = 0;  // Call::bytes
  int ranks = 1;          // of the local group
  bool commutative = true;
  bool inter = false;
  bool in_place = false;  // operations where it is the same everywhere (section 6.2.3): not for rooted ones
  // Reductions: what the vector and what one element takes in memory, with the holes of its type.
  std::size_t span = 0;
  std::size_t element = 0;
  Sharing sharing = Sharing::kNone;  // what the processes share
  std::size_t slot = 0;              // bytes of one, when they share slots
  bool oversubscribed = false;       // they outnumber the cores
  int hosts = 1;                     // that they are spread over
  int ranks_per_host = 1;            // the most that one of them has
  bool hosts_in_order = true;        // each host's are consecutive
  bool devices = false;              // all of them have agreed to use their GPUs (device/buffers.hpp)
};

struct Algorithm {
  const char* name;
  std::uint32_t operations;              // serves(...)
  bool (*probe)(const Query&) noexcept;  // can it do that
  p2p::Task (*run)(const Call& call);    // `call` outlives the task
  Sharing needs = Sharing::kNone;        // Call::area has it
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
// A slot holds something for everybody.
[[nodiscard]] constexpr bool has_wide_slots(const Query& query) noexcept {
  return has_slots(query) && query.slot / static_cast<std::size_t>(query.ranks) >= 128;
}

[[nodiscard]] constexpr bool on_devices(const Query& query) noexcept { return query.devices; }

// Every algorithm. The first one of an operation whose probe holds is taken where selection names none.
[[nodiscard]] std::span<const Algorithm* const> algorithms() noexcept;
// nullptr when there is none of that name for the operation.
[[nodiscard]] const Algorithm* find_algorithm(Operation operation, std::string_view name) noexcept;

}  // namespace hr::coll
