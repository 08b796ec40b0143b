// Pack, unpack and copy of random types compared with the explicit typemap, as a whole and cut anywhere.
#include "layout/view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/abi.hpp"
#include "random_type.hpp"

namespace hr::layout::test {
namespace {

// Memory for `count` elements of a type, with the origin inside and guard bytes around them.
class Memory {
 public:
  Memory(const Reference& reference, Count count, std::uint64_t seed) {
    const auto [low, high] = reach(reference.elements(count));
    origin_ = kGuard - low;
    bytes_.resize(static_cast<std::size_t>(high - low + 2 * kGuard));
    std::mt19937_64 random(seed);
    for (std::byte& byte : bytes_) byte = static_cast<std::byte>(random());
  }
  std::byte* origin() { return bytes_.data() + origin_; }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  static constexpr Count kGuard = 64;
  std::vector<std::byte> bytes_;
  Count origin_ = 0;
};

void view_of(Memory& memory, const Made& made, Count count, View* view) {
  ASSERT_OK(make_view(memory.origin(), count, *made.type, view));
  ASSERT_EQ(view->packed, static_cast<std::size_t>(made.reference.size() * count));
}

void expect_moves(RandomTypes& random, const Made& made, Count count) {
  Memory memory(made.reference, count, 1);
  View view;
  view_of(memory, made, count, &view);
  const std::vector<Entry> entries = made.reference.elements(count);
  const std::vector<std::byte> expected = reference_pack(entries, memory.origin());
  std::vector<std::byte> packed(view.packed);
  ASSERT_OK(pack(view, 0, view.packed, packed.data()));
  ASSERT_EQ(packed, expected);

  std::fill(packed.begin(), packed.end(), std::byte{0});
  std::vector<std::size_t> cuts = {0, view.packed};
  for (Count i = random.number(0, 12); i > 0; --i) {
    cuts.push_back(static_cast<std::size_t>(random.number(0, static_cast<Count>(view.packed))));
  }
  std::sort(cuts.begin(), cuts.end());
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    ASSERT_OK(pack(view, cuts[i - 1], cuts[i] - cuts[i - 1], packed.data() + cuts[i - 1]));
  }
  ASSERT_EQ(packed, expected);

  if (!made.reference.disjoint(count)) return;
  Memory target(made.reference, count, 2);
  Memory wanted(made.reference, count, 2);
  reference_unpack(entries, wanted.origin(), expected);
  View to;
  view_of(target, made, count, &to);
  ASSERT_OK(unpack(to, 0, to.packed, expected.data()));
  ASSERT_EQ(target.bytes(), wanted.bytes());  // including the guard bytes and the holes

  Memory pieces(made.reference, count, 2);
  view_of(pieces, made, count, &to);
  for (std::size_t i = cuts.size() - 1; i > 0; --i) {
    ASSERT_OK(unpack(to, cuts[i - 1], cuts[i] - cuts[i - 1], expected.data() + cuts[i - 1]));
  }
  ASSERT_EQ(pieces.bytes(), wanted.bytes());

