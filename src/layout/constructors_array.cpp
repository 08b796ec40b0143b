// Subarray and darray (MPI 5.0 sections 5.1.3 and 5.1.4): built from vectors, fastest dimension first.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/abi.hpp"
#include "layout/constructor_record.hpp"
#include "layout/constructors.hpp"

namespace hr::layout {
namespace {

// Returns the i-th dimension counted from the fastest, which is the last in C order and the first in Fortran order.
std::size_t nth_fastest(int ndims, int i, int order) {
  return static_cast<std::size_t>(order == abi::kOrderC ? ndims - 1 - i : i);
}

Status check_order(int order) {
  if (order == abi::kOrderC || order == abi::kOrderFortran) return kOk;
  return fail(Errc::kArg, "order is %d; it must be MPI_ORDER_C or MPI_ORDER_FORTRAN", order);
}

Status scaled(Count a, Count b, Count* product) {
  if (__builtin_mul_overflow(a, b, product)) {
    return fail(Errc::kCount, "the entire array of this type has more bytes than 63 bits can count");
  }
  return kOk;
}

// Moves the data by `displacement` and sets the bounds to those of the whole array.
Status place(TypemapRef map, Count displacement, Count lb, Count whole, TypemapRef* placed) {
  if (displacement != 0) HR_TRY(sequence_typemap({map}, {1}, {displacement}, &map));
  return resized_typemap(map, lb, whole, placed);
}

// One process's share of one dimension of a darray: `blocks` full blocks of `block` elements, `cycle` elements apart,
// starting at element `start`, and then a last block of `rest` elements.
struct Share {
  Count start = 0, block = 0, blocks = 0, rest = 0, cycle = 0;
};

Status share_of(int dim, Count gsize, int distrib, int darg, int nprocs, int coordinate, Share* share) {
  if (distrib == abi::kDistributeNone) {
    if (nprocs != 1) {
      return fail(Errc::kArg, "psizes[%d] is %d; a dimension with MPI_DISTRIBUTE_NONE has one process", dim, nprocs);
    }
    *share = {0, gsize, 1, 0, gsize};
    return kOk;
  }
  Count block = darg;
  const bool fallback = darg == abi::kDistributeDfltDarg;
  if (distrib == abi::kDistributeBlock) {
    if (fallback) block = (gsize + nprocs - 1) / nprocs;
    if (block <= 0 || block * nprocs < gsize) {
      return fail(Errc::kArg, "dargs[%d] is %d; blocks of that size on %d processes do not cover %lld elements", dim,
                  darg, nprocs, static_cast<long long>(gsize));
    }
  } else if (distrib == abi::kDistributeCyclic) {
    if (fallback) block = 1;
    if (block <= 0) return fail(Errc::kArg, "dargs[%d] is %d; a cyclic block has at least one element", dim, darg);
  } else {
    return fail(Errc::kArg, "distribs[%d] is %d; it must be MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE", dim, distrib);
  }
  // A block distribution is a cyclic one whose single round covers everything.
  const Count cycle = block * nprocs;
  const Count start = block * coordinate;
  *share = {start, block, 0, 0, cycle};
  if (start >= gsize) return kOk;
  const Count rounds = (gsize - start) / cycle;
  const Count left = gsize - start - rounds * cycle;
  share->blocks = rounds + (left >= block ? 1 : 0);
  share->rest = left >= block ? 0 : left;
  return kOk;
}

// Wraps one more dimension around `map`; its elements are `stride` bytes apart.
Status wrap(const Share& share, Count stride, TypemapRef map, TypemapRef* wrapped) {
  TypemapRef full, block, rest;
  HR_TRY(repeat_typemap(map, share.block, stride, &block));
  HR_TRY(repeat_typemap(block, share.blocks, share.blocks > 1 ? share.cycle * stride : 0, &full));
  if (share.rest == 0) {
    *wrapped = full;
    return kOk;
  }
  HR_TRY(repeat_typemap(map, share.rest, stride, &rest));
  return sequence_typemap({full, rest}, {1}, {0, share.blocks * share.cycle * stride}, wrapped);
}

}  // namespace

Status make_subarray(int ndims, CountArray sizes, CountArray subsizes, CountArray starts, int order, Datatype& old,
                     CallForm form, Ref<Datatype>* type) {
  HR_TRY(check_order(order));
  if (ndims <= 0) return fail(Errc::kArg, "ndims is %d; a subarray has at least one dimension", ndims);
  for (int i = 0; i < ndims; ++i) {
    const auto dim = static_cast<std::size_t>(i);
    if (sizes[dim] < 1 || subsizes[dim] < 1 || subsizes[dim] > sizes[dim] || starts[dim] < 0 ||
        starts[dim] > sizes[dim] - subsizes[dim]) {
      return fail(Errc::kArg, "dimension %d: elements %lld to %lld+%lld do not lie in an array of %lld", i,
                  static_cast<long long>(starts[dim]), static_cast<long long>(starts[dim]),
                  static_cast<long long>(subsizes[dim]), static_cast<long long>(sizes[dim]));
    }
  }
  TypemapRef map = old.typemap_ref();
  Count stride = old.extent();  // bytes between neighbours in the current dimension
  Count displacement = 0;
  for (int i = 0; i < ndims; ++i) {
    const std::size_t dim = nth_fastest(ndims, i, order);
    HR_TRY(repeat_typemap(map, subsizes[dim], stride, &map));
    Count next = 0;
    HR_TRY(scaled(stride, sizes[dim], &next));
    displacement += starts[dim] * stride;
    stride = next;
  }
  HR_TRY(place(std::move(map), displacement, 0, stride, &map));
  const Count n = ndims;
  return Record(abi::kCombinerSubarray, form)
      .integer(ndims)
      .counts(sizes, n)
      .counts(subsizes, n)
      .counts(starts, n)
      .integer(order)
      .type(old)
      .finish(std::move(map), type);
}

Status make_darray(int size, int rank, int ndims, CountArray gsizes, const int* distribs, const int* dargs,
                   const int* psizes, int order, Datatype& old, CallForm form, Ref<Datatype>* type) {
  HR_TRY(check_order(order));
  if (ndims <= 0) return fail(Errc::kArg, "ndims is %d; a distributed array has at least one dimension", ndims);
  if (rank < 0 || rank >= size) return fail(Errc::kArg, "rank %d is not one of %d processes", rank, size);
  Count processes = 1;
  for (int i = 0; i < ndims; ++i) {
    if (psizes[i] < 1 || gsizes[static_cast<std::size_t>(i)] < 1) {
      return fail(Errc::kArg, "dimension %d: psizes is %d and gsizes %lld; both must be positive", i, psizes[i],
                  static_cast<long long>(gsizes[static_cast<std::size_t>(i)]));
    }
    if (__builtin_mul_overflow(processes, Count{psizes[i]}, &processes)) processes = 0;
  }
  if (processes != size) {
    return fail(Errc::kArg, "the product of psizes is %lld, not the %d processes given",
                static_cast<long long>(processes), size);
  }
  // The process grid is always in C order: the last dimension varies fastest (section 5.1.4).
  std::vector<int> coordinates(static_cast<std::size_t>(ndims));
  int left = rank;
  for (std::size_t i = coordinates.size(); i-- > 0;) {
    coordinates[i] = left % psizes[i];
    left /= psizes[i];
  }
  TypemapRef map = old.typemap_ref();
  Count stride = old.extent();
  Count displacement = 0;
  for (int i = 0; i < ndims; ++i) {
    const std::size_t dim = nth_fastest(ndims, i, order);
    Count next = 0;
    HR_TRY(scaled(stride, gsizes[dim], &next));
    Share share;
    HR_TRY(
        share_of(static_cast<int>(dim), gsizes[dim], distribs[dim], dargs[dim], psizes[dim], coordinates[dim], &share));
    HR_TRY(wrap(share, stride, map, &map));
    displacement += std::min(share.start, gsizes[dim]) * stride;
    stride = next;
  }
  HR_TRY(place(std::move(map), displacement, 0, stride, &map));
  Record record(abi::kCombinerDarray, form);
  record.integer(size).integer(rank).integer(ndims).counts(gsizes, ndims);
  for (int i = 0; i < ndims; ++i) record.integer(distribs[i]);
  for (int i = 0; i < ndims; ++i) record.integer(dargs[i]);
  for (int i = 0; i < ndims; ++i) record.integer(psizes[i]);
  return record.integer(order).type(old).finish(std::move(map), type);
}

}  // namespace hr::layout
