// One side's layout of an exchange: a random datatype, and the offset of each of its bytes, computed independently of
// the library.
//
// Owns the datatype and frees it; must be destroyed before MPI_Finalize, and may be destroyed before a non-blocking
// operation with the datatype is complete.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "plan.hpp"

namespace random_exchange {

class Layout {
 public:
  // `extra`: space for more units than the message has, if the arrangement allows it (receives).
  Layout(const Exchange& exchange, Generator& random, bool extra);
  ~Layout() { MPI_Type_free(&type_); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  MPI_Datatype type() const { return type_; }
  int count() const { return count_; }
  const std::string& name() const { return name_; }
  // Buffer size in bytes, and the offset of the address that is passed to MPI (types may have data below it).
  std::size_t span() const { return static_cast<std::size_t>(high_ - low_) + 2 * kGuard; }
  std::size_t origin() const { return static_cast<std::size_t>(kGuard - low_); }

  // Stores the message's bytes, in signature order, at their positions in a buffer of span() bytes.
  void place(const std::vector<unsigned char>& message, std::vector<unsigned char>& buffer) const;

 private:
  static constexpr std::ptrdiff_t kGuard = 64;  // before and after the data; must not change

  struct Run {
    std::ptrdiff_t offset;  // bytes
    std::size_t units;      // each is `extent_` bytes after the previous one
  };
  struct Placed {
    std::ptrdiff_t offset;
    std::size_t bytes;
  };

  void make_unit(const Exchange& exchange, Generator& random);
  void contiguous(Generator& random, bool extra);
  void vector(Generator& random);
  void nested(Generator& random);
  void backwards(Generator& random);
  void subarray(Generator& random);
  void indexed(Generator& random);
  void finish();

  int a_, b_, c_;
  std::vector<Placed> unit_;  // basic types of one unit, in signature order
  std::ptrdiff_t extent_ = 0;
  MPI_Datatype unit_type_ = MPI_DATATYPE_NULL, type_ = MPI_DATATYPE_NULL;
  int count_ = 1;
  std::vector<Run> runs_;  // in typemap order
  std::ptrdiff_t low_ = 0, high_ = 0;
  std::string name_;
};

}  // namespace random_exchange
