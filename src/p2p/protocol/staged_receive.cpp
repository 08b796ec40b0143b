// The receiver's half: copies pieces out of chunks, which are then returned.
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "base/log.hpp"
#include "mem/device/pinned.hpp"
#include "mem/device/two_rows.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/protocol/piece_receives.hpp"
#include "p2p/protocol/staged.hpp"

namespace hr::p2p::staged {
namespace {

using layout::device::ChunkCopy;

// A piece that is being copied out of its chunk.
struct Arrival : PieceOnItsWay {
  std::uint64_t memory = 0;  // of the chunk (wire::Piece)
};

// Staging memory of one sender.
struct Sender {
  mem::device::PinnedRange pinned;
  bool pin_refused = false;
  std::vector<mem::device::Export> chunks;  // device memory
};

struct State final : FileState {
  std::map<int, Sender> senders;  // indexed by process
  PieceReceives<Arrival> arrivals;
  bool noted = false;  // a failure to pin shared memory has been logged
};
State& state() { return own<State>(); }

Sender& sender_of(int proc) { return state().senders[proc]; }

std::span<std::byte> shared_memory(int from_proc) { return peer_of(from_proc).transport->staging(from_proc); }

// Pins the sender's shared memory for the device of this view; false if that is not possible, which is logged once.
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

Status start(Sender& sender, Arrival& arrival, const wire::Piece& piece, bool rows) {
  const layout::View& target = arrival.receive->view_;
  if (piece.memory == 0) {
    return arrival.copy.unpack(target, arrival.offset, piece.bytes, sender.pinned.address() + piece.at,
                               rows ? ChunkCopy::In::kPinnedRows : ChunkCopy::In::kPinned, arrival.from);
  }
  const mem::device::Export* const memory = chunks_of(sender, piece.memory);
  if (memory == nullptr) return fail(Errc::kOther, "staging memory of rank %d does not exist any more", arrival.from);
  return arrival.copy.unpack(target, arrival.offset, piece.bytes, *memory, piece.at, arrival.from);
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

void give_back(int proc, std::uint32_t chunk, std::uint64_t memory) { send_control(proc, wire::chunk(chunk, memory)); }

}  // namespace

bool accept_chunks(const layout::View& data, int from_proc, const mem::device::Export& chunks) {
  Sender& sender = sender_of(from_proc);
  if (!layout::device::map_peer_memory(data, from_proc, chunks).ok()) {
    static_cast<void>(take_detail());  // a refusal to map has been logged already
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
  if (!state().arrivals.expects(receive, offset, piece.bytes)) return false;
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
  Arrival& arrival = state().arrivals.add(receive, from_proc, offset, piece.bytes);
  arrival.chunk = chunk;
  arrival.memory = piece.memory;
  arrival.copying = true;
  arrival.copied = start(sender, arrival, piece, rows);
  if (!arrival.copied.ok()) {
    const Status failed = arrival.copied;
    state().arrivals.remove_if(from_proc, [&](const Arrival& each) { return &each == &arrival; });
    give_back(from_proc, chunk, piece.memory);
    account(receive, piece.bytes, failed);
    return true;
  }
  watch();
  return true;
}

void leave_memory_of(int from_proc) {
  while (state().arrivals.any(from_proc)) advance_receives();
  state().senders.erase(from_proc);
}

void forget(int from_proc, std::uint64_t memory) {
  const auto found = state().senders.find(from_proc);
  if (found == state().senders.end()) return;
  std::erase_if(found->second.chunks, [&](const auto& each) { return each.id == memory; });
}

bool advance_receives() {
  return state().arrivals.advance([](Arrival&, bool*) { return false; },
                                  [](Arrival& arrival) {
                                    give_back(arrival.from, arrival.chunk, arrival.memory);
                                    account(*arrival.receive, arrival.bytes, arrival.copied);
                                  });
}

bool receiving() noexcept { return state().arrivals.any(); }

bool holds_receive(const Request& receive) noexcept { return state().arrivals.holds(receive); }

void release_mappings() {
  state().arrivals = {};
  state().senders.clear();
}

}  // namespace hr::p2p::staged
