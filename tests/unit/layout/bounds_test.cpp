// Size, bounds and extent (section 5.1.7) for every constructor, compared with the definitions.
#include <gtest/gtest.h>

#include "base/abi.hpp"
#include "layout/view.hpp"
#include "random_type.hpp"

namespace hr::layout::test {
namespace {

void expect_facts(const Made& made) {
  const Datatype& type = *made.type;
  const Reference& reference = made.reference;
  EXPECT_EQ(type.size(), reference.size());
  EXPECT_EQ(type.lb(), reference.lb());
  EXPECT_EQ(type.extent(), reference.extent());
  EXPECT_EQ(type.true_lb(), reference.true_lb());
  EXPECT_EQ(type.true_extent(), reference.true_ub() - reference.true_lb());
  EXPECT_EQ(type.typemap().leaves, static_cast<Count>(reference.entries.size()));
}

TEST(Bounds, RandomTypes) {
  RandomTypes random(test_seed());
  for (int i = 0; i < 4000; ++i) {
    const Made made = random.make(static_cast<int>(random.number(0, 4)));
    SCOPED_TRACE(made.how);
    expect_facts(made);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Bounds, StructIsPaddedToTheStrictestAlignment) {
  const Ref<Datatype> a_double = predefined(abi::kDouble);
  const Ref<Datatype> a_char = predefined(abi::kChar);
  Datatype* types[] = {a_double.get(), a_char.get()};
  const Count blocks[] = {1, 1};
  const Count displacements[] = {0, 8};
  Ref<Datatype> type;
  ASSERT_OK(make_struct(2, blocks, displacements, types, CallForm::kPlain, &type));
  EXPECT_EQ(type->size(), 9);
  EXPECT_EQ(type->extent(), 16);  // the example of section 5.1.1
  EXPECT_EQ(type->true_extent(), 9);
}

TEST(Bounds, MarkersOfResizedTypesDecide) {
  const Ref<Datatype> an_int = predefined(abi::kInt);
  Ref<Datatype> resized, contiguous;
  ASSERT_OK(make_resized(*an_int, -3, 9, CallForm::kPlain, &resized));
  EXPECT_EQ(resized->lb(), -3);
  EXPECT_EQ(resized->extent(), 9);
  ASSERT_OK(make_contiguous(2, *resized, CallForm::kPlain, &contiguous));
  EXPECT_EQ(contiguous->lb(), -3);  // the example of section 5.1.7: ((lb,-3),(int,0),(int,9),(ub,15))
  EXPECT_EQ(contiguous->extent(), 18);
  Datatype* types[] = {resized.get(), an_int.get()};
  const Count blocks[] = {1, 1};
  const Count displacements[] = {0, 100};
  Ref<Datatype> both;
  ASSERT_OK(make_struct(2, blocks, displacements, types, CallForm::kPlain, &both));
  EXPECT_EQ(both->extent(), 9);
  EXPECT_EQ(both->true_extent(), 104);
}

TEST(Bounds, NegativeStrideAndExtent) {
  const Ref<Datatype> an_int = predefined(abi::kInt);
  Ref<Datatype> vector;
  ASSERT_OK(make_vector(3, 1, -2, *an_int, CallForm::kPlain, &vector));
  EXPECT_EQ(vector->lb(), -16);
  EXPECT_EQ(vector->extent(), 20);
  Ref<Datatype> negative;
  ASSERT_OK(make_resized(*an_int, 0, -8, CallForm::kPlain, &negative));
  EXPECT_EQ(negative->extent(), -8);
}

TEST(Bounds, EmptyTypes) {
  const Ref<Datatype> an_int = predefined(abi::kInt);
  Ref<Datatype> empty;
  ASSERT_OK(make_contiguous(0, *an_int, CallForm::kPlain, &empty));
  EXPECT_EQ(empty->size(), 0);
  EXPECT_EQ(empty->extent(), 0);
  ASSERT_OK(empty->commit());
  EXPECT_TRUE(empty->contiguous(5));
}

TEST(Bounds, Darray) {
  RandomTypes random(test_seed());
  for (int i = 0; i < 1500; ++i) {
    const auto ndims = static_cast<std::size_t>(random.number(1, 3));
    std::vector<Count> gsizes;
    std::vector<int> distribs, dargs, psizes;
    int processes = 1;
    for (std::size_t dim = 0; dim < ndims; ++dim) {
      gsizes.push_back(random.number(1, 7));
      distribs.push_back(static_cast<int>(random.number(abi::kDistributeNone, abi::kDistributeCyclic)));
      psizes.push_back(distribs.back() == abi::kDistributeNone ? 1 : static_cast<int>(random.number(1, 3)));
      const bool fallback = distribs.back() == abi::kDistributeNone || random.number(0, 2) == 0;
      const Count least =
          distribs.back() == abi::kDistributeBlock ? (gsizes.back() + psizes.back() - 1) / psizes.back() : 1;
      dargs.push_back(fallback ? abi::kDistributeDfltDarg : static_cast<int>(random.number(least, 5)));
      if (!fallback && dargs.back() < least) dargs.back() = static_cast<int>(least);
      processes *= psizes.back();
    }
    const int order = random.number(0, 1) == 0 ? abi::kOrderC : abi::kOrderFortran;
    const int rank = static_cast<int>(random.number(0, processes - 1));
    const Made old = random.make(static_cast<int>(random.number(0, 1)), 8);
    Made made;
    ASSERT_OK(make_darray(processes, rank, static_cast<int>(ndims), gsizes.data(), distribs.data(), dargs.data(),
                          psizes.data(), order, *old.type, CallForm::kPlain, &made.type));
    made.reference = darray_reference(rank, gsizes, distribs, dargs, psizes, order, old.reference);
    expect_facts(made);
    // Packs elements to check the order, too.
    ASSERT_OK(made.type->commit());
    if (made.type->size() == 0) continue;
    const Count low = made.reference.true_lb();
    std::vector<std::byte> memory(static_cast<std::size_t>(made.type->true_extent()));
    for (std::size_t byte = 0; byte < memory.size(); ++byte)
      memory[byte] = static_cast<std::byte>(byte * 7 + byte / 251);
    View view;
    ASSERT_OK(make_view(memory.data() - low, 1, *made.type, &view));
    std::vector<std::byte> packed(view.packed);
    ASSERT_OK(pack(view, 0, view.packed, packed.data()));
    EXPECT_EQ(packed, reference_pack(made.reference.entries, memory.data() - low));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Bounds, ErrorsAreNamed) {
  const Ref<Datatype> an_int = predefined(abi::kInt);
  Ref<Datatype> type;
  EXPECT_FAILS(make_vector(2, 1, INT64_MAX / 2, *an_int, CallForm::kLarge, &type), Errc::kCount);
  EXPECT_FAILS(make_contiguous(INT64_MAX / 2, *an_int, CallForm::kLarge, &type), Errc::kCount);
  const int sizes[] = {4}, subsizes[] = {3}, starts[] = {2};
  EXPECT_FAILS(make_subarray(1, sizes, subsizes, starts, abi::kOrderC, *an_int, CallForm::kPlain, &type), Errc::kArg);
  EXPECT_NE(take_detail().find("2 to 2+3"), std::string::npos);
  EXPECT_FAILS(make_subarray(1, sizes, sizes, starts, 99, *an_int, CallForm::kPlain, &type), Errc::kArg);
  const int distribs[] = {abi::kDistributeBlock}, dargs[] = {1}, psizes[] = {2};
  EXPECT_FAILS(make_darray(2, 0, 1, sizes, distribs, dargs, psizes, abi::kOrderC, *an_int, CallForm::kPlain, &type),
               Errc::kArg);
}

TEST(Bounds, LargeCountsStayExact) {
  const Ref<Datatype> a_byte = predefined(abi::kByte);
  Ref<Datatype> row, plane;
  ASSERT_OK(make_vector(Count{1} << 31, 3, 5, *a_byte, CallForm::kLarge, &row));
  EXPECT_EQ(row->size(), 3 * (Count{1} << 31));
  EXPECT_EQ(row->extent(), 5 * ((Count{1} << 31) - 1) + 3);
  ASSERT_OK(make_hvector(1 << 20, 1, Count{1} << 34, *row, CallForm::kLarge, &plane));
  EXPECT_EQ(plane->size(), row->size() << 20);
  ASSERT_OK(plane->commit());
  EXPECT_EQ(plane->layout().form, Form::kStrided);
}

}  // namespace
}  // namespace hr::layout::test
