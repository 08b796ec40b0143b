// Accesses: what operations and the CPU do to the memory of a window, and which two of these may not meet (MPI 5.0
// section 12.7). Internal to check/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "check/call.hpp"
#include "check/runs.hpp"

namespace hr::check {

enum class AccessKind : std::uint8_t { kGet, kPut, kUpdate, kFetch, kLoad, kStore };

// How memory is accessed. Updates are atomic towards each other where they are of one type, at the same places.
struct Access {
  AccessKind kind{};
  std::uint8_t op = 0;      // updates: layout::OpKind, or kOtherOp
  std::uint8_t basic = 0;   // updates: what elements are; 0: unknown
  std::uint8_t size = 1;    // updates: of an element
  std::uint64_t phase = 0;  // updates: where elements begin, modulo their size

  bool operator==(const Access&) const = default;
};
inline constexpr std::uint8_t kOtherOp = 255;  // compare and swap, the program's own

// Disjoint runs of bytes.
class Intervals {
 public:
  void add(const Run& run);
  // What both have; none: nothing.
  [[nodiscard]] std::optional<Run> common(const Run& run) const;
  [[nodiscard]] std::optional<Run> common(const Intervals& other) const;
  bool operator==(const Intervals&) const = default;
  [[nodiscard]] const std::map<std::uintptr_t, std::uintptr_t>& runs() const noexcept { return runs_; }

 private:
  std::map<std::uintptr_t, std::uintptr_t> runs_;  // end by begin
};

// Of a call; none: it accesses no memory of windows.
std::optional<Access> access_of(const Call& call);
// Operations of one origin, whose updates are ordered, and of several.
[[nodiscard]] bool conflict(const Access& a, const Access& b, bool one_origin) noexcept;

// "is written"
const char* verb(AccessKind kind) noexcept;

// Where a call of an operation accesses memory of its target, as places in its window; false: nowhere, or that cannot
// be told.
bool places_of(const Call& call, std::vector<Run>* runs);

// The operations of this process that a call completes.
struct Completes {
  bool any = false;
  bool all = false;        // targets
  int target = -1;         // else this one
  bool at_target = false;  // false: here only
};
Completes completed_by(const Call& call);

}  // namespace hr::check
