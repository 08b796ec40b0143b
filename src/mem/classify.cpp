#include <iterator>

#include "base/driver_epoch.hpp"
#include "mem/device.hpp"
#include "mem/device/context.hpp"
#include "mem/independent.hpp"
#include "mem/known_host.hpp"
#include "mem/mem.hpp"
#include "mem/recall.hpp"
#include "mem/residency.hpp"
#include "mem/state.hpp"
#include "mem/thread_heaps.hpp"

namespace hr::mem::detail {

bool maybe_device = true;

namespace {

// True if a query about an address with this result means host memory: nothing can be device memory before the program
// has initialised the driver, nor an address that the driver does not know.
bool means_host(device::Result result) noexcept {
  return result == device::kNotInitialized || result == device::kDeinitialized || result == device::kInvalidValue;
}

// Waits for the default stream of the current context.
Status finish_default_stream(device::ContextHandle handle, int device) {
  if (device::default_stream_barred()) {
    Location like;
    like.kind = Kind::kDevice;
    like.context = handle;
    like.device = static_cast<std::int16_t>(device);
    device::Context* context = nullptr;
    HR_TRY(device::Context::of(like, &context));
    return context->finish_default_stream();
  }
  HR_DEVICE(device, stream_synchronize, (device::legacy_stream()), "waiting for the default stream");
  return kOk;
}

// Waits for the program's work on the legacy default stream, because the CPU may access the managed memory at
// `location` next. Such work can be expected in the owning context and in the caller's current one.
Status finish_default_stream(const Location& location) {
  const device::Driver& driver = device::driver();
  void* current = nullptr;
  int device = location.device;
  (void)driver.context_current(&current);
  if (current != nullptr) {
    (void)driver.context_device(&device);
    HR_TRY(finish_default_stream(current, device));
  }
  if (location.context != nullptr && location.context != current) {
    HR_DEVICE(location.device, context_push, (location.context), "context %p", location.context);
    const Status status = finish_default_stream(location.context, location.device);
    (void)driver.context_pop(&current);
    return status;
  }
  return kOk;
}

// Multiprocessors copy managed memory. If processes are time-sliced on these, the CPU can fetch up to about this many
// bytes before this process gets its next time slice.
constexpr std::size_t kWorthATimeSlice = std::size_t{256} << 10;

bool is_for_host(const void* address, std::size_t bytes, device::ContextHandle handle, int device) {
  if (mapped_for_host(static_cast<const std::byte*>(address) + bytes / 2)) return true;
  if (bytes >= kWorthATimeSlice) return false;
  Location like;
  like.kind = Kind::kDevice;
  like.context = handle;
  like.device = static_cast<std::int16_t>(device);
  device::Context* context = nullptr;
  if (device::Context::of(like, &context).ok()) return context->time_sliced();
  static_cast<void>(take_detail());
  return true;
}

// True if all `bytes` bytes are in one range that the program has registered or allocated with the driver.
bool covers_range(const device::Driver& driver, std::uintptr_t pointer, std::size_t bytes, const Location& range) {
  if (bytes <= 1) return true;
  if (range.bytes != 0) return pointer - range.base < range.bytes && bytes <= range.base + range.bytes - pointer;
  unsigned long long id = 0;
  return driver.pointer_get_attribute(&id, device::kAttributeBufferId, pointer + bytes - 1) == device::kSuccess &&
         id == range.id;
}

Status ask(const device::Driver& driver, const void* address, std::size_t bytes, Location* location) {
  // Most buffers are host memory, which a query for a single attribute recognises in less time. Programs whose last
  // buffer was on a device mostly pass a device buffer again.
  bool& expected = state().last_was_the_drivers;
  unsigned memory_type = 0;
  int attributes[] = {device::kAttributeMemoryType,    device::kAttributeIsManaged,   device::kAttributeContext,
                      device::kAttributeDeviceOrdinal, device::kAttributeRangeStart,  device::kAttributeRangeSize,
                      device::kAttributeBufferId,      device::kAttributeHandleTypes, device::kAttributeHostPointer};
  unsigned managed = 0;
  void* context = nullptr;
  int device = -1;
  device::DeviceAddress start = 0;
  std::size_t size = 0;
  unsigned long long id = 0;
  unsigned long long handle_types = 0;
  void* host = nullptr;
  void* values[] = {&memory_type, &managed, &context, &device, &start, &size, &id, &handle_types, &host};
  const auto pointer = reinterpret_cast<std::uintptr_t>(address);
  device::Result result = device::kSuccess;
  if (!expected) {
    result = driver.pointer_get_attributes(1, attributes, values, pointer);
    if (result == device::kSuccess && memory_type == 0) return kOk;
  }
  if (result == device::kSuccess) {
    result = driver.pointer_get_attributes(sizeof attributes / sizeof *attributes, attributes, values, pointer);
  }
  if (result != device::kSuccess) [[unlikely]] {
    expected = false;
    if (means_host(result)) return kOk;
    const device::ErrorText error = device::error_text(result);
    return fail(Errc::kBuffer, "%s for buffer %p failed: %s (%s)", driver.symbol_of("pointer_get_attributes"), address,
                error.name, error.text);
  }
  expected = memory_type != 0;
  if (memory_type == 0) return kOk;
  if (memory_type == device::kMemoryTypeHost && managed == 0) {
    if (host != nullptr && host != address) {
      return fail(Errc::kBuffer, "buffer %p is a device's address for host memory; pass the CPU's address of it, %p",
                  address, host);
    }
    Location known;
    known.pinned = true;
    known.device = static_cast<std::int16_t>(device);
    known.context = context;
    known.base = static_cast<std::uintptr_t>(start);
    known.bytes = size;
    known.id = id;
    if (covers_range(driver, pointer, bytes, known)) *location = known;
    return kOk;
  }
  location->managed = managed != 0;
  const bool host_has_it = location->managed && (context == nullptr || is_for_host(address, bytes, context, device));
  location->kind = host_has_it ? Kind::kManaged : Kind::kDevice;
  location->device = static_cast<std::int16_t>(device);
  location->context = context;
  location->chunks = context == nullptr && managed == 0 && (handle_types & device::kHandleFileDescriptor) != 0;
  location->base = static_cast<std::uintptr_t>(start);
  location->bytes = size;
  location->id = id;
  return host_has_it && !IndependentScope::active() ? finish_default_stream(*location) : kOk;
}

bool is_about(const Answer& answer, std::uintptr_t pointer, std::size_t bytes) noexcept {
  if (pointer - answer.begin >= answer.bytes) return false;
  // Pinned memory must also end within the range.
  return !answer.location.pinned || bytes <= answer.begin + answer.bytes - pointer;
}

const Location* known(std::uintptr_t pointer, std::size_t bytes) noexcept {
  for (const Answer& answer : state().answers) {
    if (answer.epoch == DriverEpoch::current() && is_about(answer, pointer, bytes)) return &answer.location;
  }
  if (!RecallScope::active()) return nullptr;
  for (const Answer& answer : state().recalled) {
    if (!is_about(answer, pointer, bytes)) continue;
    RecallScope::note_use();
    return &answer.location;
  }
  return nullptr;
}

// Caches an answer, but not for pool memory and partly mapped ranges, which the program can change with calls that are
// too short for DriverEpoch to detect, nor for managed memory, for which an answer is not sufficient. For host memory
// that is unknown to the driver, an answer covers a page, and is valid for buffers that extend beyond the page.
void remember(std::uintptr_t pointer, const Location& location) noexcept {
  constexpr std::uintptr_t kPage = 4096;
  const bool allocation = location.kind == Kind::kDevice || location.pinned;
  if (location.managed || (allocation && (location.context == nullptr || location.bytes == 0))) return;
  State& kept = state();
  const Answer answer{DriverEpoch::current(), allocation ? location.base : pointer & ~(kPage - 1),
                      allocation ? location.bytes : kPage, location};
  if (RecallScope::active()) kept.recalled[kept.next_recalled++ % std::size(kept.recalled)] = answer;
  if (!DriverEpoch::tracked()) return;  // no device is in use, as far as the library can determine
  kept.answers[kept.next_answer++ % std::size(kept.answers)] = answer;
}

}  // namespace

Status classify_slow(const void* address, std::size_t bytes, Location* location) {
  if (known_host(address)) {
    *location = Location{};
    return kOk;
  }
  return classify_unknown(address, location, bytes);
}

}  // namespace hr::mem::detail

namespace hr::mem {

bool unknown_to_driver(const void* address) noexcept {
  if (known_host(address)) return true;
  const device::Driver* const driver = device::find_driver();
  if (driver == nullptr) return true;
  unsigned memory_type = 0;
  int attribute = device::kAttributeMemoryType;
  void* value = &memory_type;
  const device::Result result =
      driver->pointer_get_attributes(1, &attribute, &value, reinterpret_cast<std::uintptr_t>(address));
  const bool unknown = result == device::kSuccess ? memory_type == 0 : detail::means_host(result);
  if (unknown) learn_host(address);
  return unknown;
}

Status classify_unknown(const void* address, Location* location, std::size_t bytes) {
  const auto pointer = reinterpret_cast<std::uintptr_t>(address);
  if (const Location* answer = detail::known(pointer, bytes); answer != nullptr) {
    *location = *answer;
    return kOk;
  }
  *location = Location{};
  const device::Driver* driver = device::find_driver();
  if (driver == nullptr) return kOk;
  HR_TRY(detail::ask(*driver, address, bytes, location));
  detail::remember(pointer, *location);
  return kOk;
}

}  // namespace hr::mem
