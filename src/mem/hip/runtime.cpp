#include "mem/hip/runtime.hpp"

#include <dlfcn.h>

#include "base/log.hpp"

namespace hr::mem::hip {
namespace {

Runtime loaded;

// A process must not contain two runtimes, as neither knows the other's memory. Frameworks bring their own runtime,
// under the name without a version.
constexpr const char* kNames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};

void* open_library(const char** name) {
  for (const int flags : {RTLD_NOLOAD, 0}) {
    for (const char* const each : kNames) {
      *name = each;
      if (void* library = ::dlopen(each, RTLD_NOW | RTLD_LOCAL | flags); library != nullptr) return library;
    }
  }
  return nullptr;
}

}  // namespace

const Runtime& runtime() noexcept { return loaded; }

bool open_runtime() {
  const char* name = nullptr;
  void* const library = open_library(&name);
  if (library == nullptr) {
    log::write(log::Level::kDecision, "no HIP runtime: %s", ::dlerror());
    return false;
  }
  const char* missing = nullptr;
#define HR_HIP_LOAD(symbol, parameters)                                                 \
  loaded.symbol = reinterpret_cast<decltype(loaded.symbol)>(::dlsym(library, #symbol)); \
  if (loaded.symbol == nullptr) missing = #symbol;
  HR_HIP_OPTIONAL_FUNCTIONS(HR_HIP_LOAD)
  missing = nullptr;
  HR_HIP_FUNCTIONS(HR_HIP_LOAD)
  HR_HIP_TEXT_FUNCTIONS(HR_HIP_LOAD)
#undef HR_HIP_LOAD
  if (missing != nullptr) {
    log::write(log::Level::kError,
               "the HIP runtime (%s) lacks %s: it is older than ROCm 5.2 or half installed, and is not used", name,
               missing);
    return false;
  }
  int version = 0;
  int devices = 0;
  Result result = loaded.hipRuntimeGetVersion(&version);
  if (result == device::kSuccess) result = loaded.hipGetDeviceCount(&devices);
  static_cast<void>(loaded.hipGetLastError());
  if (result != device::kSuccess || devices == 0) {
    log::write(log::Level::kDecision, "the HIP runtime (%s) sees no device (%s): all memory is host memory", name,
               loaded.hipGetErrorName(result));
    return false;
  }
  constexpr int kOldest = 502, kHundredth = 100000;  // version / kHundredth: 100 * major + minor
  if (version / kHundredth < kOldest) {
    log::write(log::Level::kError, "the HIP runtime (%s) is of ROCm %d.%d: 5.2 is needed, and it is not used", name,
               version / kHundredth / 100, version / kHundredth % 100);
    return false;
  }
  loaded.version = version / kHundredth;
  loaded.major = loaded.version / 100;
  return true;
}

}  // namespace hr::mem::hip
