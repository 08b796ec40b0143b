#include "layout/op.hpp"

#include <array>
#include <atomic>

#include "base/abi.hpp"
#include "base/checks.hpp"
#include "base/driver_epoch.hpp"
#include "base/log.hpp"
#include "layout/reduce/kernels.hpp"
#include "layout/view.hpp"

namespace hr::layout {
namespace {

struct OpRow {
  std::uintptr_t abi;
  OpKind kind;
  const char* name;
  unsigned groups;  // bit set of BasicGroup
};

constexpr unsigned bit(BasicGroup group) { return 1U << static_cast<unsigned>(group); }

constexpr unsigned kIntegers =
    bit(BasicGroup::kCInteger) | bit(BasicGroup::kFortranInteger) | bit(BasicGroup::kMultiLanguage);
constexpr unsigned kOrdered = kIntegers | bit(BasicGroup::kFloating);
constexpr unsigned kNumbers = kOrdered | bit(BasicGroup::kComplex);
constexpr unsigned kTruths = bit(BasicGroup::kCInteger) | bit(BasicGroup::kMultiLanguage) | bit(BasicGroup::kLogical);
constexpr unsigned kBits = kIntegers | bit(BasicGroup::kByte);
constexpr unsigned kPairs = bit(BasicGroup::kPair);

// The table of section 6.9.2. MPI_REPLACE and MPI_NO_OP are only for the accumulate functions.
constexpr OpRow kOps[] = {
    {abi::kSum, OpKind::kSum, "MPI_SUM", kNumbers},        {abi::kMin, OpKind::kMin, "MPI_MIN", kOrdered},
    {abi::kMax, OpKind::kMax, "MPI_MAX", kOrdered},        {abi::kProd, OpKind::kProd, "MPI_PROD", kNumbers},
    {abi::kBand, OpKind::kBand, "MPI_BAND", kBits},        {abi::kBor, OpKind::kBor, "MPI_BOR", kBits},
    {abi::kBxor, OpKind::kBxor, "MPI_BXOR", kBits},        {abi::kLand, OpKind::kLand, "MPI_LAND", kTruths},
    {abi::kLor, OpKind::kLor, "MPI_LOR", kTruths},         {abi::kLxor, OpKind::kLxor, "MPI_LXOR", kTruths},
    {abi::kMinloc, OpKind::kMinloc, "MPI_MINLOC", kPairs}, {abi::kMaxloc, OpKind::kMaxloc, "MPI_MAXLOC", kPairs},
    {abi::kReplace, OpKind::kReplace, "MPI_REPLACE", 0},   {abi::kNoOp, OpKind::kNoOp, "MPI_NO_OP", 0},
};

constexpr std::uintptr_t kFirst = abi::kOpNull;

// Rows by kind; kUser has none.
constexpr auto kRows = [] {
  std::array<const OpRow*, static_cast<std::size_t>(OpKind::kNoOp) + 1> rows{};
  for (const OpRow& row : kOps) rows[static_cast<std::size_t>(row.kind)] = &row;
  return rows;
}();
const OpRow& row_of(const Op& op) noexcept { return *kRows[static_cast<std::size_t>(op.kind())]; }

class PredefinedOps {
 public:
  PredefinedOps() {
    for (const OpRow& row : kOps) {
      Op* op = new Op(row.kind, row.kind != OpKind::kReplace && row.kind != OpKind::kNoOp);
      op->set_predefined_handle(row.abi);
      ops_[row.abi - kFirst] = op;
    }
  }
  [[nodiscard]] Op* find(std::uintptr_t abi_value) const noexcept {
    const std::uintptr_t slot = abi_value - kFirst;
    return slot < ops_.size() ? ops_[slot] : nullptr;
  }

