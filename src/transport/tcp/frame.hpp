// Frames: the units of which a connection's byte stream consists once both processes have proven the key.
//
// A frame is a head and `bytes` bytes of payload. All processes run the same library on machines with the same byte
// order. Frames are checked like everything that arrives from another process.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/network/buffers.hpp"
#include "transport/network/inbox.hpp"
#include "transport/transport.hpp"

namespace hr::transport::tcp {

enum class Frame : std::uint32_t {
  kMessage = 1,  // the words are the message's header
  kReadyToSend,  // as kMessage, and a Tail follows the payload
  kFetch,        // number, bytes: the sender wants that many bytes of the data with this number
  kDecline,      // number: the sender does not want the data
  kData,         // number, offset: a part of the data
  kDisconnect,   // the sender sends nothing after this frame
};

struct FrameHead {
  Frame kind;
  std::uint32_t bytes;
  std::uint64_t words[3];
};
static_assert(sizeof(FrameHead) == 32);

// Returns the head of a message with this header. header_of() returns the header of a message with this head.
[[nodiscard]] constexpr FrameHead head_of(Frame kind, const Header& header, std::size_t bytes) noexcept {
  return {kind, static_cast<std::uint32_t>(bytes), {header.words[0], header.words[1], header.words[2]}};
}
[[nodiscard]] constexpr Header header_of(const FrameHead& head) noexcept {
  return {{head.words[0], head.words[1], head.words[2]}};
}

// End of a ready-to-send message: the data that its sender keeps.
struct Tail {
  std::uint64_t number;
  std::uint64_t bytes;
};

// Bytes that are received at a time, apart from data.
inline constexpr std::size_t kReadBytes = std::size_t{128} << 10;
// Most bytes of data in a frame.
inline constexpr std::size_t kChunk = std::size_t{512} << 10;

// Returns the maximum payload of a frame of this kind; a frame with more is not valid.
[[nodiscard]] constexpr std::size_t most_bytes(Frame kind) noexcept {
  switch (kind) {
    case Frame::kMessage:
      return network::kMostEager + kMostInFront;
    case Frame::kReadyToSend:
      return network::kMostRtsPayload + sizeof(Tail);
    case Frame::kData:
      return kChunk;
    default:
      return 0;
  }
}
[[nodiscard]] constexpr std::size_t least_bytes(Frame kind) noexcept {
  if (kind == Frame::kReadyToSend) return sizeof(Tail);
  return kind == Frame::kData ? 1 : 0;
}
[[nodiscard]] constexpr bool is_valid(const FrameHead& head) noexcept {
  return head.kind >= Frame::kMessage && head.kind <= Frame::kDisconnect && head.bytes >= least_bytes(head.kind) &&
         head.bytes <= most_bytes(head.kind);
}

}  // namespace hr::transport::tcp
