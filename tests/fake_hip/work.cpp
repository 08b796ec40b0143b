// Streams, events, copies, stream memory operations, modules and kernels.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "../fake_cuda/non_coherent.hpp"
#include "../fake_cuda/stream_state.hpp"
#include "driver_calls.hpp"
#include "runtime.hpp"

namespace fake_hip {

Result native_stream(void* stream, void** native) {
  *native = stream;
  if (reinterpret_cast<std::uintptr_t>(stream) == 1 && rocm() < 6) return kInvalidHandle;
  return enter();
}

namespace {

template <class Work>
Result in_stream(void* stream, const Work& work, const char* call = __builtin_FUNCTION()) {
  void* native = nullptr;
  const Result result = native_stream(stream, &native);
  return done(result == kSuccess ? work(native) : result, call);
}

constexpr int kMostKinds = 4;  // hipMemcpyDefault

// Returns the device whose engine must copy pool memory, because the driver lets no other device access it; for other
// memory, the current device.
Context* owner_of(Address address) {
  int device = current_device();
  {
    std::lock_guard lock(fake_cuda::state().mutex);
    const fake_cuda::Allocation* const found = fake_cuda::find_allocation(address);
    if (found != nullptr && found->kind == fake_cuda::Kind::kPool) device = found->device;
  }
  return context_of(device);
}

// The runtime finds the devices from the addresses.
Result copy(Address to, Address from, std::size_t bytes, void* stream) {
  Context* const target = owner_of(to);
  Context* const source = owner_of(from);
  return target == source && target == fake_cuda::current_context()
             ? cuMemcpyAsync(to, from, bytes, stream)
             : cuMemcpyPeerAsync(to, target, from, source, bytes, stream);
}

}  // namespace
}  // namespace fake_hip

using namespace fake_hip;

FAKE_HIP hipStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  if (const Result result = enter(); result != kSuccess) return done(result);
  return done(cuStreamCreateWithPriority(stream, flags, priority));
}
FAKE_HIP hipStreamCreateWithFlags(void** stream, unsigned flags) {
  return hipStreamCreateWithPriority(stream, flags, 0);
}
FAKE_HIP hipStreamDestroy(void* stream) {
  return in_stream(stream, [](void* native) { return cuStreamDestroy_v2(native); });
}
FAKE_HIP hipStreamSynchronize(void* stream) {
  return in_stream(stream, [](void* native) { return cuStreamSynchronize(native); });
}
FAKE_HIP hipStreamQuery(void* stream) {
  return in_stream(stream, [](void* native) { return cuStreamQuery(native); });
}
FAKE_HIP hipStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return in_stream(stream, [&](void* native) { return cuStreamWaitEvent(native, event, flags); });
}
FAKE_HIP hipStreamIsCapturing(void* stream, int* status) {
  return in_stream(stream, [&](void* native) { return cuStreamIsCapturing(native, status); });
}
FAKE_HIP hipStreamBeginCapture(void* stream, int mode) {
  return in_stream(stream, [&](void* native) { return cuStreamBeginCapture_v2(native, mode); });
}
FAKE_HIP hipStreamEndCapture(void* stream, void** graph) {
  return in_stream(stream, [&](void* native) { return cuStreamEndCapture(native, graph); });
}
FAKE_HIP hipGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
  return done(cuGraphInstantiateWithFlags(executable, graph, flags));
}
FAKE_HIP hipGraphDestroy(void* graph) { return done(cuGraphDestroy(graph)); }
FAKE_HIP hipGraphExecDestroy(void* executable) { return done(cuGraphExecDestroy(executable)); }
FAKE_HIP hipGraphLaunch(void* executable, void* stream) {
  return in_stream(stream, [&](void* native) { return cuGraphLaunch(executable, native); });
}
FAKE_HIP hipThreadExchangeStreamCaptureMode(int* mode) { return done(cuThreadExchangeStreamCaptureMode(mode)); }
FAKE_HIP hipStreamGetDevice(void* stream, int* device) {
  return in_stream(stream, [&](void* native) {
    Context* context = nullptr;
    const Result result = cuStreamGetCtx(native, &context);
    if (result == kSuccess) *device = context->device;
    return result;
  });
}

