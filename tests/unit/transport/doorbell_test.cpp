// The doorbell: a ring wakes a sleeper, a ring before the sleep is not lost, and no action of one of the owner's
// threads hides another thread or its ring.
#include "transport/shm/doorbell.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/process_barrier.hpp"

namespace {
std::atomic<int> barriers{0};
}

// Replaces the C library's syscall(), and counts the membarrier calls (barriers in all processes).
extern "C" long syscall(long number, ...) noexcept {
  using Syscall = long (*)(long, ...);
  static const auto real = reinterpret_cast<Syscall>(::dlsym(RTLD_NEXT, "syscall"));
  if (number == SYS_membarrier) ++barriers;
  std::va_list list;
  va_start(list, number);
  std::array<long, 6> given{};
  for (long& each : given) each = va_arg(list, long);
  va_end(list);
  return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

namespace hr::transport::shm {
namespace {

// Maximum length of a sleep, and time within which a woken thread must run, even on a busy machine.
constexpr double kSleepSeconds = 30;
constexpr double kSoonSeconds = 10;

struct DoorbellFixture : testing::Test {
  DoorbellFixture() {
    register_barrier();
    bell = ::new (std::aligned_alloc(128, Doorbell::footprint(2))) Doorbell{};
    bell->connected()[0] = 0;
    bell->pending(2)[0] = 0;
  }
  ~DoorbellFixture() override { std::free(bell); }
  [[nodiscard]] std::uint32_t armed() const { return Doorbell::armed_in(bell->state.load()); }
  // Sleeps, and returns the duration.
  double slept(std::uint32_t rings) const {
    const double before = now_seconds();
    bell->sleep(rings, kSleepSeconds);
    return now_seconds() - before;
  }
  Doorbell* bell;
};

TEST_F(DoorbellFixture, RingWakesTheSleeper) {
  std::atomic<bool> message{false};
  std::thread sleeper([&] {
    while (!message.load()) {
      const std::uint32_t rings = bell->arm();
      if (!message.load()) bell->sleep(rings, kSleepSeconds);
      bell->disarm(rings);
    }
  });
  while (armed() == 0) std::this_thread::yield();
  const double before = now_seconds();
  message.store(true);
  bell->ring();
  sleeper.join();
  EXPECT_LT(now_seconds() - before, kSoonSeconds) << "the ring did not wake the sleeper";
}

TEST_F(DoorbellFixture, SleepReturnsAtOnceWhenRungBefore) {
  const std::uint32_t rings = bell->arm();
  bell->ring();
  EXPECT_EQ(armed(), 0U) << "the next message would make a system call";
  EXPECT_LT(slept(rings), kSoonSeconds);
}

// Between the ring and the sleep, another thread arms the doorbell, finds a message, and handles it.
TEST_F(DoorbellFixture, ARingBeforeTheSleepIsNotLostToThreadsThatArmAfterIt) {
  const std::uint32_t rings = bell->arm();
  bell->ring();
  const std::uint32_t of_another = bell->arm();
  EXPECT_LT(slept(rings), kSoonSeconds) << "the ring was lost";
  bell->disarm(rings);
  EXPECT_EQ(armed(), 1U) << "who was rung took another thread's place";
  bell->disarm(of_another);
  EXPECT_EQ(armed(), 0U);
}

TEST_F(DoorbellFixture, NobodyArmedIsNotRung) {
  const std::uint64_t before = bell->state;
  bell->ring();
  EXPECT_EQ(bell->state, before);
  const std::uint32_t rings = bell->arm();
  bell->disarm(rings);
  const std::uint64_t after = bell->state;
  EXPECT_EQ(armed(), 0U);
  bell->ring();
  EXPECT_EQ(bell->state, after);
}

// A barrier interrupts every core of the machine, and only one barrier runs at a time.
TEST_F(DoorbellFixture, OneBarrierServesManySleeps) {
  barriers = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t rings = bell->arm();
    if (i % 2 != 0) bell->ring();
    bell->disarm(rings);
  }
  EXPECT_LE(barriers, 1);
}

TEST_F(DoorbellFixture, SendersStopToFenceForAnOwnerThatSleepsNoMore) {
  bell->disarm(bell->arm());
  if ((bell->state & Doorbell::kFenced) == 0) GTEST_SKIP() << "this system has no membarrier";
  for (std::uint32_t i = 0; i < 2 * Doorbell::kMostFences; ++i) bell->ring();
  EXPECT_EQ(static_cast<std::uint32_t>(bell->state), 0U);
  barriers = 0;
  const std::uint32_t rings = bell->arm();
  EXPECT_EQ(barriers, 1);
  EXPECT_EQ(armed(), 1U);
  bell->ring();
  EXPECT_LT(slept(rings), kSoonSeconds);
}

TEST_F(DoorbellFixture, TheCountOfRingsComesRound) {
  bell->state = std::uint64_t{0xffffffff} << 32;
  const std::uint32_t rings = bell->arm();
  EXPECT_EQ(rings, 0xffffffffU);
  bell->ring();
  EXPECT_EQ(Doorbell::rings_in(bell->state), 0U);
  EXPECT_LT(slept(rings), kSoonSeconds);
  bell->disarm(rings);
  EXPECT_EQ(Doorbell::rings_in(bell->state), 0U);
  EXPECT_EQ(armed(), 0U);
}

bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.compare(name_end, 3, ") S") == 0;
}

// One thread sleeps; another one is about to sleep, but finds a message, and wakes the first before it handles it.
TEST_F(DoorbellFixture, AThreadThatDoesNotSleepAfterAllHidesNobodyElse) {
  std::atomic<pid_t> sleeping{0};
  std::thread sleeper([&] {
    const std::uint32_t rings = bell->arm();
    sleeping = ::gettid();
    bell->sleep(rings, kSleepSeconds);
    bell->disarm(rings);
  });
  while (sleeping == 0) std::this_thread::yield();
  // Without membarrier, the sleep ends after a timeout.
  const bool has_barrier = process_barrier::register_this_process();
  const double before = now_seconds();
  while (has_barrier && !is_asleep(sleeping) && now_seconds() - before < 20) std::this_thread::yield();
  bell->disarm(bell->arm());
  bell->ring();
  sleeper.join();
  EXPECT_LT(now_seconds() - before, kSoonSeconds) << "the ring did not wake the sleeper";
}

// At the same time, several threads sleep until the next message, one arms and disarms continuously, and one rings.
TEST_F(DoorbellFixture, EveryRingIsSeenByAllThreads) {
  constexpr int kMessages = 20000;
  constexpr double kLongestTest = 5;
  std::atomic<int> messages{0};
  std::atomic<bool> over{false};
  std::array<std::atomic<int>, 2> seen{};
  const auto wait_for_messages = [&](std::atomic<int>& mine) {
    while (!over) {
      const std::uint32_t rings = bell->arm();
      if (messages.load(std::memory_order_acquire) == mine && !over) bell->sleep(rings, kSleepSeconds);
      bell->disarm(rings);
      mine = messages.load(std::memory_order_acquire);
    }
  };
  std::thread first([&] { wait_for_messages(seen[0]); });
  std::thread second([&] { wait_for_messages(seen[1]); });
  std::thread restless([&] {
    while (!over) bell->disarm(bell->arm());
  });
  const double begin = now_seconds();
  double slowest = 0;
  int message = 0;
  while (message < kMessages && slowest < kSoonSeconds && now_seconds() - begin < kLongestTest) {
    const double before = now_seconds();
    messages.store(++message, std::memory_order_release);
    bell->ring();
    for (const std::atomic<int>& each : seen) {
      while (each != message) {
        slowest = std::max(slowest, now_seconds() - before);
        std::this_thread::yield();
      }
    }
  }
  over = true;
  bell->ring();
  for (std::thread* each : {&first, &second, &restless}) each->join();
  EXPECT_LT(slowest, kSoonSeconds) << "message " << message
                                   << " was not seen before a sleep had lasted its whole limit";
  EXPECT_EQ(armed(), 0U);
}

TEST_F(DoorbellFixture, AnnounceCountsAndMarks) {
  bell->announce(1);
  EXPECT_EQ(bell->connections.load(), 1U);
  EXPECT_EQ(bell->connected()[0].load(), 2U);
}

}  // namespace
}  // namespace hr::transport::shm
