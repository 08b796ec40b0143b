// UCX's names for the maker of devices whose memory this library gives to UCX: one maker only. Owner: none; constant.
// Threads: any.
#pragma once

#include <ucs/memory/memory_type.h>

namespace hr::transport::ucx {

inline constexpr ucs_memory_type_t kDeviceMemory = UCS_MEMORY_TYPE_CUDA;
// UCX_MODULES: all but those of devices, and all but those of makers that this library does not use.
inline constexpr const char* kNoDeviceModules = "^cuda,rocm,ze";
inline constexpr const char* kOwnDeviceModules = "^rocm,ze";
// UCX_TLS: no paths of UCX's own within a host.
inline constexpr const char* kNetworkPaths = "^shm,cuda_ipc,rocm_ipc";

}  // namespace hr::transport::ucx
