// Peer: another process as the transport sees it, and its connections.
//
// A process sends on one connection for as long as the path lasts, so that its messages stay in order: the one that the
// peer has made, if there is one when this process first sends, otherwise its own. If both connect at the same time,
// each keeps its own to send, and nothing needs to be agreed. A process receives on all connections.
//
// Owner: the transport. A closed connection is deleted at the end of a round of progress. Threads: library lock, or the
// lock of the channel (endpoint.hpp).
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/buffered.hpp"
#include "base/secret.hpp"
#include "transport/network/buffers.hpp"
#include "transport/network/network_transport.hpp"
#include "transport/network/probe.hpp"
#include "transport/tcp/frame.hpp"
#include "transport/tcp/handshake.hpp"

namespace hr::transport::tcp {

struct Nothing {};
using Buffer = network::Buffer<Nothing>;

// Returns the place of a frame in a buffer. The frame's payload is the payload of the buffer.
[[nodiscard]] inline std::byte* frame_of(Buffer& buffer) noexcept { return buffer.payload() - sizeof(FrameHead); }

// Memory in which frames arrive. Bytes [begin, end) are not parsed yet; if they are an incomplete frame, parsing needs
// `needed` bytes of it. Most of the memory is never touched: only a user's eager limit makes frames long.
struct Landing {
  static constexpr std::size_t kBytes = sizeof(FrameHead) + most_bytes(Frame::kMessage) + kReadBytes;
  std::unique_ptr<std::byte[]> bytes = std::make_unique_for_overwrite<std::byte[]>(kBytes);
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t needed = 0;
  Buffered buffered{counters::Buffers::kTcp};  // bytes that may have been touched

  [[nodiscard]] bool is_empty() const noexcept { return begin == end; }
  // Returns memory for the rest of the frame, and some more.
  [[nodiscard]] iovec room() noexcept {
    const std::size_t rest = is_empty() ? 0 : needed - (end - begin);
    const std::size_t length = std::max(rest, kReadBytes);
    if (end + length > kBytes) {
      std::memmove(bytes.get(), bytes.get() + begin, end - begin);
      end -= std::exchange(begin, 0);
    }
    buffered.raise(end + length);
    return {bytes.get() + end, length};
  }
};

struct Peer;
struct Fetch;

enum class Stage : std::uint8_t {
  kConnecting,  // the system connects it
  kGreeting,    // the other side's Hello or Welcome has not arrived completely
  kUnnamed,     // proven, but its name is not known yet: that of a process of another job
  kOpen,
  kClosed,
};

struct Connection {
  int socket = -1;
  Stage stage = Stage::kGreeting;
  bool accepted = false;           // the other process has made it
  bool watches_room = false;       // an event reports when there is room to send
  double since = 0;                // time at which it was made
  std::size_t most_collected = 0;  // bytes of the longest frame that the system may collect with others
  Peer* peer = nullptr;            // null before the stage kOpen, if it was accepted
  Hello hello{};
  std::array<std::byte, sizeof(Hello)> proof;  // the other side's proof; `proven` bytes of it have arrived
  std::size_t proven = 0;
  std::unique_ptr<Landing> landing;  // has the beginning of a frame; null if there is none
  // The rest of a frame of data.
  Fetch* fetch = nullptr;
  std::uint64_t number = 0;
  std::size_t offset = 0;
  std::size_t left = 0;
};

// A proven connection for a channel, which the channel has not taken yet.
struct Handed {
  int socket;
  int proc;
  Hello hello;
};

// Data that this process keeps for a peer, until the peer has fetched or declined it.
struct Source {
  Peer* peer;
  Operation* done;
  const std::byte* data;
  std::size_t bytes;
  std::uint64_t number;
  std::size_t wanted = 0;   // 0: not fetched yet
  std::size_t next = 0;     // bytes queued
  std::size_t written = 0;  // bytes that the system has accepted
};

// Data that this process receives from a peer.
struct Fetch {
  Sink* into;
  Operation* done;
  const Connection* from = nullptr;  // connection on which the data arrives; null: none has yet
  std::size_t arrived = 0;
};

// Bytes to send. They belong to `buffer`, which is returned once they are sent, or to `source`.
struct Piece {
  const std::byte* data;
  std::size_t bytes;
  Buffer* buffer = nullptr;
  Source* source = nullptr;
  bool is_message = false;
};

struct Peer : network::PeerState<Buffer> {
  using PeerState::PeerState;
  Nonce key{};
  sockaddr_storage address{};
  std::uint16_t closed_port = 0;  // at the same host, in network byte order
  bool is_located = false;        // its address, and the limit tuned for its host, have been looked up
  std::size_t tuned_eager_bytes = 0;
  Connection* out = nullptr;  // carries everything to the peer
  std::vector<Connection*> connections;
  bool was_named = false;  // a connection that it made has been welcomed; there is only one such connection
  std::deque<Piece> queue;
  std::size_t queued = 0;       // bytes in the queue
  bool holds_message = false;   // the queue contains a message, or its rest
  bool is_full = false;         // the system has refused a message, and has not reported room since
  bool collects = false;        // the system may wait for more messages to the peer
  std::deque<Source*> streams;  // sources that have been fetched, and are not completely queued
  std::unordered_map<std::uint64_t, Fetch> fetches;  // by the number of the data
  bool has_left = false;                             // it has sent kDisconnect
  double unanswered_since = 0;                       // start of the attempts that got no answer; 0: none
  double redial_pause = 0;                           // time after which the next of them begins
  network::HostProbe host_probe;                     // used meanwhile
  double failing_since = 0;                          // time since which attempts to connect have failed; 0: none has
  int attempts = 0;                                  // number of these attempts
  int last_error = 0;                                // error of the last attempt; 0: the peer has closed the connection
  double retry_at = 0;                               // 0: not waiting to connect again
  int failure = 0;                                   // error number of the system; 0: none
  const char* why = nullptr;                         // replaces the text of that error

  [[nodiscard]] bool is_open() const noexcept { return out != nullptr && out->stage == Stage::kOpen; }
};

}  // namespace hr::transport::tcp
