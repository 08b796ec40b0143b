// Predefined operations for every type of the table in section 6.9.2, compared with the result for single scalars.
#include "layout/op.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "base/abi.hpp"
#include "layout/reduce/scalars.hpp"
#include "random_type.hpp"

namespace hr::layout::test {
namespace {

constexpr std::size_t kElements = 67;  // odd, so that vector loops have a remainder

Op& op(std::uintptr_t abi_value) { return *predefined_op(abi_value); }

template <class T>
void expect_op(std::uintptr_t type, std::uintptr_t operation, T (*scalar)(T, T), bool small_values) {
  const Datatype& datatype = *predefined_type(type);
  SCOPED_TRACE(datatype.name() + " op " + std::to_string(operation));
  ASSERT_EQ(sizeof(T), static_cast<std::size_t>(datatype.extent()));
  ASSERT_OK(check_op(op(operation), datatype));
  std::mt19937 random(5);
  T in[kElements], inout[kElements], expected[kElements];
  for (std::size_t i = 0; i < kElements; ++i) {
    const auto draw = [&] { return static_cast<T>(static_cast<int>(random() % (small_values ? 5 : 100)) - 2); };
    in[i] = draw();
    inout[i] = draw();
    expected[i] = scalar(in[i], inout[i]);
  }
  T apart[kElements], over[kElements];
  std::copy(in, in + kElements, apart);
  std::copy(inout, inout + kElements, over);
  ASSERT_OK(apply_to(op(operation), in, inout, apart, kElements, datatype));
  ASSERT_OK(apply_to(op(operation), in, over, over, kElements, datatype));
  ASSERT_OK(apply(op(operation), in, inout, kElements, datatype));
  for (std::size_t i = 0; i < kElements; ++i) {
    EXPECT_TRUE(inout[i] == expected[i]) << i;
    EXPECT_TRUE(apart[i] == expected[i]) << i;
    EXPECT_TRUE(over[i] == expected[i]) << i;
  }
}

template <class T>
void expect_ordered(std::uintptr_t type) {
  expect_op<T>(type, abi::kMin, [](T a, T b) { return b < a ? b : a; }, false);
  expect_op<T>(type, abi::kMax, [](T a, T b) { return b > a ? b : a; }, false);
  expect_op<T>(type, abi::kSum, [](T a, T b) { return static_cast<T>(a + b); }, true);
  expect_op<T>(type, abi::kProd, [](T a, T b) { return static_cast<T>(a * b); }, true);
}

template <class T>
void expect_bits(std::uintptr_t type) {
  expect_op<T>(type, abi::kBand, [](T a, T b) { return static_cast<T>(a & b); }, false);
  expect_op<T>(type, abi::kBor, [](T a, T b) { return static_cast<T>(a | b); }, false);
  expect_op<T>(type, abi::kBxor, [](T a, T b) { return static_cast<T>(a ^ b); }, false);
}

template <class T>
void expect_truths(std::uintptr_t type) {
  expect_op<T>(type, abi::kLand, [](T a, T b) { return static_cast<T>(a && b ? 1 : 0); }, true);
  expect_op<T>(type, abi::kLor, [](T a, T b) { return static_cast<T>(a || b ? 1 : 0); }, true);
  expect_op<T>(type, abi::kLxor, [](T a, T b) { return static_cast<T>(!a != !b ? 1 : 0); }, true);
}

template <class T>
void expect_integer(std::uintptr_t type, bool logical) {
  expect_ordered<T>(type);
  expect_bits<T>(type);
  if (logical) expect_truths<T>(type);
}

TEST(Op, CIntegers) {
  expect_integer<signed char>(abi::kSignedChar, true);
  expect_integer<unsigned char>(abi::kUnsignedChar, true);
  expect_integer<short>(abi::kShort, true);
  expect_integer<unsigned short>(abi::kUnsignedShort, true);
  expect_integer<int>(abi::kInt, true);
  expect_integer<unsigned>(abi::kUnsigned, true);
  expect_integer<long>(abi::kLong, true);
  expect_integer<unsigned long>(abi::kUnsignedLong, true);
  expect_integer<long long>(abi::kLongLong, true);
  expect_integer<unsigned long long>(abi::kUnsignedLongLong, true);
  expect_integer<std::int8_t>(abi::kInt8T, true);
  expect_integer<std::uint64_t>(abi::kUint64T, true);
  expect_integer<std::int64_t>(abi::kAint, true);
  expect_integer<std::int64_t>(abi::kCount, true);
  expect_integer<std::int64_t>(abi::kOffset, true);
}

// Operations that are not in the standard's table, but supported by other libraries.
TEST(Op, CharactersAndBytes) {
  expect_integer<char>(abi::kChar, true);
  expect_integer<unsigned char>(abi::kByte, true);
  expect_integer<unsigned char>(abi::kCharacter, true);
}

TEST(Op, FortranIntegers) {
  expect_integer<int>(abi::kInteger, false);
  expect_integer<std::int8_t>(abi::kInteger1, false);
  expect_integer<std::int16_t>(abi::kInteger2, false);
  expect_integer<std::int64_t>(abi::kInteger8, false);
  expect_integer<Int128>(abi::kInteger16, false);
}

TEST(Op, FloatingPoint) {
  expect_ordered<float>(abi::kFloat);
  expect_ordered<double>(abi::kDouble);
  expect_ordered<long double>(abi::kLongDouble);
  expect_ordered<float>(abi::kReal);
  expect_ordered<double>(abi::kDoublePrecision);
  expect_ordered<Half>(abi::kReal2);
  expect_ordered<Half>(kExtFloat16);
  expect_ordered<Bfloat16>(kExtBfloat16);
  expect_ordered<Quad>(abi::kReal16);
}

TEST(Op, Booleans) {
  expect_truths<bool>(abi::kCBool);
  expect_truths<bool>(abi::kCxxBool);
  expect_truths<int>(abi::kLogical);
  expect_truths<std::int8_t>(abi::kLogical1);
  expect_truths<std::int16_t>(abi::kLogical2);
  expect_truths<std::int64_t>(abi::kLogical8);
  expect_truths<Int128>(abi::kLogical16);
}

TEST(Op, FortranTruthIsTheCompilersOwn) {
  fortran_booleans() = {-1, 0};
  int in[] = {-1, 0, 5, 0}, inout[] = {-1, -1, 7, 0};
  ASSERT_OK(apply(op(abi::kLand), in, inout, 4, *predefined_type(abi::kLogical)));
  fortran_booleans() = {};
  EXPECT_EQ(inout[0], -1);
  EXPECT_EQ(inout[1], 0);
  EXPECT_EQ(inout[2], -1);
  EXPECT_EQ(inout[3], 0);
}

template <class T>
void expect_complex(std::uintptr_t type) {
  SCOPED_TRACE(predefined_type(type)->name());
  const Datatype& datatype = *predefined_type(type);
  ASSERT_EQ(sizeof(Complex<T>), static_cast<std::size_t>(datatype.extent()));
  const auto number = [](int re, int im) { return Complex<T>{static_cast<T>(re), static_cast<T>(im)}; };
  const auto is = [](const Complex<T>& value, int re, int im) {
    return value.re == static_cast<T>(re) && value.im == static_cast<T>(im);
  };
  Complex<T> in[] = {number(1, 2), number(3, -1)}, inout[] = {number(5, 6), number(0, 1)};
  ASSERT_OK(apply(op(abi::kSum), in, inout, 2, datatype));
  EXPECT_TRUE(is(inout[0], 6, 8));
  EXPECT_TRUE(is(inout[1], 3, 0));
  ASSERT_OK(apply(op(abi::kProd), in, inout, 2, datatype));
  EXPECT_TRUE(is(inout[0], 6 - 16, 8 + 12));
  EXPECT_TRUE(is(inout[1], 9, -3));
}

TEST(Op, ComplexNumbers) {
  for (const auto type : {abi::kCComplex, abi::kCxxFloatComplex, abi::kComplex, abi::kComplex8}) {
    expect_complex<float>(type);
  }
  for (const auto type : {abi::kCDoubleComplex, abi::kDoubleComplex, abi::kComplex16}) expect_complex<double>(type);
  expect_complex<long double>(abi::kCLongDoubleComplex);
  expect_complex<Half>(abi::kComplex4);
  expect_complex<Quad>(abi::kComplex32);
}

template <class Value, class Index>
void expect_pairs(std::uintptr_t type) {
  struct Pair {
    Value value;
    Index index;
  };
  const Datatype& datatype = *predefined_type(type);
  SCOPED_TRACE(datatype.name());
  ASSERT_EQ(sizeof(Pair), static_cast<std::size_t>(datatype.extent()));
  const Pair in[] = {{1, 9}, {2, 1}, {3, 4}, {3, 8}};
  const Pair start[] = {{2, 3}, {1, 7}, {3, 5}, {3, 2}};
  Pair inout[4];
  std::memcpy(inout, start, sizeof inout);
  ASSERT_OK(apply(op(abi::kMinloc), in, inout, 4, datatype));
  const int min_index[] = {9, 7, 4, 2}, max_index[] = {3, 1, 4, 2};
  const int min_value[] = {1, 1, 3, 3}, max_value[] = {2, 2, 3, 3};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(inout[i].value, static_cast<Value>(min_value[i]));
    EXPECT_EQ(inout[i].index, static_cast<Index>(min_index[i]));
  }
  std::memcpy(inout, start, sizeof inout);
  ASSERT_OK(apply(op(abi::kMaxloc), in, inout, 4, datatype));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(inout[i].value, static_cast<Value>(max_value[i]));
    EXPECT_EQ(inout[i].index, static_cast<Index>(max_index[i]));
  }
}

