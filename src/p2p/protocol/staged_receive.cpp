// The receiver's half: copies pieces out of chunks, which are then returned.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "base/log.hpp"
#include "layout/device/chunk_copy.hpp"
#include "mem/device/pinned.hpp"
#include "mem/device/two_rows.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/protocol/staged.hpp"

namespace hr::p2p::staged {
namespace {

using layout::device::ChunkCopy;

// A piece that is being copied out of its chunk.
struct Arrival {
  Request* receive;
  std::uint32_t chunk;
  wire::Piece piece;
  bool rows;
  ChunkCopy copy;
};

// Receiving state for one sender.
struct Sender {
  std::deque<Arrival> arrivals;  // pieces, in the order in which their copies end
  mem::device::PinnedRange pinned;
  bool pin_refused = false;
  std::vector<mem::device::Export> chunks;  // device memory of the sender
};

struct State final : FileState {
  std::map<int, Sender> senders;  // indexed by process
  std::size_t under_way = 0;      // number of arrivals
  bool noted = false;             // a failure to pin shared memory has been logged
};
State& state() { return own<State>(); }

Sender& sender_of(int proc) { return state().senders[proc]; }

std::span<std::byte> shared_memory(int from_proc) { return peer_of(from_proc).transport->staging(from_proc); }

// Pins the sender's shared memory for the device of this view.
bool pin(Sender& sender, std::span<std::byte> memory, const layout::View& data) {
  if (sender.pin_refused) return false;
  if (layout::device::pin(data, memory, &sender.pinned).ok()) return true;
  log::note_once(state().noted, "messages to device memory are not staged through pinned memory: %s",
                 take_detail().c_str());
  sender.pin_refused = true;
  return false;
}

const mem::device::Export* chunks_of(const Sender& sender, std::uint64_t memory) {
  const auto found =
      std::find_if(sender.chunks.begin(), sender.chunks.end(), [&](const auto& each) { return each.id == memory; });
  return found == sender.chunks.end() ? nullptr : &*found;
}

Status start(int from_proc, Sender& sender, Arrival& arrival, std::size_t offset) {
  const layout::View& target = arrival.receive->view_;
  const wire::Piece& piece = arrival.piece;
  if (piece.memory == 0) {
    return arrival.copy.unpack(target, offset, piece.bytes, sender.pinned.address() + piece.at,
                               arrival.rows ? ChunkCopy::In::kPinnedRows : ChunkCopy::In::kPinned, from_proc);
  }
  const mem::device::Export* const memory = chunks_of(sender, piece.memory);
  if (memory == nullptr) return fail(Errc::kOther, "the staging memory of rank %d no longer exists", from_proc);
  return arrival.copy.unpack(target, offset, piece.bytes, *memory, piece.at, from_proc);
}

// Unpacks with the CPU.
Status unpack_rows(const layout::View& to, std::size_t offset, mem::device::TwoRows rows, const std::byte* chunk) {
  HR_TRY(layout::unpack(to, offset, rows.width(), chunk));
  HR_TRY(layout::unpack(to, offset + rows.width(), rows.width(), chunk + rows.pitch()));
  return rows.odd() ? layout::unpack(to, offset + rows.bytes - 1, 1, chunk + rows.last()) : kOk;
}

// False if the piece exceeds memory whose size this process knows.
bool lies_in_memory(int from_proc, const wire::Piece& piece, bool rows) {
  if (rows && !mem::device::TwoRows::serves(piece.bytes)) return false;
  const std::size_t span = rows ? mem::device::TwoRows{piece.bytes}.span() : piece.bytes;
  if (piece.memory == 0) {
    const std::size_t all = shared_memory(from_proc).size();
    return piece.at <= all && span <= all - piece.at;
  }
  const mem::device::Export* const memory = chunks_of(sender_of(from_proc), piece.memory);
  return memory == nullptr || (piece.at <= memory->bytes && span <= memory->bytes - piece.at);
}

// Returns the number of bytes of this receive that are being copied out of chunks.
std::size_t bytes_under_way(const Request& receive) {
  std::size_t bytes = 0;
  for (const auto& [proc, sender] : state().senders) {
    for (const Arrival& each : sender.arrivals) bytes += each.receive == &receive ? each.piece.bytes : 0;
  }
  return bytes;
}

void give_back(int proc, std::uint32_t chunk, std::uint64_t memory) { send_control(proc, wire::chunk(chunk, memory)); }

}  // namespace

bool accept_chunks(const layout::View& data, int from_proc, const mem::device::Export& chunks) {
  Sender& sender = sender_of(from_proc);
  if (!layout::device::map_peer_memory(data, from_proc, chunks).ok()) {
    static_cast<void>(take_detail());  // noted where it was refused
    return false;
  }
  if (chunks_of(sender, chunks.id) == nullptr) sender.chunks.push_back(chunks);
  return true;
}

bool arrive_piece(int from_proc, Request& receive, const transport::Header& header, const std::byte* payload,
                  std::size_t bytes) {
  wire::Piece piece;
  std::memcpy(&piece, payload, sizeof piece);
  const std::uint32_t chunk = wire::chunk_of(header);
  const std::size_t offset = header.words[2];
  const std::size_t missing = missing_bytes(receive);
  if (!lies_in(receive, offset, piece.bytes) || piece.bytes > missing - std::min(missing, bytes_under_way(receive)))
    return false;
  if (chunk == wire::kNoChunk) {
    account(receive, piece.bytes,
            fail(Errc::kOther, "rank %d could not read its data: %.*s", receive.completion_.source,
                 static_cast<int>(bytes - sizeof piece), reinterpret_cast<const char*>(payload + sizeof piece)));
    return true;
  }
  const bool by_device = (wire::way(header) & wire::kToDevice) != 0;
  const bool rows = (wire::way(header) & wire::kRows) != 0;
  if ((by_device || piece.memory != 0) && !receive.view_.where.is_device()) return false;
  if (!lies_in_memory(from_proc, piece, rows)) return false;
  Sender& sender = sender_of(from_proc);
  if (piece.memory == 0) {
    const std::span<std::byte> memory = shared_memory(from_proc);
    if (!by_device || !pin(sender, memory, receive.view_)) {
      const std::byte* const from = memory.data() + piece.at;
      const Status status = rows ? unpack_rows(receive.view_, offset, {piece.bytes}, from)
                                 : layout::unpack(receive.view_, offset, piece.bytes, from);
      give_back(from_proc, chunk, piece.memory);
      account(receive, piece.bytes, status);
      return true;
    }
  }
  Arrival& arrival = sender.arrivals.emplace_back();
  arrival.receive = &receive;
  arrival.chunk = chunk;
  arrival.piece = piece;
  arrival.rows = rows;
  if (const Status status = start(from_proc, sender, arrival, offset); !status.ok()) {
    sender.arrivals.pop_back();
    give_back(from_proc, chunk, piece.memory);
    account(receive, piece.bytes, status);
    return true;
  }
  ++state().under_way;
  watch();
  return true;
}

void forget(int from_proc, std::uint64_t memory) {
  const auto found = state().senders.find(from_proc);
  if (found == state().senders.end()) return;
  std::erase_if(found->second.chunks, [&](const auto& each) { return each.id == memory; });
}

bool advance_receives() {
  bool moved = false;
  for (auto& [proc, sender] : state().senders) {
    if (state().under_way == 0) break;
    std::deque<Arrival>& arrivals = sender.arrivals;
    while (!arrivals.empty()) {
      Arrival& arrival = arrivals.front();
      bool done = false;
      const Status status = arrival.copy.poll(&done);
      if (!done) break;
      moved = true;
      --state().under_way;
      Request& receive = *arrival.receive;
      const wire::Piece piece = arrival.piece;
      give_back(proc, arrival.chunk, piece.memory);
      arrivals.pop_front();
      account(receive, piece.bytes, status);
    }
  }
  return moved;
}

bool holds_receive(const Request& receive) noexcept {
  return std::any_of(state().senders.begin(), state().senders.end(), [&](const auto& each) {
    const auto& arrivals = each.second.arrivals;
    return std::any_of(arrivals.begin(), arrivals.end(), [&](const Arrival& one) { return one.receive == &receive; });
  });
}

bool receiving() noexcept { return state().under_way != 0; }

void release_mappings() { state().senders.clear(); }

}  // namespace hr::p2p::staged
