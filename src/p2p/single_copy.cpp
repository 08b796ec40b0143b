#include "p2p/single_copy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "p2p/engine.hpp"
#include "p2p/shared_copy.hpp"

namespace hr::p2p {
namespace single_copy {
namespace {

// A trial: so many messages, or so many bytes (about what a ring holds); at least three; all that are under way at
// once.
constexpr int kTrialMessages = 8;
constexpr int kLeastMessages = 3;
constexpr std::size_t kTrialBytes = std::size_t{512} << 10;
// After a change of way so many bytes, or as many messages as they are pieces of this length, count for nothing: the
// caches still hold what the other way left, and the ring's lines are where they were last used. Later on as many bytes
// as a ring has.
constexpr std::size_t kSettlingBytes = std::size_t{512} << 10;
constexpr std::size_t kSettlingPiece = std::size_t{64} << 10;
// Of many that are under way at once those that are read end together, late: where some of them settle the others tell
// how long they took only if they are so many times as much.
constexpr std::size_t kMostOfThem = 16;
constexpr int kTrials = 2;  // of each way, in a comparison; one of so many bytes is as good as two
constexpr std::size_t kLongTrialBytes = std::size_t{32} << 20;
// Trials of the way in use from one comparison to the next, at first; four times as many each time that it changes
// nothing.
constexpr std::uint64_t kFirstGap = 32;
// And at least, where that way has become the slower one as far as is known; four times as many each time that this was
// wrong.
constexpr std::uint64_t kFirstPatience = 8;
constexpr std::uint64_t kMostPatience = 512;
// Seconds that stand for "not this way"; a stream's cost lies between that and nothing (stream.cpp).
constexpr double kSlow = 1.0;
// A stream must save this part of what reading takes to be preferred: it needs the sender all the while, which may be
// computing. And once it is, reading as much: a change costs the messages that settle.
constexpr double kEnough = 0.15;
// Turns count where they are at most so many times as long as what is under way in them.
constexpr double kLongestTurn = 8;

constexpr double kUnknown = std::numeric_limits<double>::infinity();

// The better one of the last two trials: a process may lose its core in one.
class Best {
 public:
  void add(double value) { before_ = std::exchange(last_, value); }
  [[nodiscard]] double value() const { return std::min(before_, last_); }

 private:
  double before_ = kUnknown;
  double last_ = kUnknown;
};

// One of the two ways.
class Way {
 public:
  // `turn`: since the message before.
  void add(std::uint64_t under_way, std::uint64_t turn, std::size_t bytes) {
    now_.under_way += under_way;
    now_.turns += turn;
    now_.bytes += bytes;
    ++now_.messages;
  }
  // Of the trial that is being made.
  [[nodiscard]] std::size_t bytes() const { return now_.bytes; }
  void drop_trial() { now_ = {}; }
  // If there was enough for a trial.
  bool end_trial() {
    if (now_.messages < kLeastMessages || (now_.messages < kTrialMessages && now_.bytes < kTrialBytes)) return false;
    under_way_.add(static_cast<double>(now_.under_way) / static_cast<double>(now_.bytes));
    turn_.add(static_cast<double>(now_.turns) / static_cast<double>(now_.bytes));
    trials_ += now_.bytes < kLongTrialBytes ? 1 : 2;
    now_ = {};
    return true;
  }
  [[nodiscard]] Cost cost() const { return {under_way_.value(), turn_.value()}; }
  [[nodiscard]] int trials() const { return trials_; }

 private:
  struct Sums {
    std::uint64_t under_way = 0;
    std::uint64_t turns = 0;
    std::size_t bytes = 0;
    int messages = 0;
  };
  Sums now_;
  Best under_way_;
  Best turn_;
  int trials_ = 0;
};

// Which way messages of one class go.
class SizeClass {
 public:
  [[nodiscard]] bool reads() const { return reads_; }
  // Before a message of that length; nothing is under way.
  void choose(std::size_t bytes, std::size_t ring_bytes) {
    if (!std::exchange(trial_over_, false)) return;
    const bool before = reads_;
    if (comparing_) {
      go_on_comparing(bytes);
    } else if (is_due()) {
      other() = Way();
      comparing_ = true;
      reads_ = !reads_;
    }
    if (reads_ == before) return;
    settling_bytes_ = std::max(ring_bytes, kSettlingBytes);
    settling_messages_ = settling_bytes_ / kSettlingPiece;
  }
  // A message that came that way has ended, `now`; it was under way since then or since another one ended. `last`:
  // nothing is any more.
  void count(bool read, std::size_t bytes, std::uint64_t since, std::uint64_t now, bool last) {
    const std::uint64_t turn = now - std::exchange(last_end_, now);
    Way& way = read ? read_ : stream_;
    if (settling_bytes_ != 0 && settling_messages_ != 0) {
      settling_bytes_ -= std::min(bytes, settling_bytes_);
      --settling_messages_;
      settled_ += bytes;
    } else {
      way.add(now - since, turn, bytes);
    }
    if (!last) return;
    if (way.bytes() < kMostOfThem * std::exchange(settled_, 0)) way.drop_trial();
    if (!way.end_trial()) return;
    trial_over_ = true;
    ++trials_;
  }

