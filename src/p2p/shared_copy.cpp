#include "p2p/shared_copy.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "p2p/claims.hpp"
#include "p2p/engine.hpp"

namespace hr::p2p::shared_copy {
namespace {

using List = IntrusiveList<Request, &Request::link_>;

bool refusal_noted = false;
std::uint32_t last_generation = 0;
std::uint64_t words_in_use = 0;  // by index, of this process's words
constexpr std::size_t kWords = 64;

// A word of this process that no copy uses; kWords when there is none.
std::size_t free_word(std::span<transport::SharedWord> words) {
  const auto first = static_cast<std::size_t>(std::countr_one(words_in_use));
  return first < words.size() ? first : kWords;
}

Peer& peer_of(const Request& request) { return engine()->peers[static_cast<std::size_t>(request.proc_)]; }

// One side of some copies that are made together: with one peer, and not so much that those who wait for the first of
// them wait long.
struct Together {
  static constexpr std::size_t kMost = 8;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  struct Copy {
    Request* request;
    Claims claims;
  };
  std::vector<Copy> copies;

  // Takes the first of a list out of it, at least one.
  void take(List& list, int owner_of_words) {
    copies.clear();
    const int proc = list.front()->proc_;
    const auto words = peer_of(*list.front()).transport->shared_words(owner_of_words);
    std::size_t bytes = 0;
    for (Request* next = list.front(); next != nullptr && next->proc_ == proc; next = list.front()) {
      bytes += next->total_;
      if (copies.size() == kMost || (!copies.empty() && bytes > kMostBytes)) break;
      List::remove(*next);
      copies.push_back({next, Claims(words[next->word_].value, next->generation_, next->total_)});
    }
  }

  // Claims the next parts, of all of them; none: nothing is left.
  std::span<const transport::RemotePart> claim(Claims::Part (Claims::*next)() noexcept) {
    std::size_t count = 0;
    for (Copy& copy : copies) {
      const Claims::Part part = (copy.claims.*next)();
      if (part.bytes == 0) continue;
      parts_[count++] = {copy.request->peer_address_ + part.begin, copy.request->view_.data() + part.begin, part.bytes};
    }
    return {parts_.data(), count};
  }

