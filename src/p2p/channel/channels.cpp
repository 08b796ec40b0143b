// The channels of the process.
#include <algorithm>
#include <array>
#include <string>

#include "base/dropped.hpp"
#include "base/knobs.hpp"
#include "base/lock.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "mem/mem.hpp"
#include "p2p/channel.hpp"
#include "p2p/channel/arrivals.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"
#include "p2p/progress_thread.hpp"

namespace hr::p2p::channels {
namespace {

constexpr int kMost = 33;
// Rounds of channel 0 between two polls of the others.
constexpr unsigned kRounds = 16;

struct Ending {
  int number;
  std::uint32_t context;
  Status why;
  std::string text;
};

// Process-wide state, created anew with each engine. Threads: library lock.
struct State {
  transport::Transport* host = nullptr;     // null: nothing is offered to processes on this host
  transport::Transport* network = nullptr;  // null: nothing is offered to processes on other hosts
  int on_host = 1;                          // number of channels offered to processes on this host
  int on_network = 1;                       // number of channels offered for communicators over several hosts
  std::array<std::unique_ptr<Channel>, kMost> open;
  bool hooked = false;
  std::vector<Ending> endings;
  void (*tidy)() = nullptr;
  unsigned rounds = 0;
};
State state;
std::atomic<int (*)(const Object&, int)> member_finder{nullptr};
void (*ask_other)(int, int) = nullptr;

void end_contexts() {
  std::erase_if(state.endings, [](const Ending& each) {
    set_detail(std::string(each.text));
    return state.open[static_cast<std::size_t>(each.number)]->try_end(each.context, each.why);
  });
}

unsigned moves() {
  unsigned sum = 0;
  for (const auto& each : state.open) sum += each != nullptr ? each->moves() : 0;
  return sum;
}

bool on_round(void* /*argument*/) { return ++state.rounds % kRounds == 0 && poll(); }

// Returns the number of channels for communicators over several hosts; `wanted`: the number if nothing limits it.
int network_offer(int wanted) {
  if (state.network == nullptr) return 1;
  const bool alone = boot::processes().of_this_host().size() <= 1;
  const int suitable = alone ? wanted : std::min(wanted, state.on_host);
  const int number = std::min(suitable, state.network->most_channels() + 1);
  if (number < suitable) {
    const auto level = boot::identity().rank == 0 ? log::Level::kNote : log::Level::kDecision;
    log::write(level,
               "threads that communicate with other hosts share %d channel%s instead of %d: this process may open few "
               "files for its connections (ulimit -n)",
               number, number == 1 ? "" : "s", suitable);
  }
  return number;
}

// Ends the job: other processes use the channel as well, and would wait for ever for this one.
[[noreturn]] void give_up(int number) {
  boot::abort(1, "channel " + std::to_string(number) + " cannot be opened: " + take_detail() +
                     "; give this process more memory or files (ulimit -n), or let threads share one lock "
                     "(HEADRACE_CHANNELS=1)");
}

}  // namespace

bool poll() {
  bool moved = false;
  const auto failed = failed_processes();
  for (const auto& each : state.open) {
    if (each == nullptr) continue;
    moved |= each->try_round(false);
    moved |= each->try_end_unanswered();
    if (!failed.empty()) static_cast<void>(each->try_fail(failed));
  }
  if (!state.endings.empty()) end_contexts();
  if (state.tidy != nullptr) state.tidy();
  return moved;
}

bool offer() {
  // Beside a driver, channels have not been measured on a GPU yet: the program has to ask for them.
  const bool wants = knobs().channels != 0 || !mem::maybe_device();
  if (!wants || engine()->failure_watch != nullptr || offered()) return false;
  transport::Transport* host = nullptr;
  for (transport::Transport* each : transport::active()) {
    if (each->most_channels() <= 0) continue;
    // Processes offer numbers of channels through shared memory, the transport that also reaches this process itself.
    (each->reaches(boot::identity().rank) ? host : state.network) = each;
  }
  const auto chosen = static_cast<int>(knobs().channels);
  // There is one channel per thread that can run concurrently, in addition to channel 0. own_cores() would depend on
  // which processes have started already, and so differ between processes that have the same CPUs.
  const int cores = share_of_cores(engine()->processes_on_node, online_cores());
  const int suitable = cores == 1 ? 1 : cores + 1;
  const int wanted = std::min(chosen != 0 ? chosen : suitable, kMost);
  if (host != nullptr) state.on_host = std::min(wanted, host->most_channels() + 1);
  if (state.on_host > 1) {
    state.host = host;
    host->offer_channels(state.on_host);
    log::write(log::Level::kDecision, "channels: %d", state.on_host);
  }
  state.on_network = network_offer(wanted);
  if (state.on_network > 1) log::write(log::Level::kDecision, "channels over several hosts: %d", state.on_network);
  return offered();
}

bool offered() noexcept { return state.on_host > 1 || state.on_network > 1; }

int offered_by(int proc) noexcept {
  if (state.host == nullptr || !state.host->reaches(proc)) return 1;
  return std::max(state.host->channels_of(proc), 1);
}

int offered_over_hosts() noexcept { return state.on_network; }

Channel& at(int number, bool over_hosts) {
  auto& slot = state.open[static_cast<std::size_t>(number)];
  if (slot == nullptr) {
    auto made = std::make_unique<Channel>(number);
    if (!made->open(state.host != nullptr ? *state.host : *state.network).ok()) give_up(number);
    static_cast<void>(made->try_fail(failed_processes()));  // no other thread has its lock
    slot = std::move(made);
    if (!std::exchange(state.hooked, true)) {
      progress_thread::poll_seldom({poll, moves});
      add_hook(on_round, nullptr);
    }
  }
  if (over_hosts && !slot->is_over(*state.network) && !slot->join(*state.network).ok()) give_up(number);
  return *slot;
}

void ask_with(void (*ask)(int, int)) noexcept { ask_other = ask; }

void ask_to_open(int proc, int number) {
  const LibraryGuard guard;
  if (ask_other != nullptr) ask_other(proc, number);
}

void open_for(int from, std::uint64_t number, bool over_hosts) {
  const int own = over_hosts ? state.on_network : state.on_host;
  if (number == 0 || number >= static_cast<std::uint64_t>(own))
    return drop_message(from, "it asks for a channel that this process does not offer");
  static_cast<void>(at(static_cast<int>(number), over_hosts));
}

void end(int number, std::uint32_t context, Status why) {
  if (state.open[static_cast<std::size_t>(number)] == nullptr) return static_cast<void>(take_detail());
  state.endings.push_back({number, context, why, take_detail()});
  end_contexts();
}

void find_members_with(int (*process_in)(const Object&, int)) noexcept {
  member_finder.store(process_in, std::memory_order_relaxed);
}

int process_in(const Object* communicator, int source) noexcept {
  const auto find = member_finder.load(std::memory_order_relaxed);
  return communicator != nullptr && source >= 0 && find != nullptr ? find(*communicator, source) : -1;
}

void tidy_with(void (*tidy)()) { state.tidy = tidy; }

bool progress_others() {
  if (!LibraryLock::try_acquire()) return false;
  static_cast<void>(node_oversubscribed());  // updates the result, which threads that wait on channels do not do
  bool moved = p2p::poll();
  moved |= poll();  // the hook above runs it only in some rounds
  LibraryLock::release();
  return moved;
}

// A thread that has the library lock makes progress itself, or lets the progress thread do so.
void end_rest() {
  if (!LibraryLock::try_acquire()) return;
  progress_thread::wake();
  LibraryLock::release();
}

bool progress_engine() {
  if (!LibraryLock::try_acquire()) return false;
  const bool moved = p2p::poll();
  LibraryLock::release();
  return moved;
}

void drain() {
  const auto unsent = [] {
    return std::any_of(state.open.begin(), state.open.end(),
                       [](const auto& each) { return each != nullptr && each->has_unsent(); });
  };
  static_cast<void>(wait_until([&] {
    static_cast<void>(poll());
    return !unsent();
  }));
}

void close() {
  if (std::exchange(state.hooked, false)) {
    remove_hook(on_round, nullptr);
    progress_thread::poll_seldom({});
  }
  for (auto& each : state.open) {
    if (each != nullptr) each->close();
    each.reset();
  }
  state.host = state.network = nullptr;
  state.on_host = state.on_network = 1;
  state.endings.clear();
  state.tidy = nullptr;
}

}  // namespace hr::p2p::channels
