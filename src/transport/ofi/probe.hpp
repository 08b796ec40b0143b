// Probe: asks the kernel of another host whether a process still listens at its address, for providers over TCP, which
// try forever to connect to a process that has ended.
//
// Owner: the peer. Threads: library lock.
#pragma once

#include <cstddef>
#include <vector>

namespace hr::transport::ofi {

class Probe {
 public:
  Probe() = default;
  ~Probe() { close(); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // Starts to connect, unless that is pending. False if the address is not that of a socket.
  bool begin(const std::vector<std::byte>& address);
  [[nodiscard]] bool is_pending() const noexcept { return socket_ >= 0; }
  // True once there is an answer. *error: 0 if a process listens there, else the error.
  bool answered(int* error);
  void close() noexcept;

 private:
  int socket_ = -1;
};

}  // namespace hr::transport::ofi
