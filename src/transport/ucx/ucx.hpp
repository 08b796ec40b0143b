// The network transport: UCX's active messages and remote memory, over whatever network UCX finds (InfiniBand, RoCE,
// TCP). It serves processes that share no memory with this one, and no other. UCX is opened at run time (library.hpp);
// where the library was built without its headers, absent.cpp says so instead.
#pragma once

#include "transport/transport.hpp"

namespace hr::transport::ucx {

extern const Record kRecord;

}  // namespace hr::transport::ucx
