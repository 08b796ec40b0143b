// Disconnects: a process that disconnects from a process of another job sends it a disconnect message once everything
// sent before has arrived, and keeps the connection until the other process's disconnect message has arrived.
//
// Flushing a path needs progress on the other side, at least until both have set it up; a process outside MPI calls
// makes none. Owner: the transport. Threads: library lock.
#pragma once

#include <set>

#include "transport/network/names.hpp"
#include "transport/ucx/active_messages.hpp"

namespace hr::transport::ucx {

class Disconnects {
 public:
  Disconnects(const Library& library, const Worker& worker, const network::Names& names)
      : library_(library), worker_(worker), names_(names) {}

  // Handles disconnects from other processes from now on.
  Status listen();

  // Sends a disconnect; a failed path is reported by its error handler.
  void send(int proc, ucp_ep_h endpoint);
  [[nodiscard]] bool has_come(int proc) const noexcept { return come_.contains(proc); }
  // Forgets the disconnect, as that process may connect again.
  void forget(int proc) noexcept { come_.erase(proc); }

 private:
  static ucs_status_t arrive(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                             const ucp_am_recv_param_t* how);

  const Library& library_;
  const Worker& worker_;
  const network::Names& names_;
  std::set<int> come_;
};

}  // namespace hr::transport::ucx
