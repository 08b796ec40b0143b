// gpu_hip.hpp: the functions of gpu.hpp on AMD GPUs. Where no CUDA driver has a device, the HIP runtime (libamdhip64)
// of ROCm 5.2 or newer is opened at run time, and its functions replace the driver's. Most have the same signature; the
// others are adapted here. A context is a device. Included only by gpu.hpp.
#pragma once

namespace gpu::detail {

struct Hip {
  void* library = nullptr;

  Hip() {
    for (const int flags : {RTLD_NOLOAD, 0}) {
      for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}) {
        if (library == nullptr) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | flags);
      }
    }
  }
  void* find(const char* symbol) const { return library == nullptr ? nullptr : ::dlsym(library, symbol); }
};
inline const Hip& hip() {
  static Hip instance;
  return instance;
}

// Calls a function of the runtime; returns 500 (not found) if the runtime lacks it.
template <class... Arguments>
Result hip_call(const char* symbol, Arguments... arguments) {
  const auto function = reinterpret_cast<Result (*)(Arguments...)>(hip().find(symbol));
  return function == nullptr ? 500 : function(arguments...);
}

inline constexpr int kByAddresses = 4;  // hipMemcpyDefault

// Finds the code objects that belong to an image embedded with hr_fatbin(). Their offset is stored in the image, after
// a name.
inline const void* code_objects_of(const void* image) {
  const auto* bytes = static_cast<const unsigned char*>(image);
  std::uint16_t header = 0;
  std::uint64_t body = 0;
  std::memcpy(&header, bytes + 6, sizeof header);
  std::memcpy(&body, bytes + 8, sizeof body);
  constexpr std::size_t kMark = 8;
  const std::size_t name = header + body + kMark;
  const std::size_t end = name + std::strlen(reinterpret_cast<const char*>(bytes + name)) + 1;
  std::int64_t distance = 0;
  std::memcpy(&distance, bytes + (end + 7) / 8 * 8, sizeof distance);
  return bytes + distance;
}

inline int device_of(const void* context) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1; }

// Queries an attribute by its CUDA number. Supports only the attributes that Headrace's programs use.
inline Result hip_attribute(int* value, int attribute, int device) {
  constexpr int kMultiprocessors = 16, kPciBus = 33, kPciDevice = 34, kPciDomain = 50;
  constexpr int kHipMultiprocessors = 63;
  if (attribute == kMultiprocessors) return hip_call("hipDeviceGetAttribute", value, kHipMultiprocessors, device);
  char text[32] = "";
  unsigned domain = 0, bus = 0, number = 0;
  if (attribute != kPciBus && attribute != kPciDevice && attribute != kPciDomain) return 1;
  const Result result =
      hip_call("hipDeviceGetPCIBusId", static_cast<char*>(text), static_cast<int>(sizeof text), device);
  if (result != 0 || std::sscanf(text, "%x:%x:%x", &domain, &bus, &number) != 3) return result != 0 ? result : 1;
  *value = static_cast<int>(attribute == kPciBus ? bus : attribute == kPciDevice ? number : domain);
  return 0;
}

// A function with the same signature in the driver and in HIP, and its two names.
struct SameShape {
  const char* driver;
  const char* hip;
};
inline constexpr SameShape kSameShape[] = {{"cuInit", "hipInit"},
                                           {"cuDeviceGetCount", "hipGetDeviceCount"},
                                           {"cuDeviceGetName", "hipDeviceGetName"},
                                           {"cuDeviceCanAccessPeer", "hipDeviceCanAccessPeer"},
                                           {"cuCtxSynchronize", "hipDeviceSynchronize"},
                                           {"cuMemAlloc", "hipMalloc"},
                                           {"cuMemFree", "hipFree"},
                                           {"cuMemAllocManaged", "hipMallocManaged"},
                                           {"cuMemAllocAsync", "hipMallocAsync"},
                                           {"cuMemFreeAsync", "hipFreeAsync"},
                                           {"cuIpcGetMemHandle", "hipIpcGetMemHandle"},
                                           {"cuMemHostRegister", "hipHostRegister"},
                                           {"cuMemHostUnregister", "hipHostUnregister"},
                                           {"cuMemFreeHost", "hipHostFree"},
                                           {"cuMemGetAllocationGranularity", "hipMemGetAllocationGranularity"},
                                           {"cuMemAddressReserve", "hipMemAddressReserve"},
                                           {"cuMemAddressFree", "hipMemAddressFree"},
                                           {"cuMemCreate", "hipMemCreate"},
                                           {"cuMemRelease", "hipMemRelease"},
                                           {"cuMemMap", "hipMemMap"},
                                           {"cuMemUnmap", "hipMemUnmap"},
                                           {"cuMemSetAccess", "hipMemSetAccess"},
                                           {"cuStreamCreate", "hipStreamCreateWithPriority"},
                                           {"cuStreamDestroy", "hipStreamDestroy"},
                                           {"cuStreamSynchronize", "hipStreamSynchronize"},
                                           {"cuStreamWaitEvent", "hipStreamWaitEvent"},
                                           {"cuStreamBeginCapture", "hipStreamBeginCapture"},
                                           {"cuStreamEndCapture", "hipStreamEndCapture"},
                                           {"cuGraphInstantiate", "hipGraphInstantiateWithFlags"},
                                           {"cuGraphDestroy", "hipGraphDestroy"},
                                           {"cuGraphExecDestroy", "hipGraphExecDestroy"},
                                           {"cuGraphLaunch", "hipGraphLaunch"},
                                           {"cuEventCreate", "hipEventCreateWithFlags"},
                                           {"cuEventDestroy", "hipEventDestroy"},
                                           {"cuEventRecord", "hipEventRecord"},
                                           {"cuEventSynchronize", "hipEventSynchronize"},
                                           {"cuEventQuery", "hipEventQuery"},
                                           {"cuModuleUnload", "hipModuleUnload"},
                                           {"cuModuleGetFunction", "hipModuleGetFunction"},
                                           {"cuLaunchKernel", "hipModuleLaunchKernel"}};

