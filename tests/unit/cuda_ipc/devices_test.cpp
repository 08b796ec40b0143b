// Devices as seen by several processes.
#include <cstdlib>

#include "fixture.hpp"

namespace cuda_ipc {
namespace {

Uuid uuid_here(int device) { return execute({.what = What::kUuid, .device = device}).uuid; }

class Devices : public Ipc {
 protected:
  void SetUp() override {
    Ipc::SetUp();
    if (gpu::device_count() < 2) GTEST_SKIP() << "one device";
    if (std::getenv("CUDA_VISIBLE_DEVICES") != nullptr) GTEST_SKIP() << "CUDA_VISIBLE_DEVICES is set";
  }
};

TEST_F(Devices, HaveTheSameUuidEverywhere) {
  Remote other;
  other.ask({.what = What::kInit});
  for (int device = 0; device < gpu::device_count(); ++device) {
    EXPECT_EQ(other.ask({.what = What::kUuid, .device = device}).uuid, uuid_here(device));
    EXPECT_EQ(uuid_here(device) == uuid_here(0), device == 0);
  }
}

TEST_F(Devices, AreChosenAndOrderedByNumber) {
  Remote one({"CUDA_VISIBLE_DEVICES=1"});
  EXPECT_EQ(one.ask({.what = What::kInit}).value, 1u);
  EXPECT_EQ(one.ask({.what = What::kUuid}).uuid, uuid_here(1));
  Remote turned({"CUDA_VISIBLE_DEVICES=1,0"});
  EXPECT_EQ(turned.ask({.what = What::kInit}).value, 2u);
  EXPECT_EQ(turned.ask({.what = What::kUuid, .device = 1}).uuid, uuid_here(0));
  Remote none({"CUDA_VISIBLE_DEVICES="});
  EXPECT_NE(none.ask({.what = What::kInit}).result, 0);
  Remote until({"CUDA_VISIBLE_DEVICES=0,99,1"});
  EXPECT_EQ(until.ask({.what = What::kInit}).value, 1u);
}

TEST_F(Devices, AreChosenByUuid) {
  const Uuid wanted = uuid_here(1);
  std::string name = "CUDA_VISIBLE_DEVICES=GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) name += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", wanted.bytes[i]);
    name += digits;
  }
  Remote other({name});
  EXPECT_EQ(other.ask({.what = What::kInit}).value, 1u);
  EXPECT_EQ(other.ask({.what = What::kUuid}).uuid, wanted);
}

TEST_F(Devices, MemoryOfAProcessThatSeesOneOfThem) {
  if (reachable_devices().size() < 2) GTEST_SKIP() << "no peer access";
  Remote other({"CUDA_VISIBLE_DEVICES=1"});
  other.ask({.what = What::kInit});
  const Address here = open(share(other, 0, 0x21).handle);
  EXPECT_TRUE(holds(here, 0x21));
  int device = -1;
  auto* attribute = hr::test::driver_function<int(void*, int, Address)>("cuPointerGetAttribute");
  EXPECT_EQ(attribute(&device, 9 /* DEVICE_ORDINAL */, here), 0);
  // A real driver reports the device of the context in which the memory was opened.
  if (fake_driver()) {
    EXPECT_EQ(device, 1);
  }
  EXPECT_EQ(close(here), 0);
  // The reverse: memory of this process on a device that the other process does not see.
  Remote blind({"CUDA_VISIBLE_DEVICES=1"});
  Remote exporter;
  const Shared shared = share(exporter, 0, 0x22);
  blind.ask({.what = What::kSelect});
  const Reply opened = blind.ask({.what = What::kOpen, .handle = shared.handle});
  ASSERT_EQ(opened.result, 0);
  EXPECT_EQ(blind.ask({.what = What::kCheck, .address = opened.address, .bytes = kBytes, .value = 0x22}).value, 1u);
}

TEST_F(Devices, PeerAttributesAgreeWithPeerAccess) {
  auto* attribute = hr::test::driver_function<int(int*, int, int, int)>("cuDeviceGetP2PAttribute");
  int supported = -1;
  ASSERT_EQ(attribute(&supported, 2 /* ACCESS_SUPPORTED */, 0, gpu::device_count() - 1), 0);
  EXPECT_EQ(supported != 0, reachable_devices().size() > 1);
  EXPECT_NE(attribute(&supported, 2, 0, 0), 0);
}

}  // namespace
}  // namespace cuda_ipc
