// A run-time library for OpenACC and OpenMP directives that needs no offloading compiler. It has the functions that GCC
// calls for data directives, kernels and queues, which copy through the (fake) CUDA driver, and the library functions
// of both standards. It is preloaded, so it precedes libgomp, which falls back to the host if there is no device.
//
// A kernel runs on the CPU, on scratch copies of the mapped data. A queue is busy from the first async directive until
// the program waits. As GCC's library does, it ends a program that requests queues before it has used OpenACC, and one
// that queries OpenACC after it has used a device through OpenMP. Single-threaded. The map kinds are numbered as in GCC
// (include/gomp-constants.h in its sources).
#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#define OFFLOAD extern "C" __attribute__((visibility("default")))

namespace {

enum MapKind { kDelete = 7, kUseDevicePointer = 14, kRelease = 23, kForceTo = 129, kForceFrom = 130 };

template <class Result = int, class... Arguments>
Result cuda(const char* name, Arguments... arguments) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto* const function = driver == nullptr ? nullptr : reinterpret_cast<int (*)(Arguments...)>(dlsym(driver, name));
  const int result = function == nullptr ? -1 : function(arguments...);
  if (result != 0) {
    std::fprintf(stderr, "fake_offload: %s: %d\n", name, result);
    std::abort();
  }
  return result;
}

struct Copy {
  unsigned long long address;
  std::size_t bytes;
};
struct Device {
  void* context = nullptr;
  std::map<char*, Copy> present;
};
Device devices[16];
int current = 0;
bool busy = false;
bool by_openacc = false;
bool by_openmp = false;

void openacc_is_used() {
  if (by_openmp && !by_openacc) {
    std::fprintf(stderr, "fake_offload: device already active\n");
    std::_Exit(1);
  }
  by_openacc = true;
}

Device& use(int number) {
  Device& device = devices[number < 0 ? current : number];
  if (device.context == nullptr) {
    cuda("cuInit", 0U);
    cuda("cuDevicePrimaryCtxRetain", &device.context, static_cast<int>(&device - devices));
  }
  cuda("cuCtxSetCurrent", device.context);
  return device;
}

// Returns the device address, or 0 if [host, host + bytes) has no device copy.
unsigned long long find(int number, const void* host, std::size_t bytes) {
  auto& present = devices[number < 0 ? current : number].present;
  auto* const first = static_cast<char*>(const_cast<void*>(host));
  auto after = present.upper_bound(first);
  if (after == present.begin()) return 0;
  const auto& [begin, copy] = *--after;
  const auto offset = static_cast<std::size_t>(first - begin);
  return offset + bytes <= copy.bytes ? copy.address + offset : 0;
}

void map(Device& device, void* host, std::size_t bytes) {
  if (bytes == 0 || find(static_cast<int>(&device - devices), host, bytes) != 0) return;
  unsigned long long address = 0;
  cuda("cuMemAlloc_v2", &address, bytes);
  cuda("cuMemcpyHtoD_v2", address, const_cast<const void*>(host), bytes);
  device.present[static_cast<char*>(host)] = {address, bytes};
}

void unmap(Device& device, void* host) {
  const auto found = device.present.find(static_cast<char*>(host));
  if (found == device.present.end()) return;
  cuda("cuMemFree_v2", found->second.address);
  device.present.erase(found);
}

void enter(int number, std::size_t n, void** hosts, std::size_t* sizes, unsigned short* kinds) {
  Device& device = use(number);
  for (std::size_t i = 0; i < n; ++i) {
    if ((kinds[i] & 255) != kUseDevicePointer) {
      map(device, hosts[i], sizes[i]);
    } else if (const auto address = find(number, hosts[i], 1); address != 0) {
      hosts[i] = reinterpret_cast<void*>(address);
    }
  }
}

void leave(int number, std::size_t n, void** hosts) {
  Device& device = use(number);
  for (std::size_t i = 0; i < n; ++i) unmap(device, hosts[i]);
}

void update(int number, std::size_t n, void** hosts, std::size_t* sizes, unsigned short* kinds) {
  use(number);
  for (std::size_t i = 0; i < n; ++i) {
    const auto address = find(number, hosts[i], sizes[i]);
    if (address == 0) continue;
    if ((kinds[i] & 255) == kForceFrom || (kinds[i] & 255) == 2) {
      cuda("cuMemcpyDtoH_v2", hosts[i], address, sizes[i]);
    } else {
      cuda("cuMemcpyHtoD_v2", address, const_cast<const void*>(hosts[i]), sizes[i]);
    }
  }
}

