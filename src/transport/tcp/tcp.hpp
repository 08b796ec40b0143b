// The network transport over TCP sockets, which needs no network library. Like ucx and ofi, it serves only processes
// that share no memory with this one. It is used where the hosts have no network that ucx or ofi serves better.
#pragma once

#include "transport/transport.hpp"

namespace hr::transport::tcp {

extern const Record kRecord;

}  // namespace hr::transport::tcp
