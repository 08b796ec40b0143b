// The table of predefined datatypes, the unnamed ones, and the searches of section 19.1.9.
#include <gtest/gtest.h>

#include <cstring>

#include "base/abi.hpp"
#include "layout/op.hpp"
#include "random_type.hpp"

namespace hr::layout::test {
namespace {

TEST(Predefined, EveryTypeIsCommittedAndKnowsItself) {
  EXPECT_GE(basic_types().size(), 69U);
  for (const BasicType& row : basic_types()) {
    Datatype* type = predefined_type(row.abi);
    ASSERT_NE(type, nullptr) << row.name;
    EXPECT_EQ(type->handle(), reinterpret_cast<void*>(std::uintptr_t{row.abi}));
    EXPECT_TRUE(type->committed());
    EXPECT_EQ(type->size(), row.size) << row.name;
    EXPECT_EQ(type->extent() % row.alignment, 0);
    EXPECT_EQ(type->name(), row.name);
    EXPECT_EQ(type->contents().combiner, abi::kCombinerNamed);
    // The ABI encodes the size of fixed-size types in bits 3 to 5 of the handle.
    if (row.abi >= abi::kInt8T && row.abi <= abi::kComplex32 && row.group != BasicGroup::kPair) {
      EXPECT_EQ(row.size, 1 << (row.abi >> 3 & 7)) << row.name;
    }
  }
  EXPECT_EQ(predefined_type(abi::kDatatypeNull), nullptr);
  EXPECT_EQ(predefined_type(0x3ff), nullptr);
  EXPECT_EQ(predefined_type(1), nullptr);
}

template <class Value>
struct InC {
  Value value;
  int index;
};

TEST(Predefined, PairsAreLaidOutAsInC) {
  const auto expect = [](std::uintptr_t abi, std::size_t extent, std::size_t size) {
    EXPECT_EQ(predefined_type(abi)->extent(), static_cast<Count>(extent));
    EXPECT_EQ(predefined_type(abi)->size(), static_cast<Count>(size));
  };
  expect(abi::kFloatInt, sizeof(InC<float>), 8);
  expect(abi::kDoubleInt, sizeof(InC<double>), 12);
  expect(abi::kLongInt, sizeof(InC<long>), 12);
  expect(abi::kShortInt, sizeof(InC<short>), 6);
  expect(abi::kLongDoubleInt, sizeof(InC<long double>), 20);
  expect(abi::k2int, sizeof(InC<int>), 8);
  EXPECT_FALSE(predefined_type(abi::kShortInt)->is_contiguous());
  EXPECT_TRUE(predefined_type(abi::kDoubleInt)->is_contiguous());
  EXPECT_FALSE(predefined_type(abi::kDoubleInt)->contiguous(2));
  EXPECT_TRUE(predefined_type(abi::k2int)->contiguous(2));
}

TEST(Predefined, FortranKindsByPrecisionAndRange) {
  Ref<Datatype> type, again;
  const int none = abi::kUndefined;
  ASSERT_OK(f90_real(6, none, &type));
  EXPECT_EQ(type->basic(), Basic::kFloat32);
  EXPECT_EQ(type->contents().combiner, abi::kCombinerF90Real);
  EXPECT_EQ(type->contents().integers, (std::vector<int>{6, none}));
  EXPECT_TRUE(type->committed());
  ASSERT_OK(f90_real(6, none, &again));
  EXPECT_EQ(type.get(), again.get());
  ASSERT_OK(f90_real(15, 307, &type));
  EXPECT_EQ(type->basic(), Basic::kFloat64);
  ASSERT_OK(f90_real(18, none, &type));
  EXPECT_EQ(type->basic(), Basic::kFloat80);
  ASSERT_OK(f90_complex(33, none, &type));
  EXPECT_EQ(type->size(), 32);
  ASSERT_OK(f90_integer(9, &type));
  EXPECT_EQ(type->size(), 4);
  ASSERT_OK(f90_integer(38, &type));
  EXPECT_EQ(type->size(), 16);
  EXPECT_FAILS(f90_integer(39, &type), Errc::kArg);
  EXPECT_FAILS(f90_real(34, none, &type), Errc::kArg);
  EXPECT_FAILS(f90_real(none, none, &type), Errc::kArg);
}

TEST(Predefined, MatchSizeAndValueIndex) {
  Ref<Datatype> type;
  for (const int size : {1, 2, 4, 8, 16}) {
    ASSERT_OK(match_size(abi::kTypeclassInteger, size, &type));
    EXPECT_EQ(type->size(), size);
  }
  for (const int size : {2, 4, 8, 16}) ASSERT_OK(match_size(abi::kTypeclassReal, size, &type));
  for (const int size : {4, 8, 16, 32}) ASSERT_OK(match_size(abi::kTypeclassComplex, size, &type));
  EXPECT_FAILS(match_size(abi::kTypeclassReal, 3, &type), Errc::kArg);
  EXPECT_FAILS(match_size(0, 4, &type), Errc::kArg);
  ASSERT_OK(value_index(*predefined(abi::kDouble), *predefined(abi::kInt), &type));
  EXPECT_EQ(type.get(), predefined_type(abi::kDoubleInt));
  ASSERT_OK(value_index(*predefined(abi::kDouble), *predefined(abi::kFloat), &type));
  EXPECT_FALSE(static_cast<bool>(type));
}

}  // namespace
}  // namespace hr::layout::test
