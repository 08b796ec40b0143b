// Memory in chunks (VMM): results of pointer queries, and a chunk mapped in another process through its file
// descriptor.
#include <sys/syscall.h>
#include <unistd.h>

#include <set>

#include "fixture.hpp"
#include "segment.hpp"

namespace cuda_ipc {
namespace {

using hr::test::DeviceMemory;
using hr::test::driver_function;
using hr::test::MemoryKind;
using hr::test::Segment;

constexpr int kBufferId = 7, kRangeStart = 11, kRangeSize = 12, kHandleTypes = 14, kMappingSize = 18, kMappingBase = 19;

template <class T>
int query(T* value, int attribute, const void* address) {
  static auto* get = driver_function<int(void*, int, Address)>("cuPointerGetAttribute");
  *value = T{};
  return get(value, attribute, reinterpret_cast<Address>(address));
}
std::uint64_t id_of(const void* address) {
  std::uint64_t id = 0;
  EXPECT_EQ(query(&id, kBufferId, address), 0);
  return id;
}

// A chunk of another process, mapped here for the selected device.
class Import {
 public:
  Import(std::uint64_t exported, std::size_t bytes) : bytes_(bytes) {
    const long process = ::syscall(434 /* pidfd_open */, static_cast<pid_t>(exported >> 32), 0);
    const long copy = ::syscall(438 /* pidfd_getfd */, process, static_cast<int>(exported & 0xffffffffu), 0);
    ::close(static_cast<int>(process));
    EXPECT_GE(copy, 0);
    static auto* import = driver_function<int(unsigned long long*, void*, int)>("cuMemImportFromShareableHandle");
    unsigned long long handle = 0;
    EXPECT_EQ(import(&handle, reinterpret_cast<void*>(copy), 1), 0);
    ::close(static_cast<int>(copy));
    GPU_CALL(cuMemAddressReserve, &address_, bytes, std::size_t{0}, gpu::detail::DevicePointer{0}, 0ull);
    GPU_CALL(cuMemMap, address_, bytes, std::size_t{0}, handle, 0ull);
    GPU_CALL(cuMemRelease, handle);
  }
  ~Import() {
    GPU_CALL(cuMemUnmap, address_, bytes_);
    GPU_CALL(cuMemAddressFree, address_, bytes_);
  }
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;
  void give_access() {
    const gpu::detail::AccessDescription access{{1, gpu::device()}, 3};
    GPU_CALL(cuMemSetAccess, address_, bytes_, &access, std::size_t{1});
  }
  [[nodiscard]] Address address() const { return address_; }

 private:
  std::size_t bytes_;
  gpu::detail::DevicePointer address_ = 0;
};

class Chunks : public Ipc {
 protected:
  // Returns the size of a chunk in bytes: the minimum that the driver permits.
  static std::size_t bytes() { return Segment::granularity(); }
  static std::uint64_t export_chunk(Remote& other, Address address) {
    const Reply exported = other.ask({.what = What::kExportChunk, .address = address});
    EXPECT_EQ(exported.result, 0);
    return exported.value;
  }
  static void expect_used(std::uint64_t expected) {
    if (fake_driver()) {
      EXPECT_EQ(used(), expected);
    }
  }
};

TEST_F(Chunks, EachHasAnIdOfItsOwnEachTimeItIsMapped) {
  std::set<std::uint64_t> seen;
  Segment segment = Segment::full(3);
  for (int round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < 3; ++i) {
      const std::uint64_t id = id_of(segment.data() + i * bytes());
      EXPECT_EQ(id_of(segment.data() + (i + 1) * bytes() - 1), id);
      EXPECT_EQ(seen.insert(id).second, i == 1 || round == 0) << "round " << round << ", chunk " << i;
    }
    segment.unmap(1);
    std::uint64_t id = 0;
    if (query(&id, kBufferId, segment.data() + bytes()) == 0) {
      EXPECT_EQ(seen.count(id), 0u);
    }
    segment.map(1);
  }
}

// One pair of attributes describes the chunk, independently of the other pair.
TEST_F(Chunks, QueriesReportTheirBounds) {
  const Segment segment = Segment::full(4);
  for (std::size_t i = 0; i < 4; ++i) {
    unsigned char* const chunk = segment.data() + i * bytes();
    bool found = false;
    for (const auto& [start, size] : {std::pair{kRangeStart, kRangeSize}, std::pair{kMappingBase, kMappingSize}}) {
      Address base = 0;
      std::size_t length = 0;
      const bool answered = query(&base, start, chunk + 5) == 0 && query(&length, size, chunk + 5) == 0;
      found = found || (answered && base == reinterpret_cast<Address>(chunk) && length == bytes());
    }
    EXPECT_TRUE(found) << "chunk " << i;
  }
}

TEST_F(Chunks, HandleTypes) {
  unsigned long long types = 0;
  for (const bool exportable : {true, false}) {
    const Segment segment = Segment::full(2, exportable);
    ASSERT_EQ(query(&types, kHandleTypes, segment.data() + bytes() + 3), 0);
    EXPECT_EQ(types & 1, exportable ? 1u : 0u);
  }
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kPool}) {
    const DeviceMemory memory(4096, kind);
    if (query(&types, kHandleTypes, memory.get()) == 0) {
      EXPECT_EQ(types & 1, 0u) << kind;
    }
  }
}

