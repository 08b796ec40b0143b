// The network transport over libfabric (Slingshot, EFA, Omni-Path, InfiniBand, TCP): messages and remote memory through
// one reliable datagram endpoint. Like ucx, it serves only processes that share no memory with this one. libfabric is
// opened at run time (library.hpp); if this library was built without its headers, absent.cpp reports that instead.
#pragma once

#include "transport/transport.hpp"

namespace hr::transport::ofi {

extern const Record kRecord;

}  // namespace hr::transport::ofi
