// Exporting and opening device memory: the memory that a handle names, errors, and use by copy engines and kernels.
#include <cstring>
#include <thread>

#include "copy_arguments.hpp"
#include "fixture.hpp"

extern "C" const unsigned char headrace_fatbin[];

namespace cuda_ipc {
namespace {

using hr::test::DeviceMemory;
using hr::test::driver_function;
using hr::test::MemoryKind;

TEST_F(Ipc, AnInteriorPointerRefersToTheWholeAllocation) {
  for (const int device : reachable_devices()) {
    SCOPED_TRACE(device);
    Remote other;
    const Shared shared = share(other, device, 0x11);
    const Reply inside = other.ask({.what = What::kExport, .address = shared.there + 1000});
    ASSERT_EQ(inside.result, 0);
    const Address here = open(inside.handle);
    auto* range = driver_function<int(Address*, std::size_t*, Address)>("cuMemGetAddressRange_v2");
    Address base = 0;
    std::size_t bytes = 0;
    ASSERT_EQ(range(&base, &bytes, here + 5), 0);
    EXPECT_EQ(base, here);
    EXPECT_GE(bytes, kBytes);
    EXPECT_TRUE(holds(here, 0x11));
    // The base's handle opens at the same address.
    EXPECT_EQ(open(shared.handle), here);
    EXPECT_EQ(close(here), 0);
    EXPECT_EQ(close(here), 0);
  }
}

TEST_F(Ipc, OpenedTwiceIsOneMappingWithACount) {
  for (const int device : reachable_devices()) {
    Remote other;
    const Shared shared = share(other, device, 0x22);
    const Address here = open(shared.handle);
    EXPECT_EQ(open(shared.handle), here);
    EXPECT_EQ(close(here), 0);
    EXPECT_TRUE(holds(here, 0x22));
    EXPECT_EQ(close(here), 0);
    EXPECT_NE(close(here), 0);
    auto* attribute = driver_function<int(void*, int, Address)>("cuPointerGetAttribute");
    unsigned type = 0;
    EXPECT_EQ(attribute(&type, 2 /* MEMORY_TYPE */, here), kInvalidValue);
  }
}

TEST_F(Ipc, BothSidesSeeTheSameBytes) {
  for (const int device : reachable_devices()) {
    Remote other;
    const Shared shared = share(other, device, 0x33);
    const Address here = open(shared.handle);
    execute({.what = What::kFill, .address = here, .bytes = kBytes, .value = 0x34});
    EXPECT_EQ(other.ask({.what = What::kCheck, .address = shared.there, .bytes = kBytes, .value = 0x34}).value, 1u);
    other.ask({.what = What::kFill, .address = shared.there, .bytes = kBytes, .value = 0x35});
    EXPECT_TRUE(holds(here, 0x35));
    EXPECT_EQ(close(here), 0);
  }
}

TEST_F(Ipc, OnlyPlainDeviceMemoryCanBeExported) {
  for (const MemoryKind kind : hr::test::kAllKinds) {
    DeviceMemory memory(kBytes, kind);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
    const int expected = kind == MemoryKind::kDevice ? 0 : kInvalidValue;
    EXPECT_EQ(execute({.what = What::kExport, .address = address}).result, expected) << kind;
  }
}

TEST_F(Ipc, ExportingNeedsAContext) {
  DeviceMemory memory(kBytes, MemoryKind::kDevice);
  std::thread([&] {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
    EXPECT_EQ(execute({.what = What::kExport, .address = address}).result, kInvalidContext);
  }).join();
}

TEST_F(Ipc, ImportedMemoryCannotBeExportedAgain) {
  Remote other;
  const Address here = open(share(other, 0, 1).handle);
  EXPECT_EQ(execute({.what = What::kExport, .address = here}).result, kInvalidValue);
  EXPECT_EQ(close(here), 0);
}

TEST_F(Ipc, OwnMemoryCannotBeOpened) {
  DeviceMemory memory(kBytes, MemoryKind::kDevice);
  const Reply exported = execute({.what = What::kExport, .address = reinterpret_cast<std::uintptr_t>(memory.get())});
  ASSERT_EQ(exported.result, 0);
  EXPECT_EQ(execute({.what = What::kOpen, .handle = exported.handle}).result, kInvalidContext);
}

TEST_F(Ipc, AnotherDevicesMemoryNeedsPeerAccess) {
  if (gpu::device_count() < 2) GTEST_SKIP() << "one device";
  if (reachable_devices().size() > 1) GTEST_SKIP() << "the devices can reach each other";
  Remote other;
  const Shared shared = share(other, 1, 0x44);
  EXPECT_EQ(execute({.what = What::kOpen, .handle = shared.handle}).result, kPeerAccessUnsupported);
}

TEST_F(Ipc, AttributesAreThoseOfTheMemory) {
  for (const int device : reachable_devices()) {
    Remote other;
    const Address here = open(share(other, device, 1).handle);
    auto* attribute = driver_function<int(void*, int, Address)>("cuPointerGetAttribute");
    unsigned type = 0;
    EXPECT_EQ(attribute(&type, 2 /* MEMORY_TYPE */, here), 0);
    EXPECT_EQ(type, 2u);  // device
    unsigned long long id = 0;
    EXPECT_EQ(attribute(&id, 7 /* BUFFER_ID */, here), 0);
    EXPECT_NE(id, 0u);
    EXPECT_EQ(close(here), 0);
  }
}

// One of the library's kernels copies from mapped memory to this process's memory, and back.
TEST_F(Ipc, KernelsMayUseIt) {
  gpu::Module module(headrace_fatbin);
  const gpu::Function copy = module.function("hr_copy_16");
  for (const int device : reachable_devices()) {
    Remote other;
    const Shared shared = share(other, device, 0x55);
    const Address here = open(shared.handle);
    DeviceMemory own(kBytes, MemoryKind::kDevice);
    const auto mine = reinterpret_cast<std::uintptr_t>(own.get());
    const auto run = [&](Address from, Address to) {
      hr::kernels::CopyArguments arguments{};
      arguments.from.ndims = arguments.to.ndims = -1;
      arguments.from.address = from;
      arguments.to.address = to;
      arguments.last = kBytes;
      gpu::launch(copy, {8}, {hr::kernels::kCopyThreads}, gpu::kDefaultStream, arguments);
      gpu::synchronize();
    };
    run(here, mine);
    EXPECT_TRUE(holds(mine, 0x55));
    gpu::fill(own.get(), 0x56, kBytes);
    run(mine, here);
    EXPECT_EQ(other.ask({.what = What::kCheck, .address = shared.there, .bytes = kBytes, .value = 0x56}).value, 1u);
    EXPECT_EQ(close(here), 0);
  }
}

TEST_F(Ipc, WorkUnderWayIsDoneBeforeTheMappingGoes) {
  Remote other;
  const Address here = open(share(other, 0, 0x66).handle);
  DeviceMemory own(kBytes, MemoryKind::kDevice);
  const gpu::Stream stream = gpu::create_stream(true);
  gpu::copy_async(own.get(), reinterpret_cast<void*>(here), kBytes, stream);
  EXPECT_EQ(close(here), 0);
  gpu::synchronize(stream);
  EXPECT_TRUE(holds(reinterpret_cast<std::uintptr_t>(own.get()), 0x66));
  gpu::destroy_stream(stream);
}

}  // namespace
}  // namespace cuda_ipc
