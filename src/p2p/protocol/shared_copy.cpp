#include "p2p/protocol/shared_copy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "p2p/core/claims.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/progress.hpp"
#include "p2p/progress_thread.hpp"

namespace hr::p2p {
extern const Rendezvous kSingleCopy;
}

namespace hr::p2p::shared_copy {
namespace {

class Batch;

// State of a message that both sides copy; belongs to the receive, and to the send once the receiver has sent its
// buffer's address.
struct Copy final : Transfer {
  explicit Copy(Request& copied) noexcept : Transfer(kSingleCopy), request(copied) {}
  ~Copy() override;

  Request& request;
  Link link;                  // membership in State::to_read or to_write
  std::uint64_t address = 0;  // address of the other side's data
  std::uint32_t generation = 0;
  std::uint8_t word = 0;
  bool unreadable = false;  // receive: reading has failed
  bool read_again = false;  // send: the receiver reads again after its first kDone
  enum class Writing : std::uint8_t { kNot, kUnderWay, kReleased } writing = Writing::kNot;  // send
};
using List = IntrusiveList<Copy, &Copy::link>;

// Returns the request's state; null if it has none, for example if the receiver copies everything.
Copy* copy_of(const Request& request) noexcept {
  Transfer* const transfer = request.transfer_.get();
  return transfer != nullptr && transfer->is_of(kSingleCopy) ? static_cast<Copy*>(transfer) : nullptr;
}

// Access to the memory of a process, as far as known.
struct Known {
  bool readable = false;
  bool writable = true;  // false after a write has failed
};

struct State final : FileState {
  // Copies that have not begun.
  List to_read;
  List to_write;
  std::vector<const Batch*> rounds;  // in progress
  std::vector<Known> known;          // indexed by process
  std::uint32_t last_generation = 0;
  std::uint64_t words_in_use = 0;  // bit mask of this process's words
  bool refusal_noted = false;
};
State& state() { return own<State>(); }

constexpr std::size_t kWords = 64;
constexpr std::size_t kTestReadBytes = 64;

Known& known(int proc) {
  auto& all = state().known;
  const auto index = static_cast<std::size_t>(proc);
  if (index >= all.size()) all.resize(index + 1);
  return all[index];
}

transport::Transport& memory_of(int proc) { return *peer_of(proc).memory; }

// Returns a word of this process that no copy uses; kWords if there is none.
std::size_t free_word(std::span<transport::SharedWord> words) {
  const auto first = static_cast<std::size_t>(std::countr_one(state().words_in_use));
  return first < words.size() ? first : kWords;
}
// Called once everything is claimed: a process that reads the word now finds nothing to claim, or another generation.
void give_back_word(const Copy& receive) { state().words_in_use &= ~(std::uint64_t{1} << receive.word); }

// The copy is still in a list only if the other side has failed.
Copy::~Copy() {
  if (!link.linked()) return;
  link.unlink();
  if (request.is_receive_) give_back_word(*this);
}

bool advance(void*);

// Adds a copy to a list, and adds the hook that advances it.
void watch(List& list, Copy& copy) {
  list.push_back(copy);
  add_hook(&advance, nullptr);
}

// Shorter copies keep the lock: other threads then wait for the lock no longer than for a usual round.
constexpr std::size_t kWorthLettingIn = std::size_t{32} << 10;

// One side of several copies with one peer that are made together. Their total size is limited, so that they do not
// delay the first one much. Owner: the round that makes them. Threads: move() needs no lock.
class Batch {
 public:
  using Next = Claims::Part (Claims::*)() noexcept;  // claims from the front or from the back
  struct Part {
    Copy* copy;
    std::byte* local;
    std::uint64_t remote;
    Claims claims;
  };

  // Removes the first copies from a list, at least one, and claims a part of each.
  Batch(List& list, int owner_of_words, Next next)
      : next_(next), proc_(list.front()->request.proc_), transport_(memory_of(proc_)) {
    const auto words = transport_.shared_words(owner_of_words);
    std::size_t bytes = 0;
    for (Copy* each = list.front(); each != nullptr && each->request.proc_ == proc_; each = list.front()) {
      const Request& request = each->request;
      bytes += request.total_;
      if (count_ == kMost || (count_ != 0 && bytes > kMostBytes)) break;
      List::remove(*each);
      parts_[count_++] = {each, request.view_.data(), each->address,
                          Claims(words[each->word].value, each->generation, request.total_)};
    }
    claim();
    rounds_.push_back(this);
  }
  ~Batch() { std::erase(rounds_, this); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // Removes copies that the other side has claimed completely. Once other threads may enter, such copies can complete
  // without this batch.
  template <class Forget>
  void remove_unclaimed(Forget&& forget) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (parts_[i].claims.claimed()) {
        parts_[kept++] = parts_[i];
      } else {
        forget(*parts_[i].copy);
      }
    }
    count_ = kept;
  }

