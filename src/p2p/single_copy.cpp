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

// A trial: so many messages, or so many bytes (about what a ring holds); at least three.
constexpr int kTrialMessages = 8;
constexpr int kLeastMessages = 3;
constexpr std::size_t kTrialBytes = std::size_t{512} << 10;
// After a change of way so many bytes, or as many messages as they are pieces of this length, count for nothing: the
// caches still hold what the other way left, and the ring's lines are where they were last used. Later on as many bytes
// as a ring has.
constexpr std::size_t kSettlingBytes = std::size_t{512} << 10;
constexpr std::size_t kSettlingPiece = std::size_t{64} << 10;
constexpr int kFirstTrials = 2;  // of each way
constexpr std::uint64_t kFirstRetry = 512;
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
  // `turn`: since the message before. True when that was the end of a trial.
  bool add(std::uint64_t under_way, std::uint64_t turn, std::size_t bytes) {
    turns_ += turn;
    time_ += under_way;
    bytes_ += bytes;
    if (++messages_ < kLeastMessages || (messages_ < kTrialMessages && bytes_ < kTrialBytes)) return false;
    under_way_.add(static_cast<double>(time_) / static_cast<double>(bytes_));
    turn_.add(static_cast<double>(turns_) / static_cast<double>(bytes_));
    time_ = turns_ = 0;
    bytes_ = 0;
    messages_ = 0;
    ++trials_;
    return true;
  }
  [[nodiscard]] Cost cost() const { return {under_way_.value(), turn_.value()}; }
  [[nodiscard]] int trials() const { return trials_; }

 private:
  Best under_way_;
  Best turn_;
  std::uint64_t time_ = 0;
  std::uint64_t turns_ = 0;
  std::size_t bytes_ = 0;
  int messages_ = 0;
  int trials_ = 0;
};

struct SizeClass {
  Way read;
  Way stream;
  bool reads = true;  // what is done now
  bool trial_over = false;
  std::size_t settling_messages = kSettlingBytes / kSettlingPiece;  // still to come
  std::size_t settling_bytes = kSettlingBytes;
  std::uint64_t transfers = 0;
  std::uint64_t last_end = 0;
  bool prefers_reading = true;  // when it is not on trial
  std::uint64_t gap = kFirstRetry;
  std::uint64_t retry = gap;  // once there were so many transfers

  // Another message. True: it is none to count.
  bool settles(std::size_t bytes) {
    if (settling_bytes == 0) return false;
    settling_bytes = --settling_messages == 0 ? 0 : settling_bytes - std::min(bytes, settling_bytes);
    return true;
  }
  // After a trial, and when nothing is under way.
  void choose(std::size_t ring_bytes) {
    const bool before = reads;
    decide();
    if (reads == before) return;
    settling_bytes = std::max(ring_bytes, kSettlingBytes);
    settling_messages = settling_bytes / kSettlingPiece;
  }
  void decide() {
    trial_over = false;
    if (stream.trials() < kFirstTrials) {
      reads = !reads;
    } else if (transfers >= retry) {
      look_again_after(4 * gap);
      reads = !reads;
    } else {
      const double saved = saved_by_stream(read.cost(), stream.cost());
      reads = prefers_reading ? saved <= kEnough : saved < -kEnough;
      if (reads == prefers_reading) return;
      // Something has changed: what is known of the other way may not hold any more.
      prefers_reading = reads;
      look_again_after(kFirstRetry);
    }
  }
  void look_again_after(std::uint64_t messages) {
    gap = messages;
    retry = transfers + gap;
  }
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
  if (size_class.trial_over && under_way == 0) size_class.choose(caps.ring_bytes());
  return size_class.reads ? 0.0 : kSlow;
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
  SizeClass& size_class = class_of(receive.total_);
  ++size_class.transfers;
  const bool read = timing == Request::Timing::kRead;
  const std::uint64_t before = std::exchange(size_class.last_end, now);
  Way& way = read ? size_class.read : size_class.stream;
  if (!size_class.settles(receive.total_) && way.add(now - since, now - before, receive.total_)) {
    size_class.trial_over = true;
  }
  since = now;
  --under_way;
}

}  // namespace single_copy

const Rendezvous kSingleCopy{"single_copy", single_copy::probe, single_copy::begin};

}  // namespace hr::p2p
