// Devices, the current device of each thread, versions and errors.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "driver_calls.hpp"
#include "runtime.hpp"

namespace fake_hip {
namespace {

thread_local Result last_error = kSuccess;

std::vector<std::string> entries_of(const char* list) {
  std::vector<std::string> entries;
  const std::string text = list;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    entries.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return entries;
}

// ROCR_VISIBLE_DEVICES hides devices from the runtime; the runtime's own variables number the remaining ones.
void apply_visible_devices() {
  const char* const rocr = std::getenv("ROCR_VISIBLE_DEVICES");
  const char* hip = std::getenv("HIP_VISIBLE_DEVICES");
  if (hip == nullptr && rocr != nullptr) hip = std::getenv("CUDA_VISIBLE_DEVICES");
  if (rocr == nullptr && hip == nullptr) return;
  std::string visible;
  if (rocr == nullptr) {
    visible = hip;
  } else if (hip == nullptr) {
    visible = rocr;
  } else {
    const std::vector<std::string> left = entries_of(rocr);
    for (const std::string& entry : entries_of(hip)) {
      const auto number = static_cast<std::size_t>(std::strtoul(entry.c_str(), nullptr, 10));
      if (number >= left.size()) break;
      visible += (visible.empty() ? "" : ",") + left[number];
    }
  }
  (void)::setenv("CUDA_VISIBLE_DEVICES", visible.c_str(), 1);
}

Result start() {
  static const bool applied = [] {
    apply_visible_devices();
    return true;
  }();
  (void)applied;
  int devices = 0;
  if (cuDeviceGetCount(&devices) == kSuccess) return kSuccess;
  return cuInit(0);
}

// Streams share four hardware queues per priority.
[[maybe_unused]] const std::size_t queues = fake_cuda::hardware_queues() = [] {
  constexpr std::size_t kUsual = 4;
  const char* const count = std::getenv("GPU_MAX_HW_QUEUES");
  return count == nullptr ? kUsual : std::strtoul(count, nullptr, 10);
}();

// Memory from hipMalloc is coarse-grained, unless a test sets this variable, so that the program need not call
// hipExtMallocWithFlags().
[[maybe_unused]] const bool late = fake_cuda::late_stores() = std::getenv("FAKE_HIP_FINE_GRAINED") == nullptr;

[[maybe_unused]] const bool stays = fake_cuda::managed_pages_stay() = !managed_memory_migrates();

[[maybe_unused]] const auto maker = fake_cuda::job::maker() = fake_cuda::job::Maker::kHip;

struct Name {
  Result code;
  const char* name;
};
constexpr Name kNames[] = {{0, "hipSuccess"},
                           {1, "hipErrorInvalidValue"},
                           {2, "hipErrorOutOfMemory"},
                           {3, "hipErrorNotInitialized"},
                           {17, "hipErrorInvalidDevicePointer"},
                           {100, "hipErrorNoDevice"},
                           {101, "hipErrorInvalidDevice"},
                           {200, "hipErrorInvalidImage"},
                           {201, "hipErrorInvalidContext"},
                           {209, "hipErrorNoBinaryForGpu"},
                           {217, "hipErrorPeerAccessUnsupported"},
                           {301, "hipErrorFileNotFound"},
                           {400, "hipErrorInvalidHandle"},
                           {500, "hipErrorNotFound"},
                           {600, "hipErrorNotReady"},
                           {700, "hipErrorIllegalAddress"},
                           {704, "hipErrorPeerAccessAlreadyEnabled"},
                           {712, "hipErrorHostMemoryAlreadyRegistered"},
                           {713, "hipErrorHostMemoryNotRegistered"},
                           {801, "hipErrorNotSupported"},
                           {900, "hipErrorStreamCaptureUnsupported"},
                           {906, "hipErrorStreamCaptureImplicit"}};

}  // namespace

int rocm_version() {
  static const int version = [] {
    const char* const text = std::getenv("FAKE_HIP_ROCM");
    int major = 7, minor = 0;
    if (text != nullptr && std::sscanf(text, "%d.%d", &major, &minor) < 1) major = 7;
    return major >= 5 && major <= 7 ? 100 * major + minor : 700;
  }();
  return version;
}

bool managed_memory_migrates() {
  const char* const xnack = std::getenv("FAKE_HIP_XNACK");
  return xnack == nullptr || std::strcmp(xnack, "0") != 0;
}

void crash(const char* call, const char* why) {
  std::fprintf(stderr, "fake_hip: %s: %s\n", call, why);
  std::abort();
}

Result done(Result result, const char* call) {
  fake_cuda::count(call);
  if (result != kSuccess || rocm() < 7) last_error = result;
  return result;
}

Context* context_of(int device) {
  if (start() != kSuccess || !fake_cuda::valid_device(device)) return nullptr;
  {
    std::lock_guard lock(fake_cuda::state().mutex);
    const auto& primaries = fake_cuda::state().primaries;
    if (const auto found = primaries.find(device); found != primaries.end()) return found->second;
  }
  Context* made = nullptr;
  return cuDevicePrimaryCtxRetain(&made, device) == kSuccess ? made : nullptr;
}

Result choose(int device) {
  if (const Result result = start(); result != kSuccess) return result;
  Context* const context = context_of(device);
  return context == nullptr ? fake_cuda::kInvalidDevice : cuCtxSetCurrent(context);
}

int current_device() {
  const Context* const context = fake_cuda::current_context();
  return context == nullptr ? 0 : context->device;
}

Result enter() {
  if (const Result result = start(); result != kSuccess) return result;
  return fake_cuda::current_context() == nullptr ? choose(0) : kSuccess;
}

}  // namespace fake_hip

