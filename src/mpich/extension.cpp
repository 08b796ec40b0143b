// MPIX_ functions that MPICH's programs ask for. libmpi_abi.so.1 has them under the same names and types.
#include <dlfcn.h>

#include "mpich/conversions.hpp"
#include "mpich/entry.hpp"

namespace {

template <class Function>
Function* of_standard(const char* name) {
  void* const library = dlopen("libmpi_abi.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

extern "C" {

HR_EXPORT int MPIX_Query_cuda_support(void) {
  static const auto function = of_standard<int(void)>("MPIX_Query_cuda_support");
  return function == nullptr ? 0 : function();
}

HR_EXPORT int MPIX_Query_ze_support(void) { return 0; }
HR_EXPORT int MPIX_Query_hip_support(void) { return 0; }

HR_EXPORT int MPIX_GPU_query_support(int gpu_type, int* is_supported) {
  static const auto function = of_standard<int(int, int*)>("MPIX_GPU_query_support");
  const int code = function == nullptr ? MPI_ERR_UNSUPPORTED_OPERATION : function(gpu_type, is_supported);
  return hr::mpich::ErrorCode::out(code);
}
}
