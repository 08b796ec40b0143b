// The device engine compared with explicit typemaps: random types, as a whole and cut anywhere, in every kind of device
// memory.
#include <gtest/gtest.h>

#include "base/knobs.hpp"
#include "main.hpp"
#include "moved_type.hpp"

namespace hr::layout::test {
namespace {

class RandomOnDevice : public hr::test::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    ASSERT_TRUE(set_knob("device_staging_bytes", "64K"));  // splits long transfers into several pieces
  }
  MemoryKind device_kind() { return hr::test::kDeviceKinds[random.number(0, std::size(hr::test::kDeviceKinds) - 1)]; }
  MemoryKind any_kind() { return hr::test::kAllKinds[random.number(0, std::size(hr::test::kAllKinds) - 1)]; }
  int any_device() { return static_cast<int>(random.number(0, gpu::device_count() - 1)); }
  Made committed(int depth) {
    Made made = random.make(depth);
    EXPECT_OK(made.type->commit());
    return made;
  }

  const std::uint64_t seed = test_seed();
  RandomTypes random{seed};
};

TEST_F(RandomOnDevice, PackAndUnpack) {
  for (int i = 0; i < 300; ++i) {
    const Made made = committed(static_cast<int>(random.number(1, 5)));
    const Count count = random.number(1, 6);
    const MemoryKind kind = device_kind();
    SCOPED_TRACE(::testing::Message() << i << ": " << count << " x " << made.how << " in " << kind);
    Elements source(made, count, kind, any_device(), seed + 1);
    View view;
    ASSERT_OK(source.view(&view));
    const std::vector<std::byte> expected = source.packed();
    std::vector<std::byte> packed(view.packed);
    ASSERT_OK(pack(view, 0, view.packed, packed.data()));
    ASSERT_EQ(packed, expected);

    const auto total = static_cast<Count>(view.packed);
    const auto begin = static_cast<std::size_t>(random.number(0, total));
    const auto end = static_cast<std::size_t>(random.number(static_cast<Count>(begin), total));
    std::fill(packed.begin(), packed.end(), std::byte{0});
    ASSERT_OK(pack(view, begin, end - begin, packed.data() + begin));
    ASSERT_TRUE(std::equal(packed.begin() + static_cast<std::ptrdiff_t>(begin),
                           packed.begin() + static_cast<std::ptrdiff_t>(end),
                           expected.begin() + static_cast<std::ptrdiff_t>(begin)));

    if (!made.reference.disjoint(count)) continue;
    Elements target(made, count, kind, any_device(), seed + 2);
    ASSERT_OK(target.view(&view));
    ASSERT_OK(unpack(view, begin, end - begin, expected.data() + begin));
    target.expect(expected, begin, end);
    ASSERT_TRUE(target.as_expected()) << "bytes " << begin << " to " << end;
    ASSERT_OK(unpack(view, 0, view.packed, expected.data()));
    target.expect(expected, 0, view.packed);
    ASSERT_TRUE(target.as_expected());
  }
}

TEST_F(RandomOnDevice, CopyBetweenAnyKinds) {
  for (int i = 0; i < 300; ++i) {
    const Made from_type = committed(static_cast<int>(random.number(0, 4)));
    const Made to_type = committed(static_cast<int>(random.number(0, 4)));
    const Count from_count = random.number(1, 5);
    const Count to_count = random.number(1, 5);
    if (!to_type.reference.disjoint(to_count)) continue;
    const MemoryKind from_kind = any_kind();
    const MemoryKind to_kind = any_kind();
    SCOPED_TRACE(::testing::Message() << i << ": " << from_count << " x " << from_type.how << " in " << from_kind
                                      << " to " << to_count << " x " << to_type.how << " in " << to_kind);
    Elements source(from_type, from_count, from_kind, any_device(), seed + 3);
    Elements target(to_type, to_count, to_kind, any_device(), seed + 4);
    View from;
    View to;
    ASSERT_OK(source.view(&from));
    ASSERT_OK(target.view(&to));
    ASSERT_OK(copy(from, to));
    target.expect(source.packed(), 0, std::min(from.packed, to.packed));
    ASSERT_TRUE(target.as_expected());
  }
}

}  // namespace
}  // namespace hr::layout::test
