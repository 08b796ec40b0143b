// Shapes of real programs, large enough for wide accesses, many blocks and several staging pieces.
#include <gtest/gtest.h>

#include <numeric>

#include "base/abi.hpp"
#include "base/knobs.hpp"
#include "layout/constructors.hpp"
#include "layout/op.hpp"
#include "layout/view.hpp"
#include "main.hpp"

namespace hr::layout::test {
namespace {

using hr::test::DeviceMemory;
using hr::test::MemoryKind;
using Shapes = hr::test::GpuTest;

Ref<Datatype> committed(Status status, Ref<Datatype> type) {
  EXPECT_TRUE(status.ok()) << take_detail();
  EXPECT_TRUE(type->commit().ok()) << take_detail();
  return type;
}

Datatype& float_type() { return *predefined_type(abi::kFloat); }

// Returns a face of a cube of n^3 floats with one halo layer, normal to axis 0 (rows), 1, or 2 (single elements).
Ref<Datatype> face(Count n, int axis) {
  const Count sizes[] = {n + 2, n + 2, n + 2};
  Count subsizes[] = {n, n, n};
  subsizes[axis] = 1;
  const Count starts[] = {1, 1, 1};
  Ref<Datatype> type;
  const Status status = make_subarray(3, sizes, subsizes, starts, abi::kOrderC, float_type(), CallForm::kLarge, &type);
  return committed(status, type);
}

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> content(bytes);
  for (std::size_t i = 0; i < bytes; ++i) content[i] = static_cast<std::byte>((i * 2654435761u) >> 13);
  return content;
}

// Checks that the device engine produces the same results as the host engine, in both directions.
void expect_like_host(const Datatype& type, Count count, std::size_t bytes, std::size_t shift, MemoryKind kind,
                      int other_device) {
  const std::vector<std::byte> content = numbered(bytes + shift);
  DeviceMemory device(bytes + shift, kind);
  DeviceMemory host(bytes + shift, MemoryKind::kHost);
  device.write(content);
  host.write(content);
  View on_device;
  View on_host;
  ASSERT_TRUE(make_view(device.bytes() + shift, count, type, &on_device).ok()) << take_detail();
  ASSERT_TRUE(make_view(host.bytes() + shift, count, type, &on_host).ok()) << take_detail();
  std::vector<std::byte> packed(on_device.packed);
  std::vector<std::byte> expected(on_host.packed);
  ASSERT_TRUE(pack(on_device, 0, packed.size(), packed.data()).ok()) << take_detail();
  ASSERT_TRUE(pack(on_host, 0, expected.size(), expected.data()).ok());
  ASSERT_TRUE(packed == expected);

  const std::vector<std::byte> arriving = numbered(packed.size() + 7);
  ASSERT_TRUE(unpack(on_device, 5, packed.size() - 9, arriving.data() + 1).ok()) << take_detail();
  ASSERT_TRUE(unpack(on_host, 5, packed.size() - 9, arriving.data() + 1).ok());
  ASSERT_TRUE(device.read() == host.read());

  DeviceMemory again(bytes + shift, MemoryKind::kDevice, other_device);
  again.write(content);
  host.write(content);
  View to;
  View from;
  ASSERT_TRUE(make_view(again.bytes() + shift, count, type, &to).ok());
  ASSERT_TRUE(make_view(device.bytes() + shift, count, type, &from).ok());
  ASSERT_TRUE(copy(from, to).ok()) << take_detail();
  ASSERT_TRUE(pack(from, 0, packed.size(), packed.data()).ok());
  ASSERT_TRUE(unpack(on_host, 0, packed.size(), packed.data()).ok());
  ASSERT_TRUE(again.read() == host.read());
}

TEST_F(Shapes, FacesOfACube) {
  for (const MemoryKind kind : hr::test::kDeviceKinds) {
    for (int axis = 0; axis < 3; ++axis) {
      SCOPED_TRACE(::testing::Message() << "axis " << axis << ", " << kind);
      const Ref<Datatype> type = face(62, axis);
      expect_like_host(*type, 1, 64 * 64 * 64 * 4, 0, kind, gpu::device_count() - 1);
    }
  }
}

TEST_F(Shapes, EveryAlignment) {
  // 48 of every 80 bytes: the accesses are 16 bytes wide or, depending on the address, less, down to single bytes.
  Ref<Datatype> type;
  ASSERT_TRUE(make_vector(1000, 48, 80, *predefined_type(abi::kByte), CallForm::kLarge, &type).ok());
  type = committed(kOk, type);
  for (const std::size_t shift : {0, 1, 2, 4, 8, 12, 16}) {
    SCOPED_TRACE(shift);
    expect_like_host(*type, 3, 3 * 80000, shift, MemoryKind::kDevice, 0);
  }
}

TEST_F(Shapes, BlockListsEqualAndUnequal) {
  std::vector<Count> equal(3000);
  std::vector<Count> lengths(3000);
  std::vector<Count> displacements(3000);
  Count at = 0;
  for (std::size_t i = 0; i < equal.size(); ++i) {
    equal[i] = 2;
    lengths[i] = 1 + static_cast<Count>((i * 7) % 11) + (i == 1500 ? 5000 : 0);
    at += 1 + static_cast<Count>(i % 5);
    displacements[i] = at;
    at += lengths[i];
  }
  Ref<Datatype> unequal_type;
  Ref<Datatype> equal_type;
  ASSERT_TRUE(
      make_indexed(3000, lengths.data(), displacements.data(), float_type(), CallForm::kLarge, &unequal_type).ok());
  ASSERT_TRUE(make_indexed(3000, equal.data(), displacements.data(), float_type(), CallForm::kLarge, &equal_type).ok());
  const auto bytes = static_cast<std::size_t>(at * 4 * 3 + 64);
  const int other = gpu::device_count() - 1;
  for (const Count count : {1, 3}) {
    expect_like_host(*committed(kOk, unequal_type), count, bytes, 0, MemoryKind::kDevice, other);
    expect_like_host(*committed(kOk, equal_type), count, bytes, 4, MemoryKind::kPool, other);
  }
}

TEST_F(Shapes, LongTransfersGoInPieces) {
  ASSERT_TRUE(set_knob("device_staging_bytes", "64K"));
  Ref<Datatype> type;
  ASSERT_TRUE(make_vector(50000, 3, 5, float_type(), CallForm::kLarge, &type).ok());
  expect_like_host(*committed(kOk, type), 1, 50000 * 20, 4, MemoryKind::kVmm, gpu::device_count() - 1);
  ASSERT_TRUE(set_knob("device_staging_bytes", "16M"));
}

TEST_F(Shapes, TypeFreedAndMadeAgain) {
  // The block list on the device is freed with the type: a new type at the same address must not use the old list.
  for (Count round = 0; round < 20; ++round) {
    const Count lengths[] = {1 + round, 3, 2};
    const Count displacements[] = {0, 40 + round * 2, 100};
    Ref<Datatype> type;
    ASSERT_TRUE(make_indexed(3, lengths, displacements, float_type(), CallForm::kLarge, &type).ok());
    expect_like_host(*committed(kOk, type), 2, 4096, 0, MemoryKind::kDevice, 0);
  }
}

TEST_F(Shapes, MoreElementsThanFit31Bits) {
  // The same few bytes are repeated (stride 0), so a packed form of 5 GiB needs little memory.
  const Count lengths[] = {1, 2, 1, 1};
  const Count displacements[] = {7, 0, 30, 11};
  for (const bool regular : {true, false}) {
    Ref<Datatype> inner;
    Ref<Datatype> type;
    Datatype& byte = *predefined_type(abi::kByte);
    if (regular) {
      ASSERT_TRUE(make_vector(5, 1, 3, byte, CallForm::kLarge, &inner).ok());
    } else {
      ASSERT_TRUE(make_indexed(4, lengths, displacements, byte, CallForm::kLarge, &inner).ok());
    }
    ASSERT_TRUE(make_hvector(Count{1} << 30, 1, 0, *inner, CallForm::kLarge, &type).ok());
    type = committed(kOk, type);
    DeviceMemory device(64, MemoryKind::kDevice);
    const std::vector<std::byte> content = numbered(64);
    device.write(content);
    View view;
    ASSERT_TRUE(make_view(device.get(), 1, *type, &view).ok()) << take_detail();
    ASSERT_EQ(view.packed, std::size_t{5} << 30);
    const std::size_t positions[2][5] = {{7, 0, 1, 30, 11}, {0, 3, 6, 9, 12}};
    for (const std::size_t offset :
         {std::size_t{0}, std::size_t{1} << 31, (std::size_t{1} << 32) - 50, view.packed - 101}) {
      std::vector<std::byte> packed(101);
      ASSERT_TRUE(pack(view, offset, packed.size(), packed.data()).ok()) << take_detail();
      for (std::size_t i = 0; i < packed.size(); ++i) {
        ASSERT_EQ(packed[i], content[positions[regular ? 1 : 0][(offset + i) % 5]]) << offset << " + " << i;
      }
    }
  }
}

TEST_F(Shapes, AbsoluteAddresses) {
  // A type with addresses of device memory, used with MPI_BOTTOM.
  DeviceMemory device(1 << 16, MemoryKind::kDevice);
  const std::vector<std::byte> content = numbered(1 << 16);
  device.write(content);
  const auto base = static_cast<Count>(reinterpret_cast<std::intptr_t>(device.get()));
  const Count lengths[] = {10, 20, 7};
  const Count displacements[] = {base + 100, base + 4000, base + 1000};
  Ref<Datatype> type;
  ASSERT_TRUE(make_hindexed(3, lengths, displacements, float_type(), CallForm::kLarge, &type).ok());
  type = committed(kOk, type);
  View view;
  ASSERT_TRUE(make_view(nullptr, 1, *type, &view).ok()) << take_detail();
  ASSERT_TRUE(view.where.is_device());
  std::vector<std::byte> packed(view.packed);
  ASSERT_TRUE(pack(view, 0, packed.size(), packed.data()).ok()) << take_detail();
  std::vector<std::byte> expected;
  for (int i = 0; i < 3; ++i) {
    const auto begin = content.begin() + (displacements[i] - base);
    expected.insert(expected.end(), begin, begin + lengths[i] * 4);
  }
  EXPECT_TRUE(packed == expected);
}

TEST_F(Shapes, ComesAfterWorkOnTheDefaultStream) {
  const std::size_t bytes = std::size_t{1} << 22;
  Ref<Datatype> type;
  ASSERT_TRUE(make_vector(static_cast<Count>(bytes / 8), 1, 2, float_type(), CallForm::kLarge, &type).ok());
  type = committed(kOk, type);
  DeviceMemory stage(bytes, MemoryKind::kHostRegistered);
  DeviceMemory device(bytes, MemoryKind::kDevice);
  const std::vector<std::byte> content = numbered(bytes);
  stage.write(content);
  gpu::fill(device.get(), 0, bytes);
  View view;
  ASSERT_TRUE(make_view(device.get(), 1, *type, &view).ok());
  gpu::copy_async(device.get(), stage.get(), bytes, gpu::kDefaultStream);  // the test does not wait for it
  std::vector<std::byte> packed(view.packed);
  ASSERT_TRUE(pack(view, 0, packed.size(), packed.data()).ok()) << take_detail();
  for (std::size_t i = 0; i < packed.size(); ++i) ASSERT_EQ(packed[i], content[i / 4 * 8 + i % 4]) << i;
}

TEST_F(Shapes, BufferBeyondItsAllocationIsRefused) {
  DeviceMemory device(1 << 16, MemoryKind::kDevice);
  Ref<Datatype> type;
  ASSERT_TRUE(make_vector(1000000, 1, 2, float_type(), CallForm::kLarge, &type).ok());
  type = committed(kOk, type);
  View view;
  EXPECT_EQ(make_view(device.get(), 1, *type, &view).errc(), Errc::kBuffer);
  EXPECT_NE(take_detail().find("allocation"), std::string::npos);
}

}  // namespace
}  // namespace hr::layout::test
