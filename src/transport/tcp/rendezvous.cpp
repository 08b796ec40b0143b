// Rendezvous: long messages, whose data the sender writes into the connection once the receiver asks for it.
#include <algorithm>
#include <cstring>

#include "transport/tcp/endpoint.hpp"

namespace hr::transport::tcp {

// The number of pending rendezvous is not limited, as the other side may receive the last one first.
Status Tcp::send_rts(int proc, const Header& header, const void* payload, std::size_t payload_bytes,
                     const transport::Source& data, Operation* done) {
  Peer& to = peer(proc);
  if (payload_bytes > network::kMostRtsPayload || data.device) return Errc::kUnsupportedOperation;
  if (!has_room(to)) return no_room(to);
  const std::uint64_t number = next_source_++;
  const Tail tail{number, data.bytes};
  std::byte message[network::kMostRtsPayload + sizeof tail];
  if (payload_bytes != 0) std::memcpy(message, payload, payload_bytes);
  std::memcpy(message + payload_bytes, &tail, sizeof tail);
  const std::size_t bytes = payload_bytes + sizeof tail;
  if (!post(to, head_of(Frame::kReadyToSend, header, bytes), message, bytes)) return Status::again();
  done->complete = false;
  sources_.emplace(number, Source{&to, done, data.address, data.bytes, number});
  return kOk;
}

// The peer has asked for the data.
void Tcp::start_source(Peer& peer, std::uint64_t number, std::uint64_t bytes) {
  const auto found = sources_.find(number);
  if (found == sources_.end() || found->second.peer != &peer || found->second.wanted != 0 ||
      bytes > found->second.bytes || bytes == 0) {
    return drop(peer.proc, "it fetches the data of no pending rendezvous");
  }
  found->second.wanted = bytes;
  peer.streams.push_back(&found->second);
  flush(peer);
}

void Tcp::end_source(std::uint64_t number, Status status) {
  const auto found = sources_.find(number);
  Operation* const done = found->second.done;
  sources_.erase(found);
  done->end(status);
}

Status Tcp::receive_rendezvous(int proc, RendezvousData data, Sink* into, Operation* done) {
  const auto found = kept_.find(data.token);
  if (found == kept_.end() || found->second.proc != proc) return fail(Errc::kOther, "tcp: data of no rendezvous");
  const Tail tail = found->second.tail;
  kept_.erase(found);
  if (tail.bytes < into->bytes) {
    return fail(Errc::kOther, "tcp: rank %d offers %zu bytes of data, and its message has %zu", proc,
                static_cast<std::size_t>(tail.bytes), into->bytes);
  }
  HR_TRY(connect(proc));
  Peer& from = peer(proc);
  if (from.failure != 0) {
    done->end(Errc::kOther);  // as if the path had failed later; its failure is reported separately
    return kOk;
  }
  if (into->bytes == 0) {
    post_word(from, Frame::kDecline, tail.number, 0);
    done->end(kOk);
    return kOk;
  }
  if (!from.fetches.emplace(tail.number, Fetch{into, done}).second)
    return fail(Errc::kOther, "tcp: rank %d offers data with a number that it has used before", proc);
  post_word(from, Frame::kFetch, tail.number, into->bytes);
  return kOk;
}

void Tcp::decline_rendezvous(int proc, RendezvousData data) noexcept {
  const auto found = kept_.find(data.token);
  if (found == kept_.end()) return;
  const std::uint64_t number = found->second.tail.number;
  kept_.erase(found);
  if (!connect(proc).ok()) {
    static_cast<void>(take_detail());
    return;
  }
  if (peer(proc).failure == 0) post_word(peer(proc), Frame::kDecline, number, 0);
}

}  // namespace hr::transport::tcp
