// Messages of the checker between processes: active messages (p2p/active_message.hpp), each with a word that names its
// subject.
//
// Messages from one sender arrive in the order in which they were sent, also relative to the program's messages. A
// handler runs during a delivery: it may send, but not make progress. Internal to check/. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hr::check {

enum class Word : std::uint8_t {
  kCollective,  // a call of a collective function; sent to the comparing member
  kOutcome,     // outcome of the comparison; sent back to the member
  kSignature,   // signature of a message that follows
  kAccesses,    // accesses of the sender to the receiver's part of a window
  kClock,       // the sender's clock; a post or complete of a window follows
  kLocks,       // the sender locks windows
  kFinal,       // the sender has sent its last message
  kWaiting,     // the sender is waiting in a call, or no longer is; sent to the first process of the job
};
inline constexpr std::size_t kWords = 8;

struct Told {
  int from;               // process
  std::uint64_t subject;  // set by the sender
  std::span<const std::byte> data;
};
using WordHandler = void (*)(const Told& told);

void begin_messages();
void end_messages();
void on_word(Word word, WordHandler handler);
// Sends a message; a message to this process itself is handled immediately.
void tell(int proc, Word word, std::uint64_t subject, std::span<const std::byte> data);
// Returns the length of the longest `data` that can be sent to that process.
std::size_t longest(int proc);

template <class T>
std::span<const std::byte> bytes_of(const T& value) noexcept {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

}  // namespace hr::check
