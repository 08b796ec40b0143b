#include "mem/mem.hpp"

#include "mem/cuda/context.hpp"
#include "mem/cuda/driver.hpp"
#include "mem/cuda/ipc.hpp"
#include "mem/known_host.hpp"

namespace hr::mem {
namespace detail {

bool maybe_cuda = true;

namespace {

// The CPU may touch managed memory: what the program has put on the legacy default stream for it must be done.
// The owning context and the caller's current one are where such work can be expected.
Status finish_default_stream(const Location& location) {
  const cuda::Driver& driver = cuda::driver();
  void* current = nullptr;
  (void)driver.context_current(&current);
  if (current != nullptr) {
    HR_CUDA(location.device, stream_synchronize, (cuda::legacy_stream()), "waiting for the default stream");
  }
  if (location.context != nullptr && location.context != current) {
    HR_CUDA(location.device, context_push, (location.context), "context %p", location.context);
    const cuda::Result result = driver.stream_synchronize(cuda::legacy_stream());
    (void)driver.context_pop(&current);
    HR_TRY(cuda::report(result, "stream_synchronize", location.device, "waiting for the default stream"));
  }
  return kOk;
}

}  // namespace

Status classify_slow(const void* address, Location* location) {
  *location = Location{};
  const cuda::Driver* driver = cuda::find_driver();
  if (driver == nullptr || known_host(address)) return kOk;

  // Most buffers are host memory, which a query for one thing tells in less time.
  unsigned memory_type = 0;
  int attributes[] = {cuda::kAttributeMemoryType,    cuda::kAttributeIsManaged,  cuda::kAttributeContext,
                      cuda::kAttributeDeviceOrdinal, cuda::kAttributeRangeStart, cuda::kAttributeRangeSize,
                      cuda::kAttributeBufferId};
  unsigned managed = 0;
  void* context = nullptr;
  int device = -1;
  cuda::DeviceAddress start = 0;
  std::size_t size = 0;
  unsigned long long id = 0;
  void* values[] = {&memory_type, &managed, &context, &device, &start, &size, &id};
  const auto pointer = reinterpret_cast<std::uintptr_t>(address);
  cuda::Result result = driver->pointer_get_attributes(1, attributes, values, pointer);
  if (result == cuda::kSuccess && memory_type == 0) return kOk;
  if (result == cuda::kSuccess) {
    result = driver->pointer_get_attributes(sizeof attributes / sizeof *attributes, attributes, values, pointer);
  }
  if (result != cuda::kSuccess) [[unlikely]] {
    // Before cuInit nothing can be device memory; an unknown address is host memory.
    if (result == cuda::kNotInitialized || result == cuda::kDeinitialized || result == cuda::kInvalidValue) return kOk;
    const cuda::ErrorText error = cuda::error_text(result);
    return fail(Errc::kBuffer, "cuPointerGetAttributes for buffer %p failed: %s (%s)", address, error.name, error.text);
  }
  if (memory_type == 0) return kOk;
  if (memory_type == cuda::kMemoryTypeHost && managed == 0) {
    location->pinned = true;
    return kOk;
  }
  location->kind = managed != 0 ? Kind::kManaged : Kind::kDevice;
  location->device = static_cast<std::int16_t>(device);
  location->context = context;
  location->base = static_cast<std::uintptr_t>(start);
  location->bytes = size;
  location->id = id;
  return managed != 0 ? finish_default_stream(*location) : kOk;
}

}  // namespace detail

Status check_range(const void* address, std::size_t bytes, const Location& location) {
  if (!location.is_device() || bytes == 0) return kOk;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const auto outside = [&](const char* why) {
    return fail(Errc::kBuffer, "buffer %p, %zu bytes: %s its allocation of %zu bytes at %#zx on CUDA device %d",
                address, bytes, why, location.bytes, static_cast<std::size_t>(location.base),
                static_cast<int>(location.device));
  };
  if (location.bytes != 0 && (begin < location.base || bytes > location.base + location.bytes - begin)) {
    return outside("leaves");
  }
  if (location.context == nullptr) {
    // A reserved range (VMM) may be mapped in part only: the last byte must be backed by memory too.
    int mapped = 1;
    const cuda::Result result =
        cuda::driver().pointer_get_attribute(&mapped, cuda::kAttributeMapped, begin + bytes - 1);
    if (result == cuda::kSuccess && mapped == 0) return outside("ends in an unmapped part of");
  }
  return kOk;
}

Status allocate_like(const Location& like, std::size_t bytes, void** address) {
  cuda::Context* context = nullptr;
  HR_TRY(cuda::Context::of(like, &context));
  cuda::Current current(*context);
  HR_TRY(current.status());
  cuda::DeviceAddress allocated = 0;
  HR_CUDA(context->device(), memory_allocate, (&allocated, bytes), "%zu bytes", bytes);
  *address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(allocated));
  return kOk;
}

Status free_like(const Location& like, void* address) {
  if (address == nullptr) return kOk;
  cuda::Context* context = nullptr;
  HR_TRY(cuda::Context::of(like, &context));
  cuda::Current current(*context);
  HR_TRY(current.status());
  HR_CUDA(context->device(), memory_free, (reinterpret_cast<std::uintptr_t>(address)), "memory at %p", address);
  return kOk;
}

void sweep_exports(void (*revoke)(int process, std::uint64_t allocation)) { cuda::sweep_exports(revoke); }
bool any_exports() noexcept { return cuda::any_exports(); }
void forget_peer_memory(int process, std::uint64_t allocation) noexcept { cuda::revoke_import(process, allocation); }

bool cuda_available() {
  const cuda::Driver* driver = cuda::find_driver();
  int devices = 0;
  return driver != nullptr && driver->init(0) == cuda::kSuccess &&
         driver->device_get_count(&devices) == cuda::kSuccess && devices > 0;
}

void shutdown() {
  if (cuda::find_driver() != nullptr) (void)cuda::release_contexts();
}

}  // namespace hr::mem
