// Folding in commit: every construction of a type must result in the forms for which the engines are fast.
#include <gtest/gtest.h>

#include <numeric>

#include "base/abi.hpp"
#include "random_type.hpp"

namespace hr::layout::test {
namespace {

const Layout& committed(const Ref<Datatype>& type) {
  EXPECT_OK(type->commit());
  return type->layout();
}

TEST(Canonical, ContiguousInManyWays) {
  const Ref<Datatype> an_int = predefined(abi::kInt);
  Ref<Datatype> type;
  ASSERT_OK(make_vector(4, 3, 3, *an_int, CallForm::kPlain, &type));
  EXPECT_EQ(committed(type).form, Form::kContiguous);
  EXPECT_TRUE(type->contiguous(7));
  const int blocks[] = {1, 2, 3}, displacements[] = {5, 6, 8};
  ASSERT_OK(make_indexed(3, blocks, displacements, *an_int, CallForm::kPlain, &type));
  EXPECT_EQ(committed(type).form, Form::kContiguous);
  EXPECT_TRUE(type->contiguous(1));
  const int whole[] = {3, 4, 5}, zero[] = {0, 0, 0};
  ASSERT_OK(make_subarray(3, whole, whole, zero, abi::kOrderC, *an_int, CallForm::kPlain, &type));
  EXPECT_EQ(committed(type).form, Form::kContiguous);
  EXPECT_TRUE(type->contiguous(2));
}

TEST(Canonical, ReversedIsNotContiguous) {
  const Ref<Datatype> an_int = predefined(abi::kInt);
  Ref<Datatype> type;
  ASSERT_OK(make_vector(4, 1, -1, *an_int, CallForm::kPlain, &type));
  const Layout& layout = committed(type);
  EXPECT_EQ(layout.form, Form::kStrided);
  EXPECT_EQ(layout.dims[0], (Dim{4, -4}));
  EXPECT_FALSE(type->is_contiguous());
}

TEST(Canonical, SubarrayFoldsWholeDimensions) {
  const Ref<Datatype> a_float = predefined(abi::kFloat);
  Ref<Datatype> type;
  const int sizes[] = {6, 5, 4, 3}, starts[] = {1, 2, 0, 0}, subsizes[] = {2, 2, 4, 3};
  ASSERT_OK(make_subarray(4, sizes, subsizes, starts, abi::kOrderC, *a_float, CallForm::kPlain, &type));
  const Layout& layout = committed(type);
  EXPECT_EQ(layout.form, Form::kStrided);
  EXPECT_EQ(layout.ndims, 1);
  EXPECT_EQ(layout.blocks[0], (Block{(1 * 60 + 2 * 12) * 4, 2 * 12 * 4}));
  EXPECT_EQ(layout.dims[0], (Dim{2, 240}));
  EXPECT_EQ(layout.unit, 16);
}

TEST(Canonical, RegularIndexedIsStrided) {
  const Ref<Datatype> a_double = predefined(abi::kDouble);
  std::vector<int> displacements;
  for (int z = 0; z < 3; ++z) {
    for (int y = 0; y < 4; ++y) displacements.push_back(z * 100 + y * 10);
  }
  Ref<Datatype> type;
  ASSERT_OK(make_indexed_block(12, 2, displacements.data(), *a_double, CallForm::kPlain, &type));
  const Layout& layout = committed(type);
  EXPECT_EQ(layout.form, Form::kStrided);
  EXPECT_EQ(layout.ndims, 2);
  EXPECT_EQ(layout.dims[0], (Dim{3, 800}));
  EXPECT_EQ(layout.dims[1], (Dim{4, 80}));
  // The same elements as twice as many adjacent blocks of length 1.
  std::vector<int> ones(24, 1), singles;
  for (const int at : displacements) {
    singles.push_back(at);
    singles.push_back(at + 1);
  }
  Ref<Datatype> other;
  ASSERT_OK(make_indexed(24, ones.data(), singles.data(), *a_double, CallForm::kPlain, &other));
  const Layout& merged = committed(other);
  EXPECT_EQ(merged.runs, 12);
}

TEST(Canonical, ArrayOfStructsKeepsOnePattern) {
  const Ref<Datatype> parts[] = {predefined(abi::kChar), predefined(abi::kDouble)};
  Datatype* types[] = {parts[0].get(), parts[1].get()};
  const Count blocks[] = {1, 1}, displacements[] = {0, 8};
  Ref<Datatype> one, many;
  ASSERT_OK(make_struct(2, blocks, displacements, types, CallForm::kPlain, &one));
  ASSERT_OK(make_contiguous(1000000, *one, CallForm::kPlain, &many));
  const Layout& layout = committed(many);
  EXPECT_EQ(layout.form, Form::kBlocks);
  EXPECT_EQ(layout.blocks.size(), 2U);
  EXPECT_EQ(layout.dims[0], (Dim{1000000, 16}));
  EXPECT_EQ(layout.runs, 2000000);
  const Shape shape = shape_of(layout, 3);
  EXPECT_EQ(shape.ndims, 1);
  EXPECT_EQ(shape.dims[0].count, 3000000);
}

TEST(Canonical, ManyDimensionsBecomeBlocks) {
  const Ref<Datatype> a_byte = predefined(abi::kByte);
  const std::vector<int> sizes(8, 4), subsizes(8, 2), starts(8, 1);
  Ref<Datatype> type;
  ASSERT_OK(
      make_subarray(8, sizes.data(), subsizes.data(), starts.data(), abi::kOrderC, *a_byte, CallForm::kPlain, &type));
  const Layout& layout = committed(type);
  EXPECT_EQ(layout.form, Form::kBlocks);
  EXPECT_EQ(layout.ndims, kMaxLayoutDims);
  EXPECT_EQ(layout.runs, 128);
}

TEST(Canonical, ElementsFoldIntoTheOutermostDimension) {
  const Ref<Datatype> an_int = predefined(abi::kInt);
  Ref<Datatype> vector, resized;
  ASSERT_OK(make_vector(4, 1, 2, *an_int, CallForm::kPlain, &vector));
  ASSERT_OK(make_resized(*vector, 0, 32, CallForm::kPlain, &resized));
  const Shape shape = shape_of(committed(resized), 5);
  EXPECT_EQ(shape.ndims, 1);
  EXPECT_EQ(shape.dims[0], (Dim{20, 8}));
  EXPECT_EQ(shape_of(committed(vector), 5).ndims, 2);
}

TEST(Canonical, DupSharesTheLayout) {
  const Ref<Datatype> an_int = predefined(abi::kInt);
  Ref<Datatype> vector, dup;
  ASSERT_OK(make_vector(4, 1, 2, *an_int, CallForm::kPlain, &vector));
  ASSERT_OK(make_dup(*vector, &dup));
  EXPECT_FALSE(dup->committed());
  ASSERT_OK(vector->commit());
  ASSERT_OK(make_dup(*vector, &dup));
  EXPECT_TRUE(dup->committed());
  EXPECT_EQ(&dup->layout(), &vector->layout());
}

TEST(Canonical, TooManyRunsIsAnErrorWithAReason) {
  const Ref<Datatype> parts[] = {predefined(abi::kChar), predefined(abi::kDouble)};
  Ref<Datatype> vector;
  ASSERT_OK(make_vector(Count{1} << 40, 1, 2, *parts[0], CallForm::kLarge, &vector));
  Datatype* types[] = {vector.get(), parts[1].get()};
  const Count blocks[] = {1, 1}, displacements[] = {0, -8};
  Ref<Datatype> both;
  ASSERT_OK(make_struct(2, blocks, displacements, types, CallForm::kLarge, &both));
  EXPECT_FAILS(both->commit(), Errc::kNoMem);
  EXPECT_NE(take_detail().find("separate runs"), std::string::npos);
}

}  // namespace
}  // namespace hr::layout::test
