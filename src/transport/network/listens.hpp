// Listens: on which interfaces the endpoint of a process has to be.
#pragma once

#include <cstdint>

namespace hr::transport::network {

// kOnLoopback: no process on another machine will connect. kOnLoopbackIfAlone: the processes that will connect are not
// known yet; on a machine without a network, they can only be processes of this machine.
enum class Listens : std::uint8_t { kForOtherHosts, kOnLoopbackIfAlone, kOnLoopback };

}  // namespace hr::transport::network
