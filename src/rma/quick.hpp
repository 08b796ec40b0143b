// The fast paths: for contiguous host memory on both sides, if the target's memory is mapped in this process and an
// epoch is open. They detect no errors: in all other cases they return, and the general path checks everything again.
// Internal to rma/.
#pragma once

#include <atomic>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/counters.hpp"
#include "base/short_copy.hpp"
#include "layout/op.hpp"
#include "layout/view.hpp"
#include "rma/atomic.hpp"
#include "rma/window.hpp"

namespace hr::rma::quick {

// Makes progress for other processes occasionally, in calls that return immediately: otherwise a program that polls its
// own memory with such calls would hold up operations that others have sent it. `read`: the rank whose memory the call
// reads. If that is this process, and progress finds nothing to do, also yields the core (p2p/progress.hpp,
// TestPacing). Threads: library lock.
inline constexpr unsigned kCallsPerTurn = 32;
inline constinit unsigned calls_to_turn = kCallsPerTurn;
[[gnu::cold, gnu::noinline]] void serve_others(const Window& window, int read);
inline void take_turn(const Window& window, int read = -1) {
  if (--calls_to_turn == 0) [[unlikely]]
    serve_others(window, read);
}

// Returns the target's data if it is contiguous and `bytes` long; nullptr if the general path is needed.
inline std::byte* contiguous_target(Window& window, int rank, Count displacement, Count count,
                                    const layout::Datatype& type, std::size_t bytes) noexcept {
  if (static_cast<unsigned>(rank) >= static_cast<unsigned>(window.size_)) return nullptr;
  const Member& member = window.member(rank);
  if (member.words == nullptr || !type.contiguous(count)) return nullptr;
  const bool open = member.lock != Member::Lock::kNone || window.epoch_ == Epoch::kFence || member.started ||
                    window.epoch_ == Epoch::kLockAll;
  if (!open) return nullptr;
  if (!window.fence_used_) window.fence_used_ = true;  // threads read the line
  Count begin = 0;
  Count packed = 0;
  if (__builtin_mul_overflow(displacement, member.displacement_unit, &begin) ||
      __builtin_mul_overflow(count, type.size(), &packed) || std::cmp_not_equal(packed, bytes))
    return nullptr;
  begin += type.true_lb();
  if (begin < 0 || packed > member.bytes || begin > member.bytes - packed) return nullptr;
  return member.words + begin;
}

// Copies host memory; source and target may overlap.
inline void move(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes <= 32) [[likely]]
    return copy_short(to, from, bytes);
  std::memmove(to, from, bytes);
}

// True if the operation is allowed: one with a request requires a passive target epoch.
inline bool may_ask(const Window& window, bool by_request) noexcept {
  return !by_request || window.epoch_ == Epoch::kLock || window.epoch_ == Epoch::kLockAll;
}

// The memory of a put or get on both sides; `target` null: the general path is needed.
struct Sides {
  std::byte* origin = nullptr;
  std::byte* target = nullptr;
  std::size_t bytes = 0;
};
inline Sides find_sides(const void* origin, Count count, const layout::Datatype& type, const Target& target,
                        Window& window, bool by_request) noexcept {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  if (!layout::find_contiguous_without_driver(origin, count, type, &data, &bytes) || !may_ask(window, by_request))
    return {};
  std::byte* const at = contiguous_target(window, target.rank, target.displacement, target.count, target.type, bytes);
  return {const_cast<std::byte*>(data), at, bytes};
}

// True if this thread has stored into others' memory since its last memory fence, in any window.
__attribute__((tls_model("initial-exec"))) inline constinit thread_local bool stored = false;

inline void put(const Sides& sides) noexcept {
  quick::move(sides.target, sides.origin, sides.bytes);
  stored = true;
}
inline void get(const Sides& sides) noexcept { quick::move(sides.origin, sides.target, sides.bytes); }

inline bool put(const void* origin, Count count, const layout::Datatype& type, const Target& target, Window& window,
                bool by_request) noexcept {
  const Sides sides = find_sides(origin, count, type, target, window, by_request);
  if (sides.target == nullptr) return false;
  put(sides);
  counters::count_access(counters::Access::kPut, sides.bytes);
  return true;
}

inline bool get(void* origin, Count count, const layout::Datatype& type, const Target& target, Window& window,
                bool by_request) noexcept {
  const Sides sides = find_sides(origin, count, type, target, window, by_request);
  if (sides.target == nullptr) return false;
  get(sides);
  counters::count_access(counters::Access::kGet, sides.bytes);
  return true;
}

// Orders this thread's stores into mapped memory before all its later loads. A thread that flushes another one's puts
// has learned of them from that thread, after which they are visible to all.
inline void settle_stores() noexcept {
  if (std::exchange(stored, false)) std::atomic_thread_fence(std::memory_order_seq_cst);
}

// Returns false if the general path is needed, to wait or to report an error.
inline bool flush(Window& window, int rank) noexcept {
  if (static_cast<unsigned>(rank) >= static_cast<unsigned>(window.size_)) return false;
  const Member& member = window.member(rank);
  const bool locked = window.epoch_ == Epoch::kLockAll || member.lock != Member::Lock::kNone;
  if (!locked || member.unanswered != 0 || !window.failure_.ok()) return false;
  settle_stores();
  return true;
}

