// Memory of a process in a job of 10,000 before its first message, and per peer.
#include <malloc.h>

#include <cstdio>

#include "comm/communicator.hpp"
#include "mock_test.hpp"

namespace hr::p2p {
namespace {

constexpr int kProcesses = 10000;

std::size_t in_use() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::size_t pages_in_use() {
  long total = 0;
  long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return static_cast<std::size_t>(resident) * 4096;
}

TEST(Memory, OfAJobOfTenThousandProcesses) {
  mock_job::set_size(kProcesses);
  const std::size_t before = in_use();
  const std::size_t pages_before = pages_in_use();
  ASSERT_TRUE(boot::init().ok());
  const std::size_t booted = in_use();
  ASSERT_TRUE(init().ok()) << take_detail();
  const std::size_t messages = in_use();
  ASSERT_TRUE(comm::init().ok());
  const std::size_t all = in_use();
  const std::size_t pages = pages_in_use() - pages_before;
  constexpr int kPeers = 100;
  for (int proc = 1; proc <= kPeers; ++proc) {
    Peer* peer = nullptr;
    ASSERT_TRUE(connected_peer(proc, &peer).ok());
  }
  const std::size_t connected = in_use() - all;
  std::printf("%d processes: %zu bytes (%zu of boot, %zu of p2p, %zu of comm), %zu resident; %zu a connected peer\n",
              kProcesses, all - before, booted - before, messages - booted, all - messages, pages, connected / kPeers);
  EXPECT_LT(all - before, std::size_t{2} << 20);
  EXPECT_LT(pages, std::size_t{2} << 20);
  EXPECT_LT(messages - booted, std::size_t{kProcesses} * 16);
  EXPECT_LT(connected / kPeers, 1024U);
  comm::finalize();
  EXPECT_TRUE(finalize().ok());
  EXPECT_TRUE(boot::finalize().ok());
}

}  // namespace
}  // namespace hr::p2p
