// Description: a datatype as bytes that another process makes the same type of, for operations that the target does
// (MPI 5.0 section 12.3: the target's datatype is an argument of the origin's).
//
// A predefined type is its handle. Of any other the tree of its typemap travels (layout/typemap.hpp), which is as short
// as the constructors that made it, and the predefined type that its elements are. Both processes run the same library
// on machines of one kind.
// Made types are kept by their description for the next operation with the same; the oldest go.
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

// The handle of a predefined type; 0: it has to be described.
[[nodiscard]] std::uint32_t handle_of(const layout::Datatype& type) noexcept;
[[nodiscard]] std::vector<std::byte> describe(const layout::Datatype& type);

// The predefined type that all elements of a type are (a pair counts as one); nullptr where they differ.
[[nodiscard]] layout::Datatype* element_of(layout::Datatype& type) noexcept;

class MadeTypes {
 public:
  // A committed type. Errors: MPI_ERR_INTERN for bytes that are no description; MPI_ERR_NO_MEM.
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
