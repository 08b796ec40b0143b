// Datatype: a typemap (MPI 5.0 chapter 5): how many bytes, where they lie, of which basic types; and the record
// of the constructor that made it (envelope, contents).
//
// Owner: reference counted; a derived type holds references to the types it was made from; a pending
// communication holds one to its type, so MPI_Type_free may come first (section 5.1.9).
// Threads: immutable once committed, apart from name and attributes (library lock).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/count.hpp"
#include "base/object.hpp"
#include "base/status.hpp"

namespace hr {
class AttributeSet;
}

namespace hr::layout {

class Layout;   // canonical layout: layout/canonical.hpp

// What a predefined type's bytes mean; pairs are the MINLOC/MAXLOC types. kNone for derived types.
enum class Basic : std::uint8_t;   // layout/basic.hpp

class Datatype final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kDatatype;

  // --- facts, O(1), valid for every type (bytes) ---
  [[nodiscard]] Count size() const noexcept { return size_; }
  [[nodiscard]] Count lb() const noexcept { return lb_; }
  [[nodiscard]] Count extent() const noexcept { return extent_; }
  [[nodiscard]] Count true_lb() const noexcept { return true_lb_; }
  [[nodiscard]] Count true_extent() const noexcept { return true_extent_; }
  [[nodiscard]] bool committed() const noexcept { return committed_; }
  [[nodiscard]] Basic basic() const noexcept { return basic_; }
  // One element is one run of bytes without holes (at true_lb).
  [[nodiscard]] bool one_run() const noexcept { return one_run_; }
  // `count` elements are one run of bytes: what make_view() asks.
  [[nodiscard]] bool contiguous(Count count) const noexcept { return one_run_ && (count <= 1 || extent_ == size_); }
  // Valid once committed.
  [[nodiscard]] const Layout& layout() const noexcept { return *layout_; }

  Datatype() noexcept;
  ~Datatype();

  // The fields below are written by the constructors in layout/constructors*.cpp, before publication only.
  Count size_ = 0;
  Count lb_ = 0;
  Count extent_ = 0;
  Count true_lb_ = 0;
  Count true_extent_ = 0;
  bool committed_ = false;
  bool one_run_ = false;
  Basic basic_{};
  std::shared_ptr<const Layout> layout_;
  // (the owner of this layer adds: typemap tree / signature, envelope, name, attributes)
  std::string name_;
  std::unique_ptr<AttributeSet> attributes_;
};

}  // namespace hr::layout
