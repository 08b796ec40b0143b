// MPIX_ functions used by programs built for MPICH.
#include "mpich/beyond.hpp"
#include "mpich/conversions.hpp"
#include "mpich/entry.hpp"

using namespace hr::mpich;  // NOLINT

extern "C" {

HR_EXPORT int MPIX_Query_cuda_support(void) {
  static const auto function = find_beyond<int(void)>("MPIX_Query_cuda_support");
  return function == nullptr ? 0 : function();
}

HR_EXPORT int MPIX_Query_ze_support(void) { return 0; }
HR_EXPORT int MPIX_Query_hip_support(void) {
  static const auto function = find_beyond<int(void)>("MPIX_Query_hip_support");
  return function == nullptr ? 0 : function();
}

HR_EXPORT int MPIX_GPU_query_support(int gpu_type, int* is_supported) {
  return ErrorCode::out(call_beyond("MPIX_GPU_query_support", gpu_type, is_supported));
}
}