  Memory copied(made.reference, count, 2);
  view_of(copied, made, count, &to);
  ASSERT_OK(copy(view, to));
  ASSERT_EQ(copied.bytes(), wanted.bytes());
}

TEST(View, RandomTypesMoveExactly) {
  RandomTypes random(test_seed());
  for (int i = 0; i < 4000; ++i) {
    const Made made = random.make(static_cast<int>(random.number(0, 5)));
    SCOPED_TRACE(made.how);
    ASSERT_OK(made.type->commit());
    expect_moves(random, made, random.number(0, 4));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(View, CopyBetweenUnlikeTypes) {
  RandomTypes random(test_seed() + 1);
  int compared = 0;
  for (int i = 0; i < 3000; ++i) {
    const Made source = random.make(static_cast<int>(random.number(0, 3)));
    const Made target = random.make(static_cast<int>(random.number(0, 3)));
    ASSERT_OK(source.type->commit());
    ASSERT_OK(target.type->commit());
    if (source.type->size() == 0 || target.type->size() == 0) continue;
    const Count from_count = random.number(1, 40);
    const Count to_count = source.type->size() * from_count / target.type->size() + 1;
    if (to_count > 400 || !target.reference.disjoint(to_count)) continue;
    SCOPED_TRACE(source.how + " -> " + target.how);
    Memory from(source.reference, from_count, 3);
    Memory to(target.reference, to_count, 4);
    Memory wanted(target.reference, to_count, 4);
    std::vector<std::byte> packed = reference_pack(source.reference.elements(from_count), from.origin());
    std::vector<std::byte> rest = reference_pack(target.reference.elements(to_count), wanted.origin());
    std::copy(packed.begin(), packed.end(), rest.begin());
    reference_unpack(target.reference.elements(to_count), wanted.origin(), rest);
    View from_view, to_view;
    view_of(from, source, from_count, &from_view);
    view_of(to, target, to_count, &to_view);
    ASSERT_OK(copy(from_view, to_view));
    ASSERT_EQ(to.bytes(), wanted.bytes());
    ++compared;
  }
  EXPECT_GT(compared, 500);
}

// Every length for which the segment loops are specialised, with both strides and in both directions.
TEST(View, RunsOfEveryLength) {
  RandomTypes random(7);
  const Ref<Datatype> a_byte = predefined(abi::kByte);
  for (Count length = 1; length <= 300; length += length < 140 ? 1 : 37) {
    Made made;
    made.how = std::to_string(length);
    SCOPED_TRACE(made.how);
    ASSERT_OK(make_hvector(9, length, length + 5, *a_byte, CallForm::kLarge, &made.type));
    std::vector<Count> blocks, displacements;
    for (Count i = 0; i < 9; ++i) {
      blocks.push_back(length);
      displacements.push_back(i * (length + 5));
    }
    made.reference = struct_reference(blocks, displacements, std::vector<Reference>(9, basic_reference(*a_byte)));
    ASSERT_OK(made.type->commit());
    for (const Count count : {1, 3}) expect_moves(random, made, count);
    // Blocks of one length at irregular offsets.
    displacements[4] += 2;
    ASSERT_OK(make_hindexed_block(9, length, displacements.data(), *a_byte, CallForm::kLarge, &made.type));
    made.reference = struct_reference(blocks, displacements, std::vector<Reference>(9, basic_reference(*a_byte)));
    ASSERT_OK(made.type->commit());
    EXPECT_EQ(made.type->layout().form, Form::kBlocks);
    for (const Count count : {1, 3}) expect_moves(random, made, count);
  }
}

// Many small structs: the path that copies single blocks of a chunk of patterns.
TEST(View, ArraysOfStructs) {
  RandomTypes random(11);
  const Ref<Datatype> parts[] = {predefined(abi::kChar), predefined(abi::kDouble), predefined(abi::kShort)};
  Datatype* types[] = {parts[0].get(), parts[1].get(), parts[2].get()};
  const std::vector<Count> blocks = {1, 1, 3}, displacements = {0, 8, 18};
  Made one;
  ASSERT_OK(make_struct(3, blocks.data(), displacements.data(), types, CallForm::kLarge, &one.type));
  one.reference = struct_reference(
      blocks, displacements, {basic_reference(*parts[0]), basic_reference(*parts[1]), basic_reference(*parts[2])});
  ASSERT_OK(one.type->commit());
  EXPECT_EQ(one.type->extent(), 24);
  for (const Count count : {1, 3, 4, 127, 128, 129, 300}) expect_moves(random, one, count);
}

// One component of several, in long rows: whole vectors remove gaps and insert them.
TEST(View, ShortRunsWithShortGaps) {
  RandomTypes random(test_seed() + 2);
  for (const std::uintptr_t basic : {abi::kFloat, abi::kDouble, abi::kCDoubleComplex}) {
    const Ref<Datatype> element = predefined(basic);
    for (const Count apart : {-2, 2, 3, 4, 5}) {
      Made made;
      const Count n = random.number(1, 150);
      made.how = element->name() + ", " + std::to_string(n) + " of " + std::to_string(apart);
      SCOPED_TRACE(made.how);
      ASSERT_OK(make_vector(n, 1, apart, *element, CallForm::kLarge, &made.type));
      std::vector<Count> displacements;
      for (Count i = 0; i < n; ++i) displacements.push_back(i * apart * element->extent());
      const std::vector<Count> ones(static_cast<std::size_t>(n), 1);
      made.reference = struct_reference(ones, displacements,
                                        std::vector<Reference>(static_cast<std::size_t>(n), basic_reference(*element)));
      ASSERT_OK(made.type->commit());
      for (const Count count : {1, 3}) expect_moves(random, made, count);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Single elements, a few of which are adjacent: the path is still one loop over segments of equal length.
TEST(View, ListsWithNeighbours) {
  RandomTypes random(test_seed() + 3);
  for (const std::uintptr_t basic : {abi::kShort, abi::kFloat, abi::kDouble, abi::kCDoubleComplex}) {
    const Ref<Datatype> element = predefined(basic);
    for (int round = 0; round < 20; ++round) {
      const Count n = random.number(20, 120);
      std::vector<Count> places;
      Count at = random.number(-30, 30);
      for (Count i = 0; i < n; ++i) {
        places.push_back(at);
        at += i % 12 == 5 ? 1 : random.number(2, 6);
      }
      Made made;
      ASSERT_OK(make_indexed_block(n, 1, places.data(), *element, CallForm::kLarge, &made.type));
      for (Count& place : places) place *= element->extent();
      const std::vector<Count> ones(static_cast<std::size_t>(n), 1);
      made.reference = struct_reference(ones, places,
                                        std::vector<Reference>(static_cast<std::size_t>(n), basic_reference(*element)));
      ASSERT_OK(made.type->commit());
      EXPECT_EQ(made.type->layout().form, Form::kBlocks);
      EXPECT_EQ(made.type->layout().piece, element->size());
      for (const Count count : {1, 2}) expect_moves(random, made, count);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(View, BottomWithAbsoluteAddresses) {
  int values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  const Ref<Datatype> an_int = predefined(abi::kInt);
  const Count blocks[] = {1, 2};
  const Count displacements[] = {reinterpret_cast<Count>(&values[6]), reinterpret_cast<Count>(&values[1])};
  Ref<Datatype> type;
  ASSERT_OK(make_hindexed(2, blocks, displacements, *an_int, CallForm::kLarge, &type));
  ASSERT_OK(type->commit());
  View view;
  ASSERT_OK(make_view(nullptr, 1, *type, &view));
  int packed[3] = {};
  ASSERT_OK(pack(view, 0, sizeof packed, reinterpret_cast<std::byte*>(packed)));
  EXPECT_EQ(packed[0], 6);
  EXPECT_EQ(packed[1], 1);
  EXPECT_EQ(packed[2], 2);
}

TEST(View, ErrorsNameTheCause) {
  const Ref<Datatype> a_double = predefined(abi::kDouble);
  View view;
  EXPECT_FAILS(make_view(nullptr, 1, *a_double, &view), Errc::kBuffer);
  EXPECT_NE(take_detail().find("MPI_DOUBLE"), std::string::npos);
  EXPECT_FAILS(make_view(reinterpret_cast<void*>(0x10), 1, *a_double, &view), Errc::kBuffer);
  EXPECT_OK(make_view(nullptr, 0, *a_double, &view));  // without data, no address is needed
  EXPECT_TRUE(view.contiguous);
  double value = 0;
  EXPECT_FAILS(make_view(&value, INT64_MAX / 4, *a_double, &view), Errc::kCount);
}

}  // namespace
}  // namespace hr::layout::test