// --- stream memory operations: they are not captured, but done at once ---

namespace {

Result at_once(void* native, const std::function<Result()>& work) {
  fake_cuda::Stream* stream = nullptr;
  const Result result = fake_cuda::use_stream(fake_cuda::current_context(), native, &stream);
  if (result == kSuccess) fake_cuda::enqueue(stream, work, nullptr, false);
  return result;
}

// The word is compared as an unsigned number.
bool holds(unsigned condition, std::uint32_t word, std::uint32_t value, std::uint32_t mask) {
  enum : unsigned { kGreaterOrEqual = 0, kEqual = 1, kAnd = 2 };
  switch (condition) {
    case kGreaterOrEqual:
      return (word & mask) >= value;
    case kEqual:
      return (word & mask) == value;
    case kAnd:
      return (word & mask & value) != 0;
    default:
      return ((word | value) & mask) != mask;
  }
}

}  // namespace

FAKE_HIP hipStreamWriteValue32(void* stream, Address address, std::uint32_t value, unsigned) {
  return in_stream(stream, [&](void* native) {
    {
      std::lock_guard lock(fake_cuda::state().mutex);
      if (address % sizeof value != 0 || fake_cuda::find_allocation(address) == nullptr) return kInvalidValue;
    }
    return at_once(native, [address, value] {
      auto* const at = static_cast<std::uint32_t*>(fake_cuda::non_coherent::device_view(address));
      __atomic_store_n(at, value, __ATOMIC_RELEASE);
      return kSuccess;
    });
  });
}
FAKE_HIP hipStreamWaitValue32(void* stream, Address address, std::uint32_t value, unsigned flags, std::uint32_t mask) {
  constexpr unsigned kMostConditions = 3;
  if (!is_signal(address) || flags > kMostConditions) return done(kInvalidValue);
  return in_stream(stream, [&](void* native) {
    return at_once(native, [at = reinterpret_cast<std::uint32_t*>(address), value, flags, mask] {
      while (!holds(flags, __atomic_load_n(at, __ATOMIC_ACQUIRE), value, mask))
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      return kSuccess;
    });
  });
}

FAKE_HIP hipEventCreateWithFlags(void** event, unsigned flags) {
  constexpr unsigned kDrivers = 7, kDisableFence = 0x20000000, kToDevice = 0x40000000, kToSystem = 0x80000000;
  if ((flags & ~(kDrivers | kDisableFence | kToDevice | kToSystem)) != 0) return done(kInvalidValue);
  if (const Result result = enter(); result != kSuccess) return done(result);
  const Result result = cuEventCreate(event, flags & kDrivers);
  if (result == kSuccess) static_cast<fake_cuda::Event*>(*event)->releases_to_system = (flags & kToSystem) != 0;
  return done(result);
}
FAKE_HIP hipEventDestroy(void* event) { return done(cuEventDestroy_v2(event)); }
FAKE_HIP hipEventRecord(void* event, void* stream) {
  return in_stream(stream, [&](void* native) { return cuEventRecord(event, native); });
}
FAKE_HIP hipEventQuery(void* event) { return done(cuEventQuery(event)); }
FAKE_HIP hipEventSynchronize(void* event) { return done(cuEventSynchronize(event)); }