TEST(Op, MinlocAndMaxloc) {
  expect_pairs<float, int>(abi::kFloatInt);
  expect_pairs<double, int>(abi::kDoubleInt);
  expect_pairs<long, int>(abi::kLongInt);
  expect_pairs<int, int>(abi::k2int);
  expect_pairs<short, int>(abi::kShortInt);
  expect_pairs<long double, int>(abi::kLongDoubleInt);
  expect_pairs<float, float>(abi::k2real);
  expect_pairs<double, double>(abi::k2doublePrecision);
  expect_pairs<int, int>(abi::k2integer);
}

// Checks the table, and that each of its cells has a kernel.
TEST(Op, TableOfAllowedTypes) {
  using G = BasicGroup;
  const std::set<G> integers = {G::kCInteger, G::kFortranInteger, G::kMultiLanguage};
  const auto with = [](std::set<G> groups, std::initializer_list<G> more) {
    groups.insert(more);
    return groups;
  };
  const std::pair<std::vector<std::uintptr_t>, std::set<G>> table[] = {
      {{abi::kMax, abi::kMin}, with(integers, {G::kFloating})},
      {{abi::kSum, abi::kProd}, with(integers, {G::kFloating, G::kComplex})},
      {{abi::kLand, abi::kLor, abi::kLxor}, {G::kCInteger, G::kLogical, G::kMultiLanguage}},
      {{abi::kBand, abi::kBor, abi::kBxor}, with(integers, {G::kByte})},
      {{abi::kMinloc, abi::kMaxloc}, {G::kPair}},
      {{abi::kReplace, abi::kNoOp}, {}},
  };
  alignas(32) std::byte in[64] = {}, inout[64] = {};
  for (const auto& [operations, groups] : table) {
    for (const std::uintptr_t operation : operations) {
      for (const BasicType& row : basic_types()) {
        const Datatype& type = *predefined_type(row.abi);
        const bool as_number = (row.abi == abi::kChar || row.abi == abi::kByte || row.abi == abi::kCharacter) &&
                               groups.count(BasicGroup::kCInteger) != 0;
        const bool allowed = as_number || groups.count(row.group) != 0;
        EXPECT_EQ(check_op(op(operation), type).ok(), allowed) << row.name << " op " << operation;
        if (allowed) {
          EXPECT_OK(apply(op(operation), in, inout, 1, type));
        }
      }
    }
  }
  (void)take_detail();
}