 private:
  std::array<Op*, 0x20> ops_{};  // never freed
};

constinit std::atomic<const PredefinedOps*> the_predefined_ops{nullptr};

[[gnu::cold, gnu::noinline]] const PredefinedOps& make_predefined_ops() noexcept {
  static const PredefinedOps ops;
  the_predefined_ops.store(&ops, std::memory_order_release);
  return ops;
}

[[gnu::cold]] Status not_defined(const Op& op, const Datatype& type) {
  const char* name = row_of(op).name;
  if (op.kind() == OpKind::kReplace || op.kind() == OpKind::kNoOp) {
    return fail(Errc::kOp, "%s is for MPI_Accumulate and its siblings, not for reductions", name);
  }
  if (type.row_ == nullptr) {
    return fail(Errc::kOp,
                "%s is not defined for derived datatypes; use a predefined one or make an operation with "
                "MPI_Op_create",
                name);
  }
  return fail(Errc::kOp, "%s is not defined for %s (MPI 5.0 section 6.9.2)", name, type.row_->name);
}

// Types for which other libraries offer operations that the standard does not define (section 6.9.2). Programs rely on
// these operations.
struct TakenAsNumber {
  std::uintptr_t abi;
  const char* as;
  bool told;
};
TakenAsNumber taken_as_numbers[] = {
    {abi::kChar, "char", false}, {abi::kByte, "unsigned char", false}, {abi::kCharacter, "unsigned char", false}};

[[gnu::cold, gnu::noinline]] Status check_rest(const Op& op, unsigned groups, const Datatype& type) {
  if (type.row_ == nullptr || (groups & bit(BasicGroup::kCInteger)) == 0 || wants_check("types"))
    return not_defined(op, type);
  for (TakenAsNumber& each : taken_as_numbers) {
    if (type.row_->abi != each.abi) continue;
    log::note_once(each.told,
                   "%s of %s is not in the standard; it is done as for C's %s. MPI_SIGNED_CHAR and MPI_UNSIGNED_CHAR "
                   "are portable; HEADRACE_CHECK=types refuses it",
                   row_of(op).name, type.row_->name, each.as);
    return kOk;
  }
  return not_defined(op, type);
}

}  // namespace

Op* predefined_op(std::uintptr_t abi_value) noexcept {
  const PredefinedOps* ops = the_predefined_ops.load(std::memory_order_acquire);
  return ops != nullptr ? ops->find(abi_value) : make_predefined_ops().find(abi_value);
}

Status check_op(const Op& op, const Datatype& type) {
  if (op.kind() == OpKind::kUser) return kOk;
  const unsigned groups = row_of(op).groups;
  if (type.row_ != nullptr && (groups & bit(type.row_->group)) != 0) [[likely]]
    return kOk;
  return check_rest(op, groups, type);
}

Status apply(const Op& op, const void* in, void* inout, Count count, const Datatype& type) {
  if (count <= 0) return kOk;
  switch (op.kind()) {
    case OpKind::kUser:
      return DriverEpoch::after_callback(op.user_(in, inout, count, type));
    case OpKind::kNoOp:
      return kOk;
    case OpKind::kReplace: {
      View from, to;
      HR_TRY(make_view(in, count, type, &from));
      HR_TRY(make_view(inout, count, type, &to));
      return copy(from, to);
    }
    default:
      break;
  }
  const reduce::Kernel kernel = reduce::find_kernel(op.kind(), type.basic());
  if (kernel == nullptr) [[unlikely]]
    return not_defined(op, type);
  kernel(in, inout, inout, static_cast<std::size_t>(count));
  return kOk;
}

namespace {

[[gnu::noinline]] Status apply_to_copy(const Op& op, const void* left, const void* right, void* result, Count count,
                                       const Datatype& type) {
  if (result != right && count > 0) {
    View from, to;
    HR_TRY(make_view(right, count, type, &from));
    HR_TRY(make_view(result, count, type, &to));
    HR_TRY(copy(from, to));
  }
  return apply(op, left, result, count, type);
}

}  // namespace

Status apply_to(const Op& op, const void* left, const void* right, void* result, Count count, const Datatype& type) {
  const bool user = op.kind() == OpKind::kUser;
  const reduce::Kernel kernel = user ? nullptr : reduce::find_kernel(op.kind(), type.basic());
  if (kernel == nullptr || count <= 0) [[unlikely]]
    return apply_to_copy(op, left, right, result, count, type);
  kernel(left, right, result, static_cast<std::size_t>(count));
  return kOk;
}

}  // namespace hr::layout