  // Copies the claimed parts, and continues to claim and copy until nothing is left, letting other threads enter
  // meanwhile if allowed. Returns the first failure; the rest is then still claimed if `claims_all`.
  template <class CopyParts>
  Status move(bool yields_lock, bool claims_all, CopyParts&& copy_parts) {
    std::size_t bytes = 0;
    for (const transport::RemotePart& part : claimed()) bytes += part.bytes;
    const int depth = yields_lock && bytes >= kWorthLettingIn ? LibraryLock::suspend() : 0;
    Status status = kOk;
    for (; claimed_count_ != 0 && (status.ok() || claims_all); claim()) {
      if (status.ok()) status = copy_parts(transport_, proc_, claimed());
      progress_thread::count_round();
    }
    LibraryLock::resume(depth);
    if (depth != 0) wake_waiting();
    return status;
  }

  [[nodiscard]] std::span<const Part> parts() const noexcept { return {parts_.data(), count_}; }
  [[nodiscard]] int proc() const noexcept { return proc_; }

  static constexpr int kMost = 8;

 private:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  [[nodiscard]] std::span<const transport::RemotePart> claimed() const noexcept {
    return {claimed_.data(), claimed_count_};
  }
  void claim() noexcept {
    claimed_count_ = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      Part& part = parts_[i];
      const Claims::Part next = (part.claims.*next_)();
      if (next.bytes != 0) claimed_[claimed_count_++] = {part.remote + next.begin, part.local + next.begin, next.bytes};
    }
  }

  std::vector<const Batch*>& rounds_ = state().rounds;
  Next next_;
  int proc_;
  transport::Transport& transport_;
  std::array<Part, kMost> parts_;
  std::size_t count_ = 0;
  std::array<transport::RemotePart, kMost> claimed_;
  std::size_t claimed_count_ = 0;
};

// Informs the sender that this process has finished reading its data.
void release_sender(const Request& receive) {
  send_control(receive.proc_, wire::answer(wire::Kind::kDone, receive.peer_cookie_));
}

Status read(Request& receive, std::uint64_t address, std::size_t begin, std::size_t bytes) {
  const transport::RemotePart part{address + begin, receive.view_.data() + begin, bytes};
  return memory_of(receive.proc_).get(receive.proc_, nullptr, {&part, 1}, nullptr);
}

Status read_all(Request& receive, std::uint64_t address, std::size_t begin) {
  HR_TRY(read(receive, address, begin, receive.total_ - begin));
  release_sender(receive);
  return kOk;
}

void open(Request& receive, std::uint64_t address, std::size_t word) {
  auto made = std::make_unique<Copy>(receive);
  Copy& copy = *made;
  receive.transfer_ = std::move(made);
  State& all = state();
  all.words_in_use |= std::uint64_t{1} << word;
  copy.address = address;
  copy.word = static_cast<std::uint8_t>(word);
  copy.generation = ++all.last_generation;
  Claims(memory_of(receive.proc_).shared_words(engine()->rank)[word].value, copy.generation, receive.total_).open();
  const wire::Share share{reinterpret_cast<std::uint64_t>(&receive),
                          reinterpret_cast<std::uint64_t>(receive.view_.data()), receive.total_,
                          static_cast<std::uint32_t>(word), copy.generation};
  send_control(receive.proc_, wire::answer(wire::Kind::kShare, receive.peer_cookie_), &share, sizeof share);
  watch(all.to_read, copy);
}

void fall_back(Request& receive) {
  static_cast<void>(take_detail());
  receive.offset_ = 0;
  receive.transfer_.reset();
  ReadyToSend rts;
  rts.from_proc = receive.proc_;
  rts.sender_cookie = receive.peer_cookie_;
  static_cast<void>(begin_fallback(rts, receive));  // only sends a message
}

// Accounts for `bytes` bytes, whichever side claimed them. May destroy the copy.
void account_for(Copy& copy, std::size_t bytes) {
  Request& receive = copy.request;
  receive.offset_ += bytes;
  if (receive.offset_ < receive.total_) return;
  if (copy.unreadable) return fall_back(receive);
  finish_rendezvous(receive, kOk);
}

void read_fronts(bool yields_lock) {
  Batch batch(state().to_read, engine()->rank, &Claims::from_front);
  batch.remove_unclaimed(give_back_word);
  // Claims the rest even after a failure, so that the sender stops.
  const bool failed =
      !batch
           .move(yields_lock, true,
                 [](auto& transport, int proc, auto parts) { return transport.get(proc, nullptr, parts, nullptr); })
           .ok();
  if (failed) {
    static_cast<void>(take_detail());
    known(batch.proc()).readable = false;
  }
  for (const Batch::Part& part : batch.parts()) {
    Copy& copy = *part.copy;
    give_back_word(copy);
    if (failed) copy.unreadable = true;  // the fallback starts when the sender has stopped writing
    if (!failed) release_sender(copy.request);
    account_for(copy, part.claims.front_bytes());
  }
}

// True if the answers to a batch need not wait for space, as the program may not call MPI again for long.
bool can_answer(int proc) {
  const Peer& peer = peer_of(proc);
  return peer.control_messages.empty() && peer.transport->has_space(proc, Batch::kMost);
}

