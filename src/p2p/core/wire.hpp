// Meaning of the 24 bytes of transport::Header between two processes running this library.
//
//   word 0: kind (8 bits) | way (8), in Piece | unused (16) | context (32); in Piece and Chunk the chunk's number (32)
//   word 1: source rank (32) | tag (32)            envelope messages
//           receiver's cookie (64)                 Data, Piece, NetworkPiece, NetworkWhole, Stored
//           bytes that the sender claimed          Shared
//           id of the chunk's memory               Chunk
//   word 2: packed bytes of the whole message      envelope messages
//           sender's cookie (64)                   SyncAck, Cts, Done, Share, Ask, Ready, Cancel, (Not)Cancelled
//           id of the send (64)                    PartitionsMatched
//           receiver's cookie (64)                 Shared
//           id of an allocation                    Revoke
//           offset in the packed form              Data, Piece, NetworkPiece
//
// A cookie is the address of a Request in the process that created the cookie; the other process returns it unchanged.
#pragma once

#include <cstdint>

#include "p2p/p2p.hpp"
#include "transport/transport.hpp"

namespace hr::p2p::wire {

// Kinds of messages; each value must be less than transport::kKinds. add_handlers() (message/receive.cpp) registers the
// handlers.
enum class Kind : std::uint8_t {
  kEager = 1,  // payload: the data
  kEagerSync,  // payload: EagerSyncHead, then the data; answered by kSyncAck when matched
  kSyncAck,
  kRts,                // "ready to send": payload: Rts, then the data that its flags announce
  kCts,                // "clear to send": payload: Cts
  kData,               // payload: a piece of the packed form
  kDone,               // the receiver has fetched the data itself
  kShare,              // the receiver fetches the data, and the sender may write a part of it: payload: Share
  kShared,             // the sender has written the bytes that it claimed or, with way 1, could not write them
  kAsk,                // the receiver waits for kReady, as the device data was not final when kRts was sent
  kReady,              // the device data is final now
  kRevoke,             // the sender of this message has freed an allocation that the receiver may have mapped
  kPiece,              // a part of a message is in a chunk of the sender's staging memory: payload: Piece
  kChunk,              // the receiver has copied the piece out: the chunk is free again
  kStored,             // the sender has stored the data in the receiver's buffer
  kRefuse,             // the sender of this message cannot map device memory of the receiver: all, or that in
                       // chunks (VMM)
  kCancel,             // the sender withdraws a kRts or kEagerSync message, if no receive has matched it
  kCancelled,          // answer to kCancel: no receive had matched, and the message is dropped
  kNetworkPiece,       // part of a message that the sender's transport keeps: payload: its bytes, RendezvousData
  kNetworkWhole,       // a whole message that the sender's transport keeps: payload: RendezvousData
  kNotCancelled,       // answer to a kCancel with way 1: a receive had matched
  kPartitions,         // a partitioned send has been created (partitioned_match.cpp)
  kPartitionsMatched,  // answer of the receive that has matched it
  kActiveMessage,      // an active message of a layer above; way: its ActiveMessageId
  kWindow,             // an active message of rma/ (active_message.hpp)
};

struct EagerSyncHead {
  std::uint64_t sender_cookie;
};

struct Rts {
  std::uint64_t sender_cookie;
  std::uint64_t address;   // address of the packed form at the sender; 0 if it may not be read remotely
  std::uint64_t flags;     // RtsFlag
  std::uint64_t locality;  // locality of the device that holds the data (mem/device/context.hpp); 0: none
};
enum RtsFlag : std::uint64_t {
  kPending = 1,   // work that the data depends on is pending on the sender's device; kAsk requests kReady
  kDevice = 2,    // the data is on a device
  kManaged = 4,   // the data is in managed memory
  kMovable = 8,   // the sender's device can move the data
  kView = 16,     // a layout::device::PeerView follows: the receiver may fetch the data
  kPinned = 64,   // the data is in pinned host memory: the sender's device can store it in the receiver's memory
  kKept = 128,    // the sender's transport keeps the data: a transport::RendezvousData follows
  kDirect = 256,  // the sender's transport can send device memory, if the receiver chooses so
  kChunks = 32,   // a mem::device::Export follows: the receiver may copy the data out of this memory, one chunk at a
                  // time
};

struct Cts {
  std::uint64_t receiver_cookie;
  std::uint64_t bytes;     // bytes of the packed form that the sender must send
  std::uint64_t way;       // Way
  std::uint64_t locality;  // locality of the destination device; 0: none
};

struct Share {
  std::uint64_t receiver_cookie;
  std::uint64_t address;  // address of the receiver's buffer
  std::uint64_t bytes;    // bytes to move
  std::uint32_t word;     // the receiver's shared word and its generation (claims.hpp)
  std::uint32_t generation;
};

// Paths of the data (flags); 0: as Data, through the transport.
enum Way : std::uint8_t {
  kStaged = 1,        // moved through chunks of the sender's staging memory
  kFromDevice = 2,    // copied in by the sender's device, else by its CPU
  kToDevice = 4,      // copied out by the receiver's device
  kWhole = 128,       // moved by the transport in one transfer, from memory to memory
  kNetwork = 64,      // moved in pieces, through pinned memory of both processes and the network
  kDeviceChunks = 8,  // the memory described with kChunks, else memory that the processes share
  kPut = 32,          // a layout::device::PeerView follows the clear-to-send: the sender stores the data there
  kRows = 16,         // clear-to-send: short pieces may be in two rows; Piece: this one does (mem/device/two_rows.hpp)
};

struct Piece {
  std::uint64_t bytes;
  std::uint64_t memory;  // id of the Export; 0: shared memory
  std::uint64_t at;      // offset in that memory
};
// Replaces a chunk's number if the sender cannot read the data: Piece::bytes bytes of the message will not arrive, and
// the error message follows.
inline constexpr std::uint32_t kNoChunk = 0xffffffff;

inline transport::Header envelope(Kind kind, const Envelope& envelope, std::uint64_t bytes) noexcept {
  return {{static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(envelope.context) << 32,
           static_cast<std::uint32_t>(envelope.source) |
               static_cast<std::uint64_t>(static_cast<std::uint32_t>(envelope.tag)) << 32,
           bytes}};
}
inline transport::Header cancel(std::uint32_t context, std::uint64_t sender_cookie, bool answer = false) noexcept {
  return {{static_cast<std::uint64_t>(Kind::kCancel) | std::uint64_t{answer} << 8 |
               static_cast<std::uint64_t>(context) << 32,
           0, sender_cookie}};
}
inline transport::Header active_message(std::uint8_t kind, std::uint64_t subject) noexcept {
  return {{static_cast<std::uint64_t>(Kind::kActiveMessage) | static_cast<std::uint64_t>(kind) << 8, subject, 0}};
}
inline transport::Header answer(Kind kind, std::uint64_t sender_cookie) noexcept {
  return {{static_cast<std::uint64_t>(kind), 0, sender_cookie}};
}
inline transport::Header shared(std::uint64_t receiver_cookie, std::size_t bytes, bool failed) noexcept {
  return {{static_cast<std::uint64_t>(Kind::kShared) | std::uint64_t{failed} << 8, bytes, receiver_cookie}};
}
inline transport::Header data(std::uint64_t receiver_cookie, std::uint64_t offset) noexcept {
  return {{static_cast<std::uint64_t>(Kind::kData), receiver_cookie, offset}};
}

inline transport::Header network_piece(std::uint64_t receiver_cookie, std::uint64_t offset) noexcept {
  return {{static_cast<std::uint64_t>(Kind::kNetworkPiece), receiver_cookie, offset}};
}
inline transport::Header network_whole(std::uint64_t receiver_cookie) noexcept {
  return {{static_cast<std::uint64_t>(Kind::kNetworkWhole), receiver_cookie, 0}};
}
inline transport::Header piece(std::uint8_t way, std::uint32_t chunk, std::uint64_t receiver_cookie,
                               std::uint64_t offset) noexcept {
  return {{static_cast<std::uint64_t>(Kind::kPiece) | static_cast<std::uint64_t>(way) << 8 |
               static_cast<std::uint64_t>(chunk) << 32,
           receiver_cookie, offset}};
}
inline transport::Header stored(std::uint64_t receiver_cookie) noexcept {
  return {{static_cast<std::uint64_t>(Kind::kStored), receiver_cookie, 0}};
}
inline transport::Header chunk(std::uint32_t chunk, std::uint64_t memory) noexcept {
  return {{static_cast<std::uint64_t>(Kind::kChunk) | static_cast<std::uint64_t>(chunk) << 32, memory, 0}};
}

inline std::uint8_t way(const transport::Header& header) noexcept {
  return static_cast<std::uint8_t>(header.words[0] >> 8 & 0xff);
}
inline std::uint32_t chunk_of(const transport::Header& header) noexcept {
  return static_cast<std::uint32_t>(header.words[0] >> 32);
}
inline Envelope envelope_of(const transport::Header& header) noexcept {
  return {static_cast<std::uint32_t>(header.words[0] >> 32), static_cast<int>(header.words[1] & 0xffffffffU),
          static_cast<int>(header.words[1] >> 32)};
}

}  // namespace hr::p2p::wire
