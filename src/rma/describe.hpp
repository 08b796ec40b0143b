// Description: a datatype encoded as bytes, from which another process constructs the same type, for operations that
// the target executes (MPI 5.0 section 12.3: the origin specifies the target's datatype).
//
// Predefined types need no description: they are sent as their handles. For any other type the description contains the
// tree of its typemap (layout/typemap.hpp), which is as short as the constructor calls that built it, and the
// predefined type of its elements. Both processes run the same library on machines of the same kind. Types constructed
// from descriptions are kept for later operations with the same description; the least recently used are dropped.
// Owner: the state of rma/. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "layout/datatype.hpp"

namespace hr::rma {

// Returns the handle of a predefined type; 0 if the type needs a description.
[[nodiscard]] std::uint32_t handle_of(const layout::Datatype& type) noexcept;
[[nodiscard]] std::vector<std::byte> describe(const layout::Datatype& type);

// Returns the predefined type of all elements of a type (a pair counts as one); nullptr if they differ.
[[nodiscard]] layout::Datatype* element_of(layout::Datatype& type) noexcept;

class MadeTypes {
 public:
  // Finds or constructs the described type, which is committed. Errors: MPI_ERR_INTERN for bytes that are not a
  // description; MPI_ERR_NO_MEM.
  Status find(std::span<const std::byte> description, Ref<layout::Datatype>* type);

 private:
  static constexpr std::size_t kMost = 64;
  struct Made {
    std::string description;
    Ref<layout::Datatype> type;
  };
  std::list<Made> made_;  // created types, the most recently used first
  std::unordered_map<std::string_view, std::list<Made>::iterator> by_description_;
};

}  // namespace hr::rma
