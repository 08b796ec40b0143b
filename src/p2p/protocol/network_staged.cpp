// Staged over a network: messages from or to device memory, between processes that share no memory. The
// sender's device copies pieces into pinned memory, and the sender sends a ready-to-send message for each
// (Transport::send_rts()); the receiver fetches each piece into its own pinned memory, from which its device copies it
// on. Several pieces are in flight at a time, so that the copies on both sides and the network overlap. If one of the
// buffers is on the host, the transport reads or writes it directly, or the data is packed and unpacked there.
//
// Each process has a number of chunks, set by a knob, for sending, and as many for receiving, so that sends never wait
// for receives. A message that finds no free chunk for a while, because the receivers of other messages make no
// progress, continues through the transport, like a stream. No call waits: a progress hook polls the pending pieces.
// Owner: the tables here, until everything in them is complete. Threads: library lock.
#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/statistics.hpp"
#include "layout/device/chunk_copy.hpp"
#include "mem/device/context.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/pinned_pool.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p {
namespace network_staged {
namespace {

using layout::device::ChunkCopy;

// Header of a piece; its transport::RendezvousData follows.
struct PieceHead {
  std::uint64_t bytes;
};

// A message is divided into at least kPieces pieces, so that their copies overlap, but into none smaller than
// kLeastPiece.
constexpr std::size_t kPieces = 4;
constexpr std::size_t kLeastPiece = std::size_t{128} << 10;
// Time without a free chunk after which the receivers that hold the chunks are assumed to make no progress.
constexpr double kStarvedSeconds = 20e-3;

struct Outgoing;

// A part of a message, in a chunk; exists from its copy until the receiver has fetched it.
struct Part : transport::Operation {
  Outgoing* message = nullptr;
  bool chunked = false;
  std::uint32_t chunk = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  bool copying = false;
  bool copied = false;
  bool rts_sent = false;
  ChunkCopy copy;
};

// A pending send; its next part starts at Request::offset_.
struct Outgoing {
  Request* send;
  int proc;
  bool by_device;
  std::size_t piece;
  std::list<Part> parts;
  std::size_t told = 0;  // number of bytes whose RTS or data has been sent
  bool stopped = false;  // the path has failed; fail_pending() ends the request
  Status failure{};      // first failure; nothing starts after it
  std::string failure_text;
};

// A piece that this process fetches, or will fetch.
struct Incoming : transport::Operation {
  Request* receive = nullptr;
  int from = -1;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  transport::RendezvousData data;
  struct Unpack : transport::Sink {
    Incoming* piece = nullptr;
  } sink;
  enum class Phase : std::uint8_t { kWaiting, kReceiving, kReceived, kCopying } phase = Phase::kWaiting;
  bool chunked = false;
  std::uint32_t chunk = 0;
  Status unpacked = kOk;
  ChunkCopy copy;
};

struct State final : FileState {
  std::vector<std::unique_ptr<Outgoing>> outgoing;
  std::size_t turn = 0;  // index of the message that gets the first chunk; advances in turn
  std::list<Incoming> incoming;
  std::unique_ptr<PinnedPool> out;
  std::unique_ptr<PinnedPool> in;
  double moved_at = 0;  // time when a chunk of `out` was last taken or returned
  bool not_pinned = false;
  PolledWait polled;
};
State& state() { return own<State>(); }

PinnedPool* pool(std::unique_ptr<PinnedPool>& of) {
  if (of == nullptr) {
    of = std::make_unique<PinnedPool>(knobs().device_network_chunk_bytes,
                                      static_cast<std::size_t>(knobs().device_network_chunks));
  }
  return of->usable() ? of.get() : nullptr;
}

bool advance(void*);

void watch() {
  add_hook(&advance, nullptr);
  state().polled.hold(true);
}

// --- sender ---

void note(Outgoing& message, Status failure) {
  if (failure.ok() || !message.failure.ok()) return;
  message.failure = failure;
  message.failure_text = take_detail();
}

void free_chunk(const Part& part) {
  if (!part.chunked) return;
  state().out->give(part.chunk);
  state().moved_at = now_seconds();
}

void chunk_received(transport::Operation& self) {
  auto& part = static_cast<Part&>(self);
  if (!part.status.ok()) part.message->stopped = true;
}

// Starts the next part; false if there is nothing to start or no chunk.
bool start_part(Outgoing& message) {
  Request& send = *message.send;
  if (send.offset_ == send.total_ || message.stopped || !message.failure.ok()) return false;
  std::uint32_t chunk = 0;
  if (!state().out->take(&chunk)) return false;
  state().moved_at = now_seconds();
  Part& part = message.parts.emplace_back();
  part.message = &message;
  part.chunked = true;
  part.chunk = chunk;
  part.offset = send.offset_;
  part.bytes = std::min({message.piece, state().out->chunk_bytes(), send.total_ - send.offset_});
  Status status = kOk;
  if (message.by_device) {
    status = part.copy.pack(send.view_, part.offset, part.bytes, state().out->address(chunk), ChunkCopy::In::kPinned,
                            message.proc);
    part.copying = status.ok();
  } else {
    status = layout::pack(send.view_, part.offset, part.bytes, state().out->host(chunk));
    part.copied = true;
  }
  if (!status.ok()) {
    free_chunk(part);
    message.parts.pop_back();
    note(message, status);
    return true;
  }
  send.offset_ += part.bytes;
  return true;
}

Status send_rts(Outgoing& message, Part& part) {
  const transport::Header header = wire::network_piece(message.send->peer_cookie_, part.offset);
  const PieceHead head{part.bytes};
  HR_TRY(peer_of(message.proc)
             .transport->send_rts(message.proc, header, &head, sizeof head, {state().out->host(part.chunk), part.bytes},
                                  &part));
  part.rts_sent = true;
  part.then = chunk_received;
  message.told += part.bytes;
  return kOk;
}

bool poll_parts(Outgoing& message) {
  bool moved = false;
  for (auto at = message.parts.begin(); at != message.parts.end();) {
    Part& part = *at;
    if (part.copying) {
      bool done = false;
      note(message, part.copy.poll(&done));
      if (!done) {
        ++at;
        continue;
      }
      moved = true;
      part.copying = false;
      part.copied = true;
    }
    bool over = part.rts_sent && part.complete;
    if (part.copied && !part.rts_sent) {
      if (message.stopped || !message.failure.ok()) {
        over = true;
      } else if (const Status status = send_rts(message, part); !status.ok() && !status.is_again()) {
        note(message, status);
        over = true;
      }
      moved |= part.rts_sent;
    }
    if (!over) {
      ++at;
      continue;
    }
    moved = true;
    free_chunk(part);
    at = message.parts.erase(at);
  }
  return moved;
}

// Sends a piece through the transport if that has space, as receivers hold all chunks and do not return them.
bool bypass(Outgoing& message) {
  Request& send = *message.send;
  if (send.offset_ == send.total_ || message.stopped || !message.failure.ok() || !message.parts.empty()) return false;
  if (now_seconds() - state().moved_at < kStarvedSeconds) return false;
  const std::size_t before = send.offset_;
  const Status status = push_piece(peer_of(message.proc), send);
  if (status.is_again()) return false;
  note(message, status);
  message.told += send.offset_ - before;
  return true;
}

bool ended(const Outgoing& message) {
  if (!message.parts.empty()) return false;
  return !message.failure.ok() || (!message.stopped && message.told == message.send->total_);
}

void end(Outgoing& message) {
  Completion completion;
  completion.error = message.failure;
  if (!message.failure.ok()) {
    abandon(message.proc, *message.send, message.told, message.failure_text);
    set_detail(std::move(message.failure_text));
  }
  complete(*message.send, completion);
}

bool advance_sends() {
  bool moved = false;
  auto& outgoing = state().outgoing;
  const std::size_t count = outgoing.size();
  ++state().turn;
  for (std::size_t i = 0; i < count; ++i) {
    Outgoing& message = *outgoing[(state().turn + i) % count];
    moved |= poll_parts(message);
    moved |= start_part(message) || bypass(message);
  }
  for (std::size_t i = 0; i < outgoing.size();) {
    if (!ended(*outgoing[i])) {
      ++i;
      continue;
    }
    moved = true;
    const std::unique_ptr<Outgoing> message = std::move(outgoing[i]);
    outgoing.erase(outgoing.begin() + static_cast<std::ptrdiff_t>(i));
    end(*message);
  }
  return moved;
}

bool cleared(int to_proc, Request& send, const wire::Cts& cts, const std::byte* /*tail*/) {
  if ((cts.way & wire::kNetwork) == 0) return false;
  PinnedPool* const chunks = pool(state().out);
  if (chunks == nullptr) return false;
  const bool by_device = send.view_.where.is_device() && layout::device::movable(send.view_);
  if (by_device) {
    if (!chunks->pin(send.view_).ok()) {
      log::note_once(state().not_pinned, "device memory is not staged through pinned memory: %s",
                     take_detail().c_str());
      return false;
    }
  } else if (send.view_.where.is_device()) {
    return false;  // derived types without kernels go through the host
  }
  auto message = std::make_unique<Outgoing>();
  message->send = &send;
  message->proc = to_proc;
  message->by_device = by_device;
  message->piece = std::min(chunks->chunk_bytes(), std::max(kLeastPiece, std::bit_ceil(send.total_ / kPieces)));
  state().outgoing.push_back(std::move(message));
  start_part(*state().outgoing.back());
  watch();
  return true;
}

// --- receiver ---

bool by_device(const Request& receive) {
  return receive.view_.where.is_device() && layout::device::movable(receive.view_);
}

void taken(transport::Operation& self) { static_cast<Incoming&>(self).phase = Incoming::Phase::kReceived; }

void unpack(transport::Sink& self, std::size_t offset, const std::byte* data, std::size_t bytes) {
  Incoming& piece = *static_cast<Incoming::Unpack&>(self).piece;
  const Status status = layout::unpack(piece.receive->view_, piece.offset + offset, bytes, data);
  if (piece.unpacked.ok()) piece.unpacked = status;
}

// Starts to fetch a piece; false if there is no chunk for it yet.
bool start_receiving(Incoming& piece) {
  Request& receive = *piece.receive;
  piece.sink.piece = &piece;
  piece.sink.bytes = piece.bytes;
  PinnedPool* chunks = by_device(receive) ? pool(state().in) : nullptr;
  if (chunks != nullptr && piece.bytes <= chunks->chunk_bytes() && chunks->pin(receive.view_).ok()) {
    if (!chunks->take(&piece.chunk)) return false;
    piece.chunked = true;
    piece.sink.address = chunks->host(piece.chunk);
  } else if (receive.view_.contiguous && receive.view_.where.is_host()) {
    piece.sink.address = receive.view_.data() + piece.offset;
  } else {
    piece.sink.unpack = unpack;
  }
  static_cast<void>(take_detail());  // drops the detail, which is about memory that cannot be pinned
  piece.phase = Incoming::Phase::kReceiving;
  const Status status = peer_of(piece.from).transport->receive_rendezvous(piece.from, piece.data, &piece.sink, &piece);
  if (!status.ok()) {
    piece.status = status;
    piece.complete = true;
  }
  if (piece.complete) {
    piece.phase = Incoming::Phase::kReceived;
  } else {
    piece.then = taken;
  }
  return true;
}

// Ends a receive from a failed process once nothing writes to its buffer.
void end_if_failed(Request& receive, int from) {
  const auto& incoming = state().incoming;
  if (!has_failed(from)) return;
  if (std::ranges::any_of(incoming, [&](const Incoming& each) { return each.receive == &receive; })) return;
  finish_rendezvous(receive, failure_error(from));
}

// Advances a piece; true if it is finished.
bool advance_piece(Incoming& piece, bool* moved) {
  using Phase = Incoming::Phase;
  if (piece.phase == Phase::kWaiting) *moved |= start_receiving(piece);
  if (piece.phase == Phase::kReceived) {
    *moved = true;
    if (!piece.status.ok() || !piece.chunked) return true;
    piece.unpacked = piece.copy.unpack(piece.receive->view_, piece.offset, piece.bytes,
                                       state().in->address(piece.chunk), ChunkCopy::In::kPinned, piece.from);
    if (!piece.unpacked.ok()) return true;
    piece.phase = Phase::kCopying;
  }
  if (piece.phase != Phase::kCopying) return false;
  bool done = false;
  piece.unpacked = piece.copy.poll(&done);
  *moved |= done;
  return done;
}

bool advance_receives() {
  bool moved = false;
  auto& incoming = state().incoming;
  for (auto at = incoming.begin(); at != incoming.end();) {
    Incoming& piece = *at;
    if (!advance_piece(piece, &moved)) {
      ++at;
      continue;
    }
    if (piece.chunked) state().in->give(piece.chunk);
    Request& receive = *piece.receive;
    const int from = piece.from;
    const std::size_t bytes = piece.bytes;
    const Status unpacked = piece.unpacked;
    const bool arrived = piece.status.ok();
    at = incoming.erase(at);
    if (has_failed(from)) {
      end_if_failed(receive, from);
    } else if (arrived) {
      account(receive, bytes, unpacked);
    }  // else the path is about to fail, which ends the receive
  }
  return moved;
}

// Returns the number of bytes in pending pieces of this receive.
std::size_t bytes_under_way(const Request& receive) noexcept {
  std::size_t bytes = 0;
  for (const Incoming& each : state().incoming) bytes += each.receive == &receive ? each.bytes : 0;
  return bytes;
}

bool deliver_piece(int from, Request& receive, const transport::Header& header, const std::byte* payload,
                   std::size_t bytes) {
  PieceHead head;
  transport::RendezvousData data;
  if (bytes != sizeof head + sizeof data) return false;
  std::memcpy(&head, payload, sizeof head);
  std::memcpy(&data, payload + sizeof head, sizeof data);
  const std::size_t offset = header.words[2];
  if (!lies_in(receive, offset, head.bytes) || !has_rendezvous(from, data)) return false;
  const std::size_t missing = missing_bytes(receive);
  if (head.bytes > missing - std::min(missing, bytes_under_way(receive))) return false;
  Incoming& piece = state().incoming.emplace_back();
  piece.data = data;
  piece.receive = &receive;
  piece.offset = offset;
  piece.bytes = head.bytes;
  piece.from = from;
  watch();
  return true;
}
constexpr Arrival kArrivals[] = {arrival_at_receive<deliver_piece>(wire::Kind::kNetworkPiece)};

// --- both ---

bool idle() noexcept { return state().outgoing.empty() && state().incoming.empty(); }

bool advance(void*) {
  bool moved = advance_receives();
  moved |= advance_sends();
  state().polled.hold(!idle());
  if (idle()) remove_hook(&advance, nullptr);
  return moved;
}

// Leaves short messages to the stream protocol, whose blocking copy takes less time than all this. The copies overlap
// with the network, except for the first and the last.
Estimate probe(const MessageClass& message, const transport::Caps& caps) {
  if (caps.same_node || caps.same_address_space || !caps.rendezvous) return kNotApplicable;
  const bool from_device = message.from_device() || (message.flags & wire::kManaged) != 0;
  if (!from_device && message.to_host()) return kNotApplicable;
  if (message.bytes < caps.chunk_bytes) return kNotApplicable;
  return {2 * caps.latency_seconds + caps.messages().seconds(message.bytes)};
}

Status begin(const ReadyToSend& rts, Request& receive) {
  log::write(log::Level::kTrace, "staged over the network: unpacked by the %s", by_device(receive) ? "device" : "CPU");
  add(Statistic::device_staged);
  const wire::Cts cts{reinterpret_cast<std::uint64_t>(&receive), receive.total_, wire::kNetwork,
                      mem::device::Context::locality_of(receive.view_.where)};
  send_control(rts.from_proc, wire::answer(wire::Kind::kCts, rts.sender_cookie), &cts, sizeof cts);
  return kOk;
}

void fail_pending(int proc) {
  for (const auto& each : state().outgoing) {
    if (each->proc == proc) note(*each, failure_error(proc));
  }
  std::erase_if(state().incoming,
                [proc](const Incoming& each) { return each.from == proc && each.phase == Incoming::Phase::kWaiting; });
}

bool holds(const Request& request) noexcept {
  return std::ranges::any_of(state().outgoing, [&](const auto& each) { return each->send == &request; }) ||
         std::ranges::any_of(state().incoming, [&](const Incoming& each) { return each.receive == &request; });
}

void finalize() {
  remove_hook(&advance, nullptr);
  state().polled.hold(false);
  if (!idle()) return;
  state().out.reset();
  state().in.reset();
}

}  // namespace
}  // namespace network_staged

extern const Rendezvous kNetworkStaged;
const Rendezvous kNetworkStaged{.name = "network staged",
                                .probe = network_staged::probe,
                                .begin = network_staged::begin,
                                .arrivals = network_staged::kArrivals,
                                .cleared = network_staged::cleared,
                                .fail_pending = network_staged::fail_pending,
                                .holds = network_staged::holds,
                                .idle = network_staged::idle,
                                .finalize = network_staged::finalize};

}  // namespace hr::p2p
