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

// A trial: so many messages, or so many bytes (of which a ring holds as many).
constexpr int kTrialMessages = 8;
constexpr std::size_t kTrialBytes = std::size_t{512} << 10;
constexpr int kFirstTrials = 2;  // of each way
constexpr std::uint64_t kFirstRetry = 512;
// Seconds that stand for "not this way"; a stream's cost lies between that and nothing (stream.cpp).
constexpr double kSlow = 1.0;
// A stream must be faster by this to be preferred: it needs the sender all the while, which may be computing.
constexpr double kStreamGain = 0.8;

// One of the two ways. It counts by the better one of its last two trials: a process may lose its core in one.
class Way {
 public:
  // True when that was a trial.
  bool add(std::uint64_t time, std::size_t bytes) {
    time_ += time;
    bytes_ += bytes;
    if (++messages_ < kTrialMessages && bytes_ < kTrialBytes) return false;
    before_ = std::exchange(last_, static_cast<double>(time_) / static_cast<double>(bytes_));
    time_ = 0;
    bytes_ = 0;
    messages_ = 0;
    ++trials_;
    return true;
  }
  [[nodiscard]] double time_per_byte() const { return std::min(before_, last_); }
  [[nodiscard]] int trials() const { return trials_; }

 private:
  double before_ = std::numeric_limits<double>::infinity();
  double last_ = std::numeric_limits<double>::infinity();
  std::uint64_t time_ = 0;
  std::size_t bytes_ = 0;
  int messages_ = 0;
  int trials_ = 0;
};

struct SizeClass {
  Way read;
  Way stream;
  bool reads = true;  // what is done now
  bool trial_over = false;
  std::uint64_t transfers = 0;
  std::uint64_t retry = kFirstRetry;

  // After a trial, and when nothing is under way.
  void choose() {
    trial_over = false;
    if (stream.trials() < kFirstTrials) {
      reads = !reads;
    } else if (transfers >= retry) {
      retry *= 4;
      reads = !reads;
    } else {
      reads = stream.time_per_byte() > kStreamGain * read.time_per_byte();
    }
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
  if (size_class.trial_over && under_way == 0) size_class.choose();
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
  if ((read ? size_class.read : size_class.stream).add(now - since, receive.total_)) size_class.trial_over = true;
  since = now;
  --under_way;
}

}  // namespace single_copy

const Rendezvous kSingleCopy{"single_copy", single_copy::probe, single_copy::begin};

}  // namespace hr::p2p
