// The record of the maker HIP (AMD), for mem/device/maker_list.cpp. Owner: none; constant. Threads: any.
#pragma once

#include "mem/device.hpp"

namespace hr::mem::hip {

extern const device::Maker kMaker;

}  // namespace hr::mem::hip
