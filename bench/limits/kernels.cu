// The fastest plain kernels for a face of a cube and for single elements at given positions: hand-written indexing,
// with words of 4, 8 or 16 bytes, and 1, 2 or 4 of them per thread with all loads before the stores.
#include "face.hpp"
#include "portability.hpp"

namespace {

using bench::Face;

struct alignas(16) Quad {
  std::uint32_t word[4];
};

template <unsigned kEach, class Word>
HR_DEVICE void move_face(const Word* from, Word* to, const Face& face) {
  const unsigned total = face.outer * face.inner, step = gridDim.x * blockDim.x;
  const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
  Word words[kEach];
  unsigned offset[kEach];
  HR_UNROLL
  for (unsigned k = 0; k < kEach; ++k) {
    const unsigned i = first + k * step;
    offset[k] = i / face.inner * face.outer_stride + i % face.inner * face.inner_stride;
    if (i < total) words[k] = from[face.from + offset[k]];
  }
  HR_UNROLL
  for (unsigned k = 0; k < kEach; ++k) {
    if (first + k * step < total) to[face.to + offset[k]] = words[k];
  }
}

template <unsigned kEach>
HR_DEVICE void move_elements(const std::uint32_t* from, std::uint32_t* to, const std::int32_t* from_at,
                             const std::int32_t* to_at, unsigned total) {
  const unsigned step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t words[kEach];
  std::int32_t at[kEach];
  HR_UNROLL
  for (unsigned k = 0; k < kEach; ++k) {
    const unsigned i = first + k * step;
    if (i < total) {
      words[k] = from[from_at[i]];
      at[k] = to_at[i];
    }
  }
  HR_UNROLL
  for (unsigned k = 0; k < kEach; ++k) {
    if (first + k * step < total) to[at[k]] = words[k];
  }
}

}  // namespace

HR_KERNEL(limits_empty, (unsigned unused)) { (void)unused; }

#define FACE(bytes, Word, each) \
  HR_KERNEL(limits_face##bytes##x##each, (const Word* from, Word* to, Face face)) { move_face<each>(from, to, face); }
FACE(4, std::uint32_t, 1)
FACE(4, std::uint32_t, 2)
FACE(4, std::uint32_t, 4)
FACE(8, std::uint64_t, 1)
FACE(8, std::uint64_t, 2)
FACE(8, std::uint64_t, 4)
FACE(16, Quad, 1)
FACE(16, Quad, 2)
FACE(16, Quad, 4)

#define ELEMENTS(each)                                                                                         \
  HR_KERNEL(limits_elements##each, (const std::uint32_t* from, std::uint32_t* to, const std::int32_t* from_at, \
                                    const std::int32_t* to_at, unsigned total)) {                              \
    move_elements<each>(from, to, from_at, to_at, total);                                                      \
  }
ELEMENTS(1)
ELEMENTS(2)
ELEMENTS(4)
