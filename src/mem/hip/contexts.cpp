#include "mem/hip/contexts.hpp"

#include "mem/hip/runtime.hpp"

namespace hr::mem::hip {
namespace {

// More than a host has, including partitions of devices.
constexpr int kMostDevices = 256;
const char handles[kMostDevices] = {};  // the addresses of these elements are the handles

// Devices that were current before each push of this thread; the library nests only a few.
constexpr int kDeepest = 32;
struct Pushed {
  int before[kDeepest];
  int count = 0;
};
thread_local Pushed pushed;

Result make_current(int device) {
  int now = -1;
  const QuietCalls quietly;
  if (const Result result = quietly(runtime().hipGetDevice(&now)); result != device::kSuccess) return result;
  return now == device ? device::kSuccess : quietly(runtime().hipSetDevice(device));
}

}  // namespace

device::ContextHandle context_of(int device) noexcept {
  return device >= 0 && device < kMostDevices ? const_cast<char*>(&handles[device]) : nullptr;
}

int device_of(device::ContextHandle context) noexcept {
  const auto offset = reinterpret_cast<std::uintptr_t>(context) - reinterpret_cast<std::uintptr_t>(handles);
  return offset < kMostDevices ? static_cast<int>(offset) : -1;
}

// Before ROCm 7, the current device may be reported as active even if it is not used. "Not in use" is the safe answer:
// the checks then report no mistake.
Result primary_state(int device, unsigned* flags, int* active) {
  *flags = 0;
  *active = 0;
  if (runtime().major < 7) return device::kSuccess;
  const QuietCalls quietly;
  return quietly(runtime().hipDevicePrimaryCtxGetState(device, flags, active));
}

Result primary_retain(device::ContextHandle* context, int device) {
  *context = context_of(device);
  return *context == nullptr ? kInvalidContext : device::kSuccess;
}

Result primary_release(int) { return device::kSuccess; }

Result context_push(device::ContextHandle context) {
  const int device = device_of(context);
  if (device < 0 || pushed.count == kDeepest) return kInvalidContext;
  int before = 0;
  const QuietCalls quietly;
  if (const Result result = quietly(runtime().hipGetDevice(&before)); result != device::kSuccess) return result;
  if (before != device) {
    if (const Result result = quietly(runtime().hipSetDevice(device)); result != device::kSuccess) return result;
  }
  pushed.before[pushed.count++] = before;
  return device::kSuccess;
}

Result context_pop(device::ContextHandle* context) {
  if (pushed.count == 0) return kInvalidContext;
  if (const Result result = context_current(context); result != device::kSuccess) return result;
  return make_current(pushed.before[--pushed.count]);
}

Result context_current(device::ContextHandle* context) {
  int device = -1;
  const QuietCalls quietly;
  const Result result = quietly(runtime().hipGetDevice(&device));
  *context = result == device::kSuccess ? context_of(device) : nullptr;
  return result;
}

// Always fails, as pool memory cannot be distinguished from other memory, and kernels of another device may access it
// only if the pool's owner allows that. Copies between devices need no access.
Result context_enable_peer(device::ContextHandle, unsigned) { return kNotFound; }

Result context_id(device::ContextHandle context, unsigned long long* id) {
  const int device = device_of(context);
  *id = static_cast<unsigned long long>(device) + 1;
  return device < 0 ? kInvalidContext : device::kSuccess;
}

}  // namespace hr::mem::hip
