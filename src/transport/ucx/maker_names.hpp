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
// Values of UCX_TLS: they exclude UCX's own paths within a host, the second TCP as well.
inline constexpr const char* kNetworkPaths = "^shm,cuda_ipc,rocm_ipc";
inline constexpr const char* kNetworkPathsWithoutTcp = "^shm,cuda_ipc,rocm_ipc,tcp";

}  // namespace hr::transport::ucx