void write_backs() {
  using Writing = Copy::Writing;
  if (Copy& first = *state().to_write.front(); !can_answer(first.request.proc_)) {
    List::remove(first);  // the receiver copies everything
    return;
  }
  Batch batch(state().to_write, state().to_write.front()->request.proc_, &Claims::from_back);
  batch.remove_unclaimed([](const Copy&) {});
  for (const Batch::Part& part : batch.parts()) part.copy->writing = Writing::kUnderWay;
  const bool failed =
      !batch
           .move(true, false,
                 [](auto& transport, int proc, auto parts) { return transport.put(proc, nullptr, parts, nullptr); })
           .ok();
  if (failed) {
    log::note_once(state().refusal_noted, "only receivers copy long messages: %s", take_detail().c_str());
    known(batch.proc()).writable = false;
  }
  for (const Batch::Part& part : batch.parts()) {
    Copy& copy = *part.copy;
    Request& send = copy.request;
    const bool released = std::exchange(copy.writing, Writing::kNot) == Writing::kReleased;
    const std::size_t bytes = part.claims.back_bytes();
    const bool all = bytes == send.total_;
    send_control(batch.proc(), wire::shared(send.peer_cookie_, bytes, failed));
    copy.read_again = failed && !all && !released;  // there is no first kDone if this side claimed everything
    if (!failed && (all || released)) finish_send(send, Completion{});
  }
}

// Progress hook: advances the pending copies.
bool advance(void*) {
  State& all = state();
  if (!all.to_read.empty()) read_fronts(true);
  if (!all.to_write.empty()) write_backs();
  if (all.to_read.empty() && all.to_write.empty()) remove_hook(&advance, nullptr);
  return true;
}

}  // namespace

Status begin(const ReadyToSend& rts, Request& receive) {
  receive.peer_cookie_ = rts.sender_cookie;
  const std::uint64_t address = rts.remote_address;
  Known& sender = known(receive.proc_);
  // If processes share cores, a sender that helps would compete with the reader for a core.
  if (!receive.view_.where.pinned && !node_oversubscribed()) {
    // Reads a few bytes before it asks the sender for help, to test whether reading is permitted. The rest is copied
    // later, as the message may have matched its receive within a call that should return soon.
    if (!sender.readable) HR_TRY(read(receive, address, 0, std::min(kTestReadBytes, receive.total_)));
    sender.readable = true;
    const std::size_t word = free_word(memory_of(receive.proc_).shared_words(engine()->rank));
    if (word != kWords) {
      open(receive, address, word);
      return kOk;
    }
  }
  HR_TRY(read_all(receive, address, 0));
  sender.readable = true;
  finish_rendezvous(receive, kOk);
  return kOk;
}

bool help(int from, Request& send, const std::byte* payload) {
  wire::Share share;
  std::memcpy(&share, payload, sizeof share);
  const layout::View& data = send.view_;
  transport::Transport* const memory = peer_of(from).memory;
  if (memory == nullptr || share.word >= memory->shared_words(from).size()) return false;
  if (!data.contiguous || !data.where.is_host() || share.bytes == 0 || share.bytes > data.packed) return false;
  if (copy_of(send) != nullptr) return false;
  if (!known(from).writable) return true;
  send.peer_cookie_ = share.receiver_cookie;
  send.total_ = share.bytes;
  auto made = std::make_unique<Copy>(send);
  Copy& copy = *made;
  send.transfer_ = std::move(made);
  copy.address = share.address;
  copy.word = static_cast<std::uint8_t>(share.word);
  copy.generation = share.generation;
  watch(state().to_write, copy);
  return true;
}

bool helped(int from, Request& receive, std::size_t bytes, bool failed) {
  if (copy_of(receive) == nullptr || bytes > missing_bytes(receive)) return false;
  if (bytes == missing_bytes(receive) && holds(receive)) return false;  // a round has claimed a part of these bytes
  Copy& copy = *copy_of(receive);
  const bool waits = copy.link.linked();
  if (waits && bytes == receive.total_) {
    List::remove(copy);
    give_back_word(copy);
  } else if (failed) {
    while (copy.link.linked()) read_fronts(false);
  }
  if (failed && !copy.unreadable && !read_all(receive, copy.address, receive.total_ - bytes).ok()) {
    known(from).readable = false;
    copy.unreadable = true;
  }
  account_for(copy, bytes);
  return true;
}

bool holds(const Request& request) noexcept {
  return std::any_of(state().rounds.begin(), state().rounds.end(), [&](const Batch* round) {
    const auto parts = round->parts();
    return std::any_of(parts.begin(), parts.end(),
                       [&](const Batch::Part& each) { return &each.copy->request == &request; });
  });
}

bool released(Request& send) {
  Copy* const copy = copy_of(send);
  if (copy == nullptr) return false;
  if (copy->writing != Copy::Writing::kNot) {
    copy->writing = Copy::Writing::kReleased;
    return true;
  }
  return std::exchange(copy->read_again, false);
}

void finalize() { remove_hook(&advance, nullptr); }

}  // namespace hr::p2p::shared_copy
