// Matching: pairs messages with receives (MPI 5.0 section 3.5).
//
// Every context has two queues: posted receives that are not matched, and unexpected messages. Both keep the order of
// arrival. They start as plain lists. Once a lookup has had to pass kListLimit entries, messages and receives without a
// wildcard are found through bins by (source, tag), so that lookups stay short even with very many entries. Receives
// with a wildcard stay in the list; if list and bins both contain a match, the older receive wins (by sequence number).
// Owner: the Matcher owns Unexpected records until they are taken; posted Requests belong to the code that started
// them. Threads: the lock of the channel to which the context belongs: the library lock, or that of a Channel
// (p2p/channel.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/counter_parts.hpp"
#include "base/counters.hpp"
#include "base/list.hpp"
#include "p2p/p2p.hpp"

namespace hr::p2p {

// A message that arrived before its receive, with everything needed to complete it.
struct Unexpected {
  Envelope envelope;
  int from_proc = -1;
  bool rendezvous = false;          // the data is still at the sender
  bool wants_ack = false;           // synchronous eager
  std::uint64_t sender_cookie = 0;  // set for a ready-to-send message, or one that needs an answer
  std::size_t bytes = 0;            // length of the whole message
  std::byte* payload = nullptr;     // eager data or the ready-to-send message, in the same allocation as this record
  std::size_t payload_bytes = 0;
  Link order_link;
  Link bin_link;

  // Creates record and payload in one allocation from the engine's free blocks.
  static Unexpected* create(std::size_t payload_bytes);
  static void destroy(Unexpected* message) noexcept;
  // create() and destroy() with separately allocated memory, without the engine.
  static Unexpected* create_apart(std::size_t payload_bytes);
  static void destroy_apart(Unexpected* message) noexcept;
  std::size_t allocated = 0;
};

// A table from (source, tag) to lists of elements in order of arrival; grows with its content.
template <class T, Link T::* kLink>
class Bins {
 public:
  using List = IntrusiveList<T, kLink>;
  [[nodiscard]] bool active() const noexcept { return !buckets_.empty(); }
  List& bucket(int source, int tag) noexcept {
    const auto key =
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(source)) << 32 | static_cast<std::uint32_t>(tag);
    return *buckets_[(key * 0x9e3779b97f4a7c15ULL) >> shift_];
  }
  // Drops all buckets and creates 2^bits empty ones; the caller inserts the elements again.
  void reset(unsigned bits) {
    buckets_.clear();
    buckets_.reserve(std::size_t{1} << bits);
    for (std::size_t i = 0; i < std::size_t{1} << bits; ++i) buckets_.push_back(std::make_unique<List>());
    shift_ = 64 - bits;
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (auto& list : buckets_) {
      for (T* element = list->front(); element != nullptr; element = list->next(*element)) visit(*element);
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return buckets_.size(); }

 private:
  std::vector<std::unique_ptr<List>> buckets_;
  unsigned shift_ = 0;
};

// Counts in the page of the process (base/counters.hpp), under the library lock; the records are in the engine's
// blocks.
struct ProcessAccounts {
  static void post() noexcept { ++counters::page.posted.now; }
  static void raise_posted(std::size_t most) noexcept { counters::page.posted.raise(most); }
  static void withdraw() noexcept { counters::page.posted.down(); }
  static void keep(const Unexpected& message) noexcept {
    ++counters::page.unexpected_messages;
    counters::page.unexpected.up();
    counters::page.unexpected_bytes.up(message.allocated);
  }
  static void take(const Unexpected& message) noexcept {
    counters::page.unexpected.down();
    counters::page.unexpected_bytes.down(message.allocated);
  }
  static void destroy(Unexpected* message) noexcept { Unexpected::destroy(message); }
};

// Counts in the part of a channel (base/counter_parts.hpp), under its lock.
struct ApartAccounts {
  counters::Part* part = nullptr;
  void post() const noexcept { counters::add_to(part->posted.now, 1); }
  void raise_posted(std::size_t most) const noexcept {
    if (most > part->posted.most) counters::set(part->posted.most, most);
  }
  void withdraw() const noexcept { counters::add_to(part->posted.now, ~counters::Value{0}); }
  void keep(const Unexpected& message) const noexcept {
    counters::add_to(part->unexpected_messages, 1);
    counters::add_to(part->unexpected.now, 1);
    counters::raise(part->unexpected);
    counters::add_to(part->unexpected_bytes.now, message.allocated);
    counters::raise(part->unexpected_bytes);
  }
  void take(const Unexpected& message) const noexcept {
    counters::add_to(part->unexpected.now, ~counters::Value{0});
    counters::add_to(part->unexpected_bytes.now, ~counters::Value{message.allocated} + 1);
  }
  static void destroy(Unexpected* message) noexcept { Unexpected::destroy_apart(message); }
};

// Matcher of the process's channel 0 with ProcessAccounts, of the other channels with ApartAccounts.
template <class Accounts>
class MatcherWith {
 public:
  explicit MatcherWith(Accounts accounts = {}) : accounts_(accounts) {}
  ~MatcherWith();

