// Description: a datatype as bytes from which another process makes the same type, for operations that the target does
// (MPI 5.0 section 12.3: the target's datatype is an argument of the origin's).
//
// A predefined type is its handle. For any other type the description contains the tree of its typemap
// (layout/typemap.hpp), which is as short as the constructors that made it, and the predefined type of its elements.
// Both processes run the same library on machines of one kind. Types made are kept by their description for the next
// operation with the same; the oldest go. Owner: the state of rma/. Threads: library lock.
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

// Returns the handle of a predefined type; 0: it has to be described.
[[nodiscard]] std::uint32_t handle_of(const layout::Datatype& type) noexcept;
[[nodiscard]] std::vector<std::byte> describe(const layout::Datatype& type);

// Returns the predefined type of all elements of a type (a pair counts as one); nullptr if they differ.
[[nodiscard]] layout::Datatype* element_of(layout::Datatype& type) noexcept;

class MadeTypes {
 public:
  // Returns a committed type. Errors: MPI_ERR_INTERN for bytes that are not a description; MPI_ERR_NO_MEM.
  Status find(std::span<const std::byte> description, Ref<layout::Datatype>* type);

 private:
  static constexpr std::size_t kMost = 64;
  struct Made {
    std::string description;
    Ref<layout::Datatype> type;
  };
  std::list<Made> made_;  // the last one used first
  std::unordered_map<std::string_view, std::list<Made>::iterator> by_description_;
};

}  // namespace hr::rma
