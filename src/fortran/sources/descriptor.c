/* Reads a Fortran array descriptor. Its layout depends on the compiler, so mpifort compiles this file with that
 * compiler's ISO_Fortran_binding.h; the library calls it for every choice buffer that is passed by descriptor. */
#include <ISO_Fortran_binding.h>
#include <stddef.h>

struct hr_f_shape {
  void* base;
  ptrdiff_t element_bytes;
  int rank;
  ptrdiff_t extent[CFI_MAX_RANK];
  ptrdiff_t stride[CFI_MAX_RANK]; /* bytes */
};

/* Returns 0 if the array is dense; 1 if it is not, in which case *shape describes it; -1 if it is not and has more
 * dimensions than max_rank. */
int hr_f_describe(const CFI_cdesc_t* array, struct hr_f_shape* shape, int max_rank) {
  const int rank = array->rank;
  ptrdiff_t expected = (ptrdiff_t)array->elem_len;
  int first = 0; /* the dimensions before it are dense */
  for (; first < rank; ++first) {
    const ptrdiff_t extent = array->dim[first].extent;
    if (extent == -1) return 0; /* an assumed-size array is always dense */
    if (extent != 1 && array->dim[first].sm != expected) break;
    expected *= extent;
  }
  if (first == rank) return 0;
  if (rank > max_rank) return -1;
  int kept = 0;
  for (int i = 0; i < rank; ++i) {
    const ptrdiff_t extent = array->dim[i].extent;
    if (extent == 0) return 0; /* no elements */
    if (extent == 1) continue;
    shape->extent[kept] = extent;
    shape->stride[kept] = array->dim[i].sm;
    ++kept;
  }
  shape->base = array->base_addr;
  shape->element_bytes = (ptrdiff_t)array->elem_len;
  shape->rank = kept;
  return 1;
}
