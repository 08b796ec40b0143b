// Sending: short messages are sent eagerly; for others, a ready-to-send message (RTS) is sent, and one of the
// rendezvous protocols moves the data.
#include <cstring>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "mem/device/context.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/counting.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/device_get.hpp"
#include "p2p/protocol/device_put.hpp"
#include "p2p/protocol/network_direct.hpp"
#include "p2p/protocol/rendezvous.hpp"
#include "p2p/protocol/staged.hpp"
#include "p2p/protocol/transport_data.hpp"

namespace hr::p2p {
namespace {

using wire::Kind;

// Ends the operations with a process that cannot be answered. It may wait although this process has none with it, so a
// line says why.
void fail_unanswered(int proc, Status why) {
  const bool known = has_failed(proc);
  mark_failed(proc, why);
  if (known) return;
  log::write(log::Level::kError, "rank %d cannot be answered: %s", proc, peer_of(proc).why_failed.c_str());
}

Envelope envelope_of(const Request& send) { return {send.context_, send.source_, send.tag_}; }

std::uint64_t cookie_of(Request& request) { return reinterpret_cast<std::uint64_t>(&request); }

// True if the data travels with its envelope. Only this function decides; send_plain() makes the same decision for host
// data, using Peer::plain_below.
//
// Host data is sent eagerly up to the peer's limit. Eager device data goes through the host, which pays off if the data
// is short, or if the receiver has no faster path: it cannot fetch the data itself, and no resident copy kernels will
// stage it. The first device data sent to a peer uses a rendezvous, as only a ready-to-send message names its device.
// So does device data for this process itself, as the device serves both ends.
bool eagerly(const Peer& peer, const layout::View& data) {
  if (data.packed > peer.eager_bytes) return false;
  if (data.where.is_host()) return true;
  if (peer.caps.same_address_space && data.where.is_device() && data.packed != 0) return false;
  if (data.packed <= knobs().device_eager_bytes) return true;
  return !device_get::serves(peer, data) && peer.has_our_locality && !staged::uses_resident_copier(peer, data);
}

// Sends the data as one message; Status::again() if there is no space.
Status try_send_eager(Peer& peer, const layout::View& data, const Envelope& envelope) {
  const transport::Header header = wire::envelope(Kind::kEager, envelope, data.packed);
  if (data.allows_memcpy()) [[likely]]
    return peer.transport->send(peer.proc, header, data.data(), data.packed);
  std::byte* slot = peer.transport->reserve(peer.proc, data.packed);
  if (slot == nullptr) return Status::again();
  HR_TRY(layout::pack(data, 0, data.packed, slot));
  peer.transport->commit(peer.proc, header);
  return kOk;
}

Status try_send_eager_sync(Peer& peer, Request& send) {
  const wire::EagerSyncHead head{cookie_of(send)};
  std::byte* slot = peer.transport->reserve(peer.proc, sizeof head + send.view_.packed);
  if (slot == nullptr) return Status::again();
  std::memcpy(slot, &head, sizeof head);
  HR_TRY(layout::pack(send.view_, 0, send.view_.packed, slot + sizeof head));
  peer.transport->commit(peer.proc, wire::envelope(Kind::kEagerSync, envelope_of(send), send.view_.packed));
  return kOk;
}

// Ready-to-send message of device data, which lets the receiver choose a protocol.
struct DeviceRts {
  wire::Rts rts;
  union {
    layout::device::PeerView view;
    mem::device::Export chunks;
  };
};

Status try_send_device_rts(Peer& peer, Request& send) {
  DeviceRts message{
      {cookie_of(send), 0, staged::flags_of(send.view_), mem::device::Context::locality_of(send.view_.where)}, {}};
  peer.has_our_locality = true;
  std::size_t bytes = sizeof message.rts;
  if (network_direct::serves(peer, send.view_)) message.rts.flags |= wire::kDirect;
  // Data that will be staged anyway need not be described, and there may be no memory for a description.
  const bool fetched = peer.caps.max_payload >= sizeof message &&
                       (!mem::device::Context::share_time_sliced(peer.locality, message.rts.locality) ||
                        !send.view_.contiguous || send.view_.packed > staged_time_sliced_bytes());
  if (fetched && device_get::serves(peer, send.view_)) {
    HR_TRY(device_get::describe(peer, send, &message.rts.flags, &message.view));
    if ((message.rts.flags & wire::kView) != 0) bytes += message.view.wire_bytes();
  }
  if ((message.rts.flags & (wire::kView | wire::kMovable)) == wire::kMovable && fetched &&
      staged::export_chunks(peer, send.view_, &message.chunks)) {
    message.rts.flags |= wire::kChunks;
    bytes += sizeof message.chunks;
  }
  return peer.transport->send(peer.proc, wire::envelope(Kind::kRts, envelope_of(send), send.view_.packed), &message,
                              bytes);
}

Status try_send_rts(Peer& peer, Request& send, bool* done) {
  const bool host = send.view_.where.is_host();
  if (!host && !peer.caps.same_address_space) return try_send_device_rts(peer, send);
  wire::Rts rts{cookie_of(send), 0, 0, 0};
  if (transport_data::is_kept(peer, send.view_)) {
    return transport_data::send_rts(peer, send, wire::envelope(Kind::kRts, envelope_of(send), send.view_.packed), rts,
                                    done);
  }
  // Pinned memory may be a driver's mapping, which other processes may not be able to read.
  if (send.view_.contiguous && host && !send.view_.where.pinned)
    rts.address = reinterpret_cast<std::uint64_t>(send.view_.data());
  if (send.view_.where.pinned && device_put::serves(send.view_)) rts.flags |= wire::kPinned;
  return peer.transport->send(peer.proc, wire::envelope(Kind::kRts, envelope_of(send), send.view_.packed), &rts,
                              sizeof rts);
}

Status send_at_once(const layout::View& data, int to_proc, const Envelope& envelope) {
  return data.allows_memcpy() ? send_plain(data.data(), data.packed, to_proc, envelope) : Status::again();
}

// Sends the message; Status::again(): no space. Completes the request if it ends with this message, or on an error.
Status try_send(Peer& peer, Request& send) {
  const bool small = eagerly(peer, send.view_);
  bool done = small && !send.synchronous_;
  Status status = !small              ? try_send_rts(peer, send, &done)
                  : send.synchronous_ ? try_send_eager_sync(peer, send)
                                      : try_send_eager(peer, send.view_, envelope_of(send));
  if (!status.ok() && takes_less(peer)) return try_send(peer, send);
  if (status.is_again()) return status;
  if (!small) counters::count_rendezvous(send.view_.packed);
  if (peer.failed) [[unlikely]] {
    transport_data::detach(send);
    status = failure_error(peer.proc);
  }
  send.phase_ = Request::Phase::kWaiting;
  if (!status.ok() || done) {
    Completion completion;
    completion.error = status;
    if (!small) send.transfer_.reset();
    complete(send, completion);
  }
  return kOk;
}

}  // namespace

void start_send(Peer& peer, Request& send) {
  count_send(peer, send);
  // The send must follow control messages that wait for space, as one of them may cancel an earlier message of this
  // same request.
  if (peer.queued.empty() && peer.control_messages.empty() && try_send(peer, send).ok()) return;
  send.phase_ = Request::Phase::kQueued;
  peer.queued.push_back(send);
  mark_busy(peer);
}

namespace {

// Drops everything that waits for space at a process that has left MPI, which no longer needs answers or active
// messages; a message to it is a mistake in the program.
void drop_unread(Peer& peer) {
  peer.control_messages.clear();
  while (Request* send = peer.queued.pop_front()) {
    Completion completion;
    completion.error =
        fail(Errc::kOther, "rank %d has left MPI (MPI_Finalize) and receives no more messages", peer.proc);
    finish_send(*send, completion);
  }
}

}  // namespace

bool flush(Peer& peer) {
  bool moved = false;
  while (!peer.failed && !peer.control_messages.empty()) {
    const ControlMessage& answer = peer.control_messages.front();
    const Status status = peer.transport->send(peer.proc, answer.header, answer.data(), answer.bytes);
    if (status.is_again()) {
      if (!peer.transport->has_left(peer.proc)) return moved;
      drop_unread(peer);
      return true;
    }
    if (!status.ok()) fail_unanswered(peer.proc, status);
    if (status.ok()) peer.control_messages.pop_front();
    moved = true;
  }
  if (peer.connected && !peer.failed) peer.plain_below = peer.eager_bytes + 1;
  while (!peer.failed) {
    Request* send = peer.queued.pop_front();  // first, as completing the send may destroy it
    if (send == nullptr) break;
    if (try_send(peer, *send).is_again()) {
      peer.queued.push_front(*send);
      if (!peer.transport->has_left(peer.proc)) return moved;
      drop_unread(peer);
      return true;
    }
    moved = true;
  }
  if (!peer.failed) moved |= push_stream(peer);
  if (!peer.failed) return moved;
  fail_pending(peer);
  return true;
}

void send_control(int proc, const transport::Header& header, const void* payload, std::size_t bytes) {
  Peer* peer = nullptr;
  // The other side has reached this process, so a transport exists; the only possible error is a lack of memory for the
  // ring.
  if (const Status status = connected_peer(proc, &peer); !status.ok()) {
    // Until now, a request may have been waiting for a failed process.
    has_failed(proc) ? mark_busy(peer_of(proc)) : fail_unanswered(proc, status);
    static_cast<void>(take_detail());
    return;
  }
  if (peer->control_messages.empty()) {
    const Status status = peer->transport->send(proc, header, payload, bytes);
    if (status.ok()) return;
    if (!status.is_again()) return fail_unanswered(proc, status);
  }
  peer->plain_below = 0;  // short messages must not overtake this one until flush() has sent it
  ControlMessage& answer = peer->control_messages.emplace_back();
  answer.header = header;
  answer.bytes = bytes;
  if (bytes > ControlMessage::kMaxBytes) answer.longer = std::make_unique_for_overwrite<std::byte[]>(bytes);
  if (bytes != 0) std::memcpy(answer.longer != nullptr ? answer.longer.get() : answer.payload, payload, bytes);
  mark_busy(*peer);
}

Status send_plain(const std::byte* data, std::size_t bytes, int to_proc, const Envelope& envelope) {
  Peer& peer = peer_of(to_proc);
  if (bytes >= peer.plain_below || !peer.queued.empty()) [[unlikely]]
    return Status::again();
  const Status status = peer.transport->send(to_proc, wire::envelope(Kind::kEager, envelope, bytes), data, bytes);
  if (status.ok()) [[likely]] {
    counters::count_sent(*peer.counted, !is_programs(envelope.context), bytes);
    return kOk;
  }
  return takes_less(peer) ? Status::again() : status;
}

Request* completed_send_request() noexcept {
  Request* done = engine()->done;
  done->retain();
  return done;
}

Status send(const layout::View& data, int to_proc, const Envelope& envelope, Mode mode) {
  if (mode != Mode::kSynchronous) [[likely]] {
    const Status status = send_at_once(data, to_proc, envelope);
    if (!status.is_again()) [[likely]]
      return status;
  }
  Request* request = nullptr;
  HR_TRY(isend(data, to_proc, envelope, mode, &request));
  HR_TRY(wait(*request));
  const Status status = request->completion_.error;
  if (!status.ok()) set_detail(request->detail());
  release(request);
  return status;
}

Status isend(const layout::View& data, int to_proc, const Envelope& envelope, Mode mode, Request** out) {
  if (mode != Mode::kSynchronous) [[likely]] {
    const Status status = send_at_once(data, to_proc, envelope);
    if (status.ok()) [[likely]] {
      *out = completed_send_request();
      return kOk;
    }
  }
  Peer* peer = nullptr;
  const Status connected = connected_peer(to_proc, &peer);
  // A revocation takes precedence over the failure of the process.
  if (any_failures()) [[unlikely]]
    HR_TRY(may_send(envelope.context));
  HR_TRY(connected);
  Request* request = make_request(data, false, envelope, to_proc);
  if (request == nullptr)
    return fail(Errc::kNoMem, "no memory for another request (%zu are live)", Arena<Request>::instance().live());
  request->synchronous_ = mode == Mode::kSynchronous;
  request->retain();
  request->engine_reference_ = true;
  start_send(*peer, *request);
  *out = request;
  return kOk;
}

}  // namespace hr::p2p
