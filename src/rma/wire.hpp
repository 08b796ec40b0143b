// Format of the messages between the processes of a window. Internal to rma/.
//
//   word 0: kWindow (8 bits) | action (8) | lock: 1 if exclusive, else 0 (8) | unused (8) | context of the window (32)
//   word 1: sender's rank in the window (32) | kAnswer: error class (32)
//   word 2: cookie of the origin, which the answer returns unchanged
//
// Data that does not fit into the message follows as a p2p message with the operation's tag. To the target, it uses the
// window's context; to the origin, the window's context for local collectives, which no collective of the window uses.
#pragma once

#include <cstdint>

#include "comm/communicator.hpp"
#include "p2p/active_message.hpp"
#include "rma/operation.hpp"

namespace hr::rma::wire {

enum class Action : std::uint8_t {
  kOperate,  // operation; payload: Head, description of the target's type, data
  kAnswer,   // the operation is done; payload: the result if it is short, or an error message
  kLock,     // request for the target's lock
  kLocked,   // the target has granted the lock
  kUnlock,
  kPost,      // MPI_Win_post has opened the target's memory to this origin
  kComplete,  // MPI_Win_complete: the origin has finished its accesses
};

struct Head {
  OperationKind kind;
  layout::OpKind op;
  std::uint8_t flags;
  std::uint8_t unused;
  std::uint32_t type;         // handle of a predefined type; 0: there is a description
  std::uint32_t description;  // bytes
  std::uint32_t tag;          // tag of the messages that follow
  std::uint64_t data;         // number of data bytes for the target
  std::int64_t displacement;
  std::int64_t count;
};
inline constexpr std::uint32_t kMostTag = 0x3fffffff;
// Maximum number of bytes that a target allocates for a description.
inline constexpr std::size_t kMostDescription = std::size_t{256} << 20;
enum Flag : std::uint8_t {
  kDescriptionFollows = 1,
  kDataFollows = 2,
  kResultFollows = 4,  // the result is sent as a p2p message
};

// Maximum number of bytes in the payload of kOperate, and in the result of kAnswer.
inline constexpr std::size_t kMost = 4096;

inline transport::Header header(Action action, const Window& window, std::uint64_t cookie = 0, std::uint8_t detail = 0,
                                int error = 0) noexcept {
  return {{static_cast<std::uint64_t>(p2p::wire::Kind::kWindow) | static_cast<std::uint64_t>(action) << 8 |
               static_cast<std::uint64_t>(detail) << 16 | static_cast<std::uint64_t>(window.context()) << 32,
           static_cast<std::uint32_t>(window.rank()) | static_cast<std::uint64_t>(error) << 32, cookie}};
}
inline Action action_of(const transport::Header& header) noexcept {
  return static_cast<Action>(header.words[0] >> 8 & 0xff);
}
inline std::uint8_t detail_of(const transport::Header& header) noexcept {
  return static_cast<std::uint8_t>(header.words[0] >> 16 & 0xff);
}
inline std::uint32_t context_of(const transport::Header& header) noexcept {
  return static_cast<std::uint32_t>(header.words[0] >> 32);
}
inline int rank_of(const transport::Header& header) noexcept { return static_cast<int>(header.words[1] & 0xffffffffU); }
inline int error_of(const transport::Header& header) noexcept { return static_cast<int>(header.words[1] >> 32); }

// Return the envelopes of data for the target, and of results.
inline p2p::Envelope to_target(const Window& window, int origin, std::uint32_t tag) noexcept {
  return {window.context(), origin, static_cast<int>(tag)};
}
inline p2p::Envelope to_origin(const Window& window, int target, std::uint32_t tag) noexcept {
  return {window.context() + comm::kLocalCollectiveContext, target, static_cast<int>(tag)};
}

}  // namespace hr::rma::wire
