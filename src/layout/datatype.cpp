#include "layout/datatype.hpp"

#include <utility>

#include "base/abi.hpp"
#include "base/attributes.hpp"
#include "layout/canonical_build.hpp"

namespace hr::layout {

Datatype::Datatype() noexcept : Object(kKind) {}

Datatype::Datatype(const BasicType& type) : Object(kKind), basic_(type.basic), row_(&type) {
  set_predefined_handle(type.abi);
  set_typemap(leaf_typemap(type));
  contents_.combiner = abi::kCombinerNamed;
  name_ = type.name;
  // Cannot fail, because a predefined type has at most two segments.
  (void)commit().ok();
}

Datatype::~Datatype() = default;

void Datatype::set_typemap(TypemapRef map) {
  map_ = std::move(map);
  size_ = map_->size;
  lb_ = map_->lb;
  extent_ = map_->extent();
  true_lb_ = map_->true_lb;
  true_extent_ = map_->true_ub - map_->true_lb;
}

Status Datatype::commit() {
  if (committed_) return kOk;
  HR_TRY(build_layout(*map_, &layout_));
  is_contiguous_ = layout_->form == Form::kContiguous || layout_->form == Form::kEmpty;
  committed_ = true;
  return kOk;
}

}  // namespace hr::layout
