// Rendezvous: long messages, which the receiver reads from the sender; and other processes' memory.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/dropped.hpp"
#include "transport/ofi/endpoint.hpp"
#include "transport/ofi/piece.hpp"

namespace hr::transport::ofi {
namespace {

// Number and size of the pieces of a message that are read at once: in place, or into memory from which they are
// unpacked.
constexpr std::size_t kPiecesInPlace = 2;
constexpr std::size_t kPieceInPlace = std::size_t{8} << 20;
constexpr std::size_t kPiecesUnpacked = 2;
constexpr std::size_t kPieceUnpacked = std::size_t{256} << 10;

}  // namespace

// Does not limit the number of pending rendezvous, as the other side may receive the last one first.
Status Ofi::send_rts(int proc, const Header& header, const void* payload, std::size_t payload_bytes,
                     const transport::Source& data, Operation* done) {
  Peer& to = peer(proc);
  if (payload_bytes > network::kMostRtsPayload || data.device) return Errc::kUnsupportedOperation;
  if (to.failure != 0) return no_room(to);
  Buffer* const message = buffer(payload_bytes + sizeof(Tail));
  if (message == nullptr) return Status::again();
  Source source{&to, done, {}};
  if (const Status added =
          fabric_.add(const_cast<std::byte*>(data.address), data.bytes, FI_REMOTE_READ, &source.registration);
      !added.ok()) {
    // The memory cannot be registered; the caller then sends the data in messages.
    static_cast<void>(take_detail());
    buffers_.give_back(message);
    return Errc::kUnsupportedOperation;
  }
  const std::uint64_t number = next_source_++;
  const Tail tail{number, source.registration.key, source.registration.base, data.bytes};
  if (payload_bytes != 0) std::memcpy(message->payload(), payload, payload_bytes);
  std::memcpy(message->payload() + payload_bytes, &tail, sizeof tail);
  message->wire.head = {to.sent++, to.own_name, to.secret, header};
  sources_.emplace(number, source);
  done->complete = false;
  post(to, message, Front::kReadyToSend);
  return kOk;
}

void Ofi::end_source(int from, std::uint64_t number) {
  const auto found = sources_.find(number);
  if (found == sources_.end() || found->second.peer->proc != from) {
    drop_message(from, "it ends a rendezvous that is not pending");
    return;
  }
  Source ended = found->second;
  sources_.erase(found);
  Fabric::remove(&ended.registration);
  ended.done->end(kOk);
}

Status Ofi::receive_rendezvous(int proc, RendezvousData data, Sink* into, Operation* done) {
  const auto found = kept_.find(data.token);
  if (!inbox_.release(data.token) || found == kept_.end() || found->second.proc != proc)
    return fail(Errc::kOther, "ofi: data of no rendezvous");
  const Tail tail = found->second.tail;
  kept_.erase(found);
  if (tail.bytes < into->bytes) {
    return fail(Errc::kOther, "ofi: rank %d offers %zu bytes of data, and its message has %zu", proc,
                static_cast<std::size_t>(tail.bytes), into->bytes);
  }
  HR_TRY(connect(proc));
  if (peer(proc).failure != 0) {
    done->end(Errc::kOther);  // the failure of the path is reported separately
    return kOk;
  }
  auto* const fetch = new Fetch{peer(proc), tail, into, done};
  fetches_.push_back(fetch);
  go_on(fetch);
  return kOk;
}

void Ofi::decline_rendezvous(int proc, RendezvousData data) noexcept {
  const auto found = kept_.find(data.token);
  if (!inbox_.release(data.token) || found == kept_.end()) return;
  const std::uint64_t source = found->second.tail.source;
  kept_.erase(found);
  if (usable(proc).ok()) {
    post_word(peer(proc), Front::kEnd, 0, source);
  } else {
    static_cast<void>(take_detail());
  }
}

// Starts as many pieces as may be in flight.
void Ofi::go_on(Fetch* fetch) {
  const bool unpacks = fetch->into->unpack != nullptr;
  const std::size_t most = unpacks ? kPiecesUnpacked : kPiecesInPlace;
  while (fetch->error == 0 && fetch->next < fetch->into->bytes && fetch->pending < most) {
    auto piece = std::make_unique<Piece>();
    piece->whole = fetch;
    piece->offset = fetch->next;
    piece->bytes = std::min(fetch->into->bytes - fetch->next, unpacks ? kPieceUnpacked : kPieceInPlace);
    if (unpacks) piece->bounce = std::make_unique_for_overwrite<std::byte[]>(piece->bytes);
    piece->local = unpacks ? piece->bounce.get() : fetch->into->address + fetch->next;
    piece->remote = fetch->tail.address + fetch->next;
    piece->key = fetch->tail.key;
    piece->done = piece_done;
    if (!piece->prepare(fabric_, fetch->peer).ok()) {
      static_cast<void>(take_detail());
      fail_path(fetch->peer, FI_ENOMEM);
      return;
    }
    if (unpacks) buffered_.take(piece->bytes);
    fetch->next += piece->bytes;
    ++fetch->pending;
    requests_.begin(*piece.release());  // piece_done() deletes it
  }
}

void Ofi::piece_done(Request& request, int error) {
  const std::unique_ptr<Piece> piece(static_cast<Piece*>(&request));
  auto* const fetch = static_cast<Fetch*>(piece->whole);
  Ofi& self = fetch->peer.owner;
  if (piece->bounce != nullptr) self.buffered_.give_back(piece->bytes);
  --fetch->pending;
  if (error != 0) {
    fetch->error = error;
    self.fail_path(fetch->peer, error);  // ends the operation
  }
  if (fetch->error == 0) {
    if (fetch->into->unpack != nullptr) {
      fetch->into->unpack(*fetch->into, piece->offset, piece->local, piece->bytes);
    }
    self.go_on(fetch);
  }
  if (fetch->pending != 0 || (fetch->error != 0 && fetch->done != nullptr && !self.closing_)) return;
  std::erase(self.fetches_, fetch);
  const std::unique_ptr<Fetch> ended(fetch);
  if (ended->error == 0) self.post_word(ended->peer, Front::kEnd, 0, ended->tail.source);
  if (ended->done != nullptr) ended->done->end(ended->error == 0 ? kOk : Status(Errc::kOther));
}

Status Ofi::move(int proc, const RemoteKey* key, std::span<const RemotePart> parts, bool write, Operation* done) {
  if (key == nullptr) return Errc::kUnsupportedOperation;
  HR_TRY(usable(proc));
  return memory_.move(proc, peer(proc), *key, parts, write, done);
}

}  // namespace hr::transport::ofi