  // --- receives ---
  void post(Request& receive) {
    receive.sequence_ = next_sequence_++;
    accounts_.post();
    if (++posted_count_ > most_posted_) [[unlikely]] {
      most_posted_ = posted_count_;
      accounts_.raise_posted(most_posted_);
    }
    if (posted_bins_.active()) [[unlikely]]
      return post_in_bins(receive);
    posted_.push_back(receive);
  }
  void withdraw(Request& receive) noexcept {
    receive.link_.unlink();
    --posted_count_;
    accounts_.withdraw();
  }
  // Removes the posted receive that matches this message from the queue, and returns it; null if there is none.
  Request* match_posted(const Envelope& message) noexcept {
    Request* const first = posted_.front();
    if (first == nullptr || posted_bins_.active() || !takes(*first, message)) return search_posted(message);
    withdraw(*first);
    return first;
  }

  // --- messages ---
  void keep(Unexpected* message);
  // Returns the first message that a receive with this envelope matches, without removing it; null if there is none.
  Unexpected* find(const Envelope& wanted) noexcept;
  void take(Unexpected& message) noexcept;
  // Returns the message of this send if it still waits for a receive; else null.
  [[nodiscard]] Unexpected* find_sent(int from_proc, std::uint64_t sender_cookie) noexcept;

  [[nodiscard]] std::size_t unexpected_count() const noexcept { return look_ & ~kFailures; }

  // --- failures (process_failure.hpp) ---
  // True if there are unexpected messages or failures, which a starting receive must check first.
  [[nodiscard]] bool look_first() const noexcept { return look_ != 0; }
  void look_for_failures() noexcept { look_ |= kFailures; }
  // Ends the context; `text` contains the reason.
  void end(Status why, const std::string& text) {
    end_ = why;
    why_ended_ = text;
  }
  // Returns kOk, or the error with which the context has ended; its text becomes the current detail.
  [[nodiscard]] Status ended() const {
    if (!end_.ok()) set_detail(why_ended_);
    return end_;
  }
  // Visits each posted receive. visit(Request&) must not remove any.
  template <class Visit>
  void for_each_posted(Visit&& visit) {
    for (Request* each = posted_.front(); each != nullptr; each = posted_.next(*each)) visit(*each);
    if (posted_bins_.active()) posted_bins_.for_each(visit);
  }

 private:
  static constexpr std::size_t kListLimit = 32;
  static constexpr std::size_t kFailures = ~(~std::size_t{0} >> 1);

  static bool accepts(int source, int tag, const Envelope& message) noexcept {
    return (source == message.source || source == abi::kAnySource) && (tag == message.tag || tag == abi::kAnyTag);
  }
  static bool accepts(const Envelope& wanted, const Envelope& message) noexcept {
    return accepts(wanted.source, wanted.tag, message);
  }
  static bool takes(const Request& receive, const Envelope& message) noexcept {
    return accepts(receive.source_, receive.tag_, message);
  }
  Request* search_posted(const Envelope& message) noexcept;
  void post_in_bins(Request& receive);
  void bin_posted();
  void bin_unexpected();

  [[no_unique_address]] Accounts accounts_;
  IntrusiveList<Request, &Request::link_> posted_;  // all receives or, with bins, those with a wildcard
  Bins<Request, &Request::link_> posted_bins_;
  std::size_t posted_count_ = 0;
  std::size_t most_posted_ = 0;
  std::uint64_t next_sequence_ = 0;

  IntrusiveList<Unexpected, &Unexpected::order_link> unexpected_;
  Bins<Unexpected, &Unexpected::bin_link> unexpected_bins_;
  std::size_t look_ = 0;  // number of unexpected messages, and kFailures
  Status end_ = kOk;
  std::string why_ended_;
};

using Matcher = MatcherWith<ProcessAccounts>;

}  // namespace hr::p2p
