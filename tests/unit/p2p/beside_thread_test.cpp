// Tests wake-ups, and work done without the lock, next to a progress thread and other threads of the program. Uses a
// mock transport, so that only the test causes events.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/abi.hpp"
#include "base/knobs.hpp"
#include "base/lock.hpp"
#include "boot/boot.hpp"
#include "layout/op.hpp"
#include "p2p/core/engine.hpp"
#include "p2p/progress_thread.hpp"
#include "p2p/protocol/shared_copy.hpp"
#include "p2p/task.hpp"

namespace hr::p2p {
namespace {

constexpr auto kLimit = std::chrono::seconds(20);
constexpr std::size_t kAutotune = 64;

template <class Condition>
bool await(Condition&& condition) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// A transport where no message arrives, only wake() ends a sleep, and a long read lasts until another thread has called
// the library.
class TestTransport final : public transport::Transport {
 public:
  ~TestTransport() override {
    if (other_.joinable()) other_.join();
  }
  [[nodiscard]] std::string_view name() const noexcept override { return "test"; }
  [[nodiscard]] bool reaches(int) const noexcept override { return true; }
  [[nodiscard]] transport::Caps caps(int) const noexcept override { return {}; }
  Status connect(int) override { return kOk; }
  Status send(int, const transport::Header&, const void*, std::size_t) override { return kOk; }
  std::byte* reserve(int, std::size_t) override { return nullptr; }
  void commit(int, const transport::Header&) override {}
  bool progress() override {
    ++looks;
    if (on_look) on_look();
    return moves > 0 && moves-- > 0;
  }
  Status get(int, const transport::RemoteKey*, std::span<const transport::RemotePart> parts,
             transport::Operation*) override {
    for (const transport::RemotePart& part : parts) {
      if (part.bytes > kAutotune && !other_.joinable()) {
        other_ = std::thread([this] {
          const LibraryGuard guard;
          others_got_in = true;
        });
        got_in_meanwhile = await([this] { return others_got_in.load(); });
      }
      std::memcpy(part.local, reinterpret_cast<const void*>(part.address), part.bytes);
    }
    return kOk;
  }
  std::span<transport::SharedWord> shared_words(int) override { return words_; }
  [[nodiscard]] bool can_sleep() const noexcept override { return true; }
  std::optional<std::uint32_t> arm() override {
    const std::lock_guard lock(mutex_);
    armed_ = true;
    return wakes;
  }
  void sleep(std::uint32_t armed, double at_most_seconds) override {
    if (on_sleep) on_sleep();
    std::unique_lock lock(mutex_);
    ++sleeps;
    sleeping_on_ = armed;
    const auto over = [&] { return wakes != armed || at_most_seconds == 0; };
    // A thread that finds others on its core sleeps for a moment without expecting a wake-up
    // (p2p/wait/oversubscription.hpp).
    const bool for_others = at_most_seconds == 100e-6 || at_most_seconds == 1e-3;
    if (for_others) {
      condition_.wait_for(lock, std::chrono::duration<double>(at_most_seconds), over);
    } else {
      condition_.wait(lock, over);
    }
    sleeping_on_.reset();
    armed_ = false;
    lock.unlock();
    const LibraryGuard guard;  // waits until the ringing thread has released the library lock
  }
  void wake() noexcept override {
    const std::lock_guard lock(mutex_);
    ++wakes;
    condition_.notify_all();
  }
  Status finalize() override { return kOk; }
  // Rings the doorbell as a message does.
  void ring() {
    if (armed_) wake();
  }
  // True if a thread sleeps and has not been woken.
  bool asleep() {
    const std::lock_guard lock(mutex_);
    return sleeping_on_ == wakes;
  }

  std::atomic<int> looks{0};
  std::atomic<int> moves{0};  // number of polls that still make progress
  std::function<void()> on_look;
  std::function<void()> on_sleep;  // called without the library lock
  std::atomic<int> sleeps{0};
  std::atomic<std::uint32_t> wakes{0};
  std::atomic<bool> others_got_in{false};
  std::atomic<bool> got_in_meanwhile{false};

