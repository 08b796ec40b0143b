// Chooses the path, and advances the sender's and the receiver's half.
#include "p2p/protocol/staged.hpp"

#include <cstring>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/statistics.hpp"
#include "layout/device/chunk_copy.hpp"
#include "layout/device/peer.hpp"
#include "mem/device/context.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p {
namespace staged {
namespace {

struct State final : FileState {
  PolledWait polled;
};
State& state() { return own<State>(); }

bool advance(void*) {
  bool moved = sends().advance();
  moved |= advance_receives();
  const bool under_way = sends().any() || receiving();
  state().polled.hold(under_way);
  if (!under_way) remove_hook(&advance, nullptr);
  return moved;
}

// Sides on which a device copies: those whose data is on the device.
struct Movers {
  bool sender;
  bool receiver;
};
Movers movers(const ReadyToSend& rts, const layout::View& target) noexcept {
  const bool movable = (rts.flags & wire::kMovable) != 0;
  return {movable && (rts.flags & wire::kDevice) != 0, target.where.is_device()};
}

// The estimate counts two messages: the clear-to-send, and the one for the first piece. Kernels pack and unpack data
// that is not contiguous.
Estimate probe(const MessageClass& message, const transport::Caps& caps) {
  if (message.bytes == 0 || !caps.same_node) return kNotApplicable;
  const bool movable = (message.flags & wire::kMovable) != 0;
  // The sender's CPU cannot read device memory; the stream protocol handles such data.
  if (message.from_device() && !movable) return kNotApplicable;
  if (!message.from_device() && !message.to_device()) return kNotApplicable;
  const bool kernels = message.time_sliced && !(message.from_contiguous && message.to_contiguous);
  return {2 * caps.latency_seconds + (kernels ? mem::device::costs().switch_seconds : 0) +
          mem::device::costs().pinned_seconds +
          static_cast<double>(message.bytes) / mem::device::costs().pinned_bytes_per_second};
}

bool device_chunks(const ReadyToSend& rts, const layout::View& target) {
  // Copies within a device wait for its multiprocessors.
  if (rts.time_sliced) return false;
  if ((rts.flags & wire::kChunks) == 0 || knobs().device_ipc == DeviceIpcChoice::kOff) return false;
  mem::device::Export chunks;
  std::memcpy(&chunks, rts.tail, sizeof chunks);
  return accept_chunks(target, rts.from_proc, chunks);
}

Status begin(const ReadyToSend& rts, Request& receive) {
  Movers by_device = movers(rts, receive.view_);
  if (by_device.receiver && !layout::device::movable(receive.view_)) {
    if (receive.view_.where.is_device()) {
      return fail(Errc::kUnsupportedOperation, "without kernels, data of derived types is copied through the host");
    }
    by_device.receiver = false;
    if (!by_device.sender) return fail(Errc::kUnsupportedOperation, "no device takes part");
  }
  std::uint8_t way = wire::kStaged;
  if (by_device.sender) way |= wire::kFromDevice;
  if (by_device.receiver) way |= wire::kToDevice;
  if (by_device.sender && by_device.receiver && device_chunks(rts, receive.view_)) {
    way |= wire::kDeviceChunks;
  } else if (peer_of(rts.from_proc).transport->staging(rts.from_proc).empty()) {
    return fail(Errc::kUnsupportedOperation, "no memory is shared with rank %d", rts.from_proc);
  }
  const bool pinned = by_device.receiver && (way & wire::kDeviceChunks) == 0;
  if (pinned && receive.view_.contiguous && layout::device::time_sliced(receive.view_)) way |= wire::kRows;
  log::write(log::Level::kTrace, "staged in %s: packed by the %s, unpacked by the %s",
             (way & wire::kDeviceChunks) != 0 ? "device memory" : "shared memory", by_device.sender ? "device" : "CPU",
             by_device.receiver ? "device" : "CPU");
  add(Statistic::device_staged);
  const wire::Cts cts{reinterpret_cast<std::uint64_t>(&receive), receive.total_, way,
                      mem::device::Context::locality_of(receive.view_.where)};
  send_control(rts.from_proc, wire::answer(wire::Kind::kCts, rts.sender_cookie), &cts, sizeof cts);
  return kOk;
}

// The memory that the two processes share is unmapped with the path.
void disconnect(int proc) {
  leave_memory_shared_with(proc);
  leave_memory_of(proc);
}

bool idle() noexcept { return !sends().any() && !receiving() && !chunks_away(); }

bool holds(const Request& request) noexcept { return sends().holds(request) || holds_receive(request); }

void finalize() {
  remove_hook(&advance, nullptr);
  release_chunks();
  release_mappings();
}

bool cleared(int to_proc, Request& send, const wire::Cts& cts, const std::byte* /*tail*/) {
  if ((cts.way & wire::kStaged) == 0) return false;
  // Valid only if the data is on a device: only then does the ready-to-send message permit these ways.
  if ((cts.way & (wire::kFromDevice | wire::kDeviceChunks)) != 0 && !send.view_.where.is_device()) return false;
  return begin_send(to_proc, send, static_cast<std::uint8_t>(cts.way));
}

void deliver_chunk(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  if (!arrive_chunk(from, header.words[1], wire::chunk_of(header))) drop_arrival(from, header, payload, bytes);
}
constexpr Arrival kArrivals[] = {arrival_at_receive<arrive_piece, sizeof(wire::Piece)>(wire::Kind::kPiece),
                                 arrival<deliver_chunk>(wire::Kind::kChunk)};

}  // namespace

std::uint64_t flags_of(const layout::View& data) {
  const std::uint64_t kind = data.where.is_device() ? wire::kDevice : wire::kManaged;
  return layout::device::movable(data) ? kind | wire::kMovable : kind;
}

void watch() {
  add_hook(&advance, nullptr);
  state().polled.hold(sends().any() || receiving());
}

}  // namespace staged

extern const Rendezvous kStaged;
const Rendezvous kStaged{.name = "staged",
                         .probe = staged::probe,
                         .begin = staged::begin,
                         .arrivals = staged::kArrivals,
                         .cleared = staged::cleared,
                         .forget = staged::forget,
                         .fail_pending = staged::fail_pending,
                         .disconnect = staged::disconnect,
                         .holds = staged::holds,
                         .idle = staged::idle,
                         .finalize = staged::finalize};

}  // namespace hr::p2p
