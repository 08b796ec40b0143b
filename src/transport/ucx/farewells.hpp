// Farewells: a process that parts from one of another job tells it when everything sent there has arrived, and stays
// until it has been told the same.
//
// Flushing a path needs the other side's progress, at the least until both have set it up; a process that has left
// MPI's calls makes none. Owner: the transport. Threads: library lock.
#pragma once

#include <set>

#include "transport/ucx/active_messages.hpp"
#include "transport/ucx/names.hpp"

namespace hr::transport::ucx {

class Farewells {
 public:
  Farewells(const Library& library, const Worker& worker, const Names& names)
      : library_(library), worker_(worker), names_(names) {}

  // Listens to others from now on.
  Status listen();

  // Says farewell; a failed path is reported elsewhere.
  void say(int proc, ucp_ep_h endpoint);
  [[nodiscard]] bool heard(int proc) const noexcept { return heard_.contains(proc); }
  // Forgets it: that process may be met again.
  void forget(int proc) noexcept { heard_.erase(proc); }

 private:
  static ucs_status_t arrive(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                             const ucp_am_recv_param_t* how);

  const Library& library_;
  const Worker& worker_;
  const Names& names_;
  std::set<int> heard_;
};

}  // namespace hr::transport::ucx
