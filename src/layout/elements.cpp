#include "layout/elements.hpp"

#include <algorithm>

#include "base/abi.hpp"

namespace hr::layout {
namespace {

// Unit of the budget of a walk over a typemap: the walk skips subtrees that fit into the budget as a
// whole, and descends into the first one that does not fit.
enum class Budget { kBytes, kLeaves };

Count measure(const Typemap& map, Budget budget) { return budget == Budget::kBytes ? map.size : map.leaves; }
Count other(const Typemap& map, Budget budget) { return budget == Budget::kBytes ? map.leaves : map.size; }

// Takes as much of the typemap as fits into *left, which it reduces; returns the size of that part in the other unit.
Count take(const Typemap& map, Budget budget, Count* left) {
  const Count all = measure(map, budget);
  if (all <= *left) {
    *left -= all;
    return other(map, budget);
  }
  Count taken = 0;
  // Takes `copies` of a child; true if the budget was exhausted within them.
  const auto take_copies = [&](const Typemap& child, Count copies) {
    const Count one = measure(child, budget);
    if (one == 0 || copies <= 0) return false;
    const Count whole = std::min(copies, *left / one);
    taken += whole * other(child, budget);
    *left -= whole * one;
    if (whole == copies) return false;
    taken += take(child, budget, left);
    return true;
  };
  switch (map.kind) {
    case Typemap::Kind::kEmpty:
    case Typemap::Kind::kLeaf:
      break;
    case Typemap::Kind::kRepeat:
      take_copies(*map.children[0], map.count);
      break;
    case Typemap::Kind::kSequence:
      for (std::size_t part = 0; part < map.displacements.size(); ++part) {
        if (take_copies(map.child(part), map.repeat(part))) break;
      }
      break;
  }
  return taken;
}

}  // namespace

Count elements_of(const Datatype& type, Count bytes) noexcept {
  if (type.size() == 0) return bytes == 0 ? 0 : abi::kUndefined;
  return bytes % type.size() == 0 ? bytes / type.size() : abi::kUndefined;
}

Count basic_elements_of(const Datatype& type, Count bytes) noexcept {
  const Typemap& map = type.typemap();
  if (map.size == 0) return bytes == 0 ? 0 : abi::kUndefined;
  Count left = bytes % map.size;
  const Count elements = bytes / map.size * map.leaves + take(map, Budget::kBytes, &left);
  return left == 0 ? elements : abi::kUndefined;
}

Count bytes_of_basic_elements(const Datatype& type, Count elements) noexcept {
  const Typemap& map = type.typemap();
  if (map.leaves == 0) return 0;
  Count left = elements % map.leaves;
  return elements / map.leaves * map.size + take(map, Budget::kLeaves, &left);
}

}  // namespace hr::layout
