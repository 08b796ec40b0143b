#include "layout/basic.hpp"

#include <array>
#include <climits>

#include "base/abi.hpp"

namespace hr::layout {
namespace {

using enum BasicGroup;
using B = Basic;

constexpr BasicType row(std::uintptr_t abi, B basic, BasicGroup group, int size, int alignment, int external32,
                        const char* name) {
  return {static_cast<std::uint16_t>(abi),
          basic,
          group,
          static_cast<std::uint8_t>(size),
          static_cast<std::uint8_t>(alignment),
          static_cast<std::uint8_t>(external32),
          name};
}

constexpr BasicType pair(std::uintptr_t abi, B basic, int size, int alignment, const char* name, std::uintptr_t value,
                         std::uintptr_t index) {
  return {static_cast<std::uint16_t>(abi),      basic, kPair, static_cast<std::uint8_t>(size),
          static_cast<std::uint8_t>(alignment), 0,     name,  static_cast<std::uint16_t>(value),
          static_cast<std::uint16_t>(index)};
}

// Handle, representation, group, size, alignment, bytes in external32 (section 14.5.2), name.
constexpr BasicType kTypes[] = {
    row(abi::kAint, B::kInt64, kMultiLanguage, 8, 8, 8, "MPI_AINT"),
    row(abi::kCount, B::kInt64, kMultiLanguage, 8, 8, 8, "MPI_COUNT"),
    row(abi::kOffset, B::kInt64, kMultiLanguage, 8, 8, 8, "MPI_OFFSET"),
    row(abi::kPacked, B::kByte, kNoGroup, 1, 1, 1, "MPI_PACKED"),
    // check_op() treats these types as numbers if a program reduces them; the standard defines no operations for
    // characters, and only bitwise ones for bytes.
    row(abi::kByte, B::kUint8, BasicGroup::kByte, 1, 1, 1, "MPI_BYTE"),
    row(abi::kChar, CHAR_MIN < 0 ? B::kInt8 : B::kUint8, kNoGroup, 1, 1, 1, "MPI_CHAR"),
    row(abi::kCharacter, B::kUint8, kNoGroup, 1, 1, 1, "MPI_CHARACTER"),
    row(abi::kWchar, B::kWchar, kNoGroup, 4, 4, 2, "MPI_WCHAR"),

    row(abi::kSignedChar, B::kInt8, kCInteger, 1, 1, 1, "MPI_SIGNED_CHAR"),
    row(abi::kUnsignedChar, B::kUint8, kCInteger, 1, 1, 1, "MPI_UNSIGNED_CHAR"),
    row(abi::kShort, B::kInt16, kCInteger, 2, 2, 2, "MPI_SHORT"),
    row(abi::kUnsignedShort, B::kUint16, kCInteger, 2, 2, 2, "MPI_UNSIGNED_SHORT"),
    row(abi::kInt, B::kInt32, kCInteger, 4, 4, 4, "MPI_INT"),
    row(abi::kUnsigned, B::kUint32, kCInteger, 4, 4, 4, "MPI_UNSIGNED"),
    row(abi::kLong, B::kInt64, kCInteger, 8, 8, 4, "MPI_LONG"),
    row(abi::kUnsignedLong, B::kUint64, kCInteger, 8, 8, 4, "MPI_UNSIGNED_LONG"),
    row(abi::kLongLong, B::kInt64, kCInteger, 8, 8, 8, "MPI_LONG_LONG_INT"),
    row(abi::kUnsignedLongLong, B::kUint64, kCInteger, 8, 8, 8, "MPI_UNSIGNED_LONG_LONG"),
    row(abi::kInt8T, B::kInt8, kCInteger, 1, 1, 1, "MPI_INT8_T"),
    row(abi::kUint8T, B::kUint8, kCInteger, 1, 1, 1, "MPI_UINT8_T"),
    row(abi::kInt16T, B::kInt16, kCInteger, 2, 2, 2, "MPI_INT16_T"),
    row(abi::kUint16T, B::kUint16, kCInteger, 2, 2, 2, "MPI_UINT16_T"),
    row(abi::kInt32T, B::kInt32, kCInteger, 4, 4, 4, "MPI_INT32_T"),
    row(abi::kUint32T, B::kUint32, kCInteger, 4, 4, 4, "MPI_UINT32_T"),
    row(abi::kInt64T, B::kInt64, kCInteger, 8, 8, 8, "MPI_INT64_T"),
    row(abi::kUint64T, B::kUint64, kCInteger, 8, 8, 8, "MPI_UINT64_T"),

    row(abi::kFloat, B::kFloat32, kFloating, 4, 4, 4, "MPI_FLOAT"),
    row(abi::kDouble, B::kFloat64, kFloating, 8, 8, 8, "MPI_DOUBLE"),
    row(abi::kLongDouble, B::kFloat80, kFloating, 16, 16, 16, "MPI_LONG_DOUBLE"),
    row(abi::kCComplex, B::kComplex32, kComplex, 8, 4, 8, "MPI_C_COMPLEX"),
    row(abi::kCDoubleComplex, B::kComplex64, kComplex, 16, 8, 16, "MPI_C_DOUBLE_COMPLEX"),
    row(abi::kCLongDoubleComplex, B::kComplex80, kComplex, 32, 16, 32, "MPI_C_LONG_DOUBLE_COMPLEX"),
    row(abi::kCxxFloatComplex, B::kComplex32, kComplex, 8, 4, 8, "MPI_CXX_FLOAT_COMPLEX"),
    row(abi::kCxxDoubleComplex, B::kComplex64, kComplex, 16, 8, 16, "MPI_CXX_DOUBLE_COMPLEX"),
    row(abi::kCxxLongDoubleComplex, B::kComplex80, kComplex, 32, 16, 32, "MPI_CXX_LONG_DOUBLE_COMPLEX"),
    row(abi::kCBool, B::kBool, kLogical, 1, 1, 1, "MPI_C_BOOL"),
    row(abi::kCxxBool, B::kBool, kLogical, 1, 1, 1, "MPI_CXX_BOOL"),

    row(abi::kLogical, B::kLogical32, kLogical, 4, 4, 4, "MPI_LOGICAL"),
    row(abi::kInteger, B::kInt32, kFortranInteger, 4, 4, 4, "MPI_INTEGER"),
    row(abi::kReal, B::kFloat32, kFloating, 4, 4, 4, "MPI_REAL"),
    row(abi::kDoublePrecision, B::kFloat64, kFloating, 8, 8, 8, "MPI_DOUBLE_PRECISION"),
    row(abi::kComplex, B::kComplex32, kComplex, 8, 4, 8, "MPI_COMPLEX"),
    row(abi::kDoubleComplex, B::kComplex64, kComplex, 16, 8, 16, "MPI_DOUBLE_COMPLEX"),
    row(abi::kLogical1, B::kLogical8, kLogical, 1, 1, 1, "MPI_LOGICAL1"),
    row(abi::kLogical2, B::kLogical16, kLogical, 2, 2, 2, "MPI_LOGICAL2"),
    row(abi::kLogical4, B::kLogical32, kLogical, 4, 4, 4, "MPI_LOGICAL4"),
    row(abi::kLogical8, B::kLogical64, kLogical, 8, 8, 8, "MPI_LOGICAL8"),
    row(abi::kLogical16, B::kLogical128, kLogical, 16, 16, 16, "MPI_LOGICAL16"),
    row(abi::kInteger1, B::kInt8, kFortranInteger, 1, 1, 1, "MPI_INTEGER1"),
    row(abi::kInteger2, B::kInt16, kFortranInteger, 2, 2, 2, "MPI_INTEGER2"),
    row(abi::kInteger4, B::kInt32, kFortranInteger, 4, 4, 4, "MPI_INTEGER4"),
    row(abi::kInteger8, B::kInt64, kFortranInteger, 8, 8, 8, "MPI_INTEGER8"),
    row(abi::kInteger16, B::kInt128, kFortranInteger, 16, 16, 16, "MPI_INTEGER16"),
    row(abi::kReal2, B::kFloat16, kFloating, 2, 2, 2, "MPI_REAL2"),
    row(abi::kReal4, B::kFloat32, kFloating, 4, 4, 4, "MPI_REAL4"),
    row(abi::kReal8, B::kFloat64, kFloating, 8, 8, 8, "MPI_REAL8"),
    row(abi::kReal16, B::kFloat128, kFloating, 16, 16, 16, "MPI_REAL16"),
    row(abi::kComplex4, B::kComplex16, kComplex, 4, 2, 4, "MPI_COMPLEX4"),
    row(abi::kComplex8, B::kComplex32, kComplex, 8, 4, 8, "MPI_COMPLEX8"),
    row(abi::kComplex16, B::kComplex64, kComplex, 16, 8, 16, "MPI_COMPLEX16"),
    row(abi::kComplex32, B::kComplex128, kComplex, 32, 16, 32, "MPI_COMPLEX32"),

    row(kExtFloat16, B::kFloat16, kFloating, 2, 2, 2, "MPIX_C_FLOAT16"),
    row(kExtBfloat16, B::kBfloat16, kFloating, 2, 2, 2, "MPIX_BFLOAT16"),

    pair(abi::kFloatInt, B::kFloatInt, 8, 4, "MPI_FLOAT_INT", abi::kFloat, abi::kInt),
    pair(abi::kDoubleInt, B::kDoubleInt, 12, 8, "MPI_DOUBLE_INT", abi::kDouble, abi::kInt),
    pair(abi::kLongInt, B::kLongInt, 12, 8, "MPI_LONG_INT", abi::kLong, abi::kInt),
    pair(abi::k2int, B::k2Int, 8, 4, "MPI_2INT", abi::kInt, abi::kInt),
    pair(abi::kShortInt, B::kShortInt, 6, 4, "MPI_SHORT_INT", abi::kShort, abi::kInt),
    pair(abi::kLongDoubleInt, B::kLongDoubleInt, 20, 16, "MPI_LONG_DOUBLE_INT", abi::kLongDouble, abi::kInt),
    pair(abi::k2real, B::k2Real, 8, 4, "MPI_2REAL", abi::kReal, abi::kReal),
    pair(abi::k2doublePrecision, B::k2Double, 16, 8, "MPI_2DOUBLE_PRECISION", abi::kDoublePrecision,
         abi::kDoublePrecision),
    pair(abi::k2integer, B::k2Int, 8, 4, "MPI_2INTEGER", abi::kInteger, abi::kInteger),
};

static_assert(sizeof(long) == 8 && sizeof(long double) == 16 && sizeof(wchar_t) == 4 && sizeof(bool) == 1,
              "the table is for the LP64 data model with 16-byte long double");

constexpr std::uintptr_t kFirst = abi::kDatatypeNull;
constexpr std::size_t kSlots = 0x200;

constexpr std::array<std::uint8_t, kSlots> make_index() {
  std::array<std::uint8_t, kSlots> index{};
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    index[kTypes[i].abi - kFirst] = static_cast<std::uint8_t>(i + 1);
  }
  return index;
}

constexpr std::array<std::uint8_t, kSlots> kIndex = make_index();

}  // namespace

std::span<const BasicType> basic_types() noexcept { return kTypes; }

const BasicType* basic_type(std::uintptr_t abi_value) noexcept {
  const std::uintptr_t slot = abi_value - kFirst;
  if (slot >= kSlots || kIndex[slot] == 0) return nullptr;
  return &kTypes[kIndex[slot] - 1];
}

FortranBooleans& fortran_booleans() noexcept {
  static FortranBooleans booleans;
  return booleans;
}

}  // namespace hr::layout
