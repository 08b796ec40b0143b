// Rates of devices from their properties.
#include "mem/device/costs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "main.hpp"
#include "mem/device/context.hpp"
#include "mem/mem.hpp"

namespace hr::mem::device {
namespace {

using test::DeviceMemory;
using test::MemoryKind;
using DeviceCosts = test::GpuTest;

// A directory like those in /sys/bus/pci/devices.
class PciDevice {
 public:
  PciDevice(const char* kind, const char* speed, const char* width) {
    std::filesystem::create_directory(path_);
    write("class", kind);
    write("max_link_speed", speed);
    write("max_link_width", width);
  }
  ~PciDevice() { std::filesystem::remove_all(path_); }
  [[nodiscard]] double rate() const { return pci_link_rate(path_); }

 private:
  void write(const char* name, const char* text) const { std::ofstream(path_ + "/" + name) << text << '\n'; }

  std::string path_ = testing::TempDir() + "pci-" + std::to_string(getpid());
};

TEST(PciLink, RateOfEachGeneration) {
  EXPECT_NEAR(PciDevice("0x030200", "32.0 GT/s PCIe", "16").rate(), 63.0e9, 0.1e9);
  EXPECT_NEAR(PciDevice("0x030000", "8.0 GT/s PCIe", "8").rate(), 7.9e9, 0.1e9);
  EXPECT_NEAR(PciDevice("0x120000", "5.0 GT/s", "16").rate(), 8e9, 1);
}

TEST(PciLink, UnknownRate) {
  EXPECT_EQ(PciDevice("0x030200", "Unknown", "255").rate(), 0);
  EXPECT_EQ(PciDevice("0x030200", "16.0 GT/s PCIe", "255").rate(), 0) << "not connected";
  EXPECT_EQ(PciDevice("0x010802", "16.0 GT/s PCIe", "4").rate(), 0) << "a disk";
  EXPECT_EQ(pci_link_rate("/sys/bus/pci/devices/none"), 0);
}

TEST(Rates, FollowFromTheProperties) {
  const Costs usual = costs_of({});
  const Costs server = costs_of({4.9e12, 63e9});
  EXPECT_NEAR(server.pinned_bytes_per_second, usual.pinned_bytes_per_second, 1e9);
  EXPECT_NEAR(server.device_bytes_per_second, usual.device_bytes_per_second, 0.1e12);
  const Costs small = costs_of({448e9, 7.9e9});
  EXPECT_NEAR(small.pinned_bytes_per_second, 6.3e9, 0.1e9);
  EXPECT_LT(small.pinned_bytes_per_second, small.peer_bytes_per_second);
  EXPECT_NEAR(small.device_bytes_per_second, 134e9, 1e9);
  EXPECT_EQ(small.copy_seconds, usual.copy_seconds);
}

TEST_F(DeviceCosts, ComeFromTheFirstDeviceThatIsUsed) {
  DeviceMemory memory(4096, MemoryKind::kDevice);
  Location location;
  ASSERT_TRUE(classify(memory.get(), &location).ok());
  Context* context = nullptr;
  ASSERT_TRUE(Context::of(location, &context).ok());
  EXPECT_NE(costs().device_bytes_per_second, Costs{}.device_bytes_per_second) << "the driver knows its memory";
}

}  // namespace
}  // namespace hr::mem::device
