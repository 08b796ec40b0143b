// The kernel that waits for copies to execute: every size and alignment, the maximum number of pending copies, and
// copies submitted while it exits.
#include "mem/device/resident_copier.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <vector>

#include "main.hpp"
#include "mem/device/context.hpp"
#include "mem/mem.hpp"

namespace hr::mem::device {
namespace {

using test::DeviceMemory;
using test::MemoryKind;
using Progress = ResidentCopier::Progress;
using Clock = std::chrono::steady_clock;

constexpr auto kLimit = std::chrono::seconds(20);
constexpr std::size_t kGuard = 64;

DeviceAddress address_of(const DeviceMemory& memory) { return reinterpret_cast<std::uintptr_t>(memory.get()); }

class ResidentCopiers : public test::GpuTest {
 protected:
  void SetUp() override {
    test::GpuTest::SetUp();
    if (IsSkipped()) return;
    Location where;
    ASSERT_TRUE(classify(source_.get(), &where).ok()) << take_detail();
    ASSERT_TRUE(Context::of(where, &context_).ok()) << take_detail();
    const Current current(*context_);
    FunctionHandle function = nullptr;
    ASSERT_TRUE(context_->kernel("hr_resident_copy", &function).ok()) << take_detail();
    const char* lazy = std::getenv("FAKE_CUDA_LAZY");
    if (function == nullptr) GTEST_SKIP() << "no kernels";
    if (lazy != nullptr && *lazy == '1') GTEST_SKIP() << "a lazy stream starts nothing by itself";
    for (std::size_t i = 0; i < pattern_.size(); ++i) pattern_[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
    gpu::copy(source_.get(), pattern_.data(), pattern_.size());
  }
  void TearDown() override {
    if (context_ != nullptr) resident_copier().stop();
    test::GpuTest::TearDown();
  }

  ResidentCopier& resident_copier() { return context_->resident_copier(); }
  // Launches the kernel, and waits until it runs. Unused launches become less and less frequent, and on a slow machine
  // the kernel may have exited again.
  void come(std::size_t bytes) {
    for (const auto end = Clock::now() + kLimit; !resident_copier().running(bytes);) {
      ASSERT_LT(Clock::now(), end) << "it does not come";
      if (!resident_copier().wants_launch(bytes)) continue;
      const Current current(*context_);
      resident_copier().launch(bytes);
    }
  }
  Progress answer_to(std::uint32_t entry) {
    Progress answer = Progress::kPending;
    for (const auto end = Clock::now() + kLimit; answer == Progress::kPending && Clock::now() < end;) {
      EXPECT_TRUE(resident_copier().poll(entry, &answer).ok()) << take_detail();
    }
    return answer;
  }
  // Checks the bytes copied to target_ + to, and that the bytes around them have not changed.
  void expect_copied(std::size_t from, std::size_t to, std::size_t bytes) {
    std::vector<std::uint8_t> found(bytes + 2 * kGuard);
    gpu::copy(found.data(), target_.bytes() + to - kGuard, found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool inside = i >= kGuard && i < kGuard + bytes;
      ASSERT_EQ(found[i], inside ? pattern_[from + i - kGuard] : kPoison) << "byte " << i << " of " << bytes;
    }
  }
  void poison() { gpu::fill(target_.get(), kPoison, target_.size()); }

  static constexpr unsigned char kPoison = 0xA5;
  DeviceMemory source_{ResidentCopier::kLargest + 256, MemoryKind::kDevice};
  DeviceMemory target_{ResidentCopier::kLargest + 256 + 2 * kGuard, MemoryKind::kDevice};
  std::vector<std::uint8_t> pattern_ = std::vector<std::uint8_t>(ResidentCopier::kLargest + 256);
  Context* context_ = nullptr;
};

TEST_F(ResidentCopiers, CopiesEverySizeFromAndToEveryAddress) {
  std::mt19937 random(testing::UnitTest::GetInstance()->random_seed());
  const std::size_t sizes[] = {1,   2,    7,     8,     15,    16,     17,
                               255, 4096, 32768, 32769, 65537, 300000, ResidentCopier::kLargest};
  for (const std::size_t size : sizes) {
    for (int i = 0; i < 12; ++i) {
      const std::size_t bytes = size - std::min<std::size_t>(size - 1, random() % 9);
      const std::size_t from = random() % 64, to = kGuard + random() % 64;
      SCOPED_TRACE(testing::Message() << bytes << " bytes from " << from << " to " << to);
      poison();
      std::uint32_t entry = 0;
      Progress answer = Progress::kExited;
      for (const auto end = Clock::now() + kLimit; answer == Progress::kExited && Clock::now() < end;) {
        ASSERT_NO_FATAL_FAILURE(come(bytes));
        if (resident_copier().submit(address_of(target_) + to, address_of(source_) + from, bytes, &entry))
          answer = answer_to(entry);
      }
      ASSERT_EQ(answer, Progress::kDone);
      ASSERT_NO_FATAL_FAILURE(expect_copied(from, to, bytes));
    }
  }
}

TEST_F(ResidentCopiers, OrdersAreCarriedOutOrItHasLeft) {
  std::mt19937 random(testing::UnitTest::GetInstance()->random_seed());
  int done = 0, left = 0;
  for (int round = 0; round < 300; ++round) {
    poison();
    const std::size_t bytes = 1 + random() % 70000;
    ASSERT_NO_FATAL_FAILURE(come(bytes));
    // Most copies are submitted while the kernel decides to exit.
    for (const auto at = Clock::now() + std::chrono::microseconds(30 + random() % 40); Clock::now() < at;) {
    }
    std::uint32_t entry = 0;
    if (!resident_copier().submit(address_of(target_) + kGuard, address_of(source_), bytes, &entry)) continue;
    const Progress answer = answer_to(entry);
    ASSERT_NE(answer, Progress::kPending);
    (answer == Progress::kDone ? done : left) += 1;
    resident_copier().stop();
    if (answer == Progress::kDone) {
      ASSERT_NO_FATAL_FAILURE(expect_copied(0, kGuard, bytes));
    }
  }
  RecordProperty("done", done);
  RecordProperty("left", left);
}

TEST_F(ResidentCopiers, KeepsSevenOrdersAndDoesThemAll) {
  constexpr std::size_t kPiece = 1000;
  std::vector<std::uint32_t> entries;
  for (const auto end = Clock::now() + kLimit; entries.size() != 20;) {
    ASSERT_LT(Clock::now(), end);
    poison();
    entries.clear();
    ASSERT_NO_FATAL_FAILURE(come(kPiece));
    bool left = false;
    while (entries.size() < 20 && !left) {
      std::uint32_t entry = 0;
      const std::size_t at = entries.size() * kPiece;
      if (resident_copier().submit(address_of(target_) + kGuard + at, address_of(source_) + at, kPiece, &entry)) {
        entries.push_back(entry);
      } else {
        left = !resident_copier().running(kPiece);
      }
    }
    for (const std::uint32_t entry : entries) left |= answer_to(entry) != Progress::kDone;
    resident_copier().stop();
    if (left) entries.clear();
  }
  expect_copied(0, kGuard, 20 * kPiece);
}

TEST_F(ResidentCopiers, GoesWhenNobodyNeedsIt) {
  ASSERT_NO_FATAL_FAILURE(come(100));
  for (const auto end = Clock::now() + kLimit; resident_copier().running(100);)
    ASSERT_LT(Clock::now(), end) << "it stays";
  EXPECT_FALSE(resident_copier().starting_soon(100));
}

TEST_F(ResidentCopiers, IsNotThereForMoreThanItWasCalledFor) {
  ASSERT_NO_FATAL_FAILURE(come(100));
  EXPECT_FALSE(resident_copier().running(ResidentCopier::kLargest));
}

}  // namespace
}  // namespace hr::mem::device
