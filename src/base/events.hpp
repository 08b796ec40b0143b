// Events: moments in the library's work that are reported to tools by callbacks (MPI 5.0 section 15.3.8).
//
// Each line of the list below names an event: the code where it happens, MPI_T and docs/events.md use that name. Its
// elements are 64-bit integers. An event without listeners costs a test of one word. It costs short messages nothing:
// their handlers are replaced while there are listeners (p2p/message/receive.cpp). Owner: process-wide. Threads:
// library lock.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>

// X(name, number of elements, sentence)
#define HR_EVENTS(X)                                                                                                \
  X(message_matched, 5,                                                                                             \
    "A receive has matched its message. Elements: source, tag, context, bytes, 1 if the message came first.")       \
  X(message_unexpected, 4,                                                                                          \
    "A message has arrived before its receive was posted. Elements: source, tag, context, bytes.")                  \
  X(rendezvous_begun, 3,                                                                                            \
    "The data of an announced message begins to move into this process. Elements: process, tag, bytes.")            \
  X(rendezvous_ended, 4,                                                                                            \
    "The data of an announced message has arrived, or failed to. Elements: process, tag, bytes, error class.")      \
  X(collective_begun, 4,                                                                                            \
    "A collective operation begins in this process. Elements: operation (by the list in docs/events.md), context, " \
    "bytes as selection counts them, processes.")                                                                   \
  X(collective_ended, 5,                                                                                            \
    "A collective operation is over in this process. Elements: those of its beginning, error class.")

namespace hr::events {

enum class Event : std::uint8_t {
#define HR_EVENT_ENUMERATOR(name, elements, sentence) name,
  HR_EVENTS(HR_EVENT_ENUMERATOR)
#undef HR_EVENT_ENUMERATOR
};

struct Record {
  const char* name;
  int elements;
  const char* sentence;
};

// In the order of Event.
inline constexpr Record kRecords[] = {
#define HR_EVENT_RECORD(name, elements, sentence) {#name, elements, sentence},
    HR_EVENTS(HR_EVENT_RECORD)
#undef HR_EVENT_RECORD
};
inline constexpr int kMostElements = 8;

// Passes events to the tools; may be called during a delivery, and makes no progress.
using Sink = void (*)(Event event, std::span<const std::int64_t> elements);

namespace detail {
inline std::uint32_t wanted = 0;                     // a bit per event, and kChecker
inline constexpr std::uint32_t kChecker = 1U << 31;  // the checker (check/) examines messages and collectives itself
inline Sink sink = nullptr;
// Called when the first listener is added and the last removed; for code that differs while there are listeners.
inline void (*changed)() = nullptr;
}  // namespace detail

[[nodiscard]] inline bool wanted() noexcept { return detail::wanted != 0; }
[[nodiscard]] inline bool wanted(Event event) noexcept {
  return (detail::wanted >> static_cast<unsigned>(event) & 1) != 0;
}
// Called when the checker starts or stops examining messages. While it examines them, wanted() is true, and code that
// tests wanted() also checks for the checker's handler.
inline void let_checker_look(bool looks) {
  const bool before = wanted();
  detail::wanted = looks ? detail::wanted | detail::kChecker : detail::wanted & ~detail::kChecker;
  if (before != wanted() && detail::changed != nullptr) detail::changed();
}
inline void emit(Event event, std::initializer_list<std::int64_t> elements) {
  if (wanted(event)) [[unlikely]]
    detail::sink(event, {elements.begin(), elements.size()});
}

}  // namespace hr::events
