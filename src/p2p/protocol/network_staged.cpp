// Staged over a network: messages from or to device memory of a process that shares no memory with this one. The
// sender's half is a PieceSends whose carrier sends a ready-to-send message for each piece in pinned memory
// (Transport::send_rts()). The receiver fetches each piece into its own pinned memory, and its device copies the piece
// from there. If one of the buffers is on the host, the transport reads or writes that buffer directly, or the data is
// packed and unpacked there.
//
// Each process has a number of chunks, set by a knob, for sending, and as many for receiving, so that sends never wait
// for receives. Owner: the tables here, until everything in them is complete. Threads: library lock.
#include <cstring>
#include <memory>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/statistics.hpp"
#include "layout/device/chunk_copy.hpp"
#include "mem/device/context.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/chunks.hpp"
#include "p2p/protocol/piece_receives.hpp"
#include "p2p/protocol/piece_sends.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p {
namespace network_staged {
namespace {

using layout::device::ChunkCopy;

// Header of a piece; its transport::RendezvousData follows.
struct PieceHead {
  std::uint64_t bytes;
};

constexpr std::size_t kLeastPiece = std::size_t{128} << 10;

// A piece that this process fetches, or will fetch.
struct Incoming : PieceOnItsWay, transport::Operation {
  transport::RendezvousData data;
  struct Unpack : transport::Sink {
    Incoming* piece = nullptr;
  } sink;
  bool fetching = false;
  bool chunked = false;
};

Status send_rts(const PieceSends::Message& message, PieceSends::Piece& piece) {
  const transport::Header header = wire::network_piece(message.send->peer_cookie_, piece.offset);
  const PieceHead head{piece.bytes};
  return peer_of(message.proc)
      .transport->send_rts(message.proc, header, &head, sizeof head, {message.chunks->host(piece.chunk), piece.bytes},
                           &piece);
}

struct State final : FileState {
  std::unique_ptr<Chunks> out;
  std::unique_ptr<Chunks> in;
  PieceSends sends{send_rts};
  PieceReceives<Incoming> incoming;
  bool not_pinned = false;
  PolledWait polled;
};
State& state() { return own<State>(); }

// Returns the chunks, made at the first use; null if there is no memory for them.
Chunks* made(std::unique_ptr<Chunks>& chunks) {
  if (chunks == nullptr) {
    chunks = std::make_unique<Chunks>();
    static_cast<void>(chunks->take_pages(knobs().device_network_chunk_bytes,
                                         static_cast<std::size_t>(knobs().device_network_chunks)));
  }
  return chunks->chunk_bytes() != 0 ? chunks.get() : nullptr;
}

bool by_device(const layout::View& data) { return data.where.is_device() && layout::device::movable(data); }

bool advance(void*);

void watch() {
  add_hook(&advance, nullptr);
  state().polled.hold(true);
}

// --- sender ---

bool cleared(int to_proc, Request& send, const wire::Cts& cts, const std::byte* /*tail*/) {
  if ((cts.way & wire::kNetwork) == 0) return false;
  Chunks* const chunks = made(state().out);
  if (chunks == nullptr) return false;
  const bool packs = by_device(send.view_);
  if (!packs && send.view_.where.is_device()) return false;  // derived types without kernels go through the host
  if (packs && !chunks->pin(send.view_).ok()) {
    log::note_once(state().not_pinned, "device memory is not staged through pinned memory: %s", take_detail().c_str());
    return false;
  }
  state().sends.begin(send, to_proc, static_cast<std::uint8_t>(packs ? wire::kFromDevice : 0), *chunks,
                      chunks->piece_bytes(send.total_, kLeastPiece));
  watch();
  return true;
}

// --- receiver ---

void unpack(transport::Sink& self, std::size_t offset, const std::byte* data, std::size_t bytes) {
  Incoming& piece = *static_cast<Incoming::Unpack&>(self).piece;
  const Status status = layout::unpack(piece.receive->view_, piece.offset + offset, bytes, data);
  if (piece.copied.ok()) piece.copied = status;
}

// Starts to fetch a piece; false if there is no chunk for it yet.
bool fetch(Incoming& piece) {
  const layout::View& to = piece.receive->view_;
  piece.sink.piece = &piece;
  piece.sink.bytes = piece.bytes;
  Chunks* const chunks = by_device(to) ? made(state().in) : nullptr;
  if (chunks != nullptr && piece.bytes <= chunks->chunk_bytes() && chunks->pin(to).ok()) {
    if (!chunks->take(&piece.chunk)) return false;
    piece.chunked = true;
    piece.sink.address = chunks->host(piece.chunk);
  } else if (to.contiguous && to.where.is_host()) {
    piece.sink.address = to.data() + piece.offset;
  } else {
    piece.sink.unpack = unpack;
  }
  static_cast<void>(take_detail());  // detail of memory that cannot be pinned
  piece.fetching = true;
  const Status status = peer_of(piece.from).transport->receive_rendezvous(piece.from, piece.data, &piece.sink, &piece);
  if (!status.ok()) {
    piece.status = status;
    piece.complete = true;
  }
  return true;
}

// Fetches a piece, and starts its copy. True if nothing more is to be done for the piece.
bool advance_piece(Incoming& piece, bool* moved) {
  if (!piece.fetching) *moved |= fetch(piece);
  if (!piece.complete) return false;
  *moved = true;
  if (!piece.status.ok() || !piece.chunked) return true;
  piece.copied = piece.copy.unpack(piece.receive->view_, piece.offset, piece.bytes, state().in->address(piece.chunk),
                                   ChunkCopy::In::kPinned, piece.from);
  piece.copying = piece.copied.ok();
  return !piece.copying;
}

void end_piece(Incoming& piece) {
  if (piece.chunked) state().in->give(piece.chunk);
  Request& receive = *piece.receive;
  if (has_failed(piece.from)) {
    // Ends the receive once nothing writes to its buffer any more.
    if (!state().incoming.holds(receive)) finish_rendezvous(receive, failure_error(piece.from));
  } else if (piece.status.ok()) {
    account(receive, piece.bytes, piece.copied);
  }  // else the path is about to fail, which ends the receive
}

bool deliver_piece(int from, Request& receive, const transport::Header& header, const std::byte* payload,
                   std::size_t bytes) {
  PieceHead head;
  transport::RendezvousData data;
  if (bytes != sizeof head + sizeof data) return false;
  std::memcpy(&head, payload, sizeof head);
  std::memcpy(&data, payload + sizeof head, sizeof data);
  const std::size_t offset = header.words[2];
  if (!state().incoming.expects(receive, offset, head.bytes) || !has_rendezvous(from, data)) return false;
  state().incoming.add(receive, from, offset, head.bytes).data = data;
  watch();
  return true;
}
constexpr Arrival kArrivals[] = {arrival_at_receive<deliver_piece>(wire::Kind::kNetworkPiece)};

// --- both ---

bool idle() noexcept { return !state().sends.any() && !state().incoming.any(); }

bool advance(void*) {
  bool moved = state().incoming.advance(advance_piece, end_piece);
  moved |= state().sends.advance();
  state().polled.hold(!idle());
  if (idle()) remove_hook(&advance, nullptr);
  return moved;
}

// Does not apply to messages shorter than a chunk, for which the blocking copy of the stream protocol is faster than a
// pipeline. The copies overlap with the network, so the estimate does not include them.
Estimate probe(const MessageClass& message, const transport::Caps& caps) {
  if (caps.same_node || caps.same_address_space || !caps.rendezvous) return kNotApplicable;
  const bool from_device = message.from_device() || (message.flags & wire::kManaged) != 0;
  if (!from_device && message.to_host()) return kNotApplicable;
  if (message.bytes < caps.chunk_bytes) return kNotApplicable;
  return {2 * caps.latency_seconds + caps.messages().seconds(message.bytes)};
}

Status begin(const ReadyToSend& rts, Request& receive) {
  log::write(log::Level::kTrace, "staged over the network: unpacked by the %s",
             by_device(receive.view_) ? "device" : "CPU");
  add(Statistic::device_staged);
  const wire::Cts cts{reinterpret_cast<std::uint64_t>(&receive), receive.total_, wire::kNetwork,
                      mem::device::Context::locality_of(receive.view_.where)};
  send_control(rts.from_proc, wire::answer(wire::Kind::kCts, rts.sender_cookie), &cts, sizeof cts);
  return kOk;
}

void fail_pending(int proc) {
  state().sends.fail_pending(proc);
  state().incoming.remove_if(proc, [](const Incoming& each) { return !each.fetching; });
}

bool holds(const Request& request) noexcept { return state().sends.holds(request) || state().incoming.holds(request); }

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
