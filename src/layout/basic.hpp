// Basic types: the meaning of the bytes of a predefined datatype, and the table of all predefined datatypes.
//
// Basic names a representation; several predefined types share one (MPI_INT, MPI_INT32_T and MPI_INTEGER4 are
// all kInt32). Which operations are defined for a type (section 6.9.2) and its width in external32 (section 14.5.2)
// depend on the predefined type (BasicType), not on its representation. Owner: static tables. Threads: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hr::layout {

enum class Basic : std::uint8_t {
  kNone,  // derived
  kByte,  // uninterpreted: MPI_PACKED
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kInt128,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kFloat80,
  kFloat128,  // kFloat80 above is C's long double
  kComplex16,
  kComplex32,
  kComplex64,
  kComplex80,
  kComplex128,  // kComplex16 is two of kFloat16, and so on
  kBool,        // C and C++ bool
  kLogical8,
  kLogical16,
  kLogical32,
  kLogical64,
  kLogical128,  // Fortran LOGICAL
  kWchar,
  // Value and index (section 6.9.4); the index is a C int, except in Fortran's k2Real and k2Double.
  kFloatInt,
  kDoubleInt,
  kLongInt,
  k2Int,
  kShortInt,
  kLongDoubleInt,
  k2Real,
  k2Double,
  kCount_,
};

// Handles that the ABI does not define, for types that are not in the standard (include/mpi-ext.h).
inline constexpr std::uintptr_t kExtFloat16 = 0x2f8;
inline constexpr std::uintptr_t kExtBfloat16 = 0x2f9;

inline constexpr std::size_t kBasicCount = static_cast<std::size_t>(Basic::kCount_);

// The groups of types in the table of predefined reduction operations (section 6.9.2).
enum class BasicGroup : std::uint8_t {
  kNoGroup,
  kCInteger,
  kFortranInteger,
  kFloating,
  kLogical,
  kComplex,
  kByte,
  kMultiLanguage,
  kPair
};

// One predefined datatype.
struct BasicType {
  std::uint16_t abi;  // value of the handle
  Basic basic;
  BasicGroup group;
  std::uint8_t size;  // bytes of data
  std::uint8_t alignment;
  std::uint8_t external32;  // bytes in external32; 0 for pairs (the sum of their members)
  const char* name;         // "MPI_INT"
  // Pairs: the members' handles; 0 otherwise.
  std::uint16_t value_abi = 0;
  std::uint16_t index_abi = 0;
};

std::span<const BasicType> basic_types() noexcept;
// Returns the row of an ABI constant; null if it has none.
const BasicType* basic_type(std::uintptr_t abi_value) noexcept;

// Representations of Fortran's .TRUE. and .FALSE. (MPI_Abi_set_fortran_booleans): a logical operation reads any value
// except false as true, and writes these values. 1 and 0 unless set. Set before other threads call MPI.
struct FortranBooleans {
  std::int64_t true_value = 1;
  std::int64_t false_value = 0;
};
FortranBooleans& fortran_booleans() noexcept;

}  // namespace hr::layout