inline bool is_integer(layout::Basic basic) noexcept {
  using layout::Basic;
  return basic == Basic::kInt64 || basic == Basic::kUint64 || basic == Basic::kInt32 || basic == Basic::kUint32;
}

template <class Word>
Word add(std::atomic_ref<Word> word, layout::Basic basic, const void* operand) noexcept {
  using Real = std::conditional_t<sizeof(Word) == 8, double, float>;
  Word value;
  std::memcpy(&value, operand, sizeof value);
  if (is_integer(basic)) return word.fetch_add(value, std::memory_order_acq_rel);
  Word seen = word.load(std::memory_order_relaxed);
  Word sum;
  do sum = std::bit_cast<Word>(std::bit_cast<Real>(seen) + std::bit_cast<Real>(value));
  while (!word.compare_exchange_weak(seen, sum, std::memory_order_acq_rel, std::memory_order_relaxed));
  return seen;
}

// Updates one element with the processor's atomic instructions. Returns false if the element is not aligned, or if `op`
// is not supported. `basic`: an integer or a real number.
template <class Word>
bool update(std::byte* target, layout::OpKind op, layout::Basic basic, const void* operand, void* before) noexcept {
  if (reinterpret_cast<std::uintptr_t>(target) % sizeof(Word) != 0) return false;
  const std::atomic_ref word(*reinterpret_cast<Word*>(target));
  Word value{};
  switch (op) {
    case layout::OpKind::kSum:
      value = add(word, basic, operand);
      break;
    case layout::OpKind::kReplace:
      std::memcpy(&value, operand, sizeof value);
      value = word.exchange(value, std::memory_order_acq_rel);
      break;
    case layout::OpKind::kNoOp:
      value = word.load(std::memory_order_acquire);
      break;
    default:
      return false;
  }
  if (before != nullptr) std::memcpy(before, &value, sizeof value);
  return true;
}

// True for an element of 4 or 8 bytes that is an integer or a real number.
inline bool is_number(const layout::Datatype& type) noexcept {
  using layout::Basic;
  const Basic basic = type.basic();
  return is_integer(basic) || basic == Basic::kFloat64 || basic == Basic::kFloat32;
}

inline bool update(std::byte* target, layout::OpKind op, const layout::Datatype& type, const void* operand,
                   void* before, const Exclusion& exclusion) noexcept {
  const ShortUpdate update_of_one(exclusion);
  return type.size() == 8 ? update<std::uint64_t>(target, op, type.basic(), operand, before)
                          : update<std::uint32_t>(target, op, type.basic(), operand, before);
}

template <class Word>
bool swap(std::byte* target, const void* operand, const void* compare, void* before,
          const Exclusion& exclusion) noexcept {
  if (reinterpret_cast<std::uintptr_t>(target) % sizeof(Word) != 0) return false;
  swap_word<Word>(target, operand, compare, before, exclusion);
  return true;
}

// The following functions count nothing. They return the number of bytes updated; 0: the general path is needed.
inline std::size_t update_one(const void* origin, Count count, const layout::Datatype& type, const Target& target,
                              const layout::Op& op, Window& window) noexcept {
  if (count != 1 || &type != &target.type || !is_number(type) || op.kind() == layout::OpKind::kNoOp ||
      !layout::is_host_by_address(origin))
    return 0;
  const auto bytes = static_cast<std::size_t>(type.size());
  std::byte* const to = contiguous_target(window, target.rank, target.displacement, target.count, type, bytes);
  const bool updated =
      to != nullptr && update(to, op.kind(), type, origin, nullptr, window.exclusion(window.member(target.rank)));
  return updated ? bytes : 0;
}

inline std::size_t fetch(const void* origin, void* result, const layout::Datatype& type, int rank, Count displacement,
                         const layout::Op& op, Window& window) noexcept {
  const bool reads = op.kind() == layout::OpKind::kNoOp;
  if (!is_number(type) || !layout::is_host_by_address(result) || (!reads && !layout::is_host_by_address(origin)))
    return 0;
  const auto bytes = static_cast<std::size_t>(type.size());
  std::byte* const at = contiguous_target(window, rank, displacement, 1, type, bytes);
  const bool updated =
      at != nullptr && update(at, op.kind(), type, origin, result, window.exclusion(window.member(rank)));
  return updated ? bytes : 0;
}

inline std::size_t swap(const void* origin, const void* compare, void* result, const layout::Datatype& type, int rank,
                        Count displacement, Window& window) noexcept {
  if (!is_integer(type.basic()) || !layout::is_host_by_address(origin) || !layout::is_host_by_address(compare) ||
      !layout::is_host_by_address(result))
    return 0;
  const auto bytes = static_cast<std::size_t>(type.size());
  std::byte* const at = contiguous_target(window, rank, displacement, 1, type, bytes);
  if (at == nullptr) return 0;
  const Exclusion exclusion = window.exclusion(window.member(rank));
  const bool swapped = bytes == 8 ? swap<std::uint64_t>(at, origin, compare, result, exclusion)
                                  : swap<std::uint32_t>(at, origin, compare, result, exclusion);
  return swapped ? bytes : 0;
}

// Counts an update; false if there was none.
inline bool counted(counters::Access access, std::size_t bytes) noexcept {
  if (bytes != 0) counters::count_access(access, bytes);
  return bytes != 0;
}

}  // namespace hr::rma::quick
