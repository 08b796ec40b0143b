// The list of algorithms, one per line. The order within an operation is the order of preference if the selection
// table names none that applies; `linear` algorithms, which always apply, are last.
#pragma once

#include "coll/algorithm.hpp"

#define HR_COLL_ALGORITHMS(X)      \
  X(barrier_dissemination)         \
  X(barrier_cells)                 \
  X(barrier_cells_dissemination)   \
  X(barrier_hosts)                 \
  X(barrier_linear)                \
  X(move_device)                   \
  X(bcast_binomial)                \
  X(bcast_scatter_ring)            \
  X(bcast_slots)                   \
  X(bcast_cells)                   \
  X(bcast_hosts)                   \
  X(bcast_linear)                  \
  X(bcast_device_push)             \
  X(gather_binomial)               \
  X(gather_cells)                  \
  X(gather_cells_lengths)          \
  X(gather_hosts)                  \
  X(gather_linear)                 \
  X(scatter_binomial)              \
  X(scatter_cells)                 \
  X(scatter_cells_places)          \
  X(scatter_hosts)                 \
  X(scatter_linear)                \
  X(allgather_bruck)               \
  X(allgather_ring)                \
  X(allgather_slots)               \
  X(allgather_cells)               \
  X(allgather_hosts)               \
  X(allgather_linear)              \
  X(alltoall_pairwise)             \
  X(alltoall_in_place)             \
  X(alltoall_slots)                \
  X(alltoall_cells)                \
  X(alltoall_cells_places)         \
  X(alltoall_hosts)                \
  X(alltoall_leader)               \
  X(alltoall_linear)               \
  X(reduce_device)                 \
  X(reduce_binomial)               \
  X(reduce_ring_gather)            \
  X(reduce_slots)                  \
  X(reduce_slots_ring)             \
  X(reduce_slots_pair)             \
  X(reduce_cells)                  \
  X(reduce_cells_binomial)         \
  X(reduce_hosts)                  \
  X(reduce_linear)                 \
  X(allreduce_device_push)         \
  X(allreduce_device_pull)         \
  X(allreduce_recursive_doubling)  \
  X(allreduce_ring)                \
  X(allreduce_rabenseifner)        \
  X(allreduce_slots)               \
  X(allreduce_slots_ring)          \
  X(allreduce_cells_root)          \
  X(allreduce_cells)               \
  X(allreduce_cells_doubling)      \
  X(allreduce_hosts)               \
  X(allreduce_multi_leader)        \
  X(allreduce_linear)              \
  X(reduce_scatter_device)         \
  X(reduce_scatter_pairwise)       \
  X(reduce_scatter_ordered)        \
  X(reduce_scatter_slots_ring)     \
  X(reduce_scatter_cells_pairwise) \
  X(reduce_scatter_cells_ordered)  \
  X(reduce_scatter_hosts)          \
  X(reduce_scatter_linear)         \
  X(scan_device)                   \
  X(scan_recursive_doubling)       \
  X(scan_cells)                    \
  X(scan_hosts)                    \
  X(scan_linear)                   \
  X(neighbor_linear)

namespace hr::coll {
#define HR_COLL_DECLARE(name) extern const Algorithm name;
HR_COLL_ALGORITHMS(HR_COLL_DECLARE)
#undef HR_COLL_DECLARE
}  // namespace hr::coll
