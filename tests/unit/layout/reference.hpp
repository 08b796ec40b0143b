// The reference for tests of datatypes: typemaps as lists of entries, directly from the definitions in MPI 5.0 chapter
// 5. Intentionally slow and simple; shares no code with src/layout.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/count.hpp"
#include "layout/datatype.hpp"

namespace hr::layout::test {

struct Entry {
  const BasicType* type;
  Count displacement;
};

// The range of bytes that some entries cover, including the origin.
struct Reach {
  Count low = 0, high = 0;
};
Reach reach(const std::vector<Entry>& entries);

struct Reference {
  std::vector<Entry> entries;
  std::vector<Count> lb_markers, ub_markers;  // markers of resized types
  std::vector<Count> ends = {};               // upper bounds of the parts, including padding

  [[nodiscard]] Count size() const;
  [[nodiscard]] Count lb() const;
  [[nodiscard]] Count ub() const;
  [[nodiscard]] Count extent() const { return ub() - lb(); }
  [[nodiscard]] Count true_lb() const;
  [[nodiscard]] Count true_ub() const;
  // True if no byte belongs to two entries of `count` elements, so that the type may be used in a receive.
  [[nodiscard]] bool disjoint(Count count) const;
  // Returns the entries of `count` elements.
  [[nodiscard]] std::vector<Entry> elements(Count count) const;
};

Reference basic_reference(const Datatype& type);
// Section 5.1.2, the most general constructor, which defines all others.
Reference struct_reference(const std::vector<Count>& blocks, const std::vector<Count>& displacements,
                           const std::vector<Reference>& types);
Reference resized_reference(const Reference& old, Count lb, Count extent);
Reference subarray_reference(const std::vector<Count>& sizes, const std::vector<Count>& subsizes,
                             const std::vector<Count>& starts, int order, const Reference& old);
Reference darray_reference(int rank, const std::vector<Count>& gsizes, const std::vector<int>& distribs,
                           const std::vector<int>& dargs, const std::vector<int>& psizes, int order,
                           const Reference& old);

// Creates the packed form with one memcpy per entry.
std::vector<std::byte> reference_pack(const std::vector<Entry>& entries, const std::byte* origin);
void reference_unpack(const std::vector<Entry>& entries, std::byte* origin, const std::vector<std::byte>& packed);

}  // namespace hr::layout::test
