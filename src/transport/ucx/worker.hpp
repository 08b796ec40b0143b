// Worker: the UCX context and worker of this process, with the settings that this library needs unless the user has set
// them (UCX_*).
//
// Owner: the transport; set up by create(), destroyed with it. Threads: library lock.
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

  // `loopback_alone`: no process on another machine will be connected, so TCP listens only on the loopback interface,
  // unless the user has named devices. Errors: MPI_ERR_OTHER with UCX's reason.
  Status create(const Library& library, bool loopback_alone);
  Status address(std::vector<std::byte>* out) const;
  // Ends the worker, and its pending operations with an error.
  void stop() noexcept;
  // Releases nothing: context and worker are left until the end of the process.
  void abandon() noexcept {
    worker_ = nullptr;
    context_ = nullptr;
  }
  // Returns the descriptor that signals arrivals; -1: UCX has none here.
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
