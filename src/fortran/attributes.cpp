// Converts attribute values between C and Fortran. An integer that Fortran stores is put into a cell whose address is
// the attribute in C. Equal values share a cell, and cells are never freed, so that copies of attributes made by C
// functions stay valid. Threads: any.
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "fortran/callbacks.hpp"

namespace hr::fortran {
namespace {

// Cells of one integer type.
template <class T>
class Cells {
 public:
  void* cell_of(T value) {
    const std::lock_guard guard(lock_);
    T& cell = cells_.try_emplace(value, value).first->second;  // entries of this map never move
    known_.insert(&cell);
    return &cell;
  }
  bool owns(const void* cell) {
    const std::lock_guard guard(lock_);
    return known_.count(cell) != 0;
  }

 private:
  std::mutex lock_;
  std::unordered_map<T, T> cells_;
  std::unordered_set<const void*> known_;
};

Cells<MPI_Aint>& cells() {
  static auto* made = new Cells<MPI_Aint>;  // attributes may be queried after static destructors
  return *made;
}
Cells<int>& small_cells() {
  static auto* made = new Cells<int>;
  return *made;
}

}  // namespace

void* attribute_for_c(MPI_Aint value) { return cells().cell_of(value); }
void* small_attribute_for_c(int value) { return small_cells().cell_of(value); }

MPI_Aint attribute_for_fortran(int keyval, void* value) {
  switch (keyval) {  // stored by MPI itself
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL:
      return *static_cast<int*>(value);
    case MPI_WIN_SIZE:
      return *static_cast<MPI_Aint*>(value);
    default:
      break;
  }
  if (cells().owns(value)) return *static_cast<MPI_Aint*>(value);
  if (small_cells().owns(value)) return *static_cast<int*>(value);
  return reinterpret_cast<MPI_Aint>(value);
}

}  // namespace hr::fortran
