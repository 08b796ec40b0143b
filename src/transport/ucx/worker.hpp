// Worker: UCX's context and worker of this process, with the settings that this library wants unless the user has set
// them (UCX_*).
//
// Owner: the transport; made by create(), gone with it. Threads: library lock.
#pragma once

#include <cstddef>
#include <vector>

#include "transport/ucx/library.hpp"

namespace hr::transport::ucx {

class Worker {
 public:
  Worker() = default;
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // `loopback_alone`: no process on another machine is to be reached, so that TCP listens on the loopback only unless
  // the user has named devices. Errors: MPI_ERR_OTHER with UCX's reason.
  Status create(const Library& library, bool loopback_alone);
  Status address(std::vector<std::byte>* out) const;
  // Ends the worker, and operations under way on it with an error.
  void stop() noexcept;
  // Leaves context and worker to the end of the process, as they are.
  void abandon() noexcept {
    worker_ = nullptr;
    context_ = nullptr;
  }
  // -1: UCX cannot signal arrivals by a descriptor here.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] bool knows_device_memory() const noexcept { return device_memory_; }

  [[nodiscard]] ucp_context_h context() const noexcept { return context_; }
  [[nodiscard]] ucp_worker_h get() const noexcept { return worker_; }

 private:
  Status make_context(std::uint64_t features);
  Status make_worker();

  const Library* library_ = nullptr;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int descriptor_ = -1;
  bool loopback_alone_ = false;
  bool device_memory_ = false;
};

}  // namespace hr::transport::ucx
