// Device address exchange: makes a communicator begin its collectives with an exchange of device addresses, starting at
// a sequence number that all of its processes know before the turn with that number.
//
// Processes are not at the same sequence number, because non-blocking and some blocking operations let a process run
// ahead of others. So the number decided on must not be one whose turn another process has already had. The word of
// rank 0 takes these values:
//
//   nothing -> wanted (by any process that passes device memory) -> candidate number -> decided number
//
// Once the word is no longer `nothing`, every process publishes the sequence number of its turn before it reads the
// word. Rank 0 never waits for others. In its first turn by which all processes have published a number, it writes a
// candidate after all of these numbers, and reads the numbers again. If a process missed the candidate, its turn was
// published before the second reading, and rank 0 moves the candidate after that turn, too. Otherwise every process
// sees the candidate in later turns. A process whose turn reaches a candidate that is not yet decided waits for rank 0,
// which is between two readings.
//
// Memory order: sequentially consistent, because each side writes its word and then reads the other's.
#include "base/clock.hpp"
#include "coll/shared/segment.hpp"

namespace hr::coll::shared {
namespace {

constexpr std::uint64_t kWanted = 1;
constexpr std::uint64_t kCandidate = 2;
constexpr std::uint64_t kDecided = 3;

constexpr std::uint64_t word_of(std::uint64_t state, std::uint64_t sequence_number) noexcept {
  return sequence_number * 4 + state;
}
constexpr std::uint64_t state_of(std::uint64_t word) noexcept { return word % 4; }
constexpr std::uint64_t sequence_number_of(std::uint64_t word) noexcept { return word / 4; }

}  // namespace

void Segment::request_address_exchange() noexcept {
  std::uint64_t nothing = 0;
  control(0).address_exchange.value.compare_exchange_strong(nothing, kWanted, std::memory_order_seq_cst);
}

// Sets *sequence_number to the number after the latest turn that any process has published; false if a process has
// published none.
bool Segment::latest_polled(std::uint64_t* sequence_number) const noexcept {
  *sequence_number = 0;
  for (int rank = 0; rank < size_; ++rank) {
    const std::uint64_t shown = control(rank).device_polled.value.load(std::memory_order_seq_cst);
    if (shown == 0) return false;
    if (*sequence_number < shown) *sequence_number = shown;
  }
  return true;
}

bool Segment::decide_address_exchange(std::uint64_t sequence_number) noexcept {
  std::atomic<std::uint64_t>& exchange = control(0).address_exchange.value;
  std::uint64_t word = exchange.load(std::memory_order_acquire);
  if (state_of(word) == kDecided) [[likely]]
    return sequence_number >= sequence_number_of(word);
  control(rank_).device_polled.value.store(sequence_number + 1, std::memory_order_seq_cst);
  std::uint64_t first = 0;
  if (rank_ == 0 && latest_polled(&first)) {
    for (;;) {
      exchange.store(word_of(kCandidate, first), std::memory_order_seq_cst);
      std::uint64_t now = 0;
      latest_polled(&now);
      if (now <= first) break;
      first = now;
    }
    exchange.store(word_of(kDecided, first), std::memory_order_seq_cst);
    return false;
  }
  word = exchange.load(std::memory_order_seq_cst);
  while (state_of(word) == kCandidate && sequence_number >= sequence_number_of(word)) {
    spin_pause();
    word = exchange.load(std::memory_order_seq_cst);
  }
  return state_of(word) == kDecided && sequence_number >= sequence_number_of(word);
}

}  // namespace hr::coll::shared
