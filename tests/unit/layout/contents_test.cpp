// Envelope and contents (section 5.1.13): the argument order of each constructor, in both forms.
#include <gtest/gtest.h>

#include <vector>

#include "base/abi.hpp"
#include "random_type.hpp"

namespace hr::layout::test {
namespace {

using Ints = std::vector<int>;
using Counts = std::vector<Count>;

void expect_contents(const Ref<Datatype>& type, int combiner, const Ints& integers, const Counts& addresses,
                     const Counts& counts, const std::vector<Datatype*>& types) {
  const Contents& contents = type->contents();
  EXPECT_EQ(contents.combiner, combiner);
  EXPECT_EQ(contents.integers, integers);
  EXPECT_EQ(contents.addresses, addresses);
  EXPECT_EQ(contents.counts, counts);
  ASSERT_EQ(contents.types.size(), types.size());
  for (std::size_t i = 0; i < types.size(); ++i) EXPECT_EQ(contents.types[i].get(), types[i]);
}

class Decoding : public testing::Test {
 protected:
  Ref<Datatype> an_int_ = predefined(abi::kInt);
  Ref<Datatype> a_double_ = predefined(abi::kDouble);
  Ref<Datatype> type_;
  const int blocks_[2] = {3, 1};
  const int places_[2] = {0, 5};
  const Count wide_blocks_[2] = {3, 1};
  const Count wide_places_[2] = {0, 40};
};

TEST_F(Decoding, PlainForms) {
  const auto form = CallForm::kPlain;
  Datatype* old = an_int_.get();
  ASSERT_OK(make_contiguous(7, *old, form, &type_));
  expect_contents(type_, abi::kCombinerContiguous, {7}, {}, {}, {old});
  ASSERT_OK(make_vector(2, 3, 4, *old, form, &type_));
  expect_contents(type_, abi::kCombinerVector, {2, 3, 4}, {}, {}, {old});
  ASSERT_OK(make_hvector(2, 3, 44, *old, form, &type_));
  expect_contents(type_, abi::kCombinerHvector, {2, 3}, {44}, {}, {old});
  ASSERT_OK(make_indexed(2, blocks_, places_, *old, form, &type_));
  expect_contents(type_, abi::kCombinerIndexed, {2, 3, 1, 0, 5}, {}, {}, {old});
  ASSERT_OK(make_hindexed(2, blocks_, wide_places_, *old, form, &type_));
  expect_contents(type_, abi::kCombinerHindexed, {2, 3, 1}, {0, 40}, {}, {old});
  ASSERT_OK(make_indexed_block(2, 6, places_, *old, form, &type_));
  expect_contents(type_, abi::kCombinerIndexedBlock, {2, 6, 0, 5}, {}, {}, {old});
  ASSERT_OK(make_hindexed_block(2, 6, wide_places_, *old, form, &type_));
  expect_contents(type_, abi::kCombinerHindexedBlock, {2, 6}, {0, 40}, {}, {old});
  Datatype* both[] = {an_int_.get(), a_double_.get()};
  ASSERT_OK(make_struct(2, blocks_, wide_places_, both, form, &type_));
  expect_contents(type_, abi::kCombinerStruct, {2, 3, 1}, {0, 40}, {}, {both[0], both[1]});
  const int sizes[] = {4, 5}, subsizes[] = {2, 3}, starts[] = {1, 0};
  ASSERT_OK(make_subarray(2, sizes, subsizes, starts, abi::kOrderFortran, *old, form, &type_));
  expect_contents(type_, abi::kCombinerSubarray, {2, 4, 5, 2, 3, 1, 0, abi::kOrderFortran}, {}, {}, {old});
  const int distribs[] = {abi::kDistributeBlock, abi::kDistributeCyclic}, dargs[] = {abi::kDistributeDfltDarg, 2},
            psizes[] = {2, 1};
  ASSERT_OK(make_darray(2, 1, 2, sizes, distribs, dargs, psizes, abi::kOrderC, *old, form, &type_));
  expect_contents(type_, abi::kCombinerDarray,
                  {2, 1, 2, 4, 5, distribs[0], distribs[1], dargs[0], dargs[1], 2, 1, abi::kOrderC}, {}, {}, {old});
  ASSERT_OK(make_resized(*old, -1, 9, form, &type_));
  expect_contents(type_, abi::kCombinerResized, {}, {-1, 9}, {}, {old});
  ASSERT_OK(make_dup(*old, &type_));
  expect_contents(type_, abi::kCombinerDup, {}, {}, {}, {old});
}

TEST_F(Decoding, LargeForms) {
  const auto form = CallForm::kLarge;
  Datatype* old = an_int_.get();
  ASSERT_OK(make_contiguous(7, *old, form, &type_));
  expect_contents(type_, abi::kCombinerContiguous, {}, {}, {7}, {old});
  ASSERT_OK(make_hvector(2, 3, 44, *old, form, &type_));
  expect_contents(type_, abi::kCombinerHvector, {}, {}, {2, 3, 44}, {old});
  ASSERT_OK(make_hindexed(2, wide_blocks_, wide_places_, *old, form, &type_));
  expect_contents(type_, abi::kCombinerHindexed, {}, {}, {2, 3, 1, 0, 40}, {old});
  const Count sizes[] = {4, 5}, subsizes[] = {2, 3}, starts[] = {1, 0};
  ASSERT_OK(make_subarray(2, sizes, subsizes, starts, abi::kOrderC, *old, form, &type_));
  expect_contents(type_, abi::kCombinerSubarray, {2, abi::kOrderC}, {}, {4, 5, 2, 3, 1, 0}, {old});
  const int distribs[] = {abi::kDistributeNone, abi::kDistributeBlock}, dargs[] = {abi::kDistributeDfltDarg, 3},
            psizes[] = {1, 2};
  ASSERT_OK(make_darray(2, 1, 2, sizes, distribs, dargs, psizes, abi::kOrderC, *old, form, &type_));
  expect_contents(type_, abi::kCombinerDarray, {2, 1, 2, distribs[0], distribs[1], dargs[0], 3, 1, 2, abi::kOrderC}, {},
                  {4, 5}, {old});
  ASSERT_OK(make_resized(*old, -1, 9, form, &type_));
  expect_contents(type_, abi::kCombinerResized, {}, {}, {-1, 9}, {old});
}

TEST_F(Decoding, TypesLiveAsLongAsTheyAreUsed) {
  const std::size_t before = Arena<Datatype>::instance().live();
  Ref<Datatype> inner;
  ASSERT_OK(make_vector(2, 1, 3, *an_int_, CallForm::kPlain, &inner));
  ASSERT_OK(make_contiguous(2, *inner, CallForm::kPlain, &type_));
  const Datatype* address = inner.get();
  inner = Ref<Datatype>();
  EXPECT_TRUE(Arena<Datatype>::instance().owns(address));
  EXPECT_EQ(type_->contents().types[0].get(), address);
  type_ = Ref<Datatype>();
  EXPECT_FALSE(Arena<Datatype>::instance().owns(address));
  EXPECT_EQ(Arena<Datatype>::instance().live(), before);
}

}  // namespace
}  // namespace hr::layout::test