 private:
  std::array<transport::SharedWord, 2> words_{};
  std::thread other_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::optional<std::uint32_t> sleeping_on_;
  std::atomic<bool> armed_{false};
};

class BesideThread : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("HEADRACE_PROGRESS_THREAD", "watch", 1);
    LibraryLock::enable();
    ASSERT_TRUE(boot::init().ok());
    ASSERT_TRUE(init().ok());
  }
  static void TearDownTestSuite() {
    ASSERT_TRUE(finalize().ok());
    ASSERT_TRUE(boot::finalize().ok());
  }
  void SetUp() override {
    before = engine()->transports;
    engine()->transports = {&transport};
    engine()->sleeper.open(only);
    make_peer(0).transport = make_peer(0).memory = &transport;
    peer_of(0).connected = true;
  }
  void TearDown() override {
    progress_thread::stop();
    engine()->transports = before;
    engine()->sleeper.close();
    peer_of(0).connected = false;
  }
  TestTransport transport;
  std::array<transport::Transport*, 1> only{&transport};
  std::vector<transport::Transport*> before;
};

TEST_F(BesideThread, LongCopiesLetOthersIn) {
  std::vector<unsigned char> from(200001);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 2654435761U >> 9);
  std::vector<unsigned char> to(from.size(), 0xee);
  Request* receive = Arena<Request>::instance().create(true, 6U, 0, 0, 0);
  ASSERT_TRUE(
      layout::make_view(to.data(), static_cast<Count>(to.size()), *layout::predefined_type(abi::kByte), &receive->view_)
          .ok());
  receive->total_ = to.size();
  ReadyToSend rts;
  rts.from_proc = 0;
  rts.sender_cookie = 1;
  rts.remote_address = reinterpret_cast<std::uintptr_t>(from.data());
  rts.bytes = from.size();
  {
    const LibraryGuard guard;
    ASSERT_TRUE(shared_copy::begin(rts, *receive).ok());
    EXPECT_FALSE(receive->complete());
    EXPECT_TRUE(await([&] { return poll(), receive->complete(); }));
  }
  EXPECT_TRUE(transport.got_in_meanwhile) << "the lock was held while the system copied";
  EXPECT_EQ(to, from);
  release(receive);
}

// For work that no message announces, a thread that tests wakes the progress thread, which then polls continuously
// instead of once.
TEST_F(BesideThread, AskingWakesTheThreadForWorkThatRingsNoBell) {
  ASSERT_TRUE(progress_thread::start().ok());
  bool watched_on = false;
  // If the thread loses its core for a millisecond, it does not poll a second time.
  for (int attempt = 0; attempt < 200 && !watched_on; ++attempt) {
    ASSERT_TRUE(await([&] { return transport.sleeps == attempt + 1; }));
    const int looks = transport.looks;
    {
      const LibraryGuard guard;
      begin_polled_wait();
      poll_for_probe();
      end_polled_wait();
    }
    ASSERT_TRUE(await([&] { return transport.sleeps > attempt + 1; })) << "nobody woke it";
    watched_on = transport.looks > looks + 2;  // one of these polls was made by this thread
  }
  EXPECT_TRUE(watched_on);
}

Task wait_for(Request* request) {
  Requests<1> set;
  *set.next() = request;
  const Status status = co_await set.all();
  co_return status;
}

// Checks the first task, which installs the hook of all tasks, and those that follow it.
TEST_F(BesideThread, ATaskThatIsLaunchedWakesTheThreadOnce) {
  ASSERT_TRUE(progress_thread::start().ok());
  std::array<Request*, 3> awaited{};
  std::array<Request*, 3> tasks{};
  for (std::size_t i = 0; i < awaited.size(); ++i) {
    ASSERT_TRUE(await([&] { return transport.asleep(); }));
    const LibraryGuard guard;  // held while the thread is woken
    const std::uint32_t wakes = transport.wakes;
    awaited[i] = Arena<Request>::instance().create();
    ASSERT_TRUE(run_as_request(wait_for(awaited[i]), nullptr, nullptr, &tasks[i]).ok());
    EXPECT_EQ(transport.wakes, wakes + 1) << "task " << i;
  }
  const LibraryGuard guard;
  for (std::size_t i = 0; i < awaited.size(); ++i) {
    awaited[i]->finish(Completion{});
    EXPECT_TRUE(wait(*tasks[i]).ok());
    release(tasks[i]);
  }
}