 private:
  std::array<transport::RemotePart, kMost> parts_;
};

Together together;  // its memory is kept

// The sender's data is no longer needed: so it learns once this process reads no more.
void release_sender(const Request& receive) {
  send_answer(receive.proc_, wire::answer(wire::Kind::kDone, receive.peer_cookie_));
}

Status read_all(Request& receive, std::size_t begin) {
  const transport::RemotePart part{receive.peer_address_ + begin, receive.view_.data() + begin, receive.total_ - begin};
  HR_TRY(peer_of(receive).transport->read_remote(receive.proc_, {&part, 1}));
  release_sender(receive);
  return kOk;
}

void open(Peer& peer, Request& receive, std::size_t word) {
  words_in_use |= std::uint64_t{1} << word;
  receive.word_ = static_cast<std::uint8_t>(word);
  receive.generation_ = ++last_generation;
  Claims(peer.transport->shared_words(engine()->rank)[word].value, receive.generation_, receive.total_).open();
  const wire::Share share{reinterpret_cast<std::uint64_t>(&receive),
                          reinterpret_cast<std::uint64_t>(receive.view_.data()), receive.total_,
                          static_cast<std::uint32_t>(word), receive.generation_};
  send_answer(peer.proc, wire::answer(wire::Kind::kShare, receive.peer_cookie_), &share, sizeof share);
  engine()->to_read.push_back(receive);
}

// All is claimed: who comes for the word now finds nothing left, or another generation.
void give_back_word(const Request& receive) { words_in_use &= ~(std::uint64_t{1} << receive.word_); }

void stream_instead(Request& receive) {
  static_cast<void>(take_detail());
  receive.offset_ = 0;
  Announcement announced;
  announced.from_proc = receive.proc_;
  announced.sender_cookie = receive.peer_cookie_;
  static_cast<void>(kStream.begin(announced, receive));  // which sends a message, no more
}

// So many bytes are dealt with, by whoever claimed them.
void account_for(Request& receive, std::size_t bytes) {
  receive.offset_ += bytes;
  if (receive.offset_ < receive.total_) return;
  if (std::exchange(receive.unreadable_, false)) return stream_instead(receive);
  finish_rendezvous(receive, kOk);
}

void read_fronts() {
  together.take(engine()->to_read, engine()->rank);
  Peer& peer = peer_of(*together.copies.front().request);
  // After a failure the rest is claimed all the same, so that the sender stops.
  bool failed = false;
  for (auto parts = together.claim(&Claims::from_front); !parts.empty(); parts = together.claim(&Claims::from_front)) {
    if (failed || peer.transport->read_remote(peer.proc, parts).ok()) continue;
    failed = true;
    static_cast<void>(take_detail());
  }
  peer.readable = !failed;
  for (const Together::Copy& copy : together.copies) {
    const std::size_t bytes = copy.claims.front_bytes();
    give_back_word(*copy.request);
    copy.request->unreadable_ = failed && bytes != 0;  // the stream begins when the sender has stopped writing
    if (bytes == 0) continue;
    if (!failed) release_sender(*copy.request);
    account_for(*copy.request, bytes);
  }
}

void write_backs() {
  const int receiver = engine()->to_write.front()->proc_;
  together.take(engine()->to_write, receiver);
  Peer& peer = peer_of(*together.copies.front().request);
  for (auto parts = together.claim(&Claims::from_back); !parts.empty(); parts = together.claim(&Claims::from_back)) {
    if (peer.transport->write_remote(peer.proc, parts).ok()) continue;
    log::note_once(refusal_noted, "long messages are copied by their receivers alone: %s", take_detail().c_str());
    peer.writable = false;
    break;
  }
  for (const Together::Copy& copy : together.copies) {
    Request& send = *copy.request;
    const std::size_t bytes = copy.claims.back_bytes();
    if (bytes == 0) continue;
    const bool all = bytes == send.total_;
    send_answer(receiver, wire::shared(send.peer_cookie_, bytes, !peer.writable));
    send.read_again_ = !peer.writable && !all;  // of what was all ours there is no first kDone
    if (peer.writable && all) complete(send, Completion{});
  }
}

}  // namespace

Status begin(const Announcement& announced, Request& receive) {
  receive.peer_address_ = announced.remote_address;
  receive.peer_cookie_ = announced.sender_cookie;
  Peer& peer = peer_of(receive);
  // Where processes share cores, the sender that would help needs the core that reads.
  if (peer.readable && !receive.view_.where.pinned && !more_processes_than_cores()) {
    const std::size_t word = free_word(peer.transport->shared_words(engine()->rank));
    if (word != kWords) {
      open(peer, receive, word);
      return kOk;
    }
  }
  HR_TRY(read_all(receive, 0));
  peer.readable = true;
  finish_rendezvous(receive, kOk);
  return kOk;
}

void advance() {
  if (!engine()->to_read.empty()) read_fronts();
  if (!engine()->to_write.empty()) write_backs();
}

void help(int from, Request& send, const std::byte* payload) {
  if (!engine()->peers[static_cast<std::size_t>(from)].writable) return;
  wire::Share share;
  std::memcpy(&share, payload, sizeof share);
  send.peer_cookie_ = share.receiver_cookie;
  send.peer_address_ = share.address;
  send.total_ = share.bytes;
  send.word_ = static_cast<std::uint8_t>(share.word);
  send.generation_ = share.generation;
  engine()->to_write.push_back(send);
}

void helped(int from, Request& receive, std::size_t bytes, bool failed) {
  Peer& peer = engine()->peers[static_cast<std::size_t>(from)];
  const bool waits = receive.link_.linked();
  if (waits && bytes == receive.total_) {
    List::remove(receive);
    give_back_word(receive);
  } else if (failed) {
    while (receive.link_.linked()) read_fronts();
  }
  if (failed && !receive.unreadable_ && !read_all(receive, receive.total_ - bytes).ok()) {
    peer.readable = false;
    receive.unreadable_ = true;
  }
  account_for(receive, bytes);
}

void withdraw(Request& send) {
  if (send.link_.linked()) List::remove(send);
}

void released(Request& send) {
  if (std::exchange(send.read_again_, false)) return;
  withdraw(send);
  complete(send, Completion{});
}

}  // namespace hr::p2p::shared_copy
