// The doorbell: a sleeper is woken by a ring, and a ring that comes first is not lost.
#include "transport/shm/doorbell.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <thread>

#include "base/clock.hpp"

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

TEST_F(DoorbellFixture, AnnounceCountsAndMarks) {
  bell->announce(1);
  EXPECT_EQ(bell->connections.load(), 1U);
  EXPECT_EQ(bell->connected()[0].load(), 2U);
}

}  // namespace
}  // namespace hr::transport::shm
