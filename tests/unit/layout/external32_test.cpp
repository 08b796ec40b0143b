// external32 (section 14.5.2): known bytes, and round trips of random types.
#include "layout/external32.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/abi.hpp"
#include "layout/elements.hpp"
#include "layout/op.hpp"
#include "random_type.hpp"

namespace hr::layout::test {
namespace {

template <class T>
std::string encoded(std::uintptr_t type, T value) {
  View view;
  EXPECT_OK(make_view(&value, 1, *predefined_type(type), &view));
  std::byte bytes[64] = {};
  EXPECT_OK(pack_external32(view, bytes));
  std::string hex;
  for (Count i = 0; i < external32_size(*predefined_type(type)); ++i) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", static_cast<unsigned>(bytes[i]));
    hex += text;
  }
  return hex;
}

TEST(External32, KnownBytes) {
  EXPECT_EQ(encoded(abi::kInt, 0x01020304), "01020304");
  EXPECT_EQ(encoded(abi::kInt, -2), "fffffffe");
  EXPECT_EQ(encoded(abi::kShort, short{0x1234}), "1234");
  EXPECT_EQ(encoded(abi::kLongLong, 1LL), "0000000000000001");
  EXPECT_EQ(encoded(abi::kLong, -1L), "ffffffff");  // MPI_LONG has 4 bytes there
  EXPECT_EQ(encoded(abi::kInt64T, std::int64_t{-1}), "ffffffffffffffff");
  EXPECT_EQ(encoded(abi::kChar, 'A'), "41");
  EXPECT_EQ(encoded(abi::kCBool, true), "01");
  EXPECT_EQ(encoded(abi::kWchar, L'\u20ac'), "20ac");
  EXPECT_EQ(encoded(abi::kFloat, 1.0F), "3f800000");
  EXPECT_EQ(encoded(abi::kDouble, -2.5), "c004000000000000");
  EXPECT_EQ(encoded(abi::kLongDouble, 1.0L), "3fff0000000000000000000000000000");
  EXPECT_EQ(encoded(abi::kLongDouble, -1.5L), "bfff8000000000000000000000000000");
  const float pair[2] = {1.0F, 2.0F};
  struct TwoFloats {
    float re, im;
  };
  EXPECT_EQ(encoded(abi::kCComplex, TwoFloats{pair[0], pair[1]}), "3f80000040000000");
  struct DoubleInt {
    double value;
    int index;
  };
  EXPECT_EQ(encoded(abi::kDoubleInt, DoubleInt{1.0, 3}), "3ff000000000000000000003");
}

TEST(External32, SizesOfTheStandardsTable) {
  const auto size = [](std::uintptr_t type) { return external32_size(*predefined_type(type)); };
  EXPECT_EQ(size(abi::kPacked), 1);
  EXPECT_EQ(size(abi::kWchar), 2);
  EXPECT_EQ(size(abi::kLong), 4);
  EXPECT_EQ(size(abi::kUnsignedLong), 4);
  EXPECT_EQ(size(abi::kLongLong), 8);
  EXPECT_EQ(size(abi::kAint), 8);
  EXPECT_EQ(size(abi::kLongDouble), 16);
  EXPECT_EQ(size(abi::kCLongDoubleComplex), 32);
  EXPECT_EQ(size(abi::kLogical), 4);
  EXPECT_EQ(size(abi::kLongDoubleInt), 20);
  EXPECT_EQ(size(abi::kLongInt), 8);
}

TEST(External32, ValuesThatDoNotFitAreErrors) {
  long value = 1L << 40;
  View view;
  std::byte bytes[8];
  ASSERT_OK(make_view(&value, 1, *predefined_type(abi::kLong), &view));
  EXPECT_FAILS(pack_external32(view, bytes), Errc::kConversion);
  EXPECT_NE(take_detail().find("MPI_LONG"), std::string::npos);
}

TEST(External32, RandomTypesRoundTrip) {
  RandomTypes random(test_seed());
  int compared = 0;
  for (int i = 0; i < 1500; ++i) {
    const Made made = random.make(static_cast<int>(random.number(0, 4)), 200);
    const Count count = random.number(0, 3);
    if (!made.reference.disjoint(count)) continue;
    SCOPED_TRACE(made.how);
    ASSERT_OK(made.type->commit());
    const std::vector<Entry> entries = made.reference.elements(count);
    const auto [low, high] = reach(entries);
    Count external = 0;
    for (const Entry& entry : entries) external += entry.type->external32;
    ASSERT_EQ(external32_size(*made.type) * count, external);
    const auto bytes = static_cast<std::size_t>(high - low + 16);
    std::vector<std::byte> from(bytes, std::byte{0x11}), to(bytes, std::byte{0x11});
    // Values are random bytes, except those of long doubles: random bytes need not be a number in this format.
    for (const Entry& entry : entries) {
      std::byte* at = from.data() - low + entry.displacement;
      if (entry.type->basic == Basic::kFloat80) {
        const auto number = static_cast<long double>(random.number(-1000000, 1000000)) / 3.0L;
        std::memset(at, 0, 16);
        std::memcpy(at, &number, 10);
      } else {
        for (int byte = 0; byte < entry.type->size; ++byte) at[byte] = static_cast<std::byte>(random.number(0, 255));
      }
    }
    for (const Entry& entry : entries) std::memset(to.data() - low + entry.displacement, 0, entry.type->size);
    View from_view, to_view;
    ASSERT_OK(make_view(from.data() - low, count, *made.type, &from_view));
    ASSERT_OK(make_view(to.data() - low, count, *made.type, &to_view));
    std::vector<std::byte> packed(static_cast<std::size_t>(external));
    ASSERT_OK(pack_external32(from_view, packed.data()));
    ASSERT_OK(unpack_external32(to_view, packed.data()));
    ASSERT_EQ(from, to);
    ++compared;
  }
  EXPECT_GT(compared, 500);
}

TEST(External32, LongArraysGoInPieces) {
  std::vector<double> from(100000), to(100000), external(100000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i) * 0.5;
  View from_view, to_view;
  const Datatype& type = *predefined_type(abi::kDouble);
  ASSERT_OK(make_view(from.data(), static_cast<Count>(from.size()), type, &from_view));
  ASSERT_OK(make_view(to.data(), static_cast<Count>(to.size()), type, &to_view));
  ASSERT_OK(pack_external32(from_view, reinterpret_cast<std::byte*>(external.data())));
  ASSERT_OK(unpack_external32(to_view, reinterpret_cast<const std::byte*>(external.data())));
  EXPECT_EQ(from, to);
}

TEST(External32, SpecialNumbers) {
  const long double values[] = {0.0L, -0.0L, std::numeric_limits<long double>::infinity(),
                                std::numeric_limits<long double>::max(), std::numeric_limits<long double>::min()};
  const Datatype& type = *predefined_type(abi::kLongDouble);
  for (long double value : values) {
    long double back = 7.0L;
    std::byte bytes[16];
    View from, to;
    ASSERT_OK(make_view(&value, 1, type, &from));
    ASSERT_OK(make_view(&back, 1, type, &to));
    ASSERT_OK(pack_external32(from, bytes));
    ASSERT_OK(unpack_external32(to, bytes));
    EXPECT_EQ(value, back);
    EXPECT_EQ(std::signbit(value), std::signbit(back));
  }
}

}  // namespace
}  // namespace hr::layout::test
