// Device memory in use, over all processes: memory that its owner has freed is still counted, and keeps its content,
// until no process has it open. On hardware, other programs may use the device, too; therefore the amounts are large
// and compared with a tolerance.
#include <algorithm>

#include "fixture.hpp"

namespace cuda_ipc {
namespace {

// Returns the size of the tests' allocations in bytes, which is larger on hardware.
std::uint64_t large() { return std::uint64_t{fake_driver() ? 16u : 256u} << 20; }

class Accounting : public Ipc {
 protected:
  static void expect_used(std::uint64_t expected) {
    const std::uint64_t room = fake_driver() ? 0 : large() / 4;
    const std::uint64_t found = used();
    EXPECT_LE(std::max(found, expected) - std::min(found, expected), room) << found << ", not " << expected;
  }
};

TEST_F(Accounting, CountsWhatOtherProcessesAllocate) {
  Remote other;
  other.ask({.what = What::kSelect});
  const std::uint64_t before = used();
  const Address there = other.ask({.what = What::kAllocate, .bytes = large()}).address;
  expect_used(before + large());
  other.ask({.what = What::kFree, .address = there});
  expect_used(before);
}

TEST_F(Accounting, FreedMemoryStaysUntilTheLastMappingCloses) {
  Remote other;
  other.ask({.what = What::kSelect});
  (void)open(share(other, 0, 1).handle);  // so that the driver allocates its internal memory for mappings
  const std::uint64_t before = used();
  const Shared shared = share(other, 0, 0x71, large());
  const Address here = open(shared.handle);
  EXPECT_EQ(open(shared.handle), here);
  EXPECT_EQ(other.ask({.what = What::kFree, .address = shared.there}).result, 0);
  expect_used(before + large());
  // A new allocation is different memory, even at the same address.
  const Shared next = share(other, 0, 0x72, large());
  EXPECT_TRUE(holds(here, 0x71, large()));
  const Address next_here = open(next.handle);
  EXPECT_NE(next_here, here);
  EXPECT_TRUE(holds(next_here, 0x72, large()));
  expect_used(before + 2 * large());
  EXPECT_EQ(close(here), 0);
  expect_used(before + 2 * large());
  EXPECT_EQ(close(here), 0);
  expect_used(before + large());
  EXPECT_EQ(close(next_here), 0);
  expect_used(before + large());
  EXPECT_EQ(other.ask({.what = What::kFree, .address = next.there}).result, 0);
  expect_used(before);
}

TEST_F(Accounting, AProcessThatIsKilledHoldsNothing) {
  if (!fake_driver())
    GTEST_SKIP() << "a real driver cleans up in its own time: not within 20 s on an H200 under gVisor";
  const std::uint64_t before = used();
  Remote exporter;
  const Shared shared = share(exporter, 0, 0x73, large());
  {
    Remote importer;
    importer.ask({.what = What::kSelect});
    EXPECT_EQ(importer.ask({.what = What::kOpen, .handle = shared.handle}).result, 0);
    EXPECT_EQ(exporter.ask({.what = What::kFree, .address = shared.there}).result, 0);
    expect_used(before + large());
    importer.kill();
  }
  exporter.kill();
  expect_used(before);
}

TEST_F(Accounting, MemoryOutlivesItsProcess) {
  if (!fake_driver()) GTEST_SKIP() << "no promise of the driver";
  const std::uint64_t before = used();
  Remote exporter;
  const Shared shared = share(exporter, 0, 0x74);
  const Address here = open(shared.handle);
  exporter.kill();
  EXPECT_TRUE(holds(here, 0x74));
  expect_used(before + kBytes);
  EXPECT_EQ(close(here), 0);
  expect_used(before);
}

TEST_F(Accounting, FreedMemoryCannotBeOpened) {
  if (!fake_driver()) GTEST_SKIP() << "no promise of the driver";
  Remote other;
  const Shared shared = share(other, 0, 0x75);
  EXPECT_EQ(other.ask({.what = What::kFree, .address = shared.there}).result, 0);
  EXPECT_EQ(execute({.what = What::kOpen, .handle = shared.handle}).result, kInvalidValue);
}

TEST_F(Accounting, TheDeviceIsFullForEverybody) {
  if (!fake_driver()) GTEST_SKIP() << "does not fill a real device";
  Remote other;
  other.ask({.what = What::kSelect});
  auto* total_of = hr::test::driver_function<int(std::size_t*, int)>("cuDeviceTotalMem_v2");
  std::size_t total = 0;
  ASSERT_EQ(total_of(&total, 0), 0);
  const std::uint64_t most = total - used() - kBytes;
  const Reply large = other.ask({.what = What::kAllocate, .bytes = most});
  EXPECT_EQ(large.result, 0);
  const Reply mine = execute({.what = What::kAllocate, .bytes = kBytes});
  EXPECT_EQ(mine.result, 0);
  EXPECT_EQ(execute({.what = What::kAllocate, .bytes = kBytes}).result, kOutOfMemory);
  other.ask({.what = What::kFree, .address = large.address});
  EXPECT_EQ(execute({.what = What::kFree, .address = mine.address}).result, 0);
}

}  // namespace
}  // namespace cuda_ipc
