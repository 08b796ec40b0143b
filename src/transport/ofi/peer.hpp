// Peer: another process as the transport sees it, and the messages and transfers pending with it.
//
// Owner: the transport; requests of the provider refer to a peer until they end. Threads: library lock.
#pragma once

#include <rdma/fi_endpoint.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/network/buffers.hpp"
#include "transport/network/names.hpp"
#include "transport/network/network_transport.hpp"
#include "transport/network/probe.hpp"
#include "transport/ofi/fabric.hpp"
#include "transport/ofi/greeting.hpp"
#include "transport/ofi/requests.hpp"

namespace hr::transport::ofi {

using network::Head;
using network::kMaxPayload;

// The word before every message.
enum class Front : std::uint64_t {
  kMessage = 1,
  kReadyToSend,  // Tail follows the payload
  kEnd,          // the first word of the header names a Source, whose data was received or declined
  kDisconnect,   // no further kMessage or kReadyToSend follows; the sequence is the number of those sent
  kPing,         // has no content
  kAsk,          // the sender sends nothing else until it has heard from the receiver
  kAnswer,
};

// End of a ready-to-send message: location of the data at its sender.
struct Tail {
  std::uint64_t source;
  std::uint64_t key;
  std::uint64_t address;
  std::uint64_t bytes;
};

// Bytes in front of a payload.
inline constexpr std::size_t kFront = sizeof(Front) + sizeof(Head);
// Maximum length of messages, with their header, that are built on the stack.
inline constexpr std::size_t kMostOnStack = 256;

// Seconds between the first two probes of a process.
inline constexpr double kProbePause = 1;

class Ofi;

// The transport's part of a buffer.
struct Sending : Request {
  fid_ep* endpoint = nullptr;
  std::size_t most_injected = 0;  // longer messages, and those whose end must be reported, are sent with a completion
  network::Buffer<Sending>* whole = nullptr;
  Registration registration;
  Sending() = default;
  ~Sending() { Fabric::remove(&registration); }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
};
using Buffer = network::Buffer<Sending>;
// A buffer that receives messages, one after another.
struct Landing {
  fi_context2 room{};  // must be first, as in Request
  std::unique_ptr<std::byte[]> memory;
  Registration registration;
  bool posted = false;
};

struct Peer : Line, network::PeerState<Buffer> {
  Peer(Ofi& all, int process, std::uint32_t name) : PeerState(process, name), owner(all) {}
  Ofi& owner;
  network::Secret secret = 0;
  bool connected = false;
  bool heard = false;   // the peer has asked, or answered
  bool asking = false;  // a query has not left yet
  bool has_asked = false;
  std::size_t at_once = 0;  // messages up to this length, including their header, are sent without a buffer
  Greeting greeting;
  std::vector<std::byte> place;   // the peer's address in libfabric's form
  sockaddr_storage socket{};      // the same, if it is that of a socket
  std::uint16_t closed_port = 0;  // at the same host, in network byte order
  std::size_t tuned_eager_bytes = 0;
  std::uint32_t sent = 0;  // low bits of the number of messages sent
  network::Probe probe;    // shows whether the process still listens; a provider over TCP tries forever to connect
  double probed_at = 0;    // time of its last request or answer
  double probe_pause = kProbePause;  // time until the next request, even if this one has no answer
  double unanswered_since = 0;       // start of the requests without an answer; 0: none
  int probe_error = 0;               // of the last of them that the network has ended
  network::HostProbe host_probe;     // used meanwhile
  bool pinging = false;
};

// Data that this process sends, until the other side has fetched or declined it.
struct Source {
  Peer* peer;
  Operation* done;
  Registration registration;
};

// Data that another process keeps for this one.
struct Kept {
  int proc;
  Tail tail;
};

// Data that is being read from its sender.
struct Fetch {
  Peer& peer;
  Tail tail;
  Sink* into;
  Operation* done;  // null: the path has failed, and the operation has ended
  std::size_t next = 0;
  std::size_t pending = 0;
  int error = 0;
};

}  // namespace hr::transport::ofi