TEST(Op, ErrorsSayWhy) {
  EXPECT_FAILS(check_op(op(abi::kSum), *predefined_type(abi::kWchar)), Errc::kOp);
  EXPECT_EQ(take_detail(), "MPI_SUM is not defined for MPI_WCHAR (MPI 5.0 section 6.9.2)");
  Ref<Datatype> type;
  ASSERT_OK(make_contiguous(2, *predefined(abi::kInt), CallForm::kPlain, &type));
  EXPECT_FAILS(check_op(op(abi::kSum), *type), Errc::kOp);
  EXPECT_NE(take_detail().find("derived"), std::string::npos);
}

TEST(Op, UnnamedTypesReduce) {
  Ref<Datatype> type;
  ASSERT_OK(f90_real(15, abi::kUndefined, &type));
  ASSERT_OK(check_op(op(abi::kSum), *type));
  const double in[] = {1, 2};
  double inout[] = {3, 4};
  ASSERT_OK(apply(op(abi::kSum), in, inout, 2, *type));
  EXPECT_EQ(inout[1], 6);
}

TEST(Op, ReplaceAndNoOp) {
  const int in[] = {1, 2};
  int inout[] = {3, 4};
  ASSERT_OK(apply(op(abi::kNoOp), in, inout, 2, *predefined_type(abi::kInt)));
  EXPECT_EQ(inout[0], 3);
  ASSERT_OK(apply(op(abi::kReplace), in, inout, 2, *predefined_type(abi::kInt)));
  EXPECT_EQ(inout[1], 2);
}

TEST(Op, UserOperationsGetTheType) {
  Op mine(OpKind::kUser, false);
  mine.user_ = [](const void* in, void* inout, Count count, const Datatype& type) {
    EXPECT_EQ(type.size(), 4);
    for (Count i = 0; i < count; ++i) static_cast<int*>(inout)[i] -= static_cast<const int*>(in)[i];
    return kOk;
  };
  const int in[] = {1, 2};
  int inout[] = {3, 4};
  ASSERT_OK(check_op(mine, *predefined_type(abi::kInt)));
  ASSERT_OK(apply(mine, in, inout, 2, *predefined_type(abi::kInt)));
  EXPECT_EQ(inout[0], 2);
  int apart[] = {0, 0};
  ASSERT_OK(apply_to(mine, in, inout, apart, 2, *predefined_type(abi::kInt)));
  EXPECT_EQ(apart[0], 1);
  EXPECT_EQ(apart[1], 0);
  EXPECT_EQ(inout[1], 2);
  EXPECT_FALSE(mine.commutative());
}

}  // namespace
}  // namespace hr::layout::test
