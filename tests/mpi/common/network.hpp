// Faults of the network between hosts.
#pragma once

#include <sys/socket.h>

namespace check {

// Ends all connections of this process to other hosts, as a broken network does.
inline void cut_network() {
  for (int descriptor = 3; descriptor < 1024; ++descriptor) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    const bool connected = ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0;
    if (connected && address.ss_family == AF_INET) ::shutdown(descriptor, SHUT_RDWR);
  }
}

}  // namespace check