FAKE_HIP hipMemcpyAsync(Address to, Address from, std::size_t bytes, int kind, void* stream) {
  if (kind < 0 || kind > kMostKinds) return done(kInvalidValue);
  return in_stream(stream, [&](void* native) { return copy(to, from, bytes, native); });
}
FAKE_HIP hipMemcpy(Address to, Address from, std::size_t bytes, int kind) {
  if (kind < 0 || kind > kMostKinds) return done(kInvalidValue);
  return in_stream(nullptr, [&](void*) { return cuMemcpy(to, from, bytes); });
}
FAKE_HIP hipMemsetAsync(Address to, int value, std::size_t bytes, void* stream) {
  return in_stream(stream,
                   [&](void* native) { return cuMemsetD8Async(to, static_cast<unsigned char>(value), bytes, native); });
}
FAKE_HIP hipMemset(Address to, int value, std::size_t bytes) {
  return in_stream(nullptr, [&](void* native) {
    const Result result = cuMemsetD8Async(to, static_cast<unsigned char>(value), bytes, native);
    return result == kSuccess ? cuStreamSynchronize(native) : result;
  });
}
FAKE_HIP hipMemcpy2DAsync(Address to, std::size_t to_pitch, Address from, std::size_t from_pitch, std::size_t width,
                          std::size_t height, int kind, void* stream) {
  if (kind < 0 || kind > kMostKinds || to_pitch < width || from_pitch < width) return done(kInvalidValue);
  RowCopy copy;
  copy.source = from;
  copy.source_pitch = from_pitch;
  copy.target = to;
  copy.target_pitch = to_pitch;
  copy.width = width;
  copy.height = height;
  return in_stream(stream, [&](void* native) { return cuMemcpy2DAsync_v2(&copy, native); });
}
FAKE_HIP hipMemcpyPeerAsync(Address to, int to_device, Address from, int from_device, std::size_t bytes, void* stream) {
  Context* const target = context_of(to_device);
  Context* const source = context_of(from_device);
  if (target == nullptr || source == nullptr) return done(fake_cuda::kInvalidDevice);
  return in_stream(stream, [&](void* native) { return cuMemcpyPeerAsync(to, target, from, source, bytes, native); });
}

// --- modules: a bundle of code objects, followed by the name of the kernels compiled for the CPU ---

namespace {

constexpr char kBundle[] = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::size_t kMagicBytes = sizeof kBundle - 1;

std::uint64_t word_at(const unsigned char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Returns null if the image is not a bundle, or no name follows it.
const char* name_behind(const unsigned char* image) {
  if (std::memcmp(image, kBundle, kMagicBytes) != 0) return nullptr;
  const std::uint64_t count = word_at(image + kMagicBytes);
  const unsigned char* entry = image + kMagicBytes + 8;
  std::uint64_t end = kMagicBytes + 8;
  for (std::uint64_t i = 0; i < count; ++i) {
    end = std::max(end, word_at(entry) + word_at(entry + 8));
    entry += 24 + word_at(entry + 16);
  }
  end = std::max(end, static_cast<std::uint64_t>(entry - image));
  return std::memcmp(image + end, "HRKERNEL", 8) == 0 ? reinterpret_cast<const char*>(image + end + 8) : nullptr;
}

// Creates an image without code that names the kernels, in the form that the driver expects.
std::vector<unsigned char> driver_image(const std::string& name) {
  std::vector<unsigned char> image{0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const std::string trailer = "HRKERNEL" + name;
  image.insert(image.end(), trailer.begin(), trailer.end());
  image.push_back(0);
  return image;
}

}  // namespace

FAKE_HIP hipModuleLoadData(void** module, const void* image) {
  if (const Result result = enter(); result != kSuccess) return done(result);
  const char* const name = name_behind(static_cast<const unsigned char*>(image));
  if (name == nullptr) return done(fake_cuda::kInvalidImage);
  return done(cuModuleLoadData(module, driver_image(name).data()));
}
FAKE_HIP hipModuleUnload(void* module) { return done(cuModuleUnload(module)); }
FAKE_HIP hipModuleGetFunction(void** function, void* module, const char* name) {
  return done(cuModuleGetFunction(function, module, name));
}
FAKE_HIP hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream,
                               void** arguments, void** extra) {
  return in_stream(stream, [&](void* native) {
    return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, native, arguments,
                          extra);
  });
}
