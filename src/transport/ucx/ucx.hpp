// The network transport: UCX's active messages and remote memory, over whatever network UCX finds (InfiniBand, RoCE,
// TCP). It serves only processes that share no memory with this one. UCX is opened at run time (library.hpp); if this
// library was built without UCX's headers, absent.cpp reports that instead.
#pragma once

#include "transport/transport.hpp"

namespace hr::transport::ucx {

extern const Record kRecord;

}  // namespace hr::transport::ucx
