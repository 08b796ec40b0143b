#include "comm/context.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/lock.hpp"
#include "comm/communicator.hpp"
#include "comm/consensus.hpp"
#include "comm/core/state.hpp"
#include "p2p/channel.hpp"

namespace hr::comm {

namespace {

constexpr int kWordsPerRound = 64;
constexpr int kRounds = 64;
constexpr int kNumbersPerRound = kWordsPerRound * 64;
static_assert(std::uint32_t{kRounds} * kNumbersPerRound * kContextSpacing <= p2p::kMostContexts);

// A set bit means taken. There are 262,144 numbers, many more than a program has communicators, because processes may
// have taken different ones. kReserved: numbers that exist from the start.
std::vector<std::uint64_t>& taken() noexcept { return state->contexts.taken; }
constexpr std::uint64_t kReserved =
    std::uint64_t{1} << kBootstrapNumber | std::uint64_t{1} << kWorldNumber | std::uint64_t{1} << kSelfNumber;

// True if a number is free. Not for the reserved numbers, which agreements never choose.
bool is_free(std::uint32_t number) noexcept {
  const std::size_t word = number / 64;
  return word >= taken().size() || (taken()[word] >> (number % 64) & 1) == 0;
}

void take(std::uint32_t number) {
  const std::size_t word = number / 64;
  if (word >= taken().size()) taken().resize(word + 1);
  taken()[word] |= std::uint64_t{1} << (number % 64);
}

void give_back(std::uint32_t number) noexcept {
  const std::size_t word = number / 64;
  if (word < taken().size()) taken()[word] &= ~(std::uint64_t{1} << (number % 64));
}

// Copies the mask of free numbers of a round; a set bit means free.
void copy_round(int round, std::uint64_t* words) noexcept {
  const auto first = static_cast<std::size_t>(round) * kWordsPerRound;
  for (std::size_t word = 0; word < kWordsPerRound; ++word) {
    words[word] = first + word < taken().size() ? ~taken()[first + word] : ~std::uint64_t{0};
  }
  if (round == 0) words[0] &= ~kReserved;
}

// Counts an agreement in progress. The agreement may outlast the use of MPI in which it began.
struct CountUnderWay {
  CountUnderWay() noexcept { ++state->contexts.agreements_under_way; }
  ~CountUnderWay() {
    if (state != nullptr && state->contexts.agreements_under_way > 0) --state->contexts.agreements_under_way;
  }
  CountUnderWay(const CountUnderWay&) = delete;
  CountUnderWay& operator=(const CountUnderWay&) = delete;
};

// Returns the n-th set bit of the mask; n is less than the number of set bits.
std::uint32_t nth_set(const std::uint64_t* words, int n) noexcept {
  for (std::uint32_t word = 0;; ++word) {
    const int here = std::popcount(words[word]);
    if (n >= here) {
      n -= here;
      continue;
    }
    std::uint64_t rest = words[word];
    while (n-- > 0) rest &= rest - 1;
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
  }
}

// The last word of a round is also combined with AND. Bit 0 is set if the process has no other agreement in progress.
// Assertions follow, then the number of channels: one set bit for each channel beyond channel 0.
constexpr unsigned kAssertionsAt = 1;
constexpr unsigned kChannelsAt = 32;
constexpr std::uint64_t kAssertions = (std::uint64_t{1} << (kChannelsAt - kAssertionsAt)) - 1;
static_assert((kNoAnyTag | kNoAnySource) <= kAssertions);

std::uint64_t values_of(const Agreement& agreement) noexcept {
  const auto beyond = static_cast<unsigned>(p2p::channels::offered_over_hosts() - 1);
  const std::uint64_t channels = (std::uint64_t{1} << beyond) - 1;
  return (agreement.assertions & kAssertions) << kAssertionsAt | channels << kChannelsAt;
}

std::uint32_t assertions_in(std::uint64_t values) noexcept {
  return static_cast<std::uint32_t>(values >> kAssertionsAt & kAssertions);
}

void note_channels(std::uint32_t number, std::uint64_t values) {
  auto& channels = state->channels;
  const auto agreed = static_cast<std::uint8_t>(1 + std::countr_one(values >> kChannelsAt));
  if (number >= channels.size() && agreed == 1) return;
  if (number >= channels.size()) channels.resize(std::size_t{number} + 1, 1);
  channels[number] = agreed;
}

// Chooses a number: the same one on all members, and most likely a different one for each concurrent agreement.
std::uint32_t choose(const Agreement& agreement, const std::uint64_t* words, std::uint32_t attempt) noexcept {
  if (attempt == 0) return nth_set(words, 0);
  int free = 0;
  for (int i = 0; i < kWordsPerRound; ++i) free += std::popcount(words[i]);
  std::uint32_t key[3] = {agreement.members.context, static_cast<std::uint32_t>(agreement.members.tag), attempt};
  if (agreement.remote_leader >= 0) {
    // The two sides have no other data in common.
    key[0] = agreement.leader_context;
    key[1] = static_cast<std::uint32_t>(agreement.leader_tag);
  }
  return nth_set(words, hash_tag(key, sizeof key) % free);
}

p2p::Task and_over_all(const Agreement* agreement, std::uint64_t* words, int count) {
  p2p::Task local = and_reduce(agreement->members, words, count);
  HR_CO_TRY(co_await local);
  if (agreement->remote_leader < 0) co_return kOk;
  if (agreement->members.me == agreement->leader) {
    std::array<std::uint64_t, kWordsPerRound + 1> theirs;
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(std::uint64_t);
    p2p::Task bridge = exchange(agreement->members.procs[agreement->leader], agreement->remote_leader,
                                agreement->leader_context, agreement->leader_tag, words, theirs.data(), bytes);
    HR_CO_TRY(co_await bridge);
    for (int i = 0; i < count; ++i) words[i] &= theirs[static_cast<std::size_t>(i)];
  }
  p2p::Task spread =
      broadcast(agreement->members, agreement->leader, words, static_cast<std::size_t>(count) * sizeof(std::uint64_t));
  HR_CO_TRY(co_await spread);
  co_return kOk;
}

}  // namespace

p2p::Task agree_on_context(Agreement agreement, std::uint32_t* context, std::uint32_t* asserted) {
  const CountUnderWay under_way;
  const std::uint64_t values = agreement.takes ? values_of(agreement) : ~std::uint64_t{1};
  for (std::uint32_t attempt = 0;; ++attempt) {
    bool found = false;
    for (int round = 0; round < kRounds && !found; ++round) {
      std::array<std::uint64_t, kWordsPerRound + 1> words;
      if (agreement.takes) {
        copy_round(round, words.data());
      } else {
        words.fill(~std::uint64_t{0});
        if (round == 0) words[0] &= ~kReserved;
      }
      const bool alone = agreement.blocking && !LibraryLock::enabled() && state->contexts.agreements_under_way == 1;
      words.back() = values | (alone ? 1 : 0);
      p2p::Task mask = and_over_all(&agreement, words.data(), kWordsPerRound + 1);
      HR_CO_TRY(co_await mask);
      found = std::any_of(words.begin(), words.end() - 1, [](std::uint64_t word) { return word != 0; });
      if (!found) continue;

      const std::uint32_t number =
          static_cast<std::uint32_t>(round) * kNumbersPerRound + choose(agreement, words.data(), attempt);
      const bool reserved = agreement.takes && is_free(number);
      if (reserved) take(number);
      if (asserted != nullptr) *asserted = assertions_in(words.back());
      if (agreement.takes) note_channels(number, words.back());
      if ((words.back() & 1) != 0) {
        *context = number * kContextSpacing;
        co_return kOk;
      }
      std::uint64_t success = reserved || !agreement.takes ? 1 : 0;
      p2p::Task vote = and_over_all(&agreement, &success, 1);
      const Status voted = co_await vote;
      if (voted.ok() && success != 0) {
        *context = number * kContextSpacing;
        co_return kOk;
      }
      if (reserved) give_back(number);
      HR_CO_TRY(voted);
    }
    if (!found) {
      co_return fail(Errc::kOther,
                     "no context is left that is free on every process (%d of %d are in use here): "
                     "free communicators that are not needed",
                     contexts_in_use(), kRounds * kNumbersPerRound);
    }
  }
}

int channels_of_context(std::uint32_t context) noexcept {
  const auto& channels = state->channels;
  const std::uint32_t number = context / kContextSpacing;
  return number < channels.size() ? channels[number] : 1;
}

void release_context(std::uint32_t context) noexcept {
  const std::uint32_t number = context / kContextSpacing;
  if (number > kSelfNumber && state != nullptr) give_back(number);
}

void rest_context(std::uint32_t context) {
  constexpr std::size_t kResting = 64;
  if (state == nullptr) return;
  auto& resting = state->contexts.resting;
  resting.push_back(context);
  if (resting.size() <= kResting) return;
  forget_consensus(resting.front());
  release_context(resting.front());
  resting.pop_front();
}

void keep_context(std::uint32_t context) {
  const std::uint32_t number = context / kContextSpacing;
  if (number > kSelfNumber) take(number);
}

int contexts_in_use() noexcept {
  int used = std::popcount(kReserved);
  if (state == nullptr) return used;
  for (const std::uint64_t word : taken()) used += std::popcount(word);
  return used;
}

}  // namespace hr::comm
