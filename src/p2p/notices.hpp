// Notices: short messages of the layers above, from process to process, which no receive matches: each kind has one
// handler, called where it arrives.
//
// Order: as of all messages between two processes. A notice arrives once there is room and its receiver makes progress,
// unless one of the two is lost before; a late one, of a process that this one holds for lost, is handed on with `lost`
// set. Handlers run within a delivery: they may send notices, and begin no round of progress.
// Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hr::p2p {

enum class Notice : std::uint8_t { kRevoked, kConsensus, kCheck };
inline constexpr std::size_t kNotices = 3;

struct ArrivedNotice {
  int from;
  bool lost;  // the sender is lost
  std::uint64_t subject;
  const std::byte* payload;
  std::size_t bytes;
};
using NoticeHandler = void (*)(const ArrivedNotice& notice);

// Sets the handler of a kind; null: its notices are dropped.
void set_notice_handler(Notice kind, NoticeHandler handler);
// Sends at most Caps::max_payload bytes.
void send_notice(int proc, Notice kind, std::uint64_t subject, const void* payload, std::size_t bytes);

}  // namespace hr::p2p