// Another thread delivers a message. It enters the library after a round of the waiting thread, as soon as that thread
// permits it: after each round up to the first that sleeps, and several times after this last one, whose number depends
// on the load that the waiting thread detects.
TEST_F(BesideThread, AWaitDoesNotSleepOnWhatAnotherThreadHasTaken) {
  engine()->oversubscribed = true;  // so that it soon sleeps
  set_spin_limits();
  constexpr int kMet = 10;
  int met = 0;  // number of times that the thread entered after the round that slept
  int round = 1;
  bool missed = false;
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (!missed && met < kMet && std::chrono::steady_clock::now() < end) {
    transport.looks = 0;
    std::atomic<bool> comes{false};
    std::atomic<bool> delivered{false};
    std::atomic<bool> seen{false};
    bool slept = false;
    bool in_time = false;
    transport.on_look = [&] {
      if (transport.looks != round) return;
      comes = in_time = true;
      EXPECT_TRUE(await([] { return LibraryLock::contended(); }));
    };
    transport.on_sleep = [&] {
      slept = true;
      comes = true;  // the message arrives no later than now
    };
    std::thread other([&] {
      EXPECT_TRUE(await([&] { return comes.load(); }));
      {
        const LibraryGuard guard;
        transport.ring();
        delivered = true;
      }
      EXPECT_TRUE(await([&] { return seen || transport.asleep(); }));
      missed = !seen;
      if (missed) transport.wake();
    });
    {
      const LibraryGuard guard;
      EXPECT_TRUE(wait_until([&] { return delivered.load(); }).ok());
    }
    seen = true;
    other.join();
    if (slept && in_time) ++met;
    round = slept ? transport.looks.load() : round + 1;
  }
  EXPECT_FALSE(missed) << "slept at round " << round;
  EXPECT_TRUE(missed || met == kMet) << met;
  transport.on_look = nullptr;
  transport.on_sleep = nullptr;
  engine()->oversubscribed = false;
  set_spin_limits();
}

// The remaining part of a long copy, for example, does not ring the doorbell.
TEST_F(BesideThread, AThreadThatDoesNotWatchSleepsOnlyOnceNothingMoves) {
  ASSERT_TRUE(set_knob("progress_thread", "sleep"));
  transport.moves = 1000;
  ASSERT_TRUE(progress_thread::start().ok());
  EXPECT_TRUE(await([&] { return transport.sleeps == 1; }));
  EXPECT_EQ(transport.moves, 0);
  progress_thread::stop();
  ASSERT_TRUE(set_knob("progress_thread", "watch"));
}

TEST_F(BesideThread, OnlyTheThreadsRoundsCount) {
  static_cast<void>(progress_thread::take_round());
  progress_thread::count_round();
  EXPECT_FALSE(progress_thread::take_round());
}

// The calls do without the thread until it polls again, which it cannot do while the lock is held.
TEST_F(BesideThread, ManyCallsInARowThatFindNoRoundMakeDoWithoutTheThread) {
  ASSERT_TRUE(progress_thread::start().ok());
  {
    const LibraryGuard guard;
    static_cast<void>(progress_thread::take_round());
    int calls = 0;
    while (!progress_thread::starved() && calls < 1000000) {
      EXPECT_FALSE(progress_thread::take_round());
      ++calls;
    }
    EXPECT_GT(calls, 100);
    EXPECT_LT(calls, 1000000);
  }
  transport.wake();
  EXPECT_TRUE(await([] { return static_cast<void>(progress_thread::take_round()), !progress_thread::starved(); }));
}

TEST_F(BesideThread, AnotherThreadBeginsAnew) {
  while (!progress_thread::starved()) static_cast<void>(progress_thread::take_round());
  ASSERT_TRUE(progress_thread::start().ok());
  EXPECT_FALSE(progress_thread::starved());
}

}  // namespace
}  // namespace hr::p2p
