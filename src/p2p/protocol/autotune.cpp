#include "p2p/protocol/autotune.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace hr::p2p {
namespace {

// Number of samples of each protocol, fewer if they are long. A sample is a single message in a ping-pong. If many
// messages are in flight at once, it is their whole window, because messages that are read end together.
constexpr int kSamples = 8;
constexpr std::size_t kEnoughBytes = std::size_t{32} << 20;
// The first bytes and messages of a protocol are not sampled: the caches still contain data that the other protocol
// left there, and the lines of the longest ring are still in the caches in which they were last used.
constexpr std::size_t kSettlingBytes = std::size_t{2} << 20;
constexpr std::size_t kSettlingMessages = 32;
// Fraction of the first protocol's time that the second one must save to be preferred.
constexpr double kEnough = 0.15;
// Intervals count if they are at most this many times as long as the transfers in them.
constexpr double kLongestInterval = 8;
// Fraction of the cost of all messages that measurements may take.
constexpr double kWorth = 0.01;

bool intervals_count(const Autotune::Cost& first, const Autotune::Cost& second) noexcept {
  return second.interval != Autotune::kUnknown && first.interval <= kLongestInterval * first.transfer;
}

}  // namespace

double Autotune::saved(const Cost& first, const Cost& second) noexcept {
  return (intervals_count(first, second) ? first.interval - second.interval : first.transfer - second.transfer) /
         first.transfer;
}

void Autotune::start(unsigned way, Phase phase) noexcept {
  way_ = static_cast<std::uint8_t>(way);
  phase_ = phase;
  samples_ = 0;
  bytes_ = messages_ = 0;
  if (phase != Phase::kDecided) costs_[way] = {};
}

// Begins a measurement with samples of the current protocol, which settled long ago.
void Autotune::try_again() noexcept {
  second_half_ = false;
  tried_ = 0;
  last_end_ = 0;  // the end of the previous message is long past, so this message's interval does not count
  start(way_, Phase::kSample);
}

bool Autotune::end(std::size_t bytes, std::uint64_t now) {
  sample_.transfer += now - std::exchange(since_, now);
  sample_.intervals += now - std::exchange(last_end_, now);
  sample_.bytes += bytes;
  ++sample_.messages;
  if (--under_way_ != 0) return false;
  const Sample sample = std::exchange(sample_, {});
  switch (phase_) {
    case Phase::kSettle:
      settle(sample);
      return false;
    case Phase::kSample:
      return add(sample);
    case Phase::kDecided:
      break;
  }
  return false;
}

void Autotune::settle(const Sample& sample) noexcept {
  if (second_half_) tried_ += sample.messages;
  bytes_ += sample.bytes;
  messages_ += sample.messages;
  if (bytes_ < kSettlingBytes && messages_ < kSettlingMessages) return;
  phase_ = Phase::kSample;
  bytes_ = 0;
}

// Adds a sample. Only the fastest one counts, because the process may lose its core during a sample. True if a choice
// was made.
bool Autotune::add(const Sample& sample) noexcept {
  if (second_half_) tried_ += sample.messages;
  Cost& cost = costs_[way_];
  const auto bytes = static_cast<double>(sample.bytes);
  cost.transfer = std::min(cost.transfer, static_cast<double>(sample.transfer) / bytes);
  cost.interval = std::min(cost.interval, static_cast<double>(sample.intervals) / bytes);
  bytes_ += sample.bytes;
  if (++samples_ < kSamples && bytes_ < kEnoughBytes) return false;
  if (!second_half_) {
    second_half_ = true;
    start(1U - way_, Phase::kSettle);
    return false;
  }
  decide();
  return true;
}

// Keeps an earlier choice if the two protocols are about equally fast.
void Autotune::decide() noexcept {
  const double first_to_second = saved();
  const bool was_second = has_chosen_ && settled_on_ == 1;
  const unsigned better = first_to_second > (was_second ? 0 : kEnough) ? 1 : 0;
  const bool confirmed = has_chosen_ && better == settled_on_;
  const Cost& taken = costs_[better];
  const Cost& other = costs_[1 - better];
  const bool intervals = intervals_count(costs_[0], costs_[1]);
  const double ratio = intervals ? other.interval / taken.interval : other.transfer / taken.transfer;
  const double lost = static_cast<double>(tried_) * std::max(ratio - 1, 0.0) / kWorth;
  const auto amortising = lost < 1e15 ? std::bit_ceil(static_cast<std::uint64_t>(lost) + 1) : std::uint64_t{1} << 50;
  between_ = std::max(confirmed ? std::min(2 * between_, kMostBetween) : kLeastBetween, amortising);
  settled_on_ = static_cast<std::uint8_t>(better);
  has_chosen_ = true;
  since_choice_ = 0;
  start(better, Phase::kDecided);
}

}  // namespace hr::p2p
