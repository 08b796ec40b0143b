// Pointer queries of the table (mem/device.hpp), answered with those of HIP. Owner: none. Threads: any.
#pragma once

#include "mem/device.hpp"

namespace hr::mem::hip {

device::Result pointer_get_attributes(unsigned count, int* which, void** values, device::DeviceAddress address);
// Returns kInvalidValue for an attribute that HIP lacks, and for an address that HIP does not know.
device::Result pointer_get_attribute(void* value, int which, device::DeviceAddress address);

}  // namespace hr::mem::hip
