// diffusion2d's kernel: one time step of some rows. A thread computes kDeep rows of one column, from top to bottom, and
// keeps in registers the points that the next row needs. So each point is fetched from memory once, and its left and
// right neighbours come from the caches.
#include "stencil.hpp"

namespace {
constexpr unsigned kDeep = 8;  // the same as in backend_cuda.cpp
}

// `from`, `to`: the first interior point of the first row; `line`: number of points from one row to the next.
HR_KERNEL(diffusion2d_step, (const double* from, double* to, unsigned line, unsigned nx, unsigned rows)) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned first = (blockIdx.y * blockDim.y + threadIdx.y) * kDeep;
  if (x >= nx || first >= rows) return;
  const unsigned last = first + kDeep < rows ? first + kDeep : rows;
  const std::size_t start = static_cast<std::size_t>(first) * line + x;
  const double* point = from + start;
  double* out = to + start;
  double before = *(point - line), centre = *point;
  for (unsigned row = first; row < last; ++row, point += line, out += line) {
    const double after = *(point + line);
    *out = diffusion2d::stepped(centre, *(point - 1), *(point + 1), before, after);
    before = centre;
    centre = after;
  }
}
