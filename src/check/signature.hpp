// Signature: the sequence of basic types that a buffer holds (MPI 5.0 section 5.1), as its length and a hash.
//
// Two buffers match if their sequences are equal, however their types were constructed: 2 x MPI_INT matches 1 x a type
// of two MPI_INT. Basic types count as equal if they mean the same on this machine (MPI_INT, MPI_INTEGER, MPI_INT32_T),
// so that the different names of C and Fortran match. MPI_PACKED matches everything.
//
// The hash of a sequence is a polynomial, so that repetitions are powers and no type is expanded.
#pragma once

#include <cstdint>
#include <string>

#include "base/count.hpp"
#include "layout/datatype.hpp"

namespace hr::check {

struct Signature {
  std::uint64_t length = 0;  // number of basic types
  std::uint64_t hash = 0;
  bool packed = false;  // true if MPI_PACKED is among the basic types

  friend bool operator==(const Signature&, const Signature&) = default;
};

[[nodiscard]] inline bool matches(const Signature& a, const Signature& b) noexcept {
  return a.packed || b.packed || (a.length == b.length && a.hash == b.hash);
}

Signature followed_by(const Signature& first, const Signature& second) noexcept;
Signature signature_of(const layout::Datatype& type, Count count);
// Returns the signature of the first `length` basic types.
Signature prefix_of(const layout::Datatype& type, Count count, std::uint64_t length);

// Returns "4 x MPI_FLOAT", "1 x a type of MPI_INT".
std::string describe(const layout::Datatype& type, Count count);

}  // namespace hr::check