TEST_F(Chunks, OneMapsInAnotherProcess) {
  for (const int device : reachable_devices()) {
    SCOPED_TRACE(device);
    Remote other;
    other.ask({.what = What::kSelect, .device = device});
    const Address there = other.ask({.what = What::kMapChunks, .bytes = 2 * bytes(), .value = 1}).address;
    other.ask({.what = What::kFill, .address = there, .bytes = bytes(), .value = 0x41});
    other.ask({.what = What::kFill, .address = there + bytes(), .bytes = bytes(), .value = 0x42});
    Import second(export_chunk(other, there + bytes() + 9), bytes());
    second.give_access();
    EXPECT_TRUE(holds(second.address(), 0x42, bytes()));
    execute({.what = What::kFill, .address = second.address(), .bytes = bytes(), .value = 0x43});
    EXPECT_EQ(other.ask({.what = What::kCheck, .address = there, .bytes = bytes(), .value = 0x41}).value, 1u);
    EXPECT_EQ(other.ask({.what = What::kCheck, .address = there + bytes(), .bytes = bytes(), .value = 0x43}).value, 1u);
    other.ask({.what = What::kUnmapChunks, .address = there});
    EXPECT_TRUE(holds(second.address(), 0x43, bytes()));
  }
}

TEST_F(Chunks, WhatMayNotBeExported) {
  Remote other;
  other.ask({.what = What::kSelect});
  const Address chunk = other.ask({.what = What::kMapChunks, .bytes = bytes(), .value = 0}).address;
  EXPECT_NE(other.ask({.what = What::kExportChunk, .address = chunk}).result, 0);
  const Address plain = other.ask({.what = What::kAllocate, .bytes = kBytes}).address;
  EXPECT_NE(other.ask({.what = What::kExportChunk, .address = plain}).result, 0);
  const DeviceMemory pool(kBytes, MemoryKind::kPool);
  EXPECT_NE(execute({.what = What::kExportChunk, .address = reinterpret_cast<Address>(pool.get())}).result, 0);
}

TEST_F(Chunks, AccessMustBeGiven) {
  if (!fake_driver()) GTEST_SKIP() << "may leave a real device in an error state";
  Remote other;
  other.ask({.what = What::kSelect});
  const Address there = other.ask({.what = What::kMapChunks, .bytes = bytes(), .value = 1}).address;
  Import chunk(export_chunk(other, there), bytes());
  static auto* copy = driver_function<int(Address, Address, std::size_t)>("cuMemcpy");
  unsigned char byte = 0;
  EXPECT_EQ(copy(reinterpret_cast<Address>(&byte), chunk.address(), 1), kInvalidValue);
  chunk.give_access();
  EXPECT_EQ(copy(reinterpret_cast<Address>(&byte), chunk.address(), 1), 0);
}

// A file descriptor keeps a chunk's memory alive, and so does an import.
TEST_F(Chunks, StayUntilTheLastUseEnds) {
  Remote other;
  other.ask({.what = What::kSelect});
  const std::uint64_t before = used();
  const Address there = other.ask({.what = What::kMapChunks, .bytes = bytes(), .value = 1}).address;
  const std::uint64_t exported = export_chunk(other, there);
  const auto settled = [&](std::uint64_t expected) {
    (void)other.ask({.what = What::kUsed});  // the fake driver checks a process's descriptors in that process
    expect_used(expected);
  };
  other.ask({.what = What::kFill, .address = there, .bytes = bytes(), .value = 0x51});
  settled(before + bytes());
  other.ask({.what = What::kUnmapChunks, .address = there});
  settled(before + bytes());
  {
    Import chunk(exported, bytes());
    chunk.give_access();
    EXPECT_TRUE(holds(chunk.address(), 0x51, bytes()));
    other.ask({.what = What::kCloseDescriptor, .device = static_cast<int>(exported & 0xffffffffu)});
    settled(before + bytes());
    EXPECT_TRUE(holds(chunk.address(), 0x51, bytes()));
  }
  settled(before);
}

}  // namespace
}  // namespace cuda_ipc
