// Counts basic elements (MPI 5.0 section 5.1.11): converts between the bytes of a packed form and elements of the
// typemap.
//
// A received message may end inside an element of its datatype, never inside a basic element. A pair type
// (MPI_FLOAT_INT) counts two basic elements, a complex number one.
#pragma once

#include "base/count.hpp"
#include "layout/datatype.hpp"

namespace hr::layout {

// MPI_Get_count: whole elements of `type` in `bytes`; MPI_UNDEFINED if they end inside an element (or if the type is
// empty and the message is not).
Count elements_of(const Datatype& type, Count bytes) noexcept;

// MPI_Get_elements: basic elements in `bytes`; MPI_UNDEFINED if they end inside one.
Count basic_elements_of(const Datatype& type, Count bytes) noexcept;

// MPI_Status_set_elements: the number of bytes of the first `elements` basic elements.
Count bytes_of_basic_elements(const Datatype& type, Count elements) noexcept;

// `count` elements of one basic type, `stride` bytes apart, the first at `displacement`.
struct LeafRun {
  const BasicType* type;
  Count displacement;
  Count count;
  Count stride;
};

// Calls visit(const LeafRun&) for each run of a typemap, in typemap order.
template <class Visit>
void for_each_leaf(const Typemap& map, Count displacement, Visit&& visit) {
  switch (map.kind) {
    case Typemap::Kind::kEmpty:
      return;
    case Typemap::Kind::kLeaf:
      visit(LeafRun{map.uniform, displacement, 1, map.size});
      return;
    case Typemap::Kind::kRepeat: {
      const Typemap& child = *map.children[0];
      if (child.kind == Typemap::Kind::kLeaf) {
        visit(LeafRun{child.uniform, displacement, map.count, map.stride});
        return;
      }
      for (Count i = 0; i < map.count; ++i) for_each_leaf(child, displacement + i * map.stride, visit);
      return;
    }
    case Typemap::Kind::kSequence:
      for (std::size_t part = 0; part < map.displacements.size(); ++part) {
        const Typemap& child = map.child(part);
        for (Count i = 0; i < map.repeat(part); ++i) {
          for_each_leaf(child, map.displacements[part] + displacement + i * child.extent(), visit);
        }
      }
      return;
  }
}

}  // namespace hr::layout
