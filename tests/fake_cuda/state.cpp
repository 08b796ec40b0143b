#include "state.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace fake_cuda {
namespace {
std::atomic<pid_t> initialized_in{0};

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}
}  // namespace

State& state() {
  static State* instance = [] {
    auto* made = new State;
    made->instances = static_cast<int>(number_of("FAKE_CUDA_MIG", 0));
    const char* mode = std::getenv("FAKE_CUDA_COMPUTE_MODE");
    if (mode != nullptr) made->compute_mode = std::strcmp(mode, "exclusive") == 0 ? 3 : 2;
    made->physical = visible_devices(static_cast<int>(number_of("FAKE_CUDA_DEVICES", 2)));
    if (made->instances > 0 && !made->physical.empty()) {
      made->physical.erase(made->physical.begin() + 1, made->physical.end());  // a process sees one
    }
    made->devices = static_cast<int>(made->physical.size());
    made->whole_reservations = number_of("FAKE_CUDA_WHOLE_RESERVATIONS", 0) != 0;
    made->device_bytes = number_of("FAKE_CUDA_MEMORY", std::uint64_t{16} << 30);
    return made;
  }();
  return *instance;
}

Result require_init(const char* call) {
  if (initialized_in.load() != ::getpid()) return kNotInitialized;
  const Result result = injected(call);
  return result == kSuccess ? allowed_while_capturing(call) : result;
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API Result cuInit(unsigned flags) {
  if (flags != 0) return kInvalidValue;
  if (state().devices == 0) return 100;  // CUDA_ERROR_NO_DEVICE
  const pid_t before = initialized_in.load();
  if (before != 0 && before != ::getpid()) return kNotInitialized;  // a forked child cannot use its parent's driver
  if (const Result result = injected("cuInit"); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  if (!job::join()) return kOperatingSystem;
  initialized_in.store(::getpid());
  return kSuccess;
}

FAKE_API Result cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}

namespace {
struct ErrorName {
  Result code;
  const char* name;
  const char* text;
};
constexpr ErrorName kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kDeviceUnavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kMapFailed, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {kPeerAccessUnsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these two devices"},
    {kFileNotFound, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {kOperatingSystem, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kPeerAccessAlreadyEnabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {kPeerAccessNotEnabled, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {kHostAlreadyRegistered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range "
     "is already mapped"},
    {kHostNotRegistered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory "
     "region"},
    {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {kIllegalState, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {kCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
    {kCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {kCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {kCapturedEvent, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {kCaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {kUnknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};
const ErrorName* find_error(Result code) {
  for (const ErrorName& error : kErrors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}
}  // namespace

FAKE_API Result cuGetErrorName(Result code, const char** name) {
  const ErrorName* error = find_error(code);
  *name = error == nullptr ? nullptr : error->name;
  return error == nullptr ? kInvalidValue : kSuccess;
}
FAKE_API Result cuGetErrorString(Result code, const char** text) {
  const ErrorName* error = find_error(code);
  *text = error == nullptr ? nullptr : error->text;
  return error == nullptr ? kInvalidValue : kSuccess;
}
