// The record of the maker CUDA, for mem/device/maker_list.cpp. Owner: none; constant. Threads: any.
#pragma once

#include "mem/device.hpp"

namespace hr::mem::cuda {

extern const device::Maker kMaker;

}  // namespace hr::mem::cuda
