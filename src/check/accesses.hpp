// Accesses of operations and of the CPU to the memory of a window, and the rules that decide which of them conflict
// (MPI 5.0 section 12.7). Internal to check/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "check/call.hpp"
#include "check/ranges.hpp"

namespace hr::check {

enum class AccessKind : std::uint8_t { kGet, kPut, kUpdate, kFetch, kLoad, kStore };

// A kind of access to memory. Updates of the same type at the same element addresses are atomic with respect to each
// other.
struct Access {
  AccessKind kind{};
  std::uint8_t op = 0;      // updates: layout::OpKind, or kOtherOp
  std::uint8_t basic = 0;   // updates: type of the elements; 0: unknown
  std::uint8_t size = 1;    // updates: size of an element
  std::uint64_t phase = 0;  // updates: start of elements, modulo their size

  bool operator==(const Access&) const = default;
};
inline constexpr std::uint8_t kOtherOp = 255;  // compare and swap, user-defined operations

// Disjoint ranges of bytes.
class Intervals {
 public:
  void add(const Range& range);
  // Return the first range that is in both sets; none if the sets are disjoint.
  [[nodiscard]] std::optional<Range> common(const Range& range) const;
  [[nodiscard]] std::optional<Range> common(const Intervals& other) const;
  bool operator==(const Intervals&) const = default;
  [[nodiscard]] const std::map<std::uintptr_t, std::uintptr_t>& ranges() const noexcept { return ranges_; }

 private:
  std::map<std::uintptr_t, std::uintptr_t> ranges_;  // end of each range, keyed by its start
};

// Returns a call's access; none if it accesses no window memory.
std::optional<Access> access_of(const Call& call);
// True if two accesses must not overlap. `one_origin`: both are from one origin, whose updates are ordered.
[[nodiscard]] bool conflict(const Access& a, const Access& b, bool one_origin) noexcept;

// Returns a phrase such as "is written".
const char* verb(AccessKind kind) noexcept;

// Adds to *ranges the ranges of the target's window memory that a call accesses. Returns false if there are none, or if
// they are not known.
bool target_ranges(const Call& call, std::vector<Range>* ranges);

// The operations of this process that a call completes.
struct Completes {
  bool any = false;
  bool all = false;        // true: for all targets
  int target = -1;         // the only target, unless `all` is true
  bool at_target = false;  // false: only at the origin
};
Completes completed_by(const Call& call);

}  // namespace hr::check
