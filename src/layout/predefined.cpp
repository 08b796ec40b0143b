// The predefined datatypes behind their handles, and the unnamed ones of section 19.1.9.
#include <array>
#include <map>
#include <memory>
#include <tuple>

#include "base/abi.hpp"
#include "layout/constructors.hpp"
#include "layout/op.hpp"

namespace hr::layout {
namespace {

constexpr std::uintptr_t kFirst = abi::kDatatypeNull;

class PredefinedTypes {
 public:
  PredefinedTypes() {
    for (const BasicType& row : basic_types()) types_[row.abi - kFirst] = new Datatype(row);
  }
  [[nodiscard]] Datatype* find(std::uintptr_t abi_value) const noexcept {
    const std::uintptr_t slot = abi_value - kFirst;
    return slot < types_.size() ? types_[slot] : nullptr;
  }

 private:
  std::array<Datatype*, 0x200> types_{};  // never freed
};

const PredefinedTypes& predefined_types() noexcept {
  static const PredefinedTypes types;
  return types;
}

// Decimal precision and range of a Fortran compiler's kinds, in the order in which SELECTED_REAL_KIND tries them
// (gfortran's kinds 4, 8, 10, 16).
struct RealKind {
  int precision, range;
  std::uintptr_t real, complex;
};
constexpr RealKind kRealKinds[] = {
    {6, 37, abi::kReal4, abi::kComplex8},
    {15, 307, abi::kReal8, abi::kComplex16},
    {18, 4931, abi::kLongDouble, abi::kCLongDoubleComplex},
    {33, 4931, abi::kReal16, abi::kComplex32},
};

struct IntegerKind {
  int range;
  std::uintptr_t integer;
};
constexpr IntegerKind kIntegerKinds[] = {
    {2, abi::kInteger1}, {4, abi::kInteger2}, {9, abi::kInteger4}, {18, abi::kInteger8}, {38, abi::kInteger16}};

// Creates an unnamed predefined type; equal arguments yield the same one. Threads: library lock.
Status unnamed(int combiner, std::initializer_list<int> arguments, std::uintptr_t abi_value, Ref<Datatype>* type) {
  // Constructed first, as the arena must outlive the references.
  Arena<Datatype>& arena = Arena<Datatype>::instance();
  static std::map<std::pair<int, std::vector<int>>, Ref<Datatype>> known;
  Ref<Datatype>& entry = known[{combiner, std::vector<int>(arguments)}];
  if (!entry) {
    Datatype* made = arena.create();
    if (made == nullptr) return fail(Errc::kNoMem, "no memory for another datatype; free those no longer needed");
    made->row_ = basic_type(abi_value);
    made->basic_ = made->row_->basic;
    made->set_typemap(leaf_typemap(*made->row_));
    made->contents_.combiner = combiner;
    made->contents_.integers.assign(arguments);
    entry = Ref<Datatype>::adopt(made);
    HR_TRY(made->commit());
  }
  *type = entry;
  return kOk;
}

Status find_real(int precision, int range, const RealKind** found) {
  if (precision == abi::kUndefined && range == abi::kUndefined) {
    return fail(Errc::kArg, "p and r are both MPI_UNDEFINED; give at least one of them");
  }
  for (const RealKind& kind : kRealKinds) {
    if ((precision == abi::kUndefined || precision <= kind.precision) &&
        (range == abi::kUndefined || range <= kind.range)) {
      *found = &kind;
      return kOk;
    }
  }
  return fail(Errc::kArg, "no real type has precision %d and range %d (at most 33 and 4931)", precision, range);
}

}  // namespace

Datatype* predefined_type(std::uintptr_t abi_value) noexcept { return predefined_types().find(abi_value); }

Status f90_real(int precision, int range, Ref<Datatype>* type) {
  const RealKind* kind = nullptr;
  HR_TRY(find_real(precision, range, &kind));
  return unnamed(abi::kCombinerF90Real, {precision, range}, kind->real, type);
}

Status f90_complex(int precision, int range, Ref<Datatype>* type) {
  const RealKind* kind = nullptr;
  HR_TRY(find_real(precision, range, &kind));
  return unnamed(abi::kCombinerF90Complex, {precision, range}, kind->complex, type);
}

Status f90_integer(int range, Ref<Datatype>* type) {
  for (const IntegerKind& kind : kIntegerKinds) {
    if (range <= kind.range) return unnamed(abi::kCombinerF90Integer, {range}, kind.integer, type);
  }
  return fail(Errc::kArg, "no integer type has range %d (at most 38)", range);
}

Status match_size(int type_class, int size, Ref<Datatype>* type) {
  BasicGroup group = BasicGroup::kNoGroup;
  if (type_class == abi::kTypeclassInteger) group = BasicGroup::kFortranInteger;
  if (type_class == abi::kTypeclassReal) group = BasicGroup::kFloating;
  if (type_class == abi::kTypeclassComplex) group = BasicGroup::kComplex;
  if (group == BasicGroup::kNoGroup) {
    return fail(Errc::kArg, "typeclass is %d; it must be MPI_TYPECLASS_INTEGER, _REAL or _COMPLEX", type_class);
  }
  // Types with a size in their name begin with MPI_LOGICAL1.
  for (const BasicType& row : basic_types()) {
    if (row.group == group && row.size == size && row.abi >= abi::kLogical1) {
      *type = Ref<Datatype>::share(predefined_type(row.abi));
      return kOk;
    }
  }
  return fail(Errc::kArg, "no type of class %d has %d bytes", type_class, size);
}

Status value_index(const Datatype& value, const Datatype& index, Ref<Datatype>* type) {
  *type = Ref<Datatype>();
  if (!value.is_predefined() || !index.is_predefined()) return kOk;
  for (const BasicType& row : basic_types()) {
    if (row.value_abi != 0 && row.value_abi == value.row_->abi && row.index_abi == index.row_->abi) {
      *type = Ref<Datatype>::share(predefined_type(row.abi));
      return kOk;
    }
  }
  return kOk;
}

}  // namespace hr::layout
