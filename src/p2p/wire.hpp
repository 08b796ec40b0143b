// What the 24 bytes of transport::Header mean between two processes running this library.
//
//   word 0: kind (8 bits) | unused (24) | context (32)
//   word 1: source rank (32) | tag (32)            envelope messages
//           receiver's cookie (64)                 Data
//   word 2: packed bytes of the whole message      envelope messages
//           sender's cookie (64)                   SyncAck, Cts, Done, Ask, Ready
//           id of an allocation                    Revoke
//           offset in the packed form              Data
//
// A cookie is the address of the Request in the process that made it up; it comes back unchanged.
#pragma once

#include <cstdint>

#include "p2p/p2p.hpp"
#include "transport/transport.hpp"

namespace hr::p2p::wire {

enum class Kind : std::uint8_t {
  kEager = 1,  // payload: the data
  kEagerSync,  // payload: EagerSyncHead, then the data; answered by kSyncAck when matched
  kSyncAck,
  kRts,     // "ready to send": payload: Rts, and for device memory a description that layout/cuda reads
  kCts,     // "clear to send": payload: Cts
  kData,    // payload: a piece of the packed form
  kDone,    // the receiver has fetched the data itself
  kAsk,     // device data was announced before it was final: the receiver waits for kReady
  kReady,   // it is final now
  kRevoke,  // an allocation that this process may have mapped is gone
};

struct EagerSyncHead {
  std::uint64_t sender_cookie;
};

struct Rts {
  std::uint64_t sender_cookie;
  std::uint64_t address;  // of the packed form in the sender's memory; 0 when it may not be read remotely
  std::uint64_t pending;  // 1: work that the data depends on is under way on the sender's device; kAsk asks for kReady
};

struct Cts {
  std::uint64_t receiver_cookie;
  std::uint64_t bytes;  // how much of the packed form is wanted
};

inline transport::Header envelope(Kind kind, const Envelope& envelope, std::uint64_t bytes) noexcept {
  return {{static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(envelope.context) << 32,
           static_cast<std::uint32_t>(envelope.source) |
               static_cast<std::uint64_t>(static_cast<std::uint32_t>(envelope.tag)) << 32,
           bytes}};
}
inline transport::Header answer(Kind kind, std::uint64_t sender_cookie) noexcept {
  return {{static_cast<std::uint64_t>(kind), 0, sender_cookie}};
}
inline transport::Header data(std::uint64_t receiver_cookie, std::uint64_t offset) noexcept {
  return {{static_cast<std::uint64_t>(Kind::kData), receiver_cookie, offset}};
}

inline Kind kind(const transport::Header& header) noexcept { return static_cast<Kind>(header.words[0] & 0xff); }
inline Envelope envelope_of(const transport::Header& header) noexcept {
  return {static_cast<std::uint32_t>(header.words[0] >> 32), static_cast<int>(header.words[1] & 0xffffffffU),
          static_cast<int>(header.words[1] >> 32)};
}

}  // namespace hr::p2p::wire
