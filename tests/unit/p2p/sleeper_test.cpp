#include "p2p/wait/sleeper.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/clock.hpp"

namespace hr::p2p {
namespace {

constexpr double kLong = 20;  // seconds
constexpr double kShort = 10;

// A transport with which threads only sleep and are woken.
class Silent : public transport::Transport {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "silent"; }
  [[nodiscard]] bool reaches(int) const noexcept override { return false; }
  [[nodiscard]] transport::Caps caps(int) const noexcept override { return {}; }
  Status connect(int) override { return Errc::kOther; }
  Status send(int, const transport::Header&, const void*, std::size_t) override { return Errc::kOther; }
  std::byte* reserve(int, std::size_t) override { return nullptr; }
  void commit(int, const transport::Header&) override {}
  bool progress() override { return false; }
  Status finalize() override { return kOk; }
  [[nodiscard]] bool can_sleep() const noexcept override { return true; }
};

class Bell : public Silent {
 public:
  [[nodiscard]] std::optional<std::uint32_t> arm() override {
    const std::scoped_lock lock(mutex_);
    return rings_;
  }
  void sleep(std::uint32_t armed, double at_most_seconds) override {
    std::unique_lock lock(mutex_);
    rung_.wait_for(lock, std::chrono::duration<double>(at_most_seconds), [&] { return rings_ != armed; });
  }
  void wake() noexcept override {
    const std::scoped_lock lock(mutex_);
    ++rings_;
    rung_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable rung_;
  std::uint32_t rings_ = 0;
};

class Network : public Silent {
 public:
  ~Network() override { ::close(descriptor_); }
  [[nodiscard]] int arrivals() const noexcept override { return descriptor_; }
  [[nodiscard]] bool arm_arrivals() override { return !arrived_; }
  void arrive() {
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(descriptor_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }
  void take() {
    std::uint64_t count = 0;
    ASSERT_EQ(::read(descriptor_, &count, sizeof count), static_cast<ssize_t>(sizeof count));
  }
  void arrived(bool already) { arrived_ = already; }

 private:
  int descriptor_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  bool arrived_ = false;
};

class SleeperTest : public ::testing::Test {
 protected:
  void SetUp() override { sleeper_.open(transports_); }
  void TearDown() override { sleeper_.close(); }
  double slept(const Sleeper::Armed& armed, double at_most) {
    const double start = now_seconds();
    sleeper_.sleep(armed, at_most);
    return now_seconds() - start;
  }

  Bell bell_;
  Network network_;
  std::vector<transport::Transport*> transports_{&bell_, &network_};
  Sleeper sleeper_;
};

TEST_F(SleeperTest, WhatArrivesByTheOtherTransportEndsTheSleep) {
  for (int i = 0; i < 100; ++i) {
    const auto armed = sleeper_.arm();
    ASSERT_TRUE(armed.has_value());
    network_.arrive();
    ASSERT_LT(slept(*armed, kLong), kShort) << "round " << i;
    network_.take();
  }
}

TEST_F(SleeperTest, ASleepThatEndedOtherwiseLeavesTheNextOneItsArrival) {
  for (int i = 0; i < 100; ++i) {
    const auto first = sleeper_.arm();
    sleeper_.wake();
    ASSERT_LT(slept(first.value(), kLong), kShort);
    const auto second = sleeper_.arm();
    network_.arrive();
    ASSERT_LT(slept(second.value(), kLong), kShort);
    network_.take();
  }
}

TEST_F(SleeperTest, ThereIsNoSleepWhereSomethingHasArrived) {
  network_.arrived(true);
  EXPECT_FALSE(sleeper_.arm().has_value());
}

TEST_F(SleeperTest, AThreadSleepsWhereItIsArmedThoughTheTransportsChange) {
  EXPECT_FALSE(sleeper_.in_use());
  const auto armed = sleeper_.arm();
  EXPECT_TRUE(sleeper_.in_use());
  Bell other;
  std::vector<transport::Transport*> others{&other};
  sleeper_.open(others);
  EXPECT_TRUE(sleeper_.in_use());
  bell_.wake();
  EXPECT_LT(slept(armed.value(), kLong), kShort);
  EXPECT_FALSE(sleeper_.in_use());
}

TEST_F(SleeperTest, WithoutArrivalsItSleeps) {
  const auto armed = sleeper_.arm();
  EXPECT_GE(slept(armed.value(), 0.01), 0.009);
}

}  // namespace
}  // namespace hr::p2p
