// A function of the CUDA driver that apps/common/gpu.hpp lacks: driver_function<int(int*)>("cuDeviceGetCount").
#pragma once

#include <dlfcn.h>

namespace hr::test {

// Returns nullptr if the driver lacks it.
template <class Function>
Function* driver_function(const char* symbol) {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, symbol));
}

}  // namespace hr::test
