// Functions that depend on the program's Fortran compiler. mpifort builds them (src/fortran/sources/) together with the
// modules and links them into the program; this library refers to them and is linked without them. Threads: any.
#pragma once

#include <cstddef>

namespace hr::fortran {

inline constexpr int kMaxRank = 15;  // limit in Fortran 2008 and later

// Layout of the elements of an array section in memory. Dimensions of extent 1 are omitted.
struct Shape {
  void* base;
  std::ptrdiff_t element_bytes;
  int rank;
  std::ptrdiff_t extent[kMaxRank];
  std::ptrdiff_t stride[kMaxRank];  // bytes
};

}  // namespace hr::fortran

#pragma GCC visibility push(default)
extern "C" {

// Returns 0 if the array is dense, in which case *shape is not set; 1 if it is not dense; -1 if it is not dense and its
// rank exceeds max_rank.
int hr_f_describe(const void* descriptor, hr::fortran::Shape* shape, int max_rank);
int hr_f_logical_size(void);
int hr_f_is_true(const void* address);
void hr_f_set_logical(void* address, int number);
// Returns the address of Fortran's MPI_CONVERSION_FN_NULL or MPI_CONVERSION_FN_NULL_C.
void (*hr_f_no_conversion(int large))();
// Called by the MPI library, which finds it by its name (base/flush_output.cpp).
void hr_f_flush(void);
}
#pragma GCC visibility pop
