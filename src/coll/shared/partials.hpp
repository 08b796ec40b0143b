// Partials: intermediate results of a reduction that processes publish for others to combine further.
//
// Partial 0 of a process is its contribution; partial k is its result after k combinations. Each has its own flag, with
// space for a short partial next to it. Longer partials share FlagLines::room: partial k is in place k modulo the
// number of places. The algorithm determines when each partial is read, and by which process. Such algorithms take log2
// p steps for p processes, whereas reading every member's vector takes p steps.
// Owner: a local of the coroutine. Threads: library lock.
#pragma once

#include <bit>

#include "base/cache_hints.hpp"
#include "coll/shared/reduce_flag_lines.hpp"

namespace hr::coll::shared {

// Returns the number of combinations from one contribution to the result of all.
[[nodiscard]] constexpr int doublings(int ranks) noexcept {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

// Returns the number of bytes that a partial takes in FlagLines::room.
[[nodiscard]] constexpr std::size_t partial_room(std::size_t span) noexcept {
  return (span + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// True if there are flags for partials up to `last`, and space for `places` of them at once.
[[nodiscard]] constexpr bool partials_fit(const Query& query, int last, int places) noexcept {
  return has_flag_lines(query) && last <= kPartials &&
         partial_room(query.span) * static_cast<std::size_t>(places) <= kRoomBytes;
}

// True once a member's flag of a step is raised; its partial, if any, may then be read.
struct PartialThere {
  const Call& call;
  int rank;
  int step;
  bool operator()() const noexcept {
    return flag_lines_of(call, rank).line(step).sequence.load(std::memory_order_acquire) == call.sequence_number + 1;
  }
};

// Raises this process's flag of a step.
inline void publish_step(const Call& call, int step, std::size_t bytes) noexcept {
  FlagLine& line = own_flag_lines(call).line(step);
  line.bytes = bytes;
  line.sequence.store(call.sequence_number + 1, std::memory_order_release);
}

class Partials {
 public:
  // Constructed once this process's flag lines may be written.
  Partials(const Call& call, int places) noexcept
      : call_(call),
        places_(places),
        type_(*contribution(call).type),
        count_(contribution(call).count),
        bytes_(typed_bytes(contribution(call))),
        origin_(typed_origin(count_, type_)) {}

  // Writes the contribution into this process's flag lines.
  [[nodiscard]] Status write_contribution() const {
    FlagLines& lines = own_flag_lines(call_);
    return write_elements(contribution(call_), bytes_, bytes_ > kInlineBytes ? room(lines, 0) : lines.head.data);
  }
  // Writes the contribution and raises its flag.
  [[nodiscard]] Status publish_contribution() const {
    HR_TRY(write_contribution());
    publish(0);
    return kOk;
  }
  // Returns the origin of this process's elements of a step.
  [[nodiscard]] std::byte* own(int step) const noexcept {
    if (step == 0 && !call_.in_place && !call_.send.none()) return call_.send.all().address;
    return in_flag_lines(own_flag_lines(call_), step);
  }
  void publish(int step) const noexcept {
    if (bytes_ > kInlineBytes) demote(room(own_flag_lines(call_), step), bytes_);
    publish_step(call_, step, bytes_);
  }

  // Finds a member's elements. *origin: receives their origin.
  // Errors: MPI_ERR_TRUNCATE if the member's vector is not as long as this process's.
  [[nodiscard]] Status find(const PartialThere& there, std::byte** origin) const {
    FlagLines& lines = flag_lines_of(call_, there.rank);
    const std::uint64_t bytes = lines.line(there.step).bytes;
    if (bytes != bytes_) [[unlikely]]
      return wrong_length(call_, there.rank, bytes, bytes_);
    *origin = in_flag_lines(lines, there.step);
    return kOk;
  }
  // Computes to = left op right. All arguments are origins; `to` differs from the others.
  [[nodiscard]] Status combine(const std::byte* left, const std::byte* right, std::byte* to) const {
    return layout::apply_to(*call_.op, left, right, to, count_, type_);
  }
  [[nodiscard]] Status copy(std::byte* from, std::byte* to) const { return copy_elements(from, to, count_, type_); }

 private:
  [[nodiscard]] std::byte* room(FlagLines& lines, int step) const noexcept {
    return lines.room + static_cast<std::size_t>(step % places_) * partial_room(bytes_);
  }
  [[nodiscard]] std::byte* in_flag_lines(FlagLines& lines, int step) const noexcept {
    if (bytes_ > kInlineBytes) return moved(room(lines, step), origin_);
    return moved(lines.line(step).data, origin_);
  }

  const Call& call_;
  int places_;
  const layout::Datatype& type_;
  Count count_;
  std::size_t bytes_;
  Count origin_;
};

}  // namespace hr::coll::shared
