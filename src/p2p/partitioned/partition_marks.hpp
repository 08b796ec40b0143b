// PartitionMarks: a word per partition of a partitioned operation, in host memory that devices can access, so that a
// kernel can mark partitions as ready, or see which have arrived (include/mpix-device.h).
//
// Owner: the operation; the words stay in place during its lifetime. Memory order: a marker writes the data before the
// word, with a release at system scope; is_set() acquires. The words of a receive are set only by this process, those
// of a send by kernels and threads of the program. Threads: library lock.
#pragma once

#include <cstddef>

#include "layout/view.hpp"
#include "mem/device/pinned.hpp"
#include "p2p/core/pages.hpp"

namespace hr::p2p {

class PartitionMarks {
 public:
  // Allocates a word per partition, all clear; if this process uses no device, only host threads can use them.
  // `data`: the partitions' buffer, whose device sets or tests the marks. Errors: MPI_ERR_NO_MEM; the driver's.
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
  mem::device::PinnedRange pinned_;  // destroyed before the words
};

}  // namespace hr::p2p
