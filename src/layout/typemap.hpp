// Typemap: the sequence of (basic type, displacement) pairs of a datatype (MPI 5.0 section 5.1), as a tree.
//
// The tree keeps the order of the typemap and is never expanded: a vector of a million blocks is two nodes.
// The size and bounds of a Datatype are computed here; the canonical layout, external32 and the counting of
// elements read the tree. A node's bounds follow section 5.1.7: the lower bound is the smallest displacement, the upper
// bound is padded to the strictest alignment of the basic types, but a resized type below (its markers) determines both
// instead. The padding of a part counts toward the whole, so that a type never extends beyond the extent of a type
// constructed from it (numpy's rule for nested records, which mpi4py's tests check). Owner: shared; a node holds its
// children. Threads: immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/count.hpp"
#include "base/status.hpp"
#include "layout/basic.hpp"

namespace hr::layout {

struct Typemap;
using TypemapRef = std::shared_ptr<const Typemap>;

struct Typemap {
  enum class Kind : std::uint8_t {
    kEmpty,
    kLeaf,      // a basic type at offset 0
    kRepeat,    // `count` copies of children[0], `stride` bytes apart, the first at 0
    kSequence,  // parts; part i is repeat(i) copies of child(i), one extent apart, the first at displacements[i]
  };
  Kind kind = Kind::kEmpty;
  bool marked = false;                 // bounds set by a resized type below (or by this node)
  std::uint32_t alignment = 1;         // strictest of the leaves
  const BasicType* uniform = nullptr;  // the leaves' type if all have the same, else null
  Count size = 0;
  Count leaves = 0;  // basic types in the map; a pair type counts two
  Count lb = 0, ub = 0;
  Count true_lb = 0, true_ub = 0;

  Count count = 0, stride = 0;
  std::vector<TypemapRef> children;  // kSequence: a single child for all parts, or one per part
  std::vector<Count> displacements;
  std::vector<Count> repeats;  // number of repeats: one for all parts, or one per part

  [[nodiscard]] Count extent() const noexcept { return ub - lb; }
  [[nodiscard]] const Typemap& child(std::size_t part) const noexcept {
    return *children[children.size() == 1 ? 0 : part];
  }
  [[nodiscard]] Count repeat(std::size_t part) const noexcept { return repeats[repeats.size() == 1 ? 0 : part]; }
};

// All functions that return a Status return MPI_ERR_COUNT if a size or bound does not fit into 63 bits.
TypemapRef leaf_typemap(const BasicType& type);  // a pair becomes a sequence of its members
Status repeat_typemap(const TypemapRef& child, Count count, Count stride, TypemapRef* map);
Status sequence_typemap(std::vector<TypemapRef> children, std::vector<Count> repeats, std::vector<Count> displacements,
                        TypemapRef* map);
Status resized_typemap(const TypemapRef& child, Count lb, Count extent, TypemapRef* map);
// Creates `count` blocks of `block` copies, one extent apart. The blocks start `stride` bytes apart.
Status vector_typemap(const TypemapRef& child, Count count, Count block, Count stride, TypemapRef* map);

}  // namespace hr::layout