void launch(int number, void (*kernel)(void*), std::size_t n, void** hosts, std::size_t* sizes) {
  use(number);
  std::vector<void*> arguments(hosts, hosts + n);
  std::vector<std::vector<char>> scratch(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto address = sizes[i] == 0 ? 0 : find(number, hosts[i], sizes[i]);
    if (address == 0) continue;
    scratch[i].resize(sizes[i]);
    arguments[i] = scratch[i].data();
    cuda("cuMemcpyDtoH_v2", arguments[i], address, sizes[i]);
  }
  kernel(arguments.data());
  for (std::size_t i = 0; i < n; ++i) {
    if (scratch[i].empty()) continue;
    cuda("cuMemcpyHtoD_v2", find(number, hosts[i], sizes[i]), static_cast<const void*>(scratch[i].data()), sizes[i]);
  }
}

int number_of_devices() {
  int count = 0;
  cuda("cuInit", 0U);
  cuda("cuDeviceGetCount", &count);
  return count;
}

constexpr int kNvidia = 5;
constexpr int kSynchronous = -2;

}  // namespace

// --- Functions that GCC calls for directives ---

OFFLOAD void GOACC_enter_data(int, std::size_t n, void** hosts, std::size_t* sizes, unsigned short* kinds, int async,
                              int, ...) {
  openacc_is_used();
  enter(-1, n, hosts, sizes, kinds);
  if (async != kSynchronous) busy = true;
}
OFFLOAD void GOACC_exit_data(int, std::size_t n, void** hosts, std::size_t*, unsigned short*, int, int, ...) {
  openacc_is_used();
  leave(-1, n, hosts);
}
OFFLOAD void GOACC_data_start(int, std::size_t n, void** hosts, std::size_t* sizes, unsigned short* kinds) {
  openacc_is_used();
  enter(-1, n, hosts, sizes, kinds);
}
OFFLOAD void GOACC_data_end() {}
OFFLOAD void GOACC_update(int, std::size_t n, void** hosts, std::size_t* sizes, unsigned short* kinds, int async, int,
                          ...) {
  openacc_is_used();
  update(-1, n, hosts, sizes, kinds);
  if (async != kSynchronous) busy = true;
}
OFFLOAD void GOACC_wait(int, int, ...) { busy = false; }
OFFLOAD void GOACC_parallel_keyed(int, void (*kernel)(void*), std::size_t n, void** hosts, std::size_t* sizes,
                                  unsigned short*, ...) {
  openacc_is_used();
  launch(-1, kernel, n, hosts, sizes);
}
OFFLOAD void GOMP_target_enter_exit_data(int device, std::size_t n, void** hosts, std::size_t* sizes,
                                         unsigned short* kinds, unsigned flags, void**) {
  by_openmp = true;
  if ((flags & 2) != 0) {
    leave(device, n, hosts);
  } else {
    enter(device, n, hosts, sizes, kinds);
  }
}
OFFLOAD void GOMP_target_data_ext(int device, std::size_t n, void** hosts, std::size_t* sizes, unsigned short* kinds) {
  by_openmp = true;
  enter(device, n, hosts, sizes, kinds);
}
OFFLOAD void GOMP_target_end_data() {}
OFFLOAD void GOMP_target_update_ext(int device, std::size_t n, void** hosts, std::size_t* sizes, unsigned short* kinds,
                                    unsigned, void**) {
  by_openmp = true;
  update(device, n, hosts, sizes, kinds);
}
OFFLOAD void GOMP_target_ext(int device, void (*kernel)(void*), std::size_t n, void** hosts, std::size_t* sizes,
                             unsigned short*, unsigned, void**, void**) {
  by_openmp = true;
  launch(device, kernel, n, hosts, sizes);
}

// --- Functions of OpenACC and OpenMP ---

OFFLOAD int acc_get_num_devices(int) { return number_of_devices(); }
OFFLOAD int acc_get_device_type() { return kNvidia; }
OFFLOAD int acc_get_device_num(int) { return current; }
OFFLOAD void acc_set_device_num(int number, int) {
  openacc_is_used();
  current = number;
  use(number);
}
OFFLOAD int acc_is_present(void* host, std::size_t bytes) {
  openacc_is_used();
  return find(-1, host, bytes) != 0 ? 1 : 0;
}
OFFLOAD void* acc_deviceptr(void* host) {
  openacc_is_used();
  return reinterpret_cast<void*>(find(-1, host, 1));
}
OFFLOAD int acc_async_test_all() {
  if (!by_openacc) {
    std::fprintf(stderr, "fake_offload: no device active\n");
    std::_Exit(1);
  }
  return busy ? 0 : 1;
}
OFFLOAD int omp_get_num_devices() { return number_of_devices(); }
OFFLOAD void omp_set_default_device(int number) { current = number; }
OFFLOAD int omp_get_default_device() { return current; }
OFFLOAD int omp_target_is_present(const void* host, int device) { return find(device, host, 1) != 0 ? 1 : 0; }
OFFLOAD void* omp_get_mapped_ptr(const void* host, int device) {
  return reinterpret_cast<void*>(find(device, host, 1));
}
