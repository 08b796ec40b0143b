#include "p2p/shared_copy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "p2p/claims.hpp"
#include "p2p/engine.hpp"
#include "p2p/progress_thread.hpp"

namespace hr::p2p::shared_copy {
namespace {

using List = IntrusiveList<Request, &Request::link_>;

class Batch;

struct State final : FileState {
  bool refusal_noted = false;
  std::uint32_t last_generation = 0;
  std::uint64_t words_in_use = 0;    // by index, of this process's words
  std::vector<const Batch*> rounds;  // under way
};
State& state() { return own<State>(); }

constexpr std::size_t kWords = 64;
constexpr std::size_t kTrialBytes = 64;

// A word of this process that no copy uses; kWords when there is none.
std::size_t free_word(std::span<transport::SharedWord> words) {
  const auto first = static_cast<std::size_t>(std::countr_one(state().words_in_use));
  return first < words.size() ? first : kWords;
}

using p2p::peer_of;
Peer& peer_of(const Request& request) { return peer_of(request.proc_); }

// Less is copied with the lock: who waits for it waits no longer than for a round.
constexpr std::size_t kWorthLettingIn = std::size_t{32} << 10;

// One side of some copies that are made together: with one peer, and not so much that those who wait for the first of
// them wait long. Owner: the round that makes them. Threads: move() needs no lock.
class Batch {
 public:
  using Next = Claims::Part (Claims::*)() noexcept;  // from the front or from the back
  struct Copy {
    Request* request;
    std::byte* local;
    std::uint64_t remote;
    Claims claims;
  };

  // Takes the first of a list, at least one, out of it, and claims a part of each.
  Batch(List& list, int owner_of_words, Next next) : next_(next), peer_(peer_of(*list.front())) {
    const auto words = peer_.transport->shared_words(owner_of_words);
    std::size_t bytes = 0;
    for (Request* each = list.front(); each != nullptr && each->proc_ == peer_.proc; each = list.front()) {
      bytes += each->total_;
      if (count_ == kMost || (count_ != 0 && bytes > kMostBytes)) break;
      List::remove(*each);
      copies_[count_++] = {each, each->view_.data(), each->peer_address_,
                           Claims(words[each->word_].value, each->generation_, each->total_)};
    }
    claim();
    state().rounds.push_back(this);
  }
  ~Batch() { std::erase(state().rounds, this); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // Those of which the other side has claimed everything. They end without this one, as soon as others get in.
  template <class Forget>
  void remove_unclaimed(Forget&& forget) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (copies_[i].claims.claimed()) {
        copies_[kept++] = copies_[i];
      } else {
        forget(*copies_[i].request);
      }
    }
    count_ = kept;
  }

  // Copies what is claimed, and goes on to claim and copy until nothing of them is left, with others let in meanwhile
  // where they may be. A failure is the first one; what is left is then claimed all the same if `claims_all`.
  template <class CopyParts>
  Status move(bool lets_others_in, bool claims_all, CopyParts&& copy_parts) {
    std::size_t bytes = 0;
    for (const transport::RemotePart& part : parts()) bytes += part.bytes;
    const int depth = lets_others_in && bytes >= kWorthLettingIn ? LibraryLock::suspend() : 0;
    Status status = kOk;
    for (; parts_count_ != 0 && (status.ok() || claims_all); claim()) {
      if (status.ok()) status = copy_parts(*peer_.transport, peer_.proc, parts());
      progress_thread::count_round();
    }
    LibraryLock::resume(depth);
    if (depth != 0) wake_waiting();
    return status;
  }

  [[nodiscard]] std::span<const Copy> copies() const noexcept { return {copies_.data(), count_}; }
  [[nodiscard]] Peer& peer() const noexcept { return peer_; }

 private:
  static constexpr std::size_t kMost = 8;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  [[nodiscard]] std::span<const transport::RemotePart> parts() const noexcept { return {parts_.data(), parts_count_}; }
  void claim() noexcept {
    parts_count_ = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      Copy& copy = copies_[i];
      const Claims::Part part = (copy.claims.*next_)();
      if (part.bytes != 0) parts_[parts_count_++] = {copy.remote + part.begin, copy.local + part.begin, part.bytes};
    }
  }

  Next next_;
  Peer& peer_;
  std::array<Copy, kMost> copies_;
  std::size_t count_ = 0;
  std::array<transport::RemotePart, kMost> parts_;
  std::size_t parts_count_ = 0;
};

// The sender's data is no longer needed: so it learns once this process reads no more.
void release_sender(const Request& receive) {
  send_control(receive.proc_, wire::answer(wire::Kind::kDone, receive.peer_cookie_));
}

Status read(Request& receive, std::size_t begin, std::size_t bytes) {
  const transport::RemotePart part{receive.peer_address_ + begin, receive.view_.data() + begin, bytes};
  return peer_of(receive).transport->get(receive.proc_, nullptr, {&part, 1}, nullptr);
}

Status read_all(Request& receive, std::size_t begin) {
  HR_TRY(read(receive, begin, receive.total_ - begin));
  release_sender(receive);
  return kOk;
}

void open(Peer& peer, Request& receive, std::size_t word) {
  state().words_in_use |= std::uint64_t{1} << word;
  receive.word_ = static_cast<std::uint8_t>(word);
  receive.generation_ = ++state().last_generation;
  Claims(peer.transport->shared_words(engine()->rank)[word].value, receive.generation_, receive.total_).open();
  const wire::Share share{reinterpret_cast<std::uint64_t>(&receive),
                          reinterpret_cast<std::uint64_t>(receive.view_.data()), receive.total_,
                          static_cast<std::uint32_t>(word), receive.generation_};
  send_control(peer.proc, wire::answer(wire::Kind::kShare, receive.peer_cookie_), &share, sizeof share);
  engine()->to_read.push_back(receive);
  progress_thread::wake();
}

