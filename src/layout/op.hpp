// Op: a reduction operation (MPI 5.0 section 6.9), predefined or the user's, and its application to host buffers.
//
// Owner: reference counted. Threads: immutable.
#pragma once

#include <cstdint>
#include <functional>

#include "base/count.hpp"
#include "base/object.hpp"
#include "base/status.hpp"
#include "layout/datatype.hpp"

namespace hr::layout {

enum class OpKind : std::uint8_t {
  kUser,
  kMin,
  kMax,
  kSum,
  kProd,
  kLand,
  kBand,
  kLor,
  kBor,
  kLxor,
  kBxor,
  kMinloc,
  kMaxloc,
  kReplace,
  kNoOp
};

class Op final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kOp;
  // inout[i] = in[i] op inout[i]; `type` is the datatype that the program passed to the collective.
  using UserFunction = std::function<Status(const void* in, void* inout, Count count, const Datatype& type)>;

  Op(OpKind kind, bool commutative) noexcept : Object(kKind), kind_(kind), commutative_(commutative) {}
  [[nodiscard]] OpKind kind() const noexcept { return kind_; }
  [[nodiscard]] bool commutative() const noexcept { return commutative_; }

  OpKind kind_;
  bool commutative_;
  UserFunction user_;  // kUser only
};

// Returns MPI_ERR_OP if the predefined operation is not defined for the type (table of section 6.9.2).
Status check_op(const Op& op, const Datatype& type);

// Computes inout[i] = in[i] op inout[i] for `count` elements of `type`. The CPU must be able to access both buffers,
// which must not overlap. Predefined operations accept predefined types (MPI_ERR_OP otherwise), user operations the
// types that they were written for; MPI_REPLACE accepts every committed type and any memory.
Status apply(const Op& op, const void* in, void* inout, Count count, const Datatype& type);
// Computes result[i] = left[i] op right[i]; otherwise like apply(). `result` is `right`, or overlaps neither operand.
Status apply_to(const Op& op, const void* left, const void* right, void* result, Count count, const Datatype& type);

// Returns the predefined operation behind an ABI constant (0x20..0x3f); null for MPI_OP_NULL and unknown values.
// Predefined objects are created on first use and never freed: their handles are constants, which programs may use
// before MPI_Init and after MPI_Finalize.
Op* predefined_op(std::uintptr_t abi_value) noexcept;
// Returns the predefined datatype behind an ABI constant (0x200..0x3ff); null for MPI_DATATYPE_NULL and unknown values.
Datatype* predefined_type(std::uintptr_t abi_value) noexcept;

}  // namespace hr::layout
