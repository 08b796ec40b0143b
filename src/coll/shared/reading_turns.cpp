#include "coll/shared/reading_turns.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/log.hpp"

namespace hr::coll::shared {
namespace {

constexpr std::uint64_t kFirstAgain = 512;
// Reading must save this part of a turn: what other processes do in a turn is not its merit.
constexpr double kGain = 0.03;
constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

// Turns of each way: fewer of long operations, which differ by more than what disturbs them, and of which a program may
// do few.
constexpr int kLong = 18;  // bits: from 256 KiB on
constexpr std::uint64_t turns_of(int length) noexcept { return length > kLong ? 3 : 8; }
// The position of the operation that decides.
constexpr std::uint64_t last_of(int length) noexcept { return 2 * turns_of(length); }

}  // namespace

ReadingTurns::Kind& ReadingTurns::kind_of(Operation operation, std::size_t bytes) {
  const int length = std::bit_width(bytes);
  for (Kind& kind : kinds_) {
    if (kind.operation == operation && kind.length == length) return kind;
  }
  return kinds_.emplace_back(Kind{.operation = operation, .length = length, .again = kFirstAgain});
}

bool ReadingTurns::reads(Operation operation, std::size_t bytes, std::uint64_t ticket, std::uint64_t now) {
  Kind& kind = kind_of(operation, bytes);
  if (std::exchange(kind.next, ticket + 1) != ticket + 1) begin_turn(kind, now);
  const std::uint64_t position = kind.position - 1;
  return position <= last_of(kind.length) ? position >= turns_of(kind.length) : kind.reads;
}

void ReadingTurns::begin_turn(Kind& kind, std::uint64_t now) {
  if (kind.position == kind.again) {
    kind.position = 0;
    kind.again *= 4;
  }
  const std::uint64_t position = kind.position++;
  if (position > last_of(kind.length)) return;
  const std::uint64_t began = std::exchange(kind.began, now);
  if (position == 0) {
    kind.reads = kind.decided = false;
    kind.least[false] = kind.least[true] = kUnknown;
  } else {
    std::uint64_t& least = kind.least[position > turns_of(kind.length)];
    least = std::min(least, now - began);
  }
}

bool ReadingTurns::votes(Operation operation, std::size_t bytes) {
  const Kind& kind = kind_of(operation, bytes);
  return static_cast<double>(kind.least[true]) < (1 - kGain) * static_cast<double>(kind.least[false]);
}

void ReadingTurns::decide(Operation operation, std::size_t bytes, bool read) {
  Kind& kind = kind_of(operation, bytes);
  if (kind.position != last_of(kind.length) + 1 || kind.decided) return;
  kind.decided = true;
  kind.reads = read;
  log::write(log::Level::kDecision, "%s of %zu bytes: %s (reading %llu, otherwise %llu ticks a turn)", name(operation),
             bytes, read ? "processes read one another's buffers" : "through shared memory",
             static_cast<unsigned long long>(kind.least[true]), static_cast<unsigned long long>(kind.least[false]));
}

}  // namespace hr::coll::shared