// All is claimed: who comes for the word now finds nothing left, or another generation.
void give_back_word(const Request& receive) { state().words_in_use &= ~(std::uint64_t{1} << receive.word_); }

void stream_instead(Request& receive) {
  static_cast<void>(take_detail());
  receive.offset_ = 0;
  Announcement announced;
  announced.from_proc = receive.proc_;
  announced.sender_cookie = receive.peer_cookie_;
  static_cast<void>(begin_stream(announced, receive));  // which sends a message, no more
}

// So many bytes are dealt with, by whoever claimed them.
void account_for(Request& receive, std::size_t bytes) {
  receive.offset_ += bytes;
  if (receive.offset_ < receive.total_) return;
  if (std::exchange(receive.unreadable_, false)) return stream_instead(receive);
  finish_rendezvous(receive, kOk);
}

void read_fronts(bool lets_others_in) {
  Batch batch(engine()->to_read, engine()->rank, &Claims::from_front);
  batch.remove_unclaimed(give_back_word);
  // After a failure the rest is claimed all the same, so that the sender stops.
  const bool failed =
      !batch
           .move(lets_others_in, true,
                 [](auto& transport, int proc, auto parts) { return transport.get(proc, nullptr, parts, nullptr); })
           .ok();
  if (failed) {
    static_cast<void>(take_detail());
    batch.peer().readable = false;
  }
  for (const Batch::Copy& copy : batch.copies()) {
    give_back_word(*copy.request);
    if (failed) copy.request->unreadable_ = true;  // the stream begins when the sender has stopped writing
    if (!failed) release_sender(*copy.request);
    account_for(*copy.request, copy.claims.front_bytes());
  }
}

void write_backs() {
  using Writing = Request::Writing;
  Batch batch(engine()->to_write, engine()->to_write.front()->proc_, &Claims::from_back);
  batch.remove_unclaimed([](Request&) {});
  for (const Batch::Copy& copy : batch.copies()) copy.request->writing_ = Writing::kUnderWay;
  Peer& receiver = batch.peer();
  const bool failed =
      !batch
           .move(true, false,
                 [](auto& transport, int proc, auto parts) { return transport.put(proc, nullptr, parts, nullptr); })
           .ok();
  if (failed) {
    log::note_once(state().refusal_noted, "long messages are copied by their receivers alone: %s",
                   take_detail().c_str());
    receiver.writable = false;
  }
  for (const Batch::Copy& copy : batch.copies()) {
    Request& send = *copy.request;
    const bool released = std::exchange(send.writing_, Writing::kNot) == Writing::kReleased;
    const std::size_t bytes = copy.claims.back_bytes();
    const bool all = bytes == send.total_;
    send_control(receiver.proc, wire::shared(send.peer_cookie_, bytes, failed));
    send.read_again_ = failed && !all && !released;  // of what was all ours there is no first kDone
    if (!failed && (all || released)) complete(send, Completion{});
  }
}

}  // namespace

Status begin(const Announcement& announced, Request& receive) {
  receive.peer_address_ = announced.remote_address;
  receive.peer_cookie_ = announced.sender_cookie;
  Peer& peer = peer_of(receive);
  // Where processes share cores, the sender that would help needs the core that reads.
  if (!receive.view_.where.pinned && !node_oversubscribed()) {
    // Whether we may read, before anybody is told: of a message that has just met its receive, maybe in the program's
    // time, no more than that is copied at once.
    if (!peer.readable) HR_TRY(read(receive, 0, std::min(kTrialBytes, receive.total_)));
    peer.readable = true;
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
  if (!engine()->to_read.empty()) read_fronts(true);
  if (!engine()->to_write.empty()) write_backs();
}

void help(int from, Request& send, const std::byte* payload) {
  if (!peer_of(from).writable) return;
  wire::Share share;
  std::memcpy(&share, payload, sizeof share);
  send.peer_cookie_ = share.receiver_cookie;
  send.peer_address_ = share.address;
  send.total_ = share.bytes;
  send.word_ = static_cast<std::uint8_t>(share.word);
  send.generation_ = share.generation;
  engine()->to_write.push_back(send);
  progress_thread::wake();
}

void helped(int from, Request& receive, std::size_t bytes, bool failed) {
  Peer& peer = peer_of(from);
  const bool waits = receive.link_.linked();
  if (waits && bytes == receive.total_) {
    List::remove(receive);
    give_back_word(receive);
  } else if (failed) {
    while (receive.link_.linked()) read_fronts(false);
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

void lose(int proc) {
  for (List* list : {&engine()->to_read, &engine()->to_write}) {
    for (Request* each = list->front(); each != nullptr;) {
      Request* const next = list->next(*each);
      if (each->proc_ == proc) {
        List::remove(*each);
        if (each->is_receive_) give_back_word(*each);
      }
      each = next;
    }
  }
}

bool holds(const Request& request) noexcept {
  const auto& rounds = state().rounds;
  return std::any_of(rounds.begin(), rounds.end(), [&](const Batch* round) {
    const auto copies = round->copies();
    return std::any_of(copies.begin(), copies.end(), [&](const Batch::Copy& each) { return each.request == &request; });
  });
}

bool released(Request& send) {
  if (send.writing_ != Request::Writing::kNot) {
    send.writing_ = Request::Writing::kReleased;
    return true;
  }
  if (std::exchange(send.read_again_, false)) return true;
  withdraw(send);
  return false;
}

}  // namespace hr::p2p::shared_copy
