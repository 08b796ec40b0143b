#include "p2p/single_copy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "p2p/engine.hpp"
#include "p2p/shared_copy.hpp"

namespace hr::p2p {
namespace single_copy {
namespace {

// Of each way so many samples are taken, fewer where they are long. A sample is one message after another in a
// ping-pong, and a whole window where many are under way at once: those that are read end together.
constexpr int kSamples = 8;
constexpr std::size_t kEnoughBytes = std::size_t{32} << 20;
// Before that so many bytes or messages are not sampled: the caches still hold what the other way left, and the lines
// of the longest ring are where they were last used.
constexpr std::size_t kSettlingBytes = std::size_t{2} << 20;
constexpr std::size_t kSettlingMessages = 32;
// Seconds that stand for "not this way"; a stream's cost lies between that and nothing (stream.cpp).
constexpr double kSlow = 1.0;
// A stream must save this part of what reading takes to be preferred: it needs the sender all the while, which may be
// computing.
constexpr double kEnough = 0.15;
// Turns count where they are at most this many times as long as what is under way in them.
constexpr double kLongestTurn = 8;
// Longer messages are all of one class.
constexpr std::size_t kClasses = 28;

constexpr double kUnknown = std::numeric_limits<double>::infinity();

// Which way the messages of one peer and one size class go: reading is tried, then the stream, then it is decided for
// good.
class Choice {
 public:
  [[nodiscard]] bool decided() const { return phase_ == Phase::kDecided; }
  [[nodiscard]] bool reads() const { return reads_; }

  void begin() {
    if (under_way_++ == 0) since_ = ticks();
  }
  // A message that came that way has ended. Its time is from the end of the one before, or from its own beginning where
  // there was none under way.
  void end(bool read, std::size_t bytes) {
    const std::uint64_t now = ticks();
    sample_.under_way += now - std::exchange(since_, now);
    sample_.turns += now - std::exchange(last_end_, now);
    sample_.bytes += bytes;
    ++sample_.messages;
    if (--under_way_ != 0) return;
    const Sample sample = std::exchange(sample_, {});
    if (decided() || read != reads_) return;
    if (settled_bytes_ < kSettlingBytes && settled_messages_ < kSettlingMessages) {
      settled_bytes_ += sample.bytes;
      settled_messages_ += sample.messages;
      return;
    }
    add(sample);
    if (samples_ < kSamples && sampled_bytes_ < kEnoughBytes) return;
    if (phase_ == Phase::kRead) return try_stream();
    decide(bytes);
  }

 private:
  enum class Phase : std::uint8_t { kRead, kStream, kDecided };
  struct Sample {
    std::uint64_t under_way = 0;
    std::uint64_t turns = 0;
    std::size_t bytes = 0;
    std::size_t messages = 0;
  };

  // The least counts: a process may lose its core.
  void add(const Sample& sample) {
    Cost& cost = reads_ ? read_ : stream_;
    const auto bytes = static_cast<double>(sample.bytes);
    cost.under_way = std::min(cost.under_way, static_cast<double>(sample.under_way) / bytes);
    cost.turn = std::min(cost.turn, static_cast<double>(sample.turns) / bytes);
    ++samples_;
    sampled_bytes_ += sample.bytes;
  }
  void try_stream() {
    phase_ = Phase::kStream;
    reads_ = false;
    settled_bytes_ = settled_messages_ = sampled_bytes_ = 0;
    samples_ = 0;
  }
  void decide(std::size_t bytes) {
    phase_ = Phase::kDecided;
    const double saved = saved_by_stream(read_, stream_);
    reads_ = saved <= kEnough;
    log::write(log::Level::kDecision, "messages of %zu bytes: %s (a stream saves %.0f %% of what reading takes)", bytes,
               reads_ ? "copied by both processes" : "streams", 100 * saved);
  }

  Phase phase_ = Phase::kRead;
  bool reads_ = true;  // what is done now
  int under_way_ = 0;  // messages that began and have not ended
  int samples_ = 0;    // of this way, with so many bytes
  std::size_t sampled_bytes_ = 0;
  std::size_t settled_bytes_ = 0;
  std::size_t settled_messages_ = 0;
  std::uint64_t since_ = 0;     // when the last one ended, or the first of them began
  std::uint64_t last_end_ = 0;  // when the last one ended
  Sample sample_;
  Cost read_{kUnknown, kUnknown};
  Cost stream_{kUnknown, kUnknown};
};

using Choices = std::array<Choice, kClasses>;

struct State final : FileState {
  std::vector<std::unique_ptr<Choices>> choices;  // by process; made at its first long message
  bool refused = false;                           // the system does not let us read other processes
};
State& state() { return own<State>(); }

Choice& choice_of(int proc, std::size_t bytes) {
  auto& choices = state().choices;
  const auto peer = static_cast<std::size_t>(proc);
  if (peer >= choices.size()) choices.resize(peer + 1);
  if (choices[peer] == nullptr) choices[peer] = std::make_unique<Choices>();
  return (*choices[peer])[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)), kClasses - 1)];
}

bool eligible(const Announcement& announced, const Request& receive) {
  return announced.remote_address != 0 && receive.view_.contiguous && receive.view_.where.is_host() &&
         receive.total_ != 0 && receive.total_ >= knobs().single_copy_bytes;
}

double probe(const Announcement& announced, const Request& receive, const transport::Caps& caps) {
  if (!caps.remote_read || state().refused || !eligible(announced, receive)) return kNotApplicable;
  if (knobs().shm_single_copy == ShmSingleCopyChoice::kOn) return 0.0;
  return choice_of(announced.from_proc, receive.total_).reads() ? 0.0 : kSlow;
}

Status begin(const Announcement& announced, Request& receive) {
  begins(announced, receive, true);
  const Status status = shared_copy::begin(announced, receive);
  if (!status.ok()) {
    const std::string why = take_detail();
    if (!std::exchange(state().refused, true)) {
      log::write(log::Level::kNote, "large messages take two copies instead of one: %s", why.c_str());
    }
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
  if (receive.timing_ != Request::Timing::kNone) {
    receive.timing_ = timing;
    return;
  }
  Choice& choice = choice_of(announced.from_proc, receive.total_);
  if (choice.decided()) return;
  receive.timing_ = timing;
  choice.begin();
}

void ends(Request& receive) {
  const Request::Timing timing = std::exchange(receive.timing_, Request::Timing::kNone);
  if (timing == Request::Timing::kNone) return;
  choice_of(receive.proc_, receive.total_).end(timing == Request::Timing::kRead, receive.total_);
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