using namespace fake_hip;

FAKE_HIP hipInit(unsigned flags) { return done(flags != 0 ? kInvalidValue : enter()); }

FAKE_HIP hipRuntimeGetVersion(int* version) {
  constexpr int kHundredth = 100000, kPatch = 31153;
  constexpr int kMinor[] = {2, 2, 0};  // of "5", "6" and "7"
  const int minor = rocm_version() % 100;
  *version = (rocm() * 100 + (minor == 0 ? kMinor[rocm() - 5] : minor)) * kHundredth + kPatch;
  return done(kSuccess);
}
FAKE_HIP hipDriverGetVersion(int* version) { return hipRuntimeGetVersion(version); }

FAKE_HIP hipGetLastError() {
  fake_cuda::count("hipGetLastError");
  const Result result = last_error;
  last_error = kSuccess;
  return result;
}
FAKE_HIP hipPeekAtLastError() {
  fake_cuda::count("hipPeekAtLastError");
  return last_error;
}

extern "C" __attribute__((visibility("default"))) const char* hipGetErrorName(Result code) {
  for (const Name& each : kNames) {
    if (each.code == code) return each.name;
  }
  return "hipErrorUnknown";
}
extern "C" __attribute__((visibility("default"))) const char* hipGetErrorString(Result code) {
  const char* text = nullptr;
  return cuGetErrorString(code, &text) == kSuccess ? text : "unknown error";
}

FAKE_HIP hipGetDeviceCount(int* count) {
  *count = 0;
  if (const Result result = start(); result != kSuccess) return done(result);
  return done(cuDeviceGetCount(count));
}
FAKE_HIP hipGetDevice(int* device) {
  if (const Result result = start(); result != kSuccess) return done(result);
  *device = current_device();
  return done(kSuccess);
}
FAKE_HIP hipSetDevice(int device) { return done(choose(device)); }
FAKE_HIP hipDeviceSynchronize() {
  if (const Result result = enter(); result != kSuccess) return done(result);
  return done(cuCtxSynchronize());
}

FAKE_HIP hipDeviceGetName(char* name, int length, int device) {
  if (context_of(device) == nullptr) return done(fake_cuda::kInvalidDevice);
  std::snprintf(name, static_cast<std::size_t>(length), "Fake HIP device %d",
                fake_cuda::state().physical[static_cast<std::size_t>(device)]);
  return done(kSuccess);
}
FAKE_HIP hipDeviceGetPCIBusId(char* text, int length, int device) {
  if (const Result result = start(); result != kSuccess) return done(result);
  return done(cuDeviceGetPCIBusId(text, length, device));
}
FAKE_HIP hipDeviceTotalMem(std::size_t* bytes, int device) {
  if (const Result result = start(); result != kSuccess) return done(result);
  return done(cuDeviceTotalMem_v2(bytes, device));
}
FAKE_HIP hipMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const Result result = enter(); result != kSuccess) return done(result);
  return done(cuMemGetInfo_v2(free, total));
}

// hipDeviceAttribute_t, which has the same values in ROCm 5 to 7.
FAKE_HIP hipDeviceGetAttribute(int* value, int attribute, int device) {
  if (const Result result = start(); result != kSuccess) return done(result);
  if (!fake_cuda::valid_device(device)) return done(fake_cuda::kInvalidDevice);
  switch (attribute) {
    case 59:  // MemoryBusWidth
      *value = 8192;
      break;
    case 60:  // MemoryClockRate, kHz
      *value = 1'600'000;
      break;
    case 63:  // MultiprocessorCount
      *value = 4;
      break;
    case 65:  // PageableMemoryAccess, which is that of devices with XNACK
      *value = managed_memory_migrates() ? 1 : 0;
      break;
    case 67:  // PciBusId
      *value = fake_cuda::state().physical[static_cast<std::size_t>(device)] + 1;
      break;
    case 87:  // WarpSize
      *value = 64;
      break;
    default:
      *value = 0;
  }
  return done(kSuccess);
}

FAKE_HIP hipDeviceCanAccessPeer(int* possible, int device, int peer) {
  if (const Result result = start(); result != kSuccess) return done(result);
  return done(cuDeviceCanAccessPeer(possible, device, peer));
}
FAKE_HIP hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  if (const Result result = enter(); result != kSuccess) return done(result);
  Context* const context = context_of(peer);
  return done(context == nullptr ? fake_cuda::kInvalidDevice : cuCtxEnablePeerAccess(context, flags));
}

// Until ROCm 6, the current device counts as active whether it is used or not.
FAKE_HIP hipDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  if (const Result result = start(); result != kSuccess) return done(result);
  if (!fake_cuda::valid_device(device)) return done(fake_cuda::kInvalidDevice);
  if (rocm() >= 7) return done(cuDevicePrimaryCtxGetState(device, flags, active));
  *flags = 0;
  *active = device == current_device() ? 1 : 0;
  return done(kSuccess);
}
