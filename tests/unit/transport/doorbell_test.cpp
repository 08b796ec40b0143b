// The doorbell: a sleeper is woken by a ring, and a ring that comes first is not lost.
#include "transport/shm/doorbell.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/lock.hpp"

namespace hr::transport::shm {
namespace {

struct DoorbellFixture : testing::Test {
  DoorbellFixture() {
    register_barrier();
    bell = ::new (std::aligned_alloc(128, Doorbell::footprint(2))) Doorbell{};
    bell->connected()[0] = 0;
    bell->pending(2)[0] = 0;
  }
  ~DoorbellFixture() override { std::free(bell); }
  Doorbell* bell;
};

TEST_F(DoorbellFixture, RingWakesTheSleeper) {
  std::atomic<bool> message{false};
  std::thread sleeper([&] {
    while (!message.load()) {
      bell->sleeping.store(1);
      barrier();
      if (!message.load()) sleep_on(bell->sleeping, 30.0);
      bell->sleeping.store(0);
    }
  });
  while (bell->sleeping.load() == 0) std::this_thread::yield();
  const double before = now_seconds();
  message.store(true);
  bell->ring();
  sleeper.join();
  EXPECT_LT(now_seconds() - before, 10.0) << "the ring did not wake the sleeper";
}

TEST_F(DoorbellFixture, SleepReturnsAtOnceWhenRungBefore) {
  bell->sleeping.store(1);
  bell->ring();
  EXPECT_EQ(bell->sleeping.load(), 0U);
  const double before = now_seconds();
  sleep_on(bell->sleeping, 30.0);
  EXPECT_LT(now_seconds() - before, 10.0);
}

bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.compare(name_end, 3, ") S") == 0;
}

// One thread sleeps; another one is about to, finds something, and goes to work, for which it wakes the first.
TEST_F(DoorbellFixture, AThreadThatDoesNotSleepAfterAllHidesNobodyElse) {
  LibraryLock::enable();
  std::atomic<pid_t> armed{0};
  std::thread sleeper([&] {
    bell->arm();
    armed = ::gettid();
    sleep_on(bell->sleeping, 30.0);
    bell->disarm();
  });
  while (armed == 0) std::this_thread::yield();
  // Where the system has no membarrier the sleep is over by itself.
  const double before = now_seconds();
  while (has_barrier() && !is_asleep(armed) && now_seconds() - before < 20) std::this_thread::yield();
  bell->arm();
  bell->disarm();
  bell->ring();
  sleeper.join();
  EXPECT_LT(now_seconds() - before, 10.0) << "the ring did not wake the sleeper";
}

TEST_F(DoorbellFixture, AnnounceCountsAndMarks) {
  bell->announce(1);
  EXPECT_EQ(bell->connections.load(), 1U);
  EXPECT_EQ(bell->connected()[0].load(), 2U);
}

}  // namespace
}  // namespace hr::transport::shm