 private:
  [[nodiscard]] Way& preferred() { return prefers_reading_ ? read_ : stream_; }
  [[nodiscard]] Way& other() { return prefers_reading_ ? stream_ : read_; }
  [[nodiscard]] bool other_is_faster() const {
    const double saved = saved_by_stream(read_.cost(), stream_.cost());
    return prefers_reading_ ? saved > kEnough : saved < -kEnough;
  }
  [[nodiscard]] bool is_due() {
    doubted_ = trials_ >= patience_ && other_is_faster();
    return doubted_ || trials_ >= gap_;
  }
  void go_on_comparing(std::size_t bytes) {
    if (read_.trials() >= kTrials && stream_.trials() >= kTrials) return conclude(bytes);
    // One trial is enough to see that the other way is no better than the one that was in use until now.
    const bool first_look = reads_ != prefers_reading_ && preferred().trials() >= kTrials;
    if (first_look && !other_is_faster()) return conclude(bytes);
    if (first_look) preferred() = Way();
    reads_ = !reads_;
  }
  void conclude(std::size_t bytes) {
    comparing_ = false;
    trials_ = 0;
    const bool changes = other_is_faster();
    if (changes) prefers_reading_ = !prefers_reading_;
    reads_ = prefers_reading_;
    log::write(log::Level::kDecision, "messages of %zu bytes: %s (a stream saves %.0f %% of what reading takes)", bytes,
               reads_ ? "copied by both processes" : "streams", 100 * saved_by_stream(read_.cost(), stream_.cost()));
    gap_ = changes ? kFirstGap : 4 * gap_;
    patience_ = doubted_ && !changes ? std::min(4 * patience_, kMostPatience) : kFirstPatience;
  }

  Way read_;
  Way stream_;
  bool reads_ = true;  // what is done now
  bool trial_over_ = false;
  std::size_t settling_bytes_ = kSettlingBytes;  // still to come, or
  std::size_t settling_messages_ = kSettlingBytes / kSettlingPiece;
  std::size_t settled_ = 0;  // bytes, since there was nothing under way
  std::uint64_t last_end_ = 0;
  bool prefers_reading_ = true;  // outside comparisons
  bool comparing_ = true;
  bool doubted_ = false;      // that is why the last comparison was made
  std::uint64_t trials_ = 0;  // since that
  std::uint64_t gap_ = kFirstGap / 4;
  std::uint64_t patience_ = kFirstPatience;
};

std::array<SizeClass, 65> classes;
int under_way = 0;        // messages that began and have not ended
std::uint64_t since = 0;  // when the last one ended, or the first of them began
bool refused = false;     // the system does not let us read other processes
bool refusal_noted = false;

SizeClass& class_of(std::size_t bytes) { return classes[static_cast<std::size_t>(std::bit_width(bytes))]; }

bool eligible(const Announcement& announced, const Request& receive) {
  return announced.remote_address != 0 && receive.view_.contiguous && receive.view_.where.is_host() &&
         receive.total_ != 0 && receive.total_ >= knobs().single_copy_bytes;
}

double probe(const Announcement& announced, const Request& receive, const transport::Caps& caps) {
  if (!caps.remote_read || refused || !eligible(announced, receive)) return kCannot;
  if (knobs().shm_single_copy == ShmSingleCopyChoice::kOn) return 0.0;
  SizeClass& size_class = class_of(receive.total_);
  if (under_way == 0) size_class.choose(receive.total_, caps.ring_bytes());
  return size_class.reads() ? 0.0 : kSlow;
}

Status begin(const Announcement& announced, Request& receive) {
  begins(announced, receive, true);
  const Status status = shared_copy::begin(announced, receive);
  if (!status.ok()) {
    refused = true;
    log::note_once(refusal_noted, "large messages take two copies instead of one: %s", take_detail().c_str());
  }
  return status;
}

void deliver_share(int from, const transport::Header& header, const std::byte* payload, std::size_t) {
  shared_copy::help(from, *reinterpret_cast<Request*>(header.words[2]), payload);
}
void deliver_shared(int from, const transport::Header& header, const std::byte*, std::size_t) {
  shared_copy::helped(from, *reinterpret_cast<Request*>(header.words[2]), header.words[1], wire::way(header) != 0);
}
constexpr Arrival kArrivals[] = {arrival<deliver_share>(wire::Kind::kShare),
                                 arrival<deliver_shared>(wire::Kind::kShared)};

}  // namespace

double saved_by_stream(const Cost& read, const Cost& stream) noexcept {
  const bool turns_tell = stream.turn != kUnknown && read.turn <= kLongestTurn * read.under_way;
  return (turns_tell ? read.turn - stream.turn : read.under_way - stream.under_way) / read.under_way;
}

void begins(const Announcement& announced, Request& receive, bool reading) {
  if (!eligible(announced, receive)) return;
  // One that could not be read after all comes as a stream.
  const auto timing = reading ? Request::Timing::kRead : Request::Timing::kStream;
  const bool begun = std::exchange(receive.timing_, timing) == Request::Timing::kNone;
  if (begun && under_way++ == 0) since = ticks();
}

void ends(Request& receive) {
  const Request::Timing timing = std::exchange(receive.timing_, Request::Timing::kNone);
  if (timing == Request::Timing::kNone) return;
  const std::uint64_t now = ticks();
  class_of(receive.total_).count(timing == Request::Timing::kRead, receive.total_, since, now, --under_way == 0);
  since = now;
}

}  // namespace single_copy

extern const Rendezvous kSingleCopy;
const Rendezvous kSingleCopy{.name = "single_copy",
                             .probe = single_copy::probe,
                             .begin = single_copy::begin,
                             .arrivals = single_copy::kArrivals,
                             .released = shared_copy::released,
                             .withdraw = shared_copy::withdraw,
                             .lose = shared_copy::lose,
                             .holds = shared_copy::holds};

}  // namespace hr::p2p
