// Area: a buffer of a collective, with elements of a type in memory of any kind, and the expected value of every byte.
//
// Elements are adjacent or have gaps between them; guards precede and follow them. Owner of its memory and its
// datatype; must be destroyed before MPI_Finalize.
#pragma once

#include <string>
#include <vector>

#include "element.hpp"
#include "mpi_memory.hpp"

namespace random_collectives {

// Kind of a rank's buffer in one call.
struct Place {
  hr::test::MemoryKind kind;
  int device;
  bool gaps;  // true for gaps between elements, by a derived type
};

class Area {
 public:
  Area(const Type& type, int elements, const Place& place);
  ~Area();
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;

  [[nodiscard]] void* address() const { return memory_.bytes() + kGuard; }
  [[nodiscard]] void* address_of(int element) const { return memory_.bytes() + offset(element); }
  [[nodiscard]] MPI_Datatype type() const { return datatype_; }
  [[nodiscard]] MPI_Aint distance() const { return static_cast<MPI_Aint>(distance_); }  // bytes between elements

  // Sets an element's value before the call; upload() writes it.
  void set(int element, const Element& value) { store(element, value); }
  void upload();
  // Sets an element's expected value after the call. Everything else must be unchanged.
  void expect(int element, const Element& value) { store(element, value); }
  // Allows any value of an element after the call.
  void ignore(int element);
  void verify(const std::string& what) const;

 private:
  static constexpr std::size_t kGuard = 256;
  [[nodiscard]] std::size_t offset(int element) const { return kGuard + static_cast<std::size_t>(element) * distance_; }
  void store(int element, const Element& value);

  const Type& element_type_;
  std::size_t distance_;
  MPI_Datatype datatype_ = MPI_DATATYPE_NULL;
  hr::test::DeviceMemory memory_;
  std::vector<std::byte> image_;
  std::vector<bool> ignored_;  // bytes; empty: none
};

}  // namespace random_collectives
