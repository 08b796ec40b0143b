// Common parts of the tests of other processes' memory: an exporting process, and short forms of requests.
#pragma once

#include <gtest/gtest.h>

#include "driver_function.hpp"
#include "main.hpp"
#include "remote.hpp"

namespace cuda_ipc {

inline constexpr std::size_t kBytes = std::size_t{4} << 20;  // large enough to be a separate allocation on hardware

inline bool fake_driver() { return gpu::device_name().rfind("Fake", 0) == 0; }

class Ipc : public hr::test::GpuTest {
 protected:
  struct Shared {
    Address there = 0;
    Handle handle{};
  };
  // Allocates and exports memory in the other process, and sets every byte to `value`.
  static Shared share(Remote& other, int device, unsigned char value, std::size_t bytes = kBytes) {
    other.ask({.what = What::kSelect, .device = device});
    const Reply made = other.ask({.what = What::kAllocate, .bytes = bytes});
    EXPECT_EQ(made.result, 0);
    other.ask({.what = What::kFill, .address = made.address, .bytes = bytes, .value = value});
    const Reply exported = other.ask({.what = What::kExport, .address = made.address});
    EXPECT_EQ(exported.result, 0);
    return {made.address, exported.handle};
  }
  static Address open(const Handle& handle) {
    const Reply opened = execute({.what = What::kOpen, .handle = handle});
    EXPECT_EQ(opened.result, 0);
    return opened.address;
  }
  static int close(Address address) { return execute({.what = What::kClose, .address = address}).result; }
  static bool holds(Address address, unsigned char value, std::size_t bytes = kBytes) {
    return execute({.what = What::kCheck, .address = address, .bytes = bytes, .value = value}).value == 1;
  }
  static std::uint64_t used() { return execute({.what = What::kUsed}).value; }

  // Returns the devices whose memory device 0 of this process can map: itself, and the last device if it is a peer.
  static std::vector<int> reachable_devices() {
    std::vector<int> devices{0};
    auto* can_access = hr::test::driver_function<int(int*, int, int)>("cuDeviceCanAccessPeer");
    int possible = 0;
    const int last = gpu::device_count() - 1;
    if (last > 0 && can_access(&possible, 0, last) == 0 && possible != 0) devices.push_back(last);
    return devices;
  }
};

}  // namespace cuda_ipc
