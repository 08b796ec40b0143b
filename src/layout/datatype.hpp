// Datatype: a typemap (MPI 5.0 chapter 5), which determines the number, positions and basic types of the bytes, and a
// record of the constructor that created it (envelope, contents).
//
// Owner: reference counted; a derived type holds references to the types that it was constructed from; a pending
// communication holds a reference to its type, so that the program may free the type before the communication completes
// (section 5.1.9). Predefined types live for the whole process. Threads: immutable once committed, apart from name and
// attributes (library lock).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/count.hpp"
#include "base/object.hpp"
#include "base/status.hpp"
#include "layout/basic.hpp"
#include "layout/canonical.hpp"
#include "layout/typemap.hpp"

namespace hr {
class AttributeSet;
}

namespace hr::layout {

class Datatype;

// The call that constructed a type, in the form that MPI_Type_get_contents returns (section 5.1.13). Counts of a
// large-count (_c) constructor are in `counts`, those of a plain one in `integers`/`addresses`.
struct Contents {
  int combiner = 0;  // MPI_COMBINER_*
  std::vector<int> integers;
  std::vector<Count> addresses;
  std::vector<Count> counts;
  std::vector<Ref<Datatype>> types;
};

class Datatype final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kDatatype;

  // --- properties, O(1), valid for every type; sizes in bytes ---
  [[nodiscard]] Count size() const noexcept { return size_; }
  [[nodiscard]] Count lb() const noexcept { return lb_; }
  [[nodiscard]] Count extent() const noexcept { return extent_; }
  [[nodiscard]] Count true_lb() const noexcept { return true_lb_; }
  [[nodiscard]] Count true_extent() const noexcept { return true_extent_; }
  [[nodiscard]] bool committed() const noexcept { return committed_; }
  // Representation of a predefined type (including unnamed ones, MPI_Type_create_f90_*); kNone if derived.
  [[nodiscard]] Basic basic() const noexcept { return basic_; }
  // Predefined type of every element of the typemap; null for mixtures (and for pairs of two types).
  [[nodiscard]] const BasicType* uniform() const noexcept { return map_->uniform; }
  // True if one element is contiguous (its bytes begin at true_lb).
  [[nodiscard]] bool is_contiguous() const noexcept { return is_contiguous_; }
  // True if `count` elements are contiguous.
  [[nodiscard]] bool contiguous(Count count) const noexcept {
    return is_contiguous_ && (count <= 1 || extent_ == size_);
  }
  // Valid once committed.
  [[nodiscard]] const Layout& layout() const noexcept { return *layout_; }
  [[nodiscard]] const Typemap& typemap() const noexcept { return *map_; }
  [[nodiscard]] const TypemapRef& typemap_ref() const noexcept { return map_; }

  // Envelope and contents. A predefined type has MPI_COMBINER_NAMED and nothing else, an unnamed predefined one
  // (f90) its combiner and integers.
  [[nodiscard]] const Contents& contents() const noexcept { return contents_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  // Builds the canonical layout. Committing twice is allowed (section 5.1.9).
  // Errors: MPI_ERR_NO_MEM if the type has more separate segments than can be listed.
  Status commit();

  Datatype() noexcept;
  explicit Datatype(const BasicType& type);  // predefined, committed
  ~Datatype();

  // The fields below are written by the constructors (constructors.cpp), before publication only.
  Count size_ = 0;
  Count lb_ = 0;
  Count extent_ = 0;
  Count true_lb_ = 0;
  Count true_extent_ = 0;
  bool committed_ = false;
  bool is_contiguous_ = false;
  Basic basic_ = Basic::kNone;
  const BasicType* row_ = nullptr;  // predefined types (unnamed ones too): the row in the table
  std::shared_ptr<const Layout> layout_;
  TypemapRef map_;
  Contents contents_;
  std::string name_;
  std::unique_ptr<AttributeSet> attributes_;  // cleared by MPI_Type_free; null until the first attribute is set

  // Sets the typemap and the facts that follow from it: size, bounds and extents.
  void set_typemap(TypemapRef map);
};

}  // namespace hr::layout
