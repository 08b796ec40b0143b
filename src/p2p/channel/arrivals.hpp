// Messages of a channel: their headers, and the handlers that take them from a transport to the channel.
//
//   word 0: kind (8 bits) | unused (24) | context (32) in kEager, kRts and kCancel; 1 in a kShared of bytes that could
//           not be written
//   word 1: source rank (32) | tag (32) in kEager and kRts; the receiver's cookie in kCts, kData, kShare, kShared,
//           kWanted and kFailed
//   word 2: bytes of the message in kEager and kRts, of the part in kShared; the offset in kData; the sender's cookie
//   in
//           the others
// A cookie is the address of a Request in the process that created it, with the request's use count. Cookies are
// checked before they are used: a cookie must be that of a request of this channel that waits for the sending process.
//
// Internal to p2p/. Threads: the channel's lock.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "base/events.hpp"
#include "p2p/channel.hpp"

namespace hr::p2p::channel {

enum class Kind : std::uint8_t {
  kEager = 1,  // eager message; payload: the data
  kRts,        // the receiver may read the data; payload: RtsBody, and a RendezvousData if the transport moves the data
  kCts,        // the receiver cannot read the data and requests it as kData; payload: its length (8 bytes)
  kData,       // piece of a message; payload: its bytes
  kDone,       // the receiver has the data
  kShare,      // the receiver reads the data, and the sender may write a part of it; payload: ChannelShare
  kShared,     // answer to kShare, unless it came too late: the sender has written the end of the data
  kCancel,     // the sender withdraws a message that has not matched
  kCancelled,  // answer to kCancel: the message had not matched
  kWanted,     // the receiver waits for the data on the engine; payload: the tag of its receive (8 bytes)
  kFailed,     // answer to kWanted: the engine cannot send the data
};

struct RtsBody {
  std::uint64_t sender;
  std::uint64_t address;  // of the data; or one of these:
};
// The receiver cannot read the data, and requests it.
inline constexpr std::uint64_t kUnreadable = 0;
// The data is in device memory, and the engine moves it.
inline constexpr std::uint64_t kOnDevice = ~std::uint64_t{0};

inline transport::Header envelope(Kind kind, const Envelope& of, std::uint64_t bytes) noexcept {
  return {{static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(of.context) << 32,
           static_cast<std::uint32_t>(of.source) | static_cast<std::uint64_t>(static_cast<std::uint32_t>(of.tag)) << 32,
           bytes}};
}
inline transport::Header plain(Kind kind, std::uint64_t word1, std::uint64_t word2,
                               std::uint32_t context = 0) noexcept {
  return {{static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(context) << 32, word1, word2}};
}

void add_handlers(transport::MessageHandlers& handlers);
// Sets the channel whose messages this thread delivers.
void set_delivering(Channel* channel) noexcept;

// Drops an invalid message. Threads: the channel's lock; takes the library lock to count the message.
void drop(int from, const char* why) noexcept;

// Reports an event to tools (base/events.hpp) while there are listeners, under the library lock.
[[gnu::cold, gnu::noinline]] void report(events::Event event, std::initializer_list<std::int64_t> elements);
inline void tell_matched(const Envelope& envelope, std::size_t bytes, bool came_before) {
  if (events::wanted()) [[unlikely]]
    report(events::Event::message_matched,
           {envelope.source, envelope.tag, envelope.context, static_cast<std::int64_t>(bytes), came_before ? 1 : 0});
}
inline void tell_unexpected(const Envelope& envelope, std::size_t bytes) {
  if (events::wanted()) [[unlikely]]
    report(events::Event::message_unexpected,
           {envelope.source, envelope.tag, envelope.context, static_cast<std::int64_t>(bytes)});
}
inline void tell_begun(int from, int tag, std::size_t bytes) {
  if (events::wanted()) [[unlikely]]
    report(events::Event::rendezvous_begun, {from, tag, static_cast<std::int64_t>(bytes)});
}
inline void tell_ended(int from, int tag, std::size_t bytes, Status status) {
  if (events::wanted()) [[unlikely]]
    report(events::Event::rendezvous_ended, {from, tag, static_cast<std::int64_t>(bytes), status.code()});
}

}  // namespace hr::p2p::channel

namespace hr::p2p::channels {
// Returns the process behind a source rank; -1: none, or not known.
int process_in(const Object* communicator, int source) noexcept;
}  // namespace hr::p2p::channels
