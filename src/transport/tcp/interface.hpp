// Interface: the network interface, and with it the address, at which this process listens.
//
// Plain functions. Threads: library lock.
#pragma once

#include <sys/socket.h>

#include <string>

#include "base/status.hpp"
#include "transport/network/listens.hpp"
#include "transport/network/socket_address.hpp"

namespace hr::transport::tcp {

using network::length_of;
using network::Listens;
using network::read_address;
using network::text_of;

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

}  // namespace hr::transport::tcp
