#include "p2p/shared_copy.hpp"

#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "p2p/claims.hpp"
#include "p2p/engine.hpp"
#include "p2p/single_copy.hpp"

namespace hr::p2p::shared_copy {
namespace {

bool refusal_noted = false;
std::uint32_t last_generation = 0;
std::uint64_t words_in_use = 0;  // by index, of this process's words
constexpr std::size_t kWords = 64;

// A word of this process that no copy uses; kWords when there is none.
std::size_t free_word(std::span<transport::SharedWord> words) {
  const std::size_t usable = words.size() < kWords ? words.size() : kWords;
  for (std::size_t i = 0; i < usable; ++i) {
    if ((words_in_use >> i & 1) == 0) return i;
  }
  return kWords;
}

Status read(Peer& peer, const Request& receive, std::size_t begin, std::size_t bytes) {
  return peer.transport->read_remote(peer.proc, receive.peer_address_ + begin, receive.view_.data() + begin, bytes);
}

// The sender's data is no longer needed: so it learns once this process reads no more.
void release_sender(const Peer& peer, const Request& receive) {
  send_answer(peer.proc, wire::answer(wire::Kind::kDone, receive.peer_cookie_));
}

Status read_alone(Peer& peer, Request& receive) {
  const double start = now_seconds();
  HR_TRY(read(peer, receive, 0, receive.total_));
  single_copy::read_took(receive, now_seconds() - start);
  peer.readable = true;
  release_sender(peer, receive);
  finish_rendezvous(receive, kOk);
  return kOk;
}

Status read_shared(Peer& peer, Request& receive, transport::SharedWord& word, std::size_t index) {
  const double start = now_seconds();
  Claims claims(word.value, ++last_generation, receive.total_);
  claims.open();
  const wire::Share share{reinterpret_cast<std::uint64_t>(&receive),
                          reinterpret_cast<std::uint64_t>(receive.view_.data()), receive.total_,
                          static_cast<std::uint32_t>(index), last_generation};
  send_answer(peer.proc, wire::answer(wire::Kind::kShare, receive.peer_cookie_), &share, sizeof share);
  // After a failure the rest is claimed all the same, so that the sender stops.
  Status status = kOk;
  for (Claims::Part part = claims.from_front(); part.bytes != 0; part = claims.from_front()) {
    if (status.ok()) status = read(peer, receive, part.begin, part.bytes);
  }
  const std::size_t front = claims.front_bytes();
  const bool alone = front == receive.total_;
  if (!status.ok() && alone) return status;
  if (status.ok()) {
    single_copy::read_took(receive, now_seconds() - start);
    release_sender(peer, receive);
  } else {
    peer.readable = false;
    receive.unreadable_ = true;  // the stream begins when the sender has stopped writing
    static_cast<void>(take_detail());
  }
  if (alone) {
    finish_rendezvous(receive, kOk);
  } else {
    receive.offset_ = front;
    receive.word_ = static_cast<std::uint8_t>(index);
    words_in_use |= std::uint64_t{1} << index;
  }
  return kOk;
}

}  // namespace

Status begin(const Announcement& announced, Request& receive) {
  Peer& peer = engine()->peers[static_cast<std::size_t>(announced.from_proc)];
  receive.peer_address_ = announced.remote_address;
  receive.peer_cookie_ = announced.sender_cookie;
  // Where processes share cores, the sender that would help needs the core that reads.
  if (receive.total_ >= kLeast && peer.readable && !receive.view_.where.pinned && !more_processes_than_cores()) {
    const std::span<transport::SharedWord> words = peer.transport->shared_words(engine()->rank);
    const std::size_t index = free_word(words);
    if (index != kWords) return read_shared(peer, receive, words[index], index);
  }
  return read_alone(peer, receive);
}

void help(int from, Request& send, const std::byte* payload) {
  wire::Share share;
  std::memcpy(&share, payload, sizeof share);
  Peer& peer = engine()->peers[static_cast<std::size_t>(from)];
  if (!peer.writable) return;
  Claims claims(peer.transport->shared_words(from)[share.word].value, share.generation, share.bytes);
  bool any = false;
  for (Claims::Part part = claims.from_back(); part.bytes != 0; part = claims.from_back()) {
    any = true;
    const Status status =
        peer.transport->write_remote(from, share.address + part.begin, send.view_.data() + part.begin, part.bytes);
    if (status.ok()) continue;
    log::note_once(refusal_noted, "long messages are copied by their receivers alone: %s", take_detail().c_str());
    peer.writable = false;
    send.read_again_ = true;
    break;
  }
  if (any) send_answer(from, wire::shared(share.receiver_cookie, send.read_again_));
}

void helped(int from, Request& receive, bool failed) {
  Peer& peer = engine()->peers[static_cast<std::size_t>(from)];
  words_in_use &= ~(std::uint64_t{1} << receive.word_);
  const bool unreadable = std::exchange(receive.unreadable_, false);
  if (!unreadable && !failed) return finish_rendezvous(receive, kOk);
  if (!unreadable && read(peer, receive, receive.offset_, receive.total_ - receive.offset_).ok()) {
    release_sender(peer, receive);  // which waits for this second one
    return finish_rendezvous(receive, kOk);
  }
  static_cast<void>(take_detail());
  receive.offset_ = 0;
  Announcement announced;
  announced.from_proc = from;
  announced.sender_cookie = receive.peer_cookie_;
  static_cast<void>(kStream.begin(announced, receive));  // which sends a message, no more
}

void released(Request& send) {
  if (std::exchange(send.read_again_, false)) return;
  complete(send, Completion{});
}

}  // namespace hr::p2p::shared_copy
