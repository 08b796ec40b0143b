// PartitionMarks: a word for each partition of a partitioned operation, in host memory that devices reach, so that a
// kernel marks partitions as ready, or sees which have arrived (include/mpix-device.h).
//
// Owner: the operation. The words stay where they are until it goes. Memory order: who marks writes the data before the
// word, with a release as far as the system; take() acquires. Set by this process alone in a receive, by kernels and
// threads of the program in a send. Threads: library lock.
#pragma once

#include <cstddef>

#include "layout/view.hpp"
#include "mem/cuda/pinned.hpp"
#include "p2p/pages.hpp"

namespace hr::p2p {

class PartitionMarks {
 public:
  // So many, all clear. Where no device is in use in this process, for threads of the host alone. `data`: what the
  // partitions are of, whose device is the one that marks. Errors: MPI_ERR_NO_MEM; what the driver says.
  Status create(int partitions, const layout::View& data);

  void clear() noexcept;
  [[nodiscard]] bool is_set(int partition) const noexcept {
    return __atomic_load_n(host() + partition, __ATOMIC_ACQUIRE) != 0;
  }
  void set(int partition) noexcept { __atomic_store_n(host() + partition, 1u, __ATOMIC_RELEASE); }

  [[nodiscard]] unsigned* host() const noexcept { return reinterpret_cast<unsigned*>(words_.get()); }
  [[nodiscard]] unsigned* device() const noexcept;

 private:
  Pages words_;
  std::size_t bytes_ = 0;
  mem::cuda::PinnedRange pinned_;  // ends before the words
};

}  // namespace hr::p2p