inline void* hip_function(const char* driver) {
  for (const SameShape& each : kSameShape) {
    if (std::strcmp(each.driver, driver) == 0) return hip().find(each.hip);
  }
  return nullptr;
}

// Sets the members whose HIP functions differ from the driver's, in their signatures or otherwise.
template <class Members>
void fill_different(Members& to) {
  to.cuGetErrorName = [](Result code, const char** name) {
    const auto function = reinterpret_cast<const char* (*)(Result)>(hip().find("hipGetErrorName"));
    *name = function(code);
    return 0;
  };
  to.cuGetErrorString = [](Result code, const char** text) {
    const auto function = reinterpret_cast<const char* (*)(Result)>(hip().find("hipGetErrorString"));
    *text = function(code);
    return 0;
  };
  to.cuDeviceGet = [](int* device, int number) {
    *device = number;
    return 0;
  };
  to.cuDeviceGetAttribute = hip_attribute;
  to.cuDriverGetVersion = [](int* version) {
    int number = 0;
    const Result result = hip_call("hipRuntimeGetVersion", &number);
    *version = number / 10000000 * 1000 + number / 100000 % 100 * 10;
    return result;
  };
  to.cuDevicePrimaryCtxRetain = [](void** context, int device) {
    *context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(device) + 1);
    return 0;
  };
  to.cuCtxSetCurrent = [](void* context) { return hip_call("hipSetDevice", device_of(context)); };
  to.cuCtxEnablePeerAccess = [](void* peer, unsigned flags) {
    return hip_call("hipDeviceEnablePeerAccess", device_of(peer), flags);
  };
  to.cuIpcOpenMemHandle = [](DevicePointer* address, IpcHandle handle, unsigned flags) {
    const Result result = hip_call("hipIpcOpenMemHandle", address, handle, flags);
    return result == 1 ? hip_call("hipIpcOpenMemHandle", address, handle, 0u) : result;  // ROCm 5 accepts no flag
  };
  // Fills in the device, and whether the memory is managed; the numbers of other attributes differ between versions.
  to.cuPointerGetAttributes = [](unsigned count, int* which, void** values, DevicePointer address) {
    constexpr int kManaged = 8, kOrdinal = 9;
    struct {
      int type, device;
      void *device_pointer, *host_pointer;
      int is_managed;
      unsigned flags;
    } found{};
    const Result result = hip_call("hipPointerGetAttributes", &found, address);
    for (unsigned i = 0; i < count && result == 0; ++i) {
      if (which[i] == kManaged) *static_cast<unsigned*>(values[i]) = found.is_managed != 0 ? 1 : 0;
      if (which[i] == kOrdinal) *static_cast<int*>(values[i]) = found.device;
    }
    return result;
  };
  // Without a flag for it, the host need not see what a kernel stores there while it runs.
  to.cuMemHostAlloc = [](void** memory, std::size_t bytes, unsigned flags) {
    constexpr unsigned kCoherent = 0x40000000;  // hipHostMallocCoherent
    return hip_call("hipHostMalloc", memory, bytes, flags | kCoherent);
  };
  to.cuMemcpy = [](DevicePointer target, DevicePointer source, std::size_t bytes) {
    return hip_call("hipMemcpy", target, source, bytes, kByAddresses);
  };
  to.cuMemcpyAsync = [](DevicePointer target, DevicePointer source, std::size_t bytes, Stream stream) {
    return hip_call("hipMemcpyAsync", target, source, bytes, kByAddresses, stream);
  };
  to.cuMemcpy2DAsync = [](const PitchedCopy* copy, Stream stream) {
    return hip_call("hipMemcpy2DAsync", copy->target, copy->target_pitch, copy->source, copy->source_pitch, copy->width,
                    copy->height, kByAddresses, stream);
  };
  to.cuMemsetD8 = [](DevicePointer target, unsigned char value, std::size_t bytes) {
    return hip_call("hipMemset", target, static_cast<int>(value), bytes);
  };
  to.cuModuleLoadData = [](void** module, const void* image) {
    return hip_call("hipModuleLoadData", module, code_objects_of(image));
  };
}

}  // namespace gpu::detail
