// Counting elements of partial messages (section 5.1.11) compared with the explicit typemap.
#include "layout/elements.hpp"

#include <gtest/gtest.h>

#include "base/abi.hpp"
#include "random_type.hpp"

namespace hr::layout::test {
namespace {

TEST(Elements, RandomTypesAndCuts) {
  RandomTypes random(test_seed());
  for (int i = 0; i < 1000; ++i) {
    const Made made = random.make(static_cast<int>(random.number(0, 4)), 200);
    SCOPED_TRACE(made.how);
    const Count size = made.reference.size();
    if (size == 0) continue;
    const std::vector<Entry> entries = made.reference.elements(3);
    Count bytes = 0;
    for (std::size_t basics = 0; basics <= entries.size(); ++basics) {
      EXPECT_EQ(basic_elements_of(*made.type, bytes), static_cast<Count>(basics));
      EXPECT_EQ(bytes_of_basic_elements(*made.type, static_cast<Count>(basics)), bytes);
      EXPECT_EQ(elements_of(*made.type, bytes), bytes % size == 0 ? bytes / size : abi::kUndefined);
      if (basics == entries.size()) break;
      if (entries[basics].type->size > 1) {
        EXPECT_EQ(basic_elements_of(*made.type, bytes + 1), abi::kUndefined);
      }
      bytes += entries[basics].type->size;
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Elements, TypeWithoutBytes) {
  const Ref<Datatype> an_int = predefined(abi::kInt);
  Ref<Datatype> empty;
  ASSERT_OK(make_contiguous(0, *an_int, CallForm::kPlain, &empty));
  EXPECT_EQ(elements_of(*empty, 0), 0);
  EXPECT_EQ(basic_elements_of(*empty, 0), 0);
  EXPECT_EQ(elements_of(*empty, 4), abi::kUndefined);
}

TEST(Elements, HugeTypesAreNotWalked) {
  const Ref<Datatype> pair = predefined(abi::kDoubleInt);
  Ref<Datatype> huge;
  ASSERT_OK(make_vector(Count{1} << 40, 1, 2, *pair, CallForm::kLarge, &huge));
  EXPECT_EQ(basic_elements_of(*huge, (Count{12} << 39) + 8), (Count{2} << 39) + 1);
  EXPECT_EQ(bytes_of_basic_elements(*huge, (Count{2} << 39) + 1), (Count{12} << 39) + 8);
}

TEST(Elements, LeavesComeInTypemapOrder) {
  RandomTypes random(test_seed() + 2);
  for (int i = 0; i < 500; ++i) {
    const Made made = random.make(static_cast<int>(random.number(0, 4)), 200);
    SCOPED_TRACE(made.how);
    std::size_t next = 0;
    for_each_leaf(made.type->typemap(), 0, [&](const LeafRun& leaf) {
      for (Count n = 0; n < leaf.count; ++n, ++next) {
        ASSERT_LT(next, made.reference.entries.size());
        EXPECT_EQ(leaf.type, made.reference.entries[next].type);
        EXPECT_EQ(leaf.displacement + n * leaf.stride, made.reference.entries[next].displacement);
      }
    });
    EXPECT_EQ(next, made.reference.entries.size());
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace hr::layout::test
