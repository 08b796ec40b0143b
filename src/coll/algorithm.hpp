// Algorithm: a method of executing an operation; and the list of all algorithms.
//
// An algorithm is one file <operation>/<algorithm>.cpp that defines its record, and one line in registry.cpp. Its probe
// is pure: it depends only on facts that are the same on every process of the communicator, so that all processes make
// the same choice. Owner: static records, immutable.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "coll/call.hpp"
#include "p2p/task.hpp"

namespace hr::coll {

// Memory that the processes of a communicator share (shared/segment.hpp); each value includes the ones before it.
enum class Sharing : std::uint8_t { kNone, kFlagLines, kDataSlots };

// Properties of a call on which the choice of an algorithm may depend. They are the same on every process.
struct Query {
  Operation operation = Operation::kBarrier;
  std::size_t bytes = 0;  // Call::bytes
  int ranks = 1;          // number of processes in the local group
  bool commutative = true;
  bool inter = false;
  bool in_place = false;  // unset for operations in which processes may differ (section 6.2.1)
  // Reductions: bytes of memory that the vector and one element take, including the holes of the type.
  std::size_t span = 0;
  std::size_t element = 0;
  Sharing sharing = Sharing::kNone;  // memory that the processes share
  std::size_t data_slot_bytes = 0;   // size of a data slot, if the processes share data slots
  bool oversubscribed = false;       // processes outnumber the cores
  int hosts = 1;                     // number of hosts that the processes are on
  int ranks_per_host = 1;            // largest number of processes on one host
  bool hosts_in_order = true;        // the ranks of each host are consecutive
  bool devices = false;              // true if all processes have agreed to use their GPUs (device/buffers.hpp)
  bool alike = true;                 // false if processes of jobs with other settings take part: built-in rows only
};

struct Algorithm {
  // Appears in saved tuning files. "cells" in a name stands for flag lines, "slots" for data slots.
  const char* name;
  std::uint32_t operations;              // serves(...)
  bool (*probe)(const Query&) noexcept;  // true if the algorithm applies
  p2p::Task (*run)(const Call& call);    // `call` outlives the task
  Sharing needs = Sharing::kNone;        // parts that Call::segment must have
  bool devices = false;                  // works on device buffers itself
  bool composes = false;                 // calls algorithms on other levels (compose/)
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

[[nodiscard]] constexpr bool has_flag_lines(const Query& query) noexcept {
  return query.sharing >= Sharing::kFlagLines;
}
[[nodiscard]] constexpr bool has_data_slots(const Query& query) noexcept {
  return query.sharing >= Sharing::kDataSlots;
}
// True if each process's share of a data slot is large enough to be worth using.
[[nodiscard]] constexpr bool has_wide_data_slots(const Query& query) noexcept {
  return has_data_slots(query) && query.data_slot_bytes / static_cast<std::size_t>(query.ranks) >= 128;
}

[[nodiscard]] constexpr bool on_devices(const Query& query) noexcept { return query.devices; }

// Returns all algorithms. If the selection names none, the operation's first algorithm whose probe returns true is
// used.
[[nodiscard]] std::span<const Algorithm* const> algorithms() noexcept;
// Returns the algorithm; null if the operation has none of that name.
[[nodiscard]] const Algorithm* find_algorithm(Operation operation, std::string_view name) noexcept;

}  // namespace hr::coll
