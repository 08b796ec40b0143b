// Accesses: those that operations and the CPU make to the memory of a window, and rules for which of them conflict (MPI
// 5.0 section 12.7). Internal to check/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "check/call.hpp"
#include "check/ranges.hpp"

namespace hr::check {

enum class AccessKind : std::uint8_t { kGet, kPut, kUpdate, kFetch, kLoad, kStore };

// A way to access memory. Updates are atomic towards each other if they are of one type, at the same places.
struct Access {
  AccessKind kind{};
  std::uint8_t op = 0;      // updates: layout::OpKind, or kOtherOp
  std::uint8_t basic = 0;   // updates: type of the elements; 0: unknown
  std::uint8_t size = 1;    // updates: of an element
  std::uint64_t phase = 0;  // updates: start of elements, modulo their size

  bool operator==(const Access&) const = default;
};
inline constexpr std::uint8_t kOtherOp = 255;  // compare and swap, the program's own

// Disjoint ranges of bytes.
class Intervals {
 public:
  void add(const Range& range);
  // Returns the first range in both; none: they are disjoint.
  [[nodiscard]] std::optional<Range> common(const Range& range) const;
  [[nodiscard]] std::optional<Range> common(const Intervals& other) const;
  bool operator==(const Intervals&) const = default;
  [[nodiscard]] const std::map<std::uintptr_t, std::uintptr_t>& ranges() const noexcept { return ranges_; }

 private:
  std::map<std::uintptr_t, std::uintptr_t> ranges_;  // end by begin
};

// Returns a call's access; none: it accesses no memory of windows.
std::optional<Access> access_of(const Call& call);
// True if two operations, of one origin (whose updates are ordered) or of several, must not meet.
[[nodiscard]] bool conflict(const Access& a, const Access& b, bool one_origin) noexcept;

// Returns text such as "is written".
const char* verb(AccessKind kind) noexcept;

// Finds where a call of an operation accesses memory of its target, as ranges in its window; false: nowhere, or it is
// not known where.
bool target_ranges(const Call& call, std::vector<Range>* ranges);

// Operations of this process that a call completes.
struct Completes {
  bool any = false;
  bool all = false;        // targets
  int target = -1;         // else this one
  bool at_target = false;  // false: here only
};
Completes completed_by(const Call& call);

}  // namespace hr::check
