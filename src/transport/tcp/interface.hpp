// Interface: the network interface, and with it the address, at which this process listens.
//
// Plain functions. Threads: library lock.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <span>
#include <string>

#include "base/status.hpp"
#include "transport/network/listens.hpp"

namespace hr::transport::tcp {

using network::Listens;

struct Interface {
  std::string name;
  sockaddr_storage address{};   // IPv4 or IPv6, without a port
  double bytes_per_second = 0;  // 0: the system does not state it
  bool is_loopback = false;
};

// Chooses an interface that is up: among those of HEADRACE_NETWORK_DEVICES, if that is set, otherwise among those that
// `listens` permits. Prefers an interface with a carrier, then hardware to bridges and tunnels, then IPv4, then the
// higher speed. Errors: MPI_ERR_OTHER, with the interfaces of this host.
Status choose_interface(Listens listens, Interface* out);

// Returns the length of an address, by its family; 0 if the family is unknown.
[[nodiscard]] socklen_t length_of(const sockaddr_storage& address) noexcept;
// Copies an address that another process has published. False if the bytes are no address, or it has no port.
[[nodiscard]] bool read_address(std::span<const std::byte> bytes, sockaddr_storage* out) noexcept;
// Returns "10.0.0.1:4242", for messages.
[[nodiscard]] std::string text_of(const sockaddr_storage& address);

}  // namespace hr::transport::tcp
