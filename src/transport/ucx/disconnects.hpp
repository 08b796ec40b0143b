// Disconnects: a process that disconnects from one of another job tells it when everything sent there has arrived, and
// stays until it has been told the same.
//
// Flushing a path needs the other side's progress, at the least until both have set it up; a process that has left
// MPI's calls makes none. Owner: the transport. Threads: library lock.
#pragma once

#include <set>

#include "transport/ucx/active_messages.hpp"
#include "transport/ucx/names.hpp"

namespace hr::transport::ucx {

class Disconnects {
 public:
  Disconnects(const Library& library, const Worker& worker, const Names& names)
      : library_(library), worker_(worker), names_(names) {}

  // Listens to others from now on.
  Status listen();

  // Sends a disconnect; a failed path is reported elsewhere.
  void send(int proc, ucp_ep_h endpoint);
  [[nodiscard]] bool has_come(int proc) const noexcept { return come_.contains(proc); }
  // Forgets it: that process may connect again.
  void forget(int proc) noexcept { come_.erase(proc); }

 private:
  static ucs_status_t arrive(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                             const ucp_am_recv_param_t* how);

  const Library& library_;
  const Worker& worker_;
  const Names& names_;
  std::set<int> come_;
};

}  // namespace hr::transport::ucx
