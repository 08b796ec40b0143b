// The sender's half: copies pieces into chunks, and sends the receiver a message for each.
#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "layout/device/chunk_copy.hpp"
#include "mem/device/context.hpp"
#include "mem/device/two_rows.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/protocol/staged.hpp"
#include "p2p/protocol/staged_chunks.hpp"

namespace hr::p2p::staged {
namespace {

// Time without a returned chunk after which the receivers are assumed to make no progress, and other
// messages must not wait for them.
constexpr double kStarvedSeconds = 20e-3;

struct Part {
  std::uint32_t chunk;
  std::size_t offset;
  std::size_t bytes;
  bool rows;
  layout::device::ChunkCopy copy;
};

// A pending send. The next part starts at Request::offset_; everything before that is in `parts`, or known to the
// receiver.
struct Outgoing {
  Request* send;
  int proc;
  std::uint8_t way;
  Chunks* chunks;
  std::size_t piece;
  std::deque<Part> parts;  // being copied into chunks, in order
  std::size_t told = 0;    // bytes that are known to the receiver
  Status failure{};        // first failure; nothing starts after it
  std::string failure_text;
};

struct State final : FileState {
  std::vector<std::unique_ptr<Outgoing>> outgoing;
  std::size_t first = 0;  // index of the message that gets the first chunk; advances in turn
  std::unique_ptr<Chunks> shared;
  std::vector<std::unique_ptr<Chunks>> on_devices;  // chunks of each GPU context
  bool no_device_chunks = false;                    // the failure is logged once, and allocation not retried
  bool not_pinned = false;                          // noted once
};
State& state() { return own<State>(); }

Chunks* shared_chunks(const Peer& peer) {
  if (state().shared == nullptr) {
    const std::span<std::byte> memory = peer.transport->staging(engine()->rank);
    if (memory.empty()) return nullptr;
    state().shared = std::make_unique<Chunks>(memory);
  }
  return state().shared.get();
}

Chunks* device_chunks(const mem::Location& where) {
  for (const auto& each : state().on_devices) {
    if (each->device().serves(where)) return each.get();
  }
  if (state().no_device_chunks) return nullptr;
  auto made = std::make_unique<Chunks>();
  if (!made->allocate(where).ok()) {
    log::note_once(state().no_device_chunks,
                   "messages from pool, VMM and managed memory are staged through the host: %s", take_detail().c_str());
    return nullptr;
  }
  state().on_devices.push_back(std::move(made));
  return state().on_devices.back().get();
}

Chunks* with_id(std::uint64_t memory) {
  if (memory == 0) return state().shared.get();
  const auto found = std::find_if(state().on_devices.begin(), state().on_devices.end(),
                                  [&](const auto& each) { return each->id() == memory; });
  return found == state().on_devices.end() ? nullptr : found->get();
}

void tell(Outgoing& message, std::uint32_t chunk, std::size_t offset, std::size_t bytes, bool rows) {
  if (has_failed(message.proc)) return message.chunks->give(chunk);
  message.chunks->lend(chunk, message.proc);
  const wire::Piece piece{bytes, message.chunks->id(), message.chunks->at(chunk)};
  const auto way = static_cast<std::uint8_t>((message.way & ~wire::kRows) | (rows ? wire::kRows : 0));
  send_control(message.proc, wire::piece(way, chunk, message.send->peer_cookie_, offset), &piece, sizeof piece);
  message.told += bytes;
}

void note(Outgoing& message, Status failure) {
  if (failure.ok() || !message.failure.ok()) return;
  message.failure = failure;
  message.failure_text = take_detail();
}

layout::device::ChunkCopy::In chunk_kind(std::uint8_t way, bool rows) noexcept {
  using In = layout::device::ChunkCopy::In;
  if ((way & wire::kDeviceChunks) != 0) return In::kDevice;
  return rows ? In::kPinnedRows : In::kPinned;
}

// Packs with the CPU.
Status pack_rows(const layout::View& from, std::size_t offset, mem::device::TwoRows rows, std::byte* chunk) {
  HR_TRY(layout::pack(from, offset, rows.width(), chunk));
  HR_TRY(layout::pack(from, offset + rows.width(), rows.width(), chunk + rows.pitch()));
  return rows.odd() ? layout::pack(from, offset + rows.bytes - 1, 1, chunk + rows.last()) : kOk;
}

// Starts the next part; false if there is nothing to start or no chunk.
bool start_part(Outgoing& message) {
  Request& send = *message.send;
  std::uint32_t chunk = 0;
  if (send.offset_ == send.total_ || !message.failure.ok() || !message.chunks->take(&chunk)) return false;
  const std::size_t offset = send.offset_;
  const std::size_t bytes = std::min(message.piece, send.total_ - offset);
  Status status = kOk;
  const bool by_cpu = (message.way & wire::kFromDevice) == 0;
  const mem::device::TwoRows two_rows{bytes};
  const bool rows = (message.way & wire::kRows) != 0 && mem::device::TwoRows::serves(bytes) &&
                    two_rows.span() <= message.chunks->chunk_bytes() && (by_cpu || send.view_.contiguous);
  if (by_cpu) {
    std::byte* const to = message.chunks->host(chunk);
    status = rows ? pack_rows(send.view_, offset, two_rows, to) : layout::pack(send.view_, offset, bytes, to);
    if (status.ok()) tell(message, chunk, offset, bytes, rows);
  } else {
    Part& part = message.parts.emplace_back();
    part.chunk = chunk;
    part.offset = offset;
    part.bytes = bytes;
    part.rows = rows;
    status = part.copy.pack(send.view_, offset, bytes, message.chunks->address(chunk), chunk_kind(message.way, rows),
                            message.proc);
    if (!status.ok()) message.parts.pop_back();
  }
  if (!status.ok()) {
    message.chunks->give(chunk);
    note(message, status);
    return true;
  }
  send.offset_ += bytes;
  return true;
}

bool poll_parts(Outgoing& message) {
  bool moved = false;
  while (!message.parts.empty()) {
    Part& part = message.parts.front();
    bool done = false;
    const Status status = part.copy.poll(&done);
    if (!done) return moved;
    moved = true;
    if (status.ok()) {
      tell(message, part.chunk, part.offset, part.bytes, part.rows);
    } else {
      message.chunks->give(part.chunk);
      note(message, status);
    }
    message.parts.pop_front();
  }
  return moved;
}

// Sends a piece through the transport if that has space, as receivers hold all chunks and do not return them.
bool bypass(Outgoing& message) {
  Request& send = *message.send;
  if (send.offset_ == send.total_ || !message.failure.ok() || !message.parts.empty()) return false;
  if (now_seconds() - message.chunks->moved_at() < kStarvedSeconds) return false;
  const std::size_t before = send.offset_;
  const Status status = push_piece(peer_of(message.proc), send);
  if (status.is_again()) return false;
  note(message, status);
  message.told += send.offset_ - before;
  return true;
}

bool ended(const Outgoing& message) {
  return message.parts.empty() && (message.told == message.send->total_ || !message.failure.ok());
}

void end(Outgoing& message) {
  Completion completion;
  completion.error = message.failure;
  if (!message.failure.ok()) {
    abandon(message.proc, *message.send, message.told, message.failure_text);
    set_detail(std::move(message.failure_text));
  }
  finish_send(*message.send, completion);
}

}  // namespace

bool uses_resident_copier(const Peer& peer, const layout::View& data) {
  if (!data.contiguous || data.packed > knobs().device_resident_copy_bytes ||
      knobs().device_ipc == DeviceIpcChoice::kOff || !peer.caps.same_node) {
    return false;
  }
  mem::device::Context* context = nullptr;
  if (!mem::device::Context::of(data.where, &context).ok()) {
    static_cast<void>(take_detail());  // reported when the data is packed
    return false;
  }
  return context->resident_copier().usable() &&
         !mem::device::Context::share_time_sliced(peer.locality, context->locality());
}

bool export_chunks(const Peer& peer, const layout::View& data, mem::device::Export* chunks) {
  if (!peer.caps.same_node || knobs().device_ipc == DeviceIpcChoice::kOff) return false;
  Chunks* const found = device_chunks(data.where);
  if (found == nullptr) return false;
  if (found->device().export_to(peer.proc, chunks).ok()) return true;
  static_cast<void>(take_detail());
  return false;
}

bool begin_send(int to_proc, Request& send, std::uint8_t way) {
  Peer& peer = peer_of(to_proc);
  Chunks* const chunks = (way & wire::kDeviceChunks) != 0 ? device_chunks(send.view_.where) : shared_chunks(peer);
  if (chunks == nullptr) return false;
  if ((way & wire::kDeviceChunks) == 0 && (way & wire::kFromDevice) != 0) {
    if (!chunks->pin(send.view_).ok()) {
      log::note_once(state().not_pinned, "device memory is not staged through pinned memory: %s",
                     take_detail().c_str());
      return false;
    }
  }
  auto message = std::make_unique<Outgoing>();
  message->send = &send;
  message->proc = to_proc;
  message->way = way;
  message->chunks = chunks;
  constexpr std::uint8_t kEngines = wire::kFromDevice | wire::kToDevice;
  message->piece = chunks->piece_bytes(send.total_, (way & kEngines) != kEngines);
  state().outgoing.push_back(std::move(message));
  start_part(*state().outgoing.back());
  watch();
  return true;
}

bool arrive_chunk(int from_proc, std::uint64_t memory, std::uint32_t chunk) {
  Chunks* const chunks = with_id(memory);
  if (chunks == nullptr || !chunks->is_with(from_proc, chunk)) return false;
  chunks->give(chunk);
  return true;
}

bool advance_sends() {
  bool moved = false;
  const std::size_t count = state().outgoing.size();
  ++state().first;
  for (std::size_t i = 0; i < count; ++i) {
    Outgoing& message = *state().outgoing[(state().first + i) % count];
    moved |= poll_parts(message);
    moved |= start_part(message) || bypass(message);
  }
  for (std::size_t i = 0; i < state().outgoing.size();) {
    if (!ended(*state().outgoing[i])) {
      ++i;
      continue;
    }
    moved = true;
    const std::unique_ptr<Outgoing> message = std::move(state().outgoing[i]);
    state().outgoing.erase(state().outgoing.begin() + static_cast<std::ptrdiff_t>(i));
    end(*message);
  }
  return moved;
}

bool sending() noexcept { return !state().outgoing.empty(); }

bool holds_send(const Request& send) noexcept {
  return std::any_of(state().outgoing.begin(), state().outgoing.end(),
                     [&](const auto& each) { return each->send == &send; });
}

void fail_pending(int proc) {
  for (const auto& each : state().outgoing) {
    if (each->proc == proc) note(*each, failure_error(proc));
  }
  if (state().shared != nullptr) state().shared->take_from(proc);
  for (const auto& each : state().on_devices) each->take_from(proc);
}

bool chunks_away() noexcept {
  return (state().shared != nullptr && !state().shared->all_free()) ||
         std::any_of(state().on_devices.begin(), state().on_devices.end(),
                     [](const auto& each) { return !each->all_free(); });
}

void release_chunks() {
  state().shared.reset();
  state().on_devices.clear();
}

}  // namespace hr::p2p::staged
