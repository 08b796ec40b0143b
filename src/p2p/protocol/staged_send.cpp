// The sender's half: the memory of the chunks, and the message that lends a packed chunk to the receiver.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "mem/device/context.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/protocol/chunks.hpp"
#include "p2p/protocol/piece_sends.hpp"
#include "p2p/protocol/staged.hpp"

namespace hr::p2p::staged {
namespace {

// Pieces are not smaller than these sizes, as starting a copy takes about as long as moving that many bytes.
constexpr std::size_t kLeastByCpu = std::size_t{64} << 10;
constexpr std::size_t kLeastByEngines = std::size_t{512} << 10;
constexpr std::size_t kLeastDevice = std::size_t{4} << 20;
// Limit for pieces that a CPU copies, so that all pending ones fit into its cache.
constexpr std::size_t kMostByCpu = std::size_t{256} << 10;
constexpr std::size_t kDeviceChunks = 4;
constexpr std::size_t kLeastSharedChunks = 2;

// Lends the chunk of a packed piece to the receiver.
Status lend(const PieceSends::Message& message, PieceSends::Piece& piece) {
  if (has_failed(message.proc)) return failure_error(message.proc);
  message.chunks->lend(piece.chunk, message.proc);
  piece.lent = true;
  piece.complete = true;
  const wire::Piece where{piece.bytes, message.chunks->id(), message.chunks->at(piece.chunk)};
  const auto way = static_cast<std::uint8_t>((message.way & ~wire::kRows) | (piece.rows ? wire::kRows : 0));
  send_control(message.proc, wire::piece(way, piece.chunk, message.send->peer_cookie_, piece.offset), &where,
               sizeof where);
  return kOk;
}

struct State final : FileState {
  std::map<const transport::Transport*, std::unique_ptr<Chunks>> shared;  // memory shared with a transport's peers
  std::vector<std::unique_ptr<Chunks>> on_devices;                        // chunks of each GPU context
  PieceSends sends{lend};
  bool no_device_chunks = false;  // allocation has failed; logged once, and not tried again
  bool not_pinned = false;        // noted once
};
State& state() { return own<State>(); }

Chunks* known_shared_chunks(const Peer& peer) {
  const auto found = state().shared.find(peer.transport);
  return found == state().shared.end() ? nullptr : found->second.get();
}

Chunks* shared_chunks(const Peer& peer) {
  if (Chunks* const known = known_shared_chunks(peer); known != nullptr) return known;
  const std::span<std::byte> memory = peer.transport->staging(engine()->rank);
  if (memory.empty()) return nullptr;
  auto made = std::make_unique<Chunks>();
  // Memory shared with another job has the size that its creator chose.
  made->use(memory, std::bit_floor(std::min(knobs().device_pipeline_chunk_bytes, memory.size() / kLeastSharedChunks)));
  return (state().shared[peer.transport] = std::move(made)).get();
}

Chunks* device_chunks(const mem::Location& where) {
  for (const auto& each : state().on_devices) {
    if (each->device().serves(where)) return each.get();
  }
  if (state().no_device_chunks) return nullptr;
  auto made = std::make_unique<Chunks>();
  if (!made->allocate(where, std::bit_floor(knobs().device_staging_bytes / kDeviceChunks), kDeviceChunks).ok()) {
    log::note_once(state().no_device_chunks,
                   "messages from pool, VMM and managed memory are staged through the host: %s", take_detail().c_str());
    return nullptr;
  }
  return state().on_devices.emplace_back(std::move(made)).get();
}

// Returns the chunks in the memory with this id, one of which process `proc` may have.
Chunks* with_id(int proc, std::uint64_t memory) {
  if (memory == 0) return known_shared_chunks(peer_of(proc));
  const auto found = std::ranges::find(state().on_devices, memory, [](const auto& each) { return each->id(); });
  return found == state().on_devices.end() ? nullptr : found->get();
}

// `by_cpu`: the CPU of one of the processes copies.
std::size_t piece_bytes(const Chunks& chunks, std::size_t message_bytes, bool by_cpu) {
  if (by_cpu) return std::min(kMostByCpu, chunks.piece_bytes(message_bytes, kLeastByCpu));
  return chunks.piece_bytes(message_bytes, chunks.on_device() ? kLeastDevice : kLeastByEngines);
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
  const bool on_device = (way & wire::kDeviceChunks) != 0;
  Chunks* const chunks = on_device ? device_chunks(send.view_.where) : shared_chunks(peer_of(to_proc));
  if (chunks == nullptr) return false;
  if (!on_device && (way & wire::kFromDevice) != 0 && !chunks->pin(send.view_).ok()) {
    log::note_once(state().not_pinned, "device memory is not staged through pinned memory: %s", take_detail().c_str());
    return false;
  }
  constexpr std::uint8_t kEngines = wire::kFromDevice | wire::kToDevice;
  state().sends.begin(send, to_proc, way, *chunks, piece_bytes(*chunks, send.total_, (way & kEngines) != kEngines));
  watch();
  return true;
}

bool arrive_chunk(int from_proc, std::uint64_t memory, std::uint32_t chunk) {
  Chunks* const chunks = with_id(from_proc, memory);
  if (chunks == nullptr || !chunks->is_with(from_proc, chunk)) return false;
  chunks->give(chunk);
  return true;
}

PieceSends& sends() { return state().sends; }

void fail_pending(int proc) {
  state().sends.fail_pending(proc);
  for (const auto& [transport, chunks] : state().shared) chunks->take_from(proc);
  for (const auto& each : state().on_devices) each->take_from(proc);
}

void leave_memory_shared_with(int proc) {
  const auto found = state().shared.find(peer_of(proc).transport);
  if (found == state().shared.end()) return;
  while (state().sends.copies_for(proc)) state().sends.advance();
  state().sends.advance();  // ends messages that have failed
  found->second->take_from(proc);
  if (found->second->all_free() && !state().sends.uses(*found->second)) state().shared.erase(found);
}

bool chunks_away() noexcept {
  const auto is_away = [](const auto& each) { return !each->all_free(); };
  return std::ranges::any_of(state().shared, is_away, [](const auto& each) -> const auto& { return each.second; }) ||
         std::ranges::any_of(state().on_devices, is_away);
}

void release_chunks() {
  state().shared.clear();
  state().on_devices.clear();
}

}  // namespace hr::p2p::staged
