// UCX's names for the only maker of devices whose memory this library passes to UCX. Owner: none; constant. Threads:
// any.
#pragma once

#include <ucs/memory/memory_type.h>

namespace hr::transport::ucx {

inline constexpr ucs_memory_type_t kDeviceMemory = UCS_MEMORY_TYPE_CUDA;
// Values of UCX_MODULES. The first excludes all device modules, the second only those of vendors whose memory this
// library does not pass to UCX.
inline constexpr const char* kNoDeviceModules = "^cuda,rocm,ze";
inline constexpr const char* kOwnDeviceModules = "^rocm,ze";
// Value of UCX_TLS: excludes UCX's own paths within a host.
inline constexpr const char* kNetworkPaths = "^shm,cuda_ipc,rocm_ipc";

}  // namespace hr::transport::ucx
