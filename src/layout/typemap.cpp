#include "layout/typemap.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace hr::layout {
namespace {

using Wide = __int128;

bool fits(Wide value) {
  return value <= std::numeric_limits<Count>::max() && value >= std::numeric_limits<Count>::min();
}

Status too_large() {
  return fail(Errc::kCount, "the datatype's size or bounds do not fit 63 bits; use smaller counts or displacements");
}

// Computes a node's size, bounds, alignment and leaves from its parts, in integers wide enough that nothing overflows
// before it is checked.
class Bounds {
 public:
  // Adds `copies` of `child`, `stride` apart, the first displaced by `displacement`.
  void add(const Typemap& child, Count copies, Wide stride, Wide displacement) {
    if (copies <= 0 || (child.leaves == 0 && !child.marked)) return;
    const Wide last = displacement + stride * (copies - 1);
    const Wide low = std::min(displacement, last);
    const Wide high = std::max(displacement, last);
    overflow_ |= !fits(low) || !fits(high);
    if (child.leaves != 0) {
      uniform_ = leaves_ == 0 || uniform_ == child.uniform ? child.uniform : nullptr;
      true_lb_ = leaves_ == 0 ? low + child.true_lb : std::min(true_lb_, low + child.true_lb);
      true_ub_ = leaves_ == 0 ? high + child.true_ub : std::max(true_ub_, high + child.true_ub);
      padded_ub_ = leaves_ == 0 ? high + child.ub : std::max(padded_ub_, high + child.ub);
      size_ += Wide{child.size} * copies;
      leaves_ += Wide{child.leaves} * copies;
      alignment_ = std::max(alignment_, child.alignment);
      overflow_ |= !fits(size_);
    }
    if (child.marked) {
      lb_ = marked_ ? std::min(lb_, low + child.lb) : low + child.lb;
      ub_ = marked_ ? std::max(ub_, high + child.ub) : high + child.ub;
      marked_ = true;
    }
  }

  Status store(Typemap& map) {
    if (!marked_) {
      lb_ = true_lb_;
      const Wide extent = std::max(true_ub_, padded_ub_) - true_lb_;
      ub_ = lb_ + (extent + alignment_ - 1) / alignment_ * alignment_;
    }
    if (overflow_ || !fits(lb_) || !fits(ub_) || !fits(ub_ - lb_) || !fits(true_lb_) || !fits(true_ub_) ||
        !fits(true_ub_ - true_lb_)) {
      return too_large();
    }
    map.marked = marked_;
    map.alignment = alignment_;
    map.uniform = uniform_;
    map.size = static_cast<Count>(size_);
    map.leaves = static_cast<Count>(leaves_);
    map.lb = static_cast<Count>(lb_);
    map.ub = static_cast<Count>(ub_);
    map.true_lb = static_cast<Count>(true_lb_);
    map.true_ub = static_cast<Count>(true_ub_);
    return kOk;
  }

 private:
  Wide size_ = 0, leaves_ = 0, lb_ = 0, ub_ = 0, true_lb_ = 0, true_ub_ = 0;
  Wide padded_ub_ = 0;  // upper bound, including the padding of the parts
  std::uint32_t alignment_ = 1;
  const BasicType* uniform_ = nullptr;
  bool marked_ = false;
  bool overflow_ = false;
};

const TypemapRef& empty_typemap() {
  static const TypemapRef empty = std::make_shared<Typemap>();
  return empty;
}

bool nothing(const Typemap& map) { return map.leaves == 0 && !map.marked; }

}  // namespace

TypemapRef leaf_typemap(const BasicType& type) {
  if (type.value_abi != 0) {
    const BasicType& value = *basic_type(type.value_abi);
    const BasicType& index = *basic_type(type.index_abi);
    const Count at = (value.size + index.alignment - 1) / index.alignment * index.alignment;
    TypemapRef map;
    // Cannot fail, as the sizes are tiny.
    (void)sequence_typemap({leaf_typemap(value), leaf_typemap(index)}, {1}, {0, at}, &map).ok();
    return map;
  }
  auto map = std::make_shared<Typemap>();
  map->kind = Typemap::Kind::kLeaf;
  map->alignment = type.alignment;
  map->uniform = &type;
  map->size = map->ub = map->true_ub = type.size;
  map->leaves = 1;
  return map;
}

Status repeat_typemap(const TypemapRef& child, Count count, Count stride, TypemapRef* map) {
  if (count <= 0 || nothing(*child)) {
    *map = empty_typemap();
    return kOk;
  }
  if (count == 1) {
    *map = child;
    return kOk;
  }
  auto node = std::make_shared<Typemap>();
  node->kind = Typemap::Kind::kRepeat;
  node->count = count;
  node->stride = stride;
  node->children.push_back(child);
  Bounds bounds;
  bounds.add(*child, count, stride, 0);
  HR_TRY(bounds.store(*node));
  *map = std::move(node);
  return kOk;
}

Status vector_typemap(const TypemapRef& child, Count count, Count block, Count stride, TypemapRef* map) {
  TypemapRef one;
  HR_TRY(repeat_typemap(child, block, child->extent(), &one));
  return repeat_typemap(one, count, stride, map);
}

Status sequence_typemap(std::vector<TypemapRef> children, std::vector<Count> repeats, std::vector<Count> displacements,
                        TypemapRef* map) {
  auto node = std::make_shared<Typemap>();
  node->kind = Typemap::Kind::kSequence;
  node->children = std::move(children);
  node->repeats = std::move(repeats);
  node->displacements = std::move(displacements);
  Bounds bounds;
  for (std::size_t part = 0; part < node->displacements.size(); ++part) {
    const Typemap& child = node->child(part);
    bounds.add(child, node->repeat(part), child.extent(), node->displacements[part]);
  }
  HR_TRY(bounds.store(*node));
  *map = nothing(*node) ? empty_typemap() : std::move(node);
  return kOk;
}

Status resized_typemap(const TypemapRef& child, Count lb, Count extent, TypemapRef* map) {
  if (!fits(Wide{lb} + extent)) return too_large();
  auto node = std::make_shared<Typemap>();
  node->kind = child->leaves == 0 ? Typemap::Kind::kEmpty : Typemap::Kind::kRepeat;
  node->count = 1;
  node->children.push_back(child);
  node->alignment = child->alignment;
  node->uniform = child->uniform;
  node->size = child->size;
  node->leaves = child->leaves;
  node->true_lb = child->true_lb;
  node->true_ub = child->true_ub;
  node->marked = true;
  node->lb = lb;
  node->ub = lb + extent;
  *map = std::move(node);
  return kOk;
}

}  // namespace hr::layout
