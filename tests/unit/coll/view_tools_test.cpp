// Parts of views, and scratch memory in a type's layout.
#include "coll/view_tools.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/abi.hpp"
#include "layout/constructors.hpp"
#include "layout/op.hpp"

namespace hr::coll {
namespace {

using layout::Datatype;
using layout::View;

TEST(ViewTools, ASliceStartsAtItsElement) {
  std::array<int, 10> data{};
  View all;
  ASSERT_TRUE(layout::make_view(data.data(), 10, *layout::predefined_type(abi::kInt), &all).ok());
  const View part = slice(all, 3, 4);
  EXPECT_EQ(part.data(), reinterpret_cast<std::byte*>(&data[3]));
  EXPECT_EQ(part.packed, 16u);
  EXPECT_TRUE(part.contiguous);
}

TEST(ViewTools, ScratchIsInlineWhenSmall) {
  Scratch small(100);
  const auto* begin = reinterpret_cast<const std::byte*>(&small);
  EXPECT_TRUE(small.data() >= begin && small.data() < begin + sizeof small);
  Scratch large(100000);
  std::memset(large.data(), 1, 100000);
}

// A type with data before and after its origin, with a negative stride.
TEST(ViewTools, TypedScratchHoldsEveryElementOfAnOddType) {
  Datatype& integer = *layout::predefined_type(abi::kInt);
  for (const Count extent : {Count{24}, Count{-24}}) {
    Ref<Datatype> blocks;
    const std::array<Count, 2> displacements{-8, 4};
    ASSERT_TRUE(
        layout::make_hindexed_block(2, 1, displacements.data(), integer, layout::CallForm::kPlain, &blocks).ok());
    Ref<Datatype> type;
    ASSERT_TRUE(layout::make_resized(*blocks, -8, extent, layout::CallForm::kPlain, &type).ok());
    ASSERT_TRUE(type->commit().ok());
    for (const Count count : {Count{0}, Count{1}, Count{5}, Count{100}}) {
      const TypedScratch scratch(count, *type);
      const std::size_t bytes = static_cast<std::size_t>(count) * 8;
      ASSERT_EQ(scratch.view().packed, bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scratch.view().address) % 16, 0u);
      std::vector<std::byte> in(bytes, std::byte{42});
      std::vector<std::byte> out(bytes);
      ASSERT_TRUE(layout::unpack(scratch.view(), 0, bytes, in.data()).ok());
      ASSERT_TRUE(layout::pack(scratch.view(), 0, bytes, out.data()).ok());
      EXPECT_EQ(in, out);
    }
  }
}

}  // namespace
}  // namespace hr::coll
