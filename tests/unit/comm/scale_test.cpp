// Memory of a process in a job of 10,000 before its first message: tables of boot and comm, and the transport registry
// with only `self`.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "base/abi.hpp"
#include "boot/state.hpp"
#include "comm/communicator.hpp"
#include "comm/create.hpp"
#include "comm/session.hpp"
#include "transport/transport.hpp"

namespace hr::comm {
namespace {

constexpr int kProcesses = 10000;

// A launcher that declares all processes' hosts. The other processes never start.
class Launcher final : public boot::Provider {
 public:
  Status connect(boot::Identity* identity, std::vector<int>* hosts) override {
    identity->rank = kProcesses / 2;
    identity->size = kProcesses;
    identity->job_id = "scale";
    identity->has_launcher = true;
    // This process is alone on its host, so there is no shared memory.
    for (int rank = 0; rank < kProcesses; ++rank) hosts->push_back(rank == identity->rank ? 1 : 2 + rank / 64);
    return kOk;
  }
  [[nodiscard]] bool names_jobs() const noexcept override { return true; }
  [[nodiscard]] bool can_wait() const noexcept override { return true; }
  Status get_waiting(std::string_view, std::string* value) override {
    *value = "1/";
    return kOk;
  }
  Status put(std::string_view, std::string_view) override { return kOk; }
  Status get(int, std::string_view, std::string*) override {
    ADD_FAILURE() << "nobody has to be looked up";
    return Errc::kOther;
  }
  Status fence() override { return kOk; }
  Status finalize() override { return kOk; }
  void abort(int) noexcept override {}
};

std::size_t in_use() {
  const struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// Returns the bytes of pages that the process has written, including arenas of objects, which malloc does not allocate.
std::size_t pages() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word;) {
    std::size_t kib = 0;
    if (word == "Anonymous:" && file >> kib) return kib * 1024;
  }
  return 0;
}

class ScaleTest : public testing::Test {
 protected:
  void SetUp() override {
    pages_before_ = pages();
    before_ = in_use();
    ASSERT_TRUE(boot::init_with(std::make_unique<Launcher>(), "mock", {}).ok()) << take_detail();
    after_boot_ = in_use();
    const boot::Identity& identity = boot::identity();
    handlers_.failed = [](int, Status) {};
    const transport::Job job{identity.rank, identity.size, boot::processes(), identity.job_id};
    ASSERT_TRUE(transport::init(job, handlers_).ok()) << take_detail();
    ASSERT_TRUE(init().ok());
  }
  void TearDown() override {
    finalize();
    EXPECT_TRUE(transport::finalize().ok());
    EXPECT_TRUE(boot::finalize().ok());
  }
  std::size_t pages_before_ = 0;
  std::size_t before_ = 0;
  std::size_t after_boot_ = 0;
  transport::Handlers handlers_;
};

TEST_F(ScaleTest, NothingConnected) {
  const std::size_t all = in_use() - before_;
  const std::size_t written = pages() - pages_before_;
  std::printf("boot %zu B, %.1f B a process; boot, transports and comm %zu B, in pages %zu B\n", after_boot_ - before_,
              static_cast<double>(after_boot_ - before_) / kProcesses, all, written);
  EXPECT_LT(after_boot_ - before_, std::size_t{64} * kProcesses);
  EXPECT_LT(all, std::size_t{2} << 20);
  EXPECT_LT(written, std::size_t{2} << 20);
  EXPECT_EQ(world()->size(), kProcesses);
  EXPECT_EQ(world()->rank(), kProcesses / 2);
}

TEST_F(ScaleTest, CommunicatorsOfRangesTakeNoTable) {
  constexpr int kCommunicators = 100;
  std::vector<Ref<Group>> groups;
  groups.reserve(3 * kCommunicators);
  const std::size_t before = in_use();
  for (int i = 0; i < kCommunicators; ++i) {
    Ref<Group> group;
    const int even[1][3] = {{0, kProcesses - 2, 2}};
    ASSERT_TRUE(include_ranges(*world()->local_, 1, even, &group).ok());
    EXPECT_EQ(group->size(), kProcesses / 2);
    EXPECT_EQ(group->rank(), kProcesses / 4);
    EXPECT_EQ(group->proc(77), 154);
    groups.push_back(std::move(group));
    const int back[1][3] = {{kProcesses - 1, 0, -1}};
    ASSERT_TRUE(include_ranges(*world()->local_, 1, back, &group).ok());
    EXPECT_EQ(group->proc(0), kProcesses - 1);
    EXPECT_EQ(group->rank(), kProcesses / 2 - 1);
    groups.push_back(std::move(group));
    groups.push_back(group_of(world()->local_->procs()));
  }
  EXPECT_LT(in_use() - before, std::size_t{1000} * groups.size()) << "an int each would be 20 kB and more";
}

}  // namespace
}  // namespace hr::comm
